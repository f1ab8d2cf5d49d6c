"""The name of a session's server: one that no server in a client's own files has."""

from pathlib import Path

import pytest

from binnacle.config.clients.session_server import SESSION_SERVER, free_server_name


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_it_is_short_and_is_not_what_clients_are_set_up_with(tmp_path):
    write(tmp_path / ".mcp.json", '{"mcpServers": {"binnacle": {"command": "bn"}}}')
    assert free_server_name(str(tmp_path)) == SESSION_SERVER == "bns"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("repo/.mcp.json", '{"mcpServers": {"bns": {}}}'),
        ("repo/.opencode/opencode.jsonc", '{"mcp": {"BNS": {}}}'),
        ("repo/.gemini/settings.json", '{"mcpServers": {"bns": {}'),
        ("home/.codex/config.toml", "[mcp_servers.bns]\ncommand = 'x'\n"),
        ("home/.claude.json", '{"projects": {"/repo": {"mcpServers": {"bns": {}}}}}'),
        ("home/.config/goose/config.yaml", "extensions:\n  bns:\n    cmd: x\n"),
    ],
)
def test_where_a_file_has_that_name_it_is_another(file, text, tmp_path):
    write(tmp_path / file, text)
    assert free_server_name(str(tmp_path / "repo")) == "bns2"
    assert free_server_name(str(tmp_path / "repo"), taken=("bns2",)) == "bns3"


def test_the_id_of_a_session_in_a_file_is_not_that_name(tmp_path, home):
    write(home / ".claude.json", '{"history": ["go on with bns-0001", "abns"]}')
    assert free_server_name(str(tmp_path)) == "bns"


def test_a_file_that_cannot_be_read_is_left_out(tmp_path, home):
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_bytes(b"\xff\xfe bns")
    assert free_server_name(str(tmp_path)) == "bns"
