"""How the agent of a run is started without the Binnacle that its own files configure."""

import json
from pathlib import Path
from typing import Any

import pytest

from binnacle.config.clients import run_start
from binnacle.config.clients.client_files import find_file
from binnacle.config.clients.known_clients import CLIENTS
from binnacle.config.clients.run_start import RunStart
from binnacle.config.clients.setup_plan import carry_out, client_target, plan
from binnacle.errors import ConfigError

AGENTS = ("copilot", "opencode", "goose", "claude", "codex", "gemini")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def set_up(agent: str, tmp_path: Path, scope: Any) -> None:
    client = CLIENTS[agent]
    carry_out(plan(client_target(client, find_file(client, worktree=str(tmp_path), scope=scope)), remove=False))


def leave_out_binnacle(agent: str, folder: str, environ: dict[str, str]) -> RunStart:
    return run_start.leave_out_binnacle(agent, folder, environ, server="bns")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("agent", [*AGENTS, "/opt/any --acp"])
def test_nothing_is_added_where_no_file_names_us(agent, tmp_path):
    assert leave_out_binnacle(agent, str(tmp_path), {}) == RunStart()


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("agent", AGENTS)
def test_what_system_init_wrote_is_left_out(agent, scope, tmp_path):
    set_up(agent, tmp_path, scope)
    added = leave_out_binnacle(agent, str(tmp_path), {})
    assert added != RunStart()


def test_copilot_has_an_option(tmp_path, home):
    write(home / ".copilot" / "mcp-config.json", '{"mcpServers": {"mine": {"command": "x"}, "binnacle": {}}}')
    write(
        tmp_path / ".mcp.json", '{"mcpServers": {"work": {"command": "/opt/bn", "args": ["-C", "/r", "mcp", "serve"]}}}'
    )
    added = leave_out_binnacle("copilot", str(tmp_path), {})
    assert added == RunStart(arguments=("--disable-mcp-server=binnacle", "--disable-mcp-server=work"))


def test_gemini_gets_the_sessions_server_alone(tmp_path):
    set_up("gemini", tmp_path, "project")
    assert leave_out_binnacle("gemini", str(tmp_path), {}).arguments == ("--allowed-mcp-server-names=bns",)


def test_opencode_keeps_its_settings(tmp_path):
    set_up("opencode", tmp_path, "project")
    settings = {"model": "m", "mcp": {"mine": {"enabled": True}}}
    added = leave_out_binnacle("opencode", str(tmp_path), {"OPENCODE_CONFIG_CONTENT": json.dumps(settings)})
    assert json.loads(added.env["OPENCODE_CONFIG_CONTENT"]) == {
        "model": "m",
        "mcp": {"mine": {"enabled": True}, "binnacle": {"enabled": False}},
    }
    with pytest.raises(ConfigError, match="OPENCODE_CONFIG_CONTENT"):
        leave_out_binnacle("opencode", str(tmp_path), {"OPENCODE_CONFIG_CONTENT": "["})


def test_goose_keeps_its_other_extensions(tmp_path, home):
    write(home / ".config" / "goose" / "config.yaml", "extensions:\n  developer:\n    enabled: true\n")
    set_up("goose", tmp_path, "user")
    added = leave_out_binnacle("goose", str(tmp_path), {})
    assert json.loads(added.env["EXTENSIONS"]) == {"developer": {"enabled": True}}
    assert leave_out_binnacle("goose", str(tmp_path), {"EXTENSIONS": "{}"}) == RunStart()


@pytest.mark.parametrize("agent", ["claude", "claude-agent-acp"])
def test_claude_is_told_when_a_session_is_opened(agent, tmp_path):
    set_up("claude", tmp_path, "project")
    options = {"disallowedTools": ["mcp__binnacle"]}
    assert leave_out_binnacle(agent, str(tmp_path), {}).session_meta == {"claudeCode": {"options": options}}


def test_what_claude_keeps_for_one_project_is_found(tmp_path, home):
    entry = {"command": "bn", "args": ["mcp", "serve"]}
    write(home / ".claude.json", json.dumps({"projects": {str(tmp_path): {"mcpServers": {"work": entry}}}}))
    assert "mcp__work" in str(leave_out_binnacle("claude", str(tmp_path), {}).session_meta)


def test_codex_gets_the_entry_switched_off_and_takes_other_servers_in_the_same_variable(tmp_path):
    set_up("codex", tmp_path, "project")  # which codex-acp reads: it trusts the folder it works in
    added = leave_out_binnacle("codex", str(tmp_path), {"CODEX_CONFIG": '{"model": "m"}'})
    config = json.loads(added.env["CODEX_CONFIG"])
    assert config["model"] == "m"
    assert config["mcp_servers"]["binnacle"]["enabled"] is False
    assert config["mcp_servers"]["binnacle"]["command"] == "bn"
    assert added.servers_variable == "CODEX_CONFIG"
