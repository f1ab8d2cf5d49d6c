"""Prompts and scripts that come with Binnacle, and the script that starts agents with them."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest

from binnacle.cli.command_index import GROUPS
from binnacle.cli.commands.emit import FOLDER, TEMPLATES, read_template
from binnacle.cli.parser import build, find_command, load_group
from cli.conftest import BN

PROMPTS = [name for name, (file, _) in TEMPLATES.items() if file.endswith(".md")]
CLIENTS = ("claude", "copilot", "opencode", "codex", "gemini", "goose")

TOOLS = {
    "binnacle-set_agent", "binnacle-orient", "binnacle-goodbye", "bn_run",
    "task_add", "task_split", "task_update", "task_status", "task_next", "task_list", "task_get", "task_dependencies",
    "task_search", "task_claim", "task_release", "task_block", "task_skip", "task_move", "task_context", "task_enrich",
    "task_delete", "comment_add", "comment_update", "comment_delete", "feature_add", "feature_update", "feature_get",
    "feature_list", "feature_delete", "feature_merge", "feature_context", "discipline_add", "discipline_update",
    "discipline_get", "discipline_list", "discipline_delete", "learning_add", "learning_list", "progress_add",
    "progress_list", "note_add", "note_list", "project_info", "project_progress", "iteration_summary",
    "session_complete", "session_abort",
}  # fmt: skip

FIELDS = {"agent_id", "current_task"}
"""Words that look like tools and are parts of an answer."""


# -- emit


def test_everything_is_listed_and_printed_as_it_is(bn):
    names = [one["name"] for one in bn("system", "emit")["templates"]]
    assert names == [
        "worker",
        "planner",
        "reviewer",
        "buddy",
        "mcp-lifecycle",
        "copilot-instructions",
        "skill",
        "agents.sh",
    ]
    for name in names:
        for words in (["system", "emit", name], ["system", "emit", name, "-H"]):
            assert bn.run(*words).out == read_template(name)
        assert name in bn.human("system", "emit")


def test_nothing_is_needed_and_nothing_is_made(bn, tmp_path):
    bn.run("system", "emit")
    bn.run("system", "emit", "worker", cwd=tmp_path)
    assert not (tmp_path / "data").exists()


def test_an_unknown_name_gets_the_known_ones(bn):
    error = bn.fails("system", "emit", "wurker", code=2)
    assert "worker" in error["message"]


def test_every_file_is_emitted_under_some_name():
    assert sorted(os.listdir(FOLDER)) == sorted(file for file, _ in TEMPLATES.values())


# -- prompts


def code_in(text: str) -> list[str]:
    """What stands between backticks, across the ends of lines."""
    return [" ".join(found.split()) for found in re.findall(r"`([^`]+)`", text)]


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_names_only_commands_that_exist(name):
    found = 0
    for code in code_in(read_template(name)):
        words = shlex.split(re.sub(r"^[A-Z_]+=\S+ ", "", code))
        if words[:1] != ["bn"] or len(words) == 1 or words[1].isupper():
            continue
        group = load_group(words[1])
        command, rest = find_command(group, words[2:])
        assert command is not None, code
        build(group, command).parse_intermixed_args(rest)
        found += 1
    assert found > 0


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_names_only_tools_that_exist(name):
    for code in code_in(read_template(name)):
        if re.fullmatch(r"[a-z]+(_[a-z]+)+|binnacle-\w+", code):
            assert code in TOOLS | FIELDS, code


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_leads_from_orient_to_goodbye(name):
    text = read_template(name)
    assert 0 <= text.find("`bn orient") < text.rfind("`bn goodbye")
    assert len(text.split()) < 450
    assert max(len(line) for line in text.splitlines() if not line.startswith("description:")) <= 120


def test_every_role_has_a_type(bn):
    for role in ("worker", "planner", "reviewer", "buddy"):
        assert f"bn orient --type {role}" in read_template(role)


def test_no_prompt_speaks_of_a_group_that_is_not_there():
    for name in PROMPTS:
        for group in re.findall(r"`bn ([a-z]+)", read_template(name)):
            assert group in GROUPS, (name, group)


# -- agents.sh


@pytest.fixture
def launch(bn, tmp_path):
    """Runs `agents.sh` in the repository, with the real `bn` and the clients a test puts beside it."""
    tools = tmp_path / "tools"
    tools.mkdir()
    script = tmp_path / "agents.sh"
    script.write_text(bn.run("system", "emit", "agents.sh").out)
    (tools / "bn").symlink_to(BN)
    for name in ("bash", "env", "mkdir", "dirname", "cat"):
        (tools / name).symlink_to(shutil.which(name))

    def run(*words: str, client: str = "", body: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        if client:
            path = tools / client
            path.write_text(f"#!/bin/bash\n{body}")
            path.chmod(0o755)
        return subprocess.run(
            ["bash", str(script), *words],
            cwd=bn.repo,
            env=bn.env | {"PATH": str(tools)} | env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


RECORD = """
if [[ $1 == mcp ]]; then exit "${MCP:-0}"; fi
printf '%s\\0' "$@" > arguments
printf '%s' "${OPENCODE_CONFIG_CONTENT:-}" > config
printf '%s %s' "$$" "${BN_AGENT_ID:-}" > who
bn agent show "$BN_AGENT_ID" > agent
"""


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("claude", ["PROMPT", "--disallowedTools=mcp__binnacle__binnacle-orient,mcp__binnacle__binnacle-goodbye"]),
        (
            "copilot",
            ["-i", "PROMPT", "--deny-tool=binnacle(binnacle-orient)", "--deny-tool=binnacle(binnacle-goodbye)"],
        ),
        ("opencode", ["--prompt", "PROMPT"]),
        (
            "codex",
            ["-c", 'mcp_servers.binnacle.disabled_tools=["binnacle-orient","binnacle-goodbye"]', "PROMPT"],
        ),
        ("gemini", ["--policy", "POLICY", "-i", "PROMPT"]),
        ("goose", ["run", "-s", "-t", "PROMPT"]),
    ],
)
def test_a_client_starts_with_the_prompt_and_without_the_lifecycle_tools(bn, launch, client, expected):
    done = launch(client, "planner", "--", "--model", "x y", client=client, body=RECORD)
    assert done.returncode == 0, done.stderr
    policy = Path(bn.env["HOME"]) / ".cache" / "binnacle" / "gemini-policy.toml"
    places = {"PROMPT": read_template("planner").rstrip("\n"), "POLICY": str(policy)}
    words = (bn.repo / "arguments").read_text().split("\0")[:-1]
    assert words == [*(places.get(word, word) for word in expected), "--model", "x y"]
    if client == "opencode":
        denied = json.loads((bn.repo / "config").read_text())
        assert denied == {"permission": dict.fromkeys(denied["permission"], "deny")}
        assert list(denied["permission"]) == ["binnacle_binnacle-orient", "binnacle_binnacle-goodbye"]
    if client == "gemini":
        (rule,) = tomllib.loads(policy.read_text())["rule"]
        assert rule["toolName"] == ["binnacle-orient", "binnacle-goodbye"]
        assert (rule["mcpName"], rule["decision"]) == ("binnacle", "deny")
    if client == "goose":
        assert "no flag" in done.stderr


def test_the_client_is_the_registered_agent(bn, launch):
    done = launch("claude", client="claude", body=RECORD)
    assert done.returncode == 0, done.stderr
    pid, agent_id = (bn.repo / "who").read_text().split()
    shown = json.loads((bn.repo / "agent").read_text())
    assert (shown["id"], shown["parent_pid"], shown["name"]) == (agent_id, int(pid), f"claude-{pid}")
    assert (shown["type"], shown["status"], shown["alive"]) == ("worker", "active", True)
    assert bn("agent", "show", agent_id)["status"] == "stale"


def test_what_the_client_does_is_done_in_its_name_and_goodbye_ends_it(bn, launch):
    task = bn.add("One")
    body = "bash -c 'bn next --claim; true' > taken; bash -c 'bn goodbye enough; true'; echo still here > here"
    done = launch("claude", client="claude", body=body)
    assert done.returncode == -signal.SIGTERM, done.stderr
    taken = json.loads((bn.repo / "taken").read_text())["task"]
    assert (taken["id"], taken["claimed_by"][:4]) == (task, "bna-")
    assert not (bn.repo / "here").exists()
    assert bn("agent", "list")["agents"] == []
    assert bn("task", "show", task)["task"]["status"] == "pending"


def test_codex_starts_although_it_does_not_know_the_server(bn, launch):
    done = launch("codex", client="codex", body=RECORD, MCP="1")
    assert done.returncode == 0, done.stderr
    assert "no MCP server" in done.stderr
    assert (bn.repo / "arguments").read_text() == f"{read_template('worker').rstrip()}\0"


@pytest.mark.parametrize("client", CLIENTS)
def test_print_shows_the_command_and_does_nothing(bn, launch, client, tmp_path):
    done = launch(client, "reviewer", "--print", "--", "--model", "x y")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert '"$(bn system emit reviewer)"' in done.stdout
    assert client in done.stdout.split()
    assert done.stdout.rstrip().endswith("--model x\\ y")
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / ".cache").exists()


@pytest.mark.parametrize(
    ("words", "code", "message", "hint"),
    [
        (["claude"], 127, "claude is not installed", "npm install"),
        (["goose"], 127, "goose is not installed", "https://"),
        (["vim"], 2, "unknown client 'vim'", "claude, copilot"),
        (["claude", "boss"], 2, "unknown role 'boss'", "worker, planner"),
        (["claude", "worker", "more"], 2, "one word too many", "--"),
        (["claude", "--fast"], 2, "unknown option '--fast'", "--"),
    ],
)
def test_a_mistake_comes_with_the_next_step(launch, words, code, message, hint):
    done = launch(*words)
    assert done.returncode == code
    error, step = done.stderr.splitlines()
    assert (error[:7], step[:6]) == ("error: ", "hint: ")
    assert message in error
    assert hint in step


def test_without_a_client_it_says_how_it_is_used(launch):
    assert launch().returncode == 2
    assert all(client in launch("--help").stdout for client in CLIENTS)


def test_a_project_that_cannot_be_written_stops_it(bn, launch):
    done = launch("claude", client="claude", body="echo started", BN_STORE_URL="nonsense://")
    assert done.returncode != 0
    assert "started" not in done.stdout


def test_the_script_is_sound():
    path = os.path.join(FOLDER, "agents.sh")
    assert 'BLOCKED_MCP_TOOLS="binnacle-orient binnacle-goodbye"\n' in read_template("agents.sh")
    checks = [["bash", "-n", path]] + ([["shellcheck", path]] if shutil.which("shellcheck") else [])
    for words in checks:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
