"""Every client: where its file is, what it says, and that the file's own parser reads it."""

import os
import re
import tomllib
from typing import Any

import pytest
import yaml

from binnacle.config.clients.client_files import find_file, find_worktree, is_found
from binnacle.config.clients.known_clients import CLIENTS
from binnacle.config.clients.setup_plan import carry_out, client_target, plan
from binnacle.config.server_variables import SERVER_VARIABLES
from binnacle.errors import InvalidInput
from config.clients.documents import plain

PLACES = {
    # client: (file in the project, file in the home)
    "vscode": (".vscode/mcp.json", ".config/Code/User/mcp.json"),
    "copilot": (".github/mcp.json", ".copilot/mcp-config.json"),
    "claude": (".mcp.json", ".claude.json"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json"),
    "zed": (".zed/settings.json", ".config/zed/settings.json"),
    "opencode": ("opencode.json", ".config/opencode/opencode.json"),
    "codex": (".codex/config.toml", ".codex/config.toml"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "goose": (None, ".config/goose/config.yaml"),
}
STDIO = {"command": "bn", "args": ["mcp", "serve"]}
SAYS = {
    "vscode": {"servers": {"binnacle": {"type": "stdio", **STDIO, "cwd": "${workspaceFolder}"}}},
    "copilot": {"mcpServers": {"binnacle": {"type": "local", **STDIO, "tools": ["*"]}}},
    "claude": {"mcpServers": {"binnacle": {"type": "stdio", **STDIO, "alwaysLoad": True}}},
    "cursor": {"mcpServers": {"binnacle": STDIO}},
    "zed": {"context_servers": {"binnacle": STDIO}},
    "opencode": {"mcp": {"binnacle": {"type": "local", "command": ["bn", "mcp", "serve"]}}},
    "codex": {"mcp_servers": {"binnacle": {**STDIO, "env_vars": list(SERVER_VARIABLES)}}},
    "gemini": {"mcpServers": {"binnacle": STDIO}},
    "goose": {
        "extensions": {
            "binnacle": {
                "enabled": True,
                "type": "stdio",
                "name": "binnacle",
                "description": "Tasks, notes and learnings of this repository",
                "cmd": "bn",
                "args": ["mcp", "serve"],
                "timeout": 300,
            }
        }
    },
}
VARIABLES = ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME", "GEMINI_CLI_HOME")
OTHERS = {
    "jsonc": '// mine\n{{\n\t"{container}": {{\n\t\t"other": {{"command": "x"}}, // keep\n\t}},\n}}\n',
    "toml": '# mine\n[{container}.other]\ncommand = "x" # keep\n',
    "yaml": '# mine\n{container}:\n  other:\n    command: "x" # keep\n',
}
every_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def read(client, path: str) -> Any:
    with open(path, encoding="utf-8-sig") as file:
        text = file.read()
    return {"jsonc": plain, "toml": tomllib.loads, "yaml": yaml.safe_load}[client.format](text)


def set_up(client, path: str, *, remove: bool = False, allow: bool = False):
    return carry_out(plan(client_target(client, path, allow=allow), remove=remove))


@every_client
def test_its_files_are_where_it_looks_for_them(client, tmp_path, home):
    project, user = PLACES[client.name]
    in_home = str(home / user)
    in_project = str(tmp_path / project) if project else in_home
    assert find_file(client, worktree=str(tmp_path), scope="user") == in_home
    assert find_file(client, worktree=str(tmp_path), scope="project") == in_project
    default = in_home if client.name in ("copilot", "goose") else in_project
    assert find_file(client, worktree=str(tmp_path)) == default


@every_client
def test_a_new_file_says_what_the_client_expects(client, tmp_path):
    path = find_file(client, worktree=str(tmp_path))
    assert set_up(client, path).action == "created"
    assert read(client, path) == SAYS[client.name]
    assert set_up(client, path).action == "unchanged"
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    assert set_up(client, path, remove=True).action == "removed"
    assert not os.path.exists(path)
    assert set_up(client, path, remove=True).action == "skipped"


@every_client
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_other_entries_and_comments_are_kept(client, newline, bom, tmp_path):
    path = tmp_path / "config"
    before = bom + OTHERS[client.format].format(container=client.container).replace("\n", newline)
    path.write_bytes(before.encode())
    assert set_up(client, str(path)).action == "updated"
    after = path.read_bytes().decode()
    entries = {"other": {"command": "x"}, **SAYS[client.name][client.container]}
    assert read(client, str(path)) == {client.container: entries}
    assert after.startswith(f"{bom}{'//' if client.format == 'jsonc' else '#'} mine{newline}")
    assert after.count("keep") == 1
    assert after.count("\n") == after.count(newline)
    assert set_up(client, str(path)).action == "unchanged"
    assert path.read_bytes().decode() == after
    assert set_up(client, str(path), remove=True).action == "removed"
    assert path.read_bytes().decode() == before


@every_client
def test_an_entry_that_was_changed_is_mended(client, tmp_path):
    path = str(tmp_path / "config")
    set_up(client, path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"\bbn\b", "old", text))
    assert set_up(client, path).action == "updated"
    assert read(client, path) == SAYS[client.name]
    with open(path, encoding="utf-8") as file:
        assert file.read() == text


KEPT = {
    "claude": (
        '{"mcpServers": {"binnacle": {"command": "bn", "args": [], "alwaysLoad": false, "env": {"A": "b"}}}}',
        {"alwaysLoad": False, "env": {"A": "b"}},
    ),
    "codex": (
        '[mcp_servers.binnacle]\ncommand = "bn"\nargs = []\nenv_vars = ["MINE", "BN_USER"] # also mine\n',
        {"env_vars": ["MINE", "BN_USER", *(one for one in SERVER_VARIABLES if one != "BN_USER")]},
    ),
    "gemini": ('{"mcpServers": {"binnacle": {"command": "bn", "args": [], "trust": true}}}', {"trust": True}),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_a_person_decided_in_the_entry_is_kept(name, tmp_path):
    client, path = CLIENTS[name], tmp_path / "config"
    text, kept = KEPT[name]
    path.write_text(text)
    assert set_up(client, str(path)).action == "updated"
    entry = read(client, str(path))[client.container]["binnacle"]
    assert {key: entry[key] for key in kept} == kept
    assert entry["args"] == ["mcp", "serve"]
    assert ("also mine" in path.read_text()) == (name == "codex")
    assert set_up(client, str(path)).action == "unchanged"


ALLOWING = {"codex": {"default_tools_approval_mode": "approve"}, "gemini": {"trust": True}}


@every_client
def test_calls_without_a_question_are_allowed_only_where_a_person_wants_that(client, tmp_path):
    path = tmp_path / "config"
    before = OTHERS[client.format].format(container=client.container)
    path.write_text(before)
    set_up(client, str(path), allow=True)
    entry = SAYS[client.name][client.container]["binnacle"] | ALLOWING.get(client.name, {})
    assert read(client, str(path))[client.container]["binnacle"] == entry
    assert set_up(client, str(path)).action == "unchanged"
    set_up(client, str(path), remove=True)
    assert path.read_text() == before


@every_client
@pytest.mark.parametrize("sign", ["nothing", "folder", "program"])
def test_it_is_found_by_its_folder_or_its_program(client, sign, tmp_path, home):
    if sign == "folder":
        folder = ".claude" if client.name == "claude" else os.path.dirname(PLACES[client.name][1]).removesuffix("/User")
        (home / folder).mkdir(parents=True)
    if sign == "program":
        (tmp_path / "bin").mkdir()
        program = tmp_path / "bin" / client.programs[-1]
        program.touch(mode=0o755)
    assert is_found(client) == (sign != "nothing")


@pytest.mark.parametrize(
    ("name", "variable", "file"),
    [
        ("codex", "CODEX_HOME", "config.toml"),
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("copilot", "COPILOT_HOME", "mcp-config.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
        ("goose", "XDG_CONFIG_HOME", "goose/config.yaml"),
    ],
)
def test_a_folder_that_was_moved_is_found(name, variable, file, tmp_path, monkeypatch):
    monkeypatch.setenv(variable, str(tmp_path / "moved"))
    assert find_file(CLIENTS[name], worktree="/repo", scope="user") == str(tmp_path / "moved" / file)


def test_the_file_that_exists_is_taken(tmp_path):
    (tmp_path / "opencode.jsonc").touch()
    assert find_file(CLIENTS["opencode"], worktree=str(tmp_path)).endswith("opencode.jsonc")


def test_the_worktree_one_stands_in_is_meant(tmp_path):
    (tmp_path / "main" / ".git").mkdir(parents=True)
    (tmp_path / "tree" / "below").mkdir(parents=True)
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {tmp_path}/main/.git/worktrees/tree\n")
    assert find_worktree(str(tmp_path / "tree" / "below")) == str(tmp_path / "tree")
    assert find_worktree(str(tmp_path)) == str(tmp_path)
    with pytest.raises(InvalidInput, match="no such directory"):
        find_worktree(str(tmp_path / "nowhere"))
