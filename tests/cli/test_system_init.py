"""`bn system init` sets up AGENTS.md and clients, asks on a terminal, and takes everything out again."""

import json
import os
import pty
import re
import select
import stat
import subprocess
import time
import tomllib
from collections.abc import Sequence

import pytest

from binnacle.config.clients.known_clients import CLIENTS
from cli.conftest import BN

SEED = """\

Binnacle System Initialization
==============================

[1/3] Write AGENTS.md section? [Y/n] y
✓ Updated AGENTS.md

[2/3] Write VS Code MCP config? [Y/n] y
✓ Created .vscode/mcp.json

[3/3] Write GitHub Copilot CLI MCP config? [Y/n] n
⊘ Skipped

Done! Run 'bn orient' to verify setup.
"""
"""The flow as the product's first document shows it."""

VSCODE = """\
{
  "servers": {
    "binnacle": {
      "type": "stdio",
      "command": "bn",
      "args": ["mcp", "serve"],
      "cwd": "${workspaceFolder}"
    }
  }
}
"""
COPILOT = """\
{
  "mcpServers": {
    "binnacle": {
      "type": "local",
      "command": "bn",
      "args": ["mcp", "serve"],
      "tools": ["*"]
    }
  }
}
"""


@pytest.fixture
def bn(bn, tmp_path):
    """`bn` on a machine that has no client, but has `bn` on PATH."""
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME", "GEMINI_CLI_HOME"):
        bn.env.pop(name, None)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "bn").symlink_to(BN)
    bn.env["PATH"] = str(programs)
    return bn


def actions(answer) -> dict[str, str]:
    return {one["client"]: one["action"] for one in answer["files"]}


def written(bn) -> set[str]:
    """Every file in the repository and in the home."""
    home = bn.repo.parent
    found = (os.path.relpath(os.path.join(folder, name), home) for folder, _, names in os.walk(home) for name in names)
    return {name for name in found if not name.startswith(("repo/.git/", "bin/", "data/"))}


def converse(bn, *words: str, answers: Sequence[str]) -> tuple[int, str]:
    """How it ends and what a person sees on a terminal who gives these answers; `.` ends the input."""
    leader, follower = pty.openpty()
    env = bn.env | {"TERM": "dumb"}
    child = subprocess.Popen(
        [BN, "system", "init", *words], cwd=bn.repo, env=env, stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    output, left, end = b"", list(answers), time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([leader], [], [], 1)[0]:
            continue
        try:
            output += os.read(leader, 65536)
        except OSError:  # how Linux says that nobody holds the other end any more
            break
        if output.endswith(b"[Y/n] ") and left:
            answer = left.pop(0)
            os.write(leader, b"\x04" if answer == "." else f"{answer}\n".encode())
    code = child.wait(timeout=60)
    os.close(leader)
    assert not left
    return code, output.decode().replace("\r\n", "\n")


def test_the_flow_is_as_the_first_document_shows_it(bn):
    (bn.repo / "AGENTS.md").write_text("# Rules\n")
    assert converse(bn, answers="yyn") == (0, SEED)
    assert (bn.repo / ".vscode" / "mcp.json").read_text() == VSCODE
    assert (bn.repo / "AGENTS.md").read_text().startswith("# Rules\n\n<!-- BEGIN BINNACLE -->\n")
    assert written(bn) == {"repo/AGENTS.md", "repo/AGENTS.md.bak", "repo/.vscode/mcp.json"}


def test_enter_means_yes_and_other_answers_are_asked_again(bn):
    code, shown = converse(bn, answers=["", "x", "Yes", "NO"])
    assert code == 0
    assert shown.count("[2/3]") == 2
    assert (bn.repo / ".vscode" / "mcp.json").exists()


def test_clients_on_the_machine_are_asked_about_too(bn, tmp_path):
    (tmp_path / ".codex").mkdir()
    (tmp_path / "bin" / "claude").touch(mode=0o755)
    code, shown = converse(bn, answers="nnnyy")
    assert code == 0
    assert "[4/5] Write Claude Code MCP config? [Y/n] y\n✓ Created .mcp.json\n" in shown
    assert "[5/5] Write Codex MCP config? [Y/n] y\n✓ Created .codex/config.toml\n" in shown
    assert written(bn) == {"repo/.mcp.json", "repo/.codex/config.toml"}


def test_a_file_that_cannot_be_changed_is_said_and_the_rest_goes_on(bn, tmp_path):
    (bn.repo / ".vscode").mkdir()
    (bn.repo / ".vscode" / "mcp.json").write_text("{")
    code, shown = converse(bn, answers="nyy")
    assert code == 1
    assert re.search(r"✗ \S+/\.vscode/mcp\.json:1:2: expected", shown)
    assert "✓ Created ~/.copilot/mcp-config.json" in shown
    assert "Done!" not in shown


def test_input_that_ends_is_no_answer(bn):
    code, shown = converse(bn, answers="n.")
    assert code == 2
    assert "no answer to the question" in shown
    assert written(bn) == set()


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["-y"], {"repo/AGENTS.md"}),
        ([], {"repo/AGENTS.md"}),
        (["--write-mcp-vscode"], {"repo/.vscode/mcp.json"}),
        (["--write-mcp-copilot"], {".copilot/mcp-config.json"}),
        (["--write-mcp-all"], {"repo/.vscode/mcp.json", ".copilot/mcp-config.json"}),
        (["-y", "--write-mcp-all"], {"repo/AGENTS.md", "repo/.vscode/mcp.json", ".copilot/mcp-config.json"}),
        (["--client", "claude", "--client", "goose"], {"repo/.mcp.json", "config/goose/config.yaml"}),
        (["--client", "claude", "--user"], {".claude.json"}),
        (["--client", "copilot", "--project"], {"repo/.github/mcp.json"}),
        (["--client", "goose", "--project"], {"config/goose/config.yaml"}),
        (["-y", "--dry-run", "--client", "zed"], set()),
    ],
)
def test_flags_say_what_is_written_without_a_question(bn, words, files):
    answer = bn("system", "init", *words)
    assert set(actions(answer).values()) == {"created"}
    assert written(bn) == files
    if not answer.get("dry_run"):
        assert {os.path.relpath(one["file"], bn.repo.parent) for one in answer["files"]} == files
        assert set(actions(bn("system", "init", *words)).values()) == {"unchanged"}
        assert written(bn) == files


@pytest.mark.parametrize("words", [["-y"], ["--write-mcp-vscode"], ["--remove"], ["--dry-run"], ["--client", "zed"]])
def test_flags_ask_nothing_on_a_terminal_either(bn, words):
    code, shown = converse(bn, *words, "--json", answers="")
    assert code == 0
    assert "[Y/n]" not in shown
    assert json.loads(shown)["files"] or words == ["--remove"]


def test_the_shapes_of_the_first_document(bn, tmp_path):
    bn("system", "init", "--write-mcp-all")
    assert (bn.repo / ".vscode" / "mcp.json").read_text() == VSCODE
    assert (tmp_path / ".copilot" / "mcp-config.json").read_text() == COPILOT


def test_all_means_the_clients_found_too(bn, tmp_path):
    (tmp_path / "config" / "zed").mkdir(parents=True)
    (tmp_path / "bin" / "opencode").touch(mode=0o755)
    answer = bn("system", "init", "--write-mcp-all")
    assert list(actions(answer)) == ["vscode", "copilot", "zed", "opencode"]
    assert "note" in answer["files"][2]


def test_every_client_is_set_up_and_removed_again(bn):
    before = written(bn)
    everyone = [word for name in CLIENTS for word in ("--client", name)]
    assert set(actions(bn("system", "init", "-y", *everyone))) == {"agents", *CLIENTS}
    removed = bn("system", "init", "--remove")
    assert actions(removed) == dict.fromkeys(("agents", *CLIENTS), "removed")
    assert written(bn) == before
    assert bn("system", "init", "--remove")["files"] == []
    assert bn.human("system", "init", "--remove") == "Nothing of Binnacle's was found.\n"


def test_only_the_clients_named_are_removed(bn):
    bn("system", "init", "-y", "--client", "claude", "--client", "cursor")
    assert actions(bn("system", "init", "--remove", "--client", "claude", "--client", "zed")) == {
        "claude": "removed",
        "zed": "skipped",
    }
    assert written(bn) == {"repo/AGENTS.md", "repo/.cursor/mcp.json"}


def patched(diff: str) -> str:
    """The new text that a diff of a whole short file leads to."""
    _, _, hunk, *lines = diff.splitlines(keepends=True)
    assert hunk.startswith("@@ -1,")
    text = ""
    for line in lines:
        if line.startswith("\\"):
            text = text.removesuffix("\n")
        elif not line.startswith("-"):
            text += line[1:]
    return text


def test_a_dry_run_shows_the_difference_and_changes_nothing(bn):
    path = bn.repo / ".mcp.json"
    path.write_text('{\n  "mcpServers": {\n    "x": {}\n  }\n}')
    path.chmod(0o640)
    shown = bn("system", "init", "--dry-run", "--client", "claude")["files"][0]
    assert shown["action"] == "updated"
    assert path.read_text() == '{\n  "mcpServers": {\n    "x": {}\n  }\n}'
    assert written(bn) == {"repo/.mcp.json"}
    human = bn.human("system", "init", "--dry-run", "--client", "claude")
    assert human == shown["diff"] + "Nothing was changed.\n"
    bn("system", "init", "--client", "claude")
    assert patched(shown["diff"]) == path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_one_broken_file_does_not_keep_the_others_from_being_written(bn):
    path = bn.repo / ".mcp.json"
    path.write_text('{\n  "mcpServers": [}\n}')
    done = bn.run("system", "init", "-y", "--client", "claude", "--client", "cursor")
    assert done.code == 1
    assert actions(done.json) == {"agents": "created", "claude": "skipped", "cursor": "created"}
    error = done.json["files"][1]["error"]
    assert error["code"] == "E_CONFIG"
    assert error["details"] == {"file": str(path), "line": 2, "column": 18}
    assert error["hint"]
    assert path.read_text() == '{\n  "mcpServers": [}\n}'
    shown = bn.run("system", "init", "-H", "--client", "claude")
    assert shown.code == 1
    assert shown.out.startswith(f"✗ {path}:2:18: expected a value")
    assert "Done!" not in shown.out


def test_people_see_a_line_for_each_file(bn):
    shown = bn.human("system", "init", "-y", "--client", "codex", "--client", "copilot")
    assert shown.splitlines() == [
        "✓ Created AGENTS.md",
        "✓ Created ~/.copilot/mcp-config.json",
        "✓ Created .codex/config.toml",
        "  Codex reads it in projects you trust",
        "Done! Run 'bn orient' to verify setup.",
    ]
    assert bn.human("system", "init", "--client", "codex") == "✓ Unchanged: .codex/config.toml\n"
    assert bn.human("system", "init", "--remove", "--client", "codex") == "✓ Removed from .codex/config.toml\n"


def test_headless_use_is_let_call_the_tools_only_when_asked_for(bn):
    bn("system", "init", "--client", "codex", "--client", "gemini")
    codex, gemini = bn.repo / ".codex" / "config.toml", bn.repo / ".gemini" / "settings.json"
    assert "approve" not in codex.read_text()
    assert "trust" not in gemini.read_text()
    answer = bn("system", "init", "--allow", "--client", "codex", "--client", "gemini", "--client", "claude")
    assert 'default_tools_approval_mode = "approve"' in codex.read_text()
    assert json.loads(gemini.read_text())["mcpServers"]["binnacle"]["trust"] is True
    assert "--allowedTools" in answer["files"][0]["note"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_recipe_is_what_the_server_is_started_with(bn, client):
    """Until another one is chosen; and what is written is taken out again."""
    [file] = bn("system", "init", "--client", client, "--recipe", "develop")["files"]
    assert started(file["file"]) == ["mcp", "serve", "--recipe", "develop"]
    assert actions(bn("system", "init", "--client", client)) == {client: "unchanged"}
    bn("system", "init", "--client", client, "--recipe", "debug")
    assert started(file["file"]) == ["mcp", "serve", "--recipe", "debug"]
    bn("system", "init", "--remove")
    assert not os.path.exists(file["file"])


def started(path: str) -> list[str]:
    """The words that a client's file starts the server with."""
    with open(path) as file:
        return re.findall(r"(?:--)?[a-z]+", re.search(r"mcp\W+serve(\W+--recipe\W+\w+)?", file.read())[0])


@pytest.mark.parametrize("options", [["--recipe", "develop"], ["--allow"]])
def test_what_is_about_clients_is_not_passed_over_where_none_is_named(bn, options):
    told = bn("system", "init", "-y", *options)
    assert " ".join(options) in told["warning"]
    assert "--client" in told["warning"]
    assert "warning" not in bn("system", "init", "-y", "--client", "claude", *options)


def test_no_client_is_set_up_with_a_recipe_that_is_not_there(bn):
    error = bn.fails("system", "init", "--client", "claude", "--recipe", "develp")
    assert "develop" in error["hint"]
    assert not (bn.repo / ".mcp.json").exists()


def test_codex_is_told_which_variables_to_pass_on(bn):
    bn("system", "init", "--client", "codex")
    entry = tomllib.loads((bn.repo / ".codex" / "config.toml").read_text())["mcp_servers"]["binnacle"]
    assert {"BN_DATA_DIR", "BN_STORE_URL", "BN_AGENT_ID", "BN_SESSION", "XDG_DATA_HOME"} <= set(entry["env_vars"])


def test_a_bn_that_clients_will_not_find_is_said(bn, tmp_path):
    (tmp_path / "bin" / "bn").unlink()
    assert "not on PATH" in bn("system", "init", "--client", "zed")["warning"]
    assert "warning" not in bn("system", "init", "-y")


def test_the_checkout_one_stands_in_is_set_up(bn, tmp_path):
    git = ["git", "-C", str(bn.repo), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True, timeout=60)
    subprocess.run([*git, "worktree", "add", "--quiet", str(tmp_path / "tree")], check=True, timeout=60)
    (tmp_path / "tree" / "below").mkdir()
    assert bn("system", "init", "-y", cwd=tmp_path / "tree" / "below")["worktree"] == str(tmp_path / "tree")
    assert (tmp_path / "tree" / "AGENTS.md").exists()
    assert bn("system", "init", "-y", "-C", str(bn.repo), cwd=tmp_path)["worktree"] == str(bn.repo)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--user", "--project"], "exclude each other"),
        (["--client", "emacs"], "invalid choice"),
        (["-C", "nowhere"], "no such directory"),
    ],
)
def test_mistakes_are_said(bn, words, says):
    error = bn.fails("system", "init", *words, code=1 if "-C" in words else 2)
    assert says in error["message"]
    assert error["hint"]


def test_the_store_is_not_touched(bn, tmp_path):
    bn("system", "init", "-y", "--write-mcp-all")
    assert not (tmp_path / "data").exists()
