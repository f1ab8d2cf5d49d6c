"""How each client is told of its prompt and its servers."""

import json
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from binnacle.config.clients.client_start import LAUNCHERS, ClientStart, SessionInput
from binnacle.errors import ConfigError

SERVERS: dict[str, dict[str, Any]] = {
    "bns": {"type": "stdio", "command": "/a b/bn", "args": ["mcp", "serve", "--session", "bns-1"]},
    "docs": {"command": "docs", "args": ["-x"], "env": {"LEVEL": "high", "TOKEN": "${TOKEN}"}},
    "far": {"type": "http", "url": "https://far.example/mcp", "headers": {"X-Key": "${KEY}", "X-Team": "blue"}},
}

PROMPT = "## Task\n\nSay \"hello\" to 'all' of $HOME"


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def start(client: str, tmp_path: Path, **changes: Any) -> ClientStart:
    given = SessionInput(
        prompt=PROMPT,
        config="/s/bns-1/mcp.json",
        servers=SERVERS,
        ours="bns",
        home="/s/bns-1.home",
        environ={"BN_USER": "ann", "BN_STORE_URL": "postgres://x:y@z/", "PATH": "/bin"},
        worktree=str(tmp_path / "repo"),
        is_interactive=True,
    )
    return LAUNCHERS[client].start(given._replace(**changes))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def overrides(command: list[str]) -> dict[str, Any]:
    """What Codex makes of its `-c` options."""
    options = [value for option, value in pairwise(command) if option == "-c"]
    return tomllib.loads("\n".join(options))["mcp_servers"]


@pytest.mark.parametrize(
    ("client", "talking", "alone"),
    [
        ("claude", ["claude", PROMPT], ["claude", PROMPT]),
        ("copilot", ["copilot", "-i", PROMPT], ["copilot", "-p", PROMPT]),
        ("opencode", ["opencode", "--prompt", PROMPT], ["opencode", "run", PROMPT]),
        ("codex", ["codex", "-c"], ["codex", "exec", "-c"]),
        ("gemini", ["-i", PROMPT], ["-p", PROMPT]),
        ("goose", ["-s", "-t", PROMPT], ["-t", PROMPT]),
    ],
)
def test_the_prompt_comes_as_each_takes_it(client, talking, alone, home, tmp_path):
    for expected, is_interactive in ((talking, True), (alone, False)):
        command = start(client, tmp_path, is_interactive=is_interactive).command
        assert command[0] == client
        assert command.count(PROMPT) == 1
        places = [command[at : at + len(expected)] for at in range(len(command))]
        assert expected in places
    assert ("-p" in start("claude", tmp_path, is_interactive=False).command) is True
    assert "-s" not in start("goose", tmp_path, is_interactive=False).command


def test_claude_reads_the_file_and_nothing_else(home, tmp_path):
    command = start("claude", tmp_path).command
    assert command[2:] == ["--mcp-config=/s/bns-1/mcp.json", "--strict-mcp-config", "--allowedTools=mcp__bns__*"]


def test_copilot_reads_the_file_without_the_servers_of_its_own(home, tmp_path):
    write(home / ".copilot" / "mcp-config.json", '{"mcpServers": {"mine": {}, "binnacle": {}}}')
    write(tmp_path / "repo" / ".mcp.json", '{"mcpServers": {"ours": {}, "mine": {}, "docs": {}}}')
    write(tmp_path / "repo" / ".github" / "mcp.json", "{ broken")
    command = start("copilot", tmp_path).command
    assert command[3:] == [
        "--additional-mcp-config=@/s/bns-1/mcp.json",
        "--allow-tool=bns",
        "--disable-mcp-server=mine",
        "--disable-mcp-server=binnacle",
        "--disable-mcp-server=ours",
    ]


def test_opencode_gets_its_servers_in_a_variable(home, tmp_path):
    write(home / ".config" / "opencode" / "opencode.jsonc", '{"mcp": {"mine": {}, "binnacle": {}}, /* … */}')
    write(tmp_path / "repo" / ".opencode" / "opencode.json", '{"mcp": {"ours": {}}}')
    environ = {"OPENCODE_CONFIG_CONTENT": '{"model": "m", "mcp": {"theirs": {"enabled": false}}}'}
    settings = json.loads(start("opencode", tmp_path, environ=environ).env["OPENCODE_CONFIG_CONTENT"])
    servers = settings.pop("mcp")
    assert settings == {"model": "m"}
    assert {name for name, server in servers.items() if not server["enabled"]} == {"mine", "binnacle", "ours", "theirs"}
    assert servers["bns"]["command"] == ["/a b/bn", "mcp", "serve", "--session", "bns-1"]
    assert servers["docs"]["environment"] == {"LEVEL": "high", "TOKEN": "{env:TOKEN}"}
    assert servers["far"] == {
        "type": "remote",
        "url": "https://far.example/mcp",
        "headers": {"X-Key": "{env:KEY}", "X-Team": "blue"},
        "enabled": True,
    }


@pytest.mark.parametrize("text", ["{", "[]"])
def test_settings_in_the_variable_that_cannot_be_read_are_complained_of(home, tmp_path, text):
    with pytest.raises(ConfigError, match="OPENCODE_CONFIG_CONTENT"):
        start("opencode", tmp_path, environ={"OPENCODE_CONFIG_CONTENT": text})


def test_codex_gets_its_servers_as_overrides(home, tmp_path):
    servers = overrides(start("codex", tmp_path).command)
    assert servers["bns"] == {
        "command": "/a b/bn",
        "args": ["mcp", "serve", "--session", "bns-1"],
        "env": {},
        "env_vars": ["BN_STORE_URL", "BN_USER"],
        "enabled": True,
        "required": True,
        "default_tools_approval_mode": "approve",
    }
    assert servers["docs"]["env"] == {"LEVEL": "high"}
    assert servers["docs"]["env_vars"] == ["TOKEN"]
    assert servers["far"]["http_headers"] == {"X-Team": "blue"}
    assert servers["far"]["env_http_headers"] == {"X-Key": "KEY"}


@pytest.mark.parametrize("trust", ["trusted", "untrusted"])
def test_codex_leaves_out_the_servers_of_its_own(home, tmp_path, trust):
    project = f'[projects."{tmp_path / "repo"}"]\ntrust_level = "{trust}"\n'
    write(home / ".codex" / "config.toml", f'{project}[mcp_servers.mine]\ncommand = "x"\n[mcp_servers.binnacle]\n')
    write(tmp_path / "repo" / ".codex" / "config.toml", '[mcp_servers.ours]\ncommand = "x"\n')
    servers = overrides(start("codex", tmp_path).command)
    off = {name for name, server in servers.items() if not server["enabled"]}
    assert off == ({"mine", "binnacle", "ours"} if trust == "trusted" else {"mine", "binnacle"})


@pytest.mark.parametrize("word", ['a "quoted" \\ word', "tab\tnewline\n", "delete\x7f", "ünïcode \U0001f600"])
def test_codex_gets_every_word_as_it_is(home, tmp_path, word):
    servers = {"bns": {"command": word, "args": [word]}, "my server": {"command": word, "env": {word: word}}}
    found = overrides(start("codex", tmp_path, servers=servers).command)
    assert (found["bns"]["command"], found["bns"]["args"]) == (word, [word])
    assert found["my_server"]["env"] == {word: word}


def test_gemini_gets_a_home_with_other_servers_and_all_else_in_it(home, tmp_path):
    write(home / ".gemini" / "settings.json", '{"theme": "dark", "mcpServers": {"mine": {"command": "x"}}} // …')
    write(home / ".gemini" / "oauth_creds.json", "{}")
    started = start("gemini", tmp_path)
    assert started.env == {"GEMINI_CLI_HOME": "/s/bns-1.home", "GEMINI_CLI_NO_RELAUNCH": "true"}
    assert started.links == {".gemini/oauth_creds.json": str(home / ".gemini" / "oauth_creds.json")}
    settings = json.loads(started.files[".gemini/settings.json"])
    assert settings["theme"] == "dark"
    names = ["bns", "docs", "far"]
    assert list(settings["mcpServers"]) == names
    assert started.command[1:4] == [f"--allowed-mcp-server-names={name}" for name in names]
    ours = settings["mcpServers"]["bns"]
    assert ours["env"] == {"BN_STORE_URL": "${BN_STORE_URL}", "BN_USER": "${BN_USER}"}
    assert ours["trust"] is True
    assert settings["mcpServers"]["far"] == {"httpUrl": "https://far.example/mcp", "headers": SERVERS["far"]["headers"]}
    assert "trust" not in settings["mcpServers"]["docs"]


def test_goose_gets_its_servers_as_extensions_and_no_profile(home, tmp_path):
    command = start("goose", tmp_path).command
    assert command[:5] == ["goose", "run", "--no-profile", "--with-builtin", "developer"]
    ours, docs = (value for option, value in pairwise(command) if option == "--with-extension")
    assert shlex.split(ours) == ["/a b/bn", "mcp", "serve", "--session", "bns-1"]
    assert shlex.split(docs) == ["LEVEL=high", "docs", "-x"]
    assert command[command.index("--with-streamable-http-extension") + 1] == "https://far.example/mcp"
