"""A link in a repository that leads out of it is neither read nor written through, by no command and no session."""

import os
import subprocess
from pathlib import Path

import pytest

from cli.test_mcp import Client

SECRET = "the-secret-of-another-place"

LINKS = {
    ".binnacle/config.toml": f'[project]\ntitle = "{SECRET}"\n',
    ".binnacle/mcp.json": f'{{"servers": {{"{SECRET}": {{"command": "true"}}}}}}',
    ".beans/mcp.json": f'{{"servers": {{"{SECRET}": {{"command": "true"}}}}}}',
    ".binnacle/hooks.yaml": f"session_start: echo {SECRET}\n",
    ".iteratr.hooks.yml": f"session_start: echo {SECRET}\n",
    ".binnacle/checks.yaml": f"checks:\n  - name: {SECRET}\n    command: echo {SECRET}\n",
    ".binnacle/prompts/run.md": f"{SECRET} {{{{task}}}}\n",
    ".binnacle/recipes/mine.yaml": f"description: {SECRET}\ntools: [task_list]\n",
    ".binnacle/scripts/deploy.meta.yaml": f"alias: deploy\nname: x\ncategory: x\ndescription: {SECRET}\n",
    ".binnacle/scripts/manifest.json": f'{{"version": 2, "scripts": {{}}, "x": "{SECRET}"}}',
    "AGENTS.md": f"# {SECRET}\n",
    ".mcp.json": f'{{"mcpServers": {{"{SECRET}": {{"command": "true"}}}}}}',
    ".vscode/mcp.json": f'{{"servers": {{"{SECRET}": {{"command": "true"}}}}}}',
    ".codex/config.toml": f'[mcp_servers.{SECRET}]\ncommand = "true"\n',
    ".vscode/launch.json": f'{{"configurations": [{{"name": "{SECRET}"}}]}}',
}
"""Every file that is read or written in a repository, and what stands in it elsewhere."""

COMMANDS = (
    ("config", "list"),
    ("config", "set", "project.title", "Shop"),
    ("task", "list"),
    ("upstream", "list"),
    ("upstream", "check"),
    ("upstream", "add", "new", "--", "true"),
    ("upstream", "import", "claude", "--dry-run"),
    ("upstream", "import", "vscode"),
    ("upstream", "remove", SECRET),
    ("upstream", "disable", SECRET),
    ("hook", "list"),
    ("hook", "approve", "--yes"),
    ("check", "list"),
    ("plan", "list"),
    ("plan", "show", "mine"),
    ("plan", "show", "default"),
    ("prompt", "show"),
    ("prompt", "show", "loop", "--template", ".binnacle/prompts/run.md"),
    ("prompt", "template", "-o", ".binnacle/prompts/run.md", "--force"),
    ("script", "list"),
    ("script", "build"),
    ("script", "new", "deploy.check"),
    ("system", "init", "-y", "--write-mcp-vscode", "--client", "claude", "--client", "codex", "--project"),
    ("system", "init", "--remove"),
    ("doctor",),
    ("status",),
)


class Outside:
    """A folder that no command has any business in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, content in LINKS.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        self._before = self._look()

    def _look(self) -> dict[str, tuple[bytes, int, int]]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) for path in files}

    def is_untouched(self) -> bool:
        return self._look() == self._before


def link_files(repo: Path, outside: Path) -> None:
    for name in LINKS:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).symlink_to(outside / name)


def link_files_by_dots(repo: Path, outside: Path) -> None:
    for name in LINKS:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).symlink_to(os.path.relpath(outside / name, (repo / name).parent))


def link_folders(repo: Path, outside: Path) -> None:
    for name in {name.partition("/")[0] for name in LINKS}:
        (repo / name).symlink_to(outside / name)


def link_twice(repo: Path, outside: Path) -> None:
    """The link stays in the repository, and the one it leads to does not."""
    (repo / "docs").symlink_to(outside)
    for name in LINKS:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).symlink_to(os.path.relpath(repo / "docs" / name, (repo / name).parent))


@pytest.fixture(params=[link_files, link_files_by_dots, link_folders, link_twice])
def hostile(request, bn, tmp_path):
    outside = Outside(tmp_path / "outside")
    request.param(bn.repo, outside.folder)
    return outside


def take_settings_away(repo: Path, outside: Path) -> None:
    """A project whose settings cannot be read does nothing at all; the other files are what a test is about then."""
    ours = repo / ".binnacle"
    if not ours.is_symlink():
        (ours / "config.toml").unlink()
        return
    ours.unlink()
    ours.mkdir()
    for name in os.listdir(outside / ".binnacle"):
        if name != "config.toml":
            (ours / name).symlink_to(outside / ".binnacle" / name)


@pytest.mark.parametrize("has_settings", [True, False])
def test_no_command_reads_or_writes_through_a_link_that_leads_out(bn, hostile, has_settings):
    if not has_settings:
        take_settings_away(bn.repo, hostile.folder)
    for words in COMMANDS:
        done = bn.run(*words)
        told = done.out + done.err
        assert "Traceback" not in told, (words, told)
        assert SECRET not in told.replace(f"no server '{SECRET}'", ""), (words, told)
        assert hostile.is_untouched(), words


def test_the_settings_say_where_the_link_leads_and_what_to_do(bn, hostile):
    error = bn.fails("config", "list")
    assert error["code"] == "E_CONFIG"
    assert "leads out of the repository" in error["message"]
    assert "regular file" in error["hint"]


def test_no_session_reads_through_a_link_that_leads_out(bn, hostile):
    take_settings_away(bn.repo, hostile.folder)
    client = Client(bn, "--recipe", "debug")
    resources = client.ask("resources/list")["resources"]
    assert "binnacle://agents" in [one["uri"] for one in resources]
    told = [
        client.hello,
        resources,
        client.ask("tools/list"),
        client.ask("resources/templates/list"),
        *(answer(client, "resources/read", uri=one["uri"]) for one in resources),
        client.tool("bn_run", args=["plan", "show", "default"]),
        client.tool("debug_start", launch="none"),
        client.tool("bridge_status"),
    ]
    client.end()
    bn.run("bridge", "stop")
    assert SECRET not in str(told)
    assert hostile.is_untouched()


def answer(client, method, **params):
    """What comes back, be it an error."""
    number = client.send(method, **params)
    while (message := client.receive()).get("id") != number:
        pass
    return message


def test_links_inside_the_repository_work(bn):
    (bn.repo / "CLAUDE.md").write_text("# The shop\n")
    (bn.repo / "AGENTS.md").symlink_to("CLAUDE.md")
    (bn.repo / "shared").mkdir()
    (bn.repo / "shared" / "config.toml").write_text('[project]\ntitle = "Shop"\n')
    (bn.repo / ".binnacle").symlink_to("shared")
    assert bn("config", "get", "project.title")["value"] == "Shop"
    bn("config", "set", "project.title", "Store")
    assert "Store" in (bn.repo / "shared" / "config.toml").read_text()
    bn("system", "init", "-y")
    assert (bn.repo / "AGENTS.md").is_symlink()
    assert (bn.repo / "CLAUDE.md").read_text().startswith("# The shop\n")
    assert "bn" in (bn.repo / "CLAUDE.md").read_text()


def test_a_link_into_gits_folder_is_not_written_through(bn):
    hook = bn.repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    (bn.repo / "AGENTS.md").symlink_to(".git/hooks/pre-commit")
    done = bn.run("system", "init", "-y")
    assert done.code == 1
    assert "git's own folder" in done.json["files"][0]["error"]["message"]
    assert not hook.exists()


@pytest.mark.parametrize("name", [".binnacle/config.toml", ".binnacle/mcp.json", ".binnacle/hooks.yaml", "AGENTS.md"])
def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(bn, name):
    (bn.repo / name).parent.mkdir(exist_ok=True)
    os.mkfifo(bn.repo / name)
    for words in (
        ("config", "list"),
        ("upstream", "list"),
        ("hook", "list"),
        ("prompt", "show"),
        ("system", "init", "-y"),
    ):
        assert bn.run(*words).code in (0, 1)


def test_a_file_without_end_is_not_read_to_its_end(bn):
    (bn.repo / "AGENTS.md").write_text("x")
    subprocess.run(["truncate", "-s", "100G", str(bn.repo / "AGENTS.md")], check=True, timeout=60)
    done = bn.run("system", "init", "-y")
    assert "larger than" in done.json["files"][0]["error"]["message"]
