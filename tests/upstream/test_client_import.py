"""Servers in the files of nine clients, as each writes them, come out in one shape."""

import json
from pathlib import Path

import pytest

from binnacle.errors import ConfigError
from binnacle.upstream.configuration.client_import import ImportableServer, any_file, client_files, find_servers


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home/.config"))
    for name in ("COPILOT_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def worktree(tmp_path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def taken(path: Path, text: str, worktree: Path) -> dict[str, ImportableServer]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    found = find_servers(any_file(str(path), worktree=str(worktree)), projects=(str(worktree),))
    return {one.name: one for one in found}


def test_vs_code(home, worktree):
    found = taken(
        worktree / ".vscode/mcp.json",
        """{ // ours
        "inputs": [{"id": "k"}],
        "servers": {
            "gh": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${input:k}"}},
            "fs": {"command": "npx", "args": ["${workspaceFolder}"], "env": {"A": null, "B": "c"}, "dev": {}},
            "bad": {"type": "stdio"},
        } }""",
        worktree,
    )
    assert found["gh"].entry == {
        "transport": "http",
        "url": "https://h/mcp",
        "headers": {"Authorization": "Bearer ${input:k}"},
    }
    assert found["fs"].entry == {
        "transport": "stdio",
        "command": "npx",
        "args": ["${workspaceFolder}"],
        "env": {"B": "c"},
    }
    assert found["bad"].reason == "it names no command and no URL"


def test_claude_code_for_all_projects_and_for_this_one(home, worktree):
    servers = {
        "mcpServers": {"a": {"type": "stdio", "command": "user"}, "b": {"type": "sse", "url": "http://h/sse"}},
        "projects": {
            str(worktree): {"mcpServers": {"a": {"type": "stdio", "command": "local", "args": []}}},
            "/elsewhere": {"mcpServers": {"c": {"command": "no"}}},
        },
    }
    found = taken(home / ".claude.json", json.dumps(servers), worktree)
    assert {name: one.entry for name, one in found.items()} == {
        "a": {"transport": "stdio", "command": "local"},
        "b": {"transport": "sse", "url": "http://h/sse"},
    }
    assert found["a"].file.scope == "user"


def test_copilot(home, worktree):
    found = taken(
        home / ".copilot/mcp-config.json",
        '{"mcpServers": {"a": {"type": "local", "command": "x", "tools": ["*"]}, "b": {"url": "u", "tools": ["t"]}, '
        '"c": {"command": "x", "tools": []}}}',
        worktree,
    )
    assert found["a"].entry == {"transport": "stdio", "command": "x"}
    assert found["b"].entry["tools"] == {"allow": ["t"]}
    assert found["c"].entry["tools"] == {"deny": ["*"]}


def test_zed_in_its_old_shape_and_its_new_one(home, worktree):
    found = taken(
        home / ".config/zed/settings.json",
        """{"theme": "x", "context_servers": {
            "old": {"source": "custom", "command": {"path": "x", "args": ["-a"], "env": {"K": "v"}}},
            "new": {"command": "x", "args": ["-a"], "enabled": false},
            "extension": {"source": "extension", "settings": {}}}}""",
        worktree,
    )
    assert found["old"].entry == {"transport": "stdio", "command": "x", "args": ["-a"], "env": {"K": "v"}}
    assert found["new"].entry == {"transport": "stdio", "command": "x", "args": ["-a"], "enabled": False}
    assert found["extension"].reason


def test_opencode(home, worktree):
    found = taken(
        worktree / "opencode.json",
        """{"mcp": {
            "a": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"K": "{env:KEY}"}, "timeout": 5000},
            "b": {"type": "remote", "url": "https://h/mcp", "oauth": {"clientId": "me", "scope": "r w"}},
            "c": {"type": "local", "command": ["x"], "environment": {"K": "{file:~/key}"}}}}""",
        worktree,
    )
    assert found["a"].entry == {
        "transport": "stdio",
        "command": "npx",
        "args": ["-y", "x"],
        "env": {"K": "${KEY}"},
        "timeout": 5,
    }
    assert found["b"].entry["auth"] == {"type": "oauth", "client_id": "me", "scopes": "r w"}
    assert "from a file" in found["c"].reason


def test_codex(home, worktree):
    found = taken(
        home / ".codex/config.toml",
        """
        [mcp_servers.a]
        command = "x"
        args = ["-a"]
        env_vars = ["TOKEN"]
        env = { MODE = "fast" }
        startup_timeout_sec = 20
        enabled_tools = ["t"]
        surprise = 1

        [mcp_servers.b]
        url = "https://h/mcp"
        bearer_token_env_var = "B_TOKEN"
        env_http_headers = { "X-Key" = "B_KEY" }
        """,
        worktree,
    )
    assert found["a"].entry == {
        "transport": "stdio",
        "command": "x",
        "args": ["-a"],
        "env": {"MODE": "fast", "TOKEN": "${TOKEN}"},
        "tools": {"allow": ["t"]},
        "connect_timeout": 20,
    }
    assert found["a"].left_out == ("surprise",)
    assert found["b"].entry == {
        "transport": "http",
        "url": "https://h/mcp",
        "headers": {"X-Key": "${B_KEY}"},
        "auth": {"type": "api_key", "api_key": "${B_TOKEN}"},
    }


def test_gemini(home, worktree):
    found = taken(
        worktree / ".gemini/settings.json",
        """{"mcpServers": {
            "a": {"command": "x", "env": {"K": "$KEY", "L": "${LEVEL}"}, "trust": true, "excludeTools": ["t"]},
            "b": {"httpUrl": "https://h/mcp", "timeout": 30000},
            "c": {"url": "https://h/sse"}}}""",
        worktree,
    )
    assert found["a"].entry == {
        "transport": "stdio",
        "command": "x",
        "env": {"K": "${KEY}", "L": "${LEVEL}"},
        "tools": {"deny": ["t"]},
    }
    assert (found["b"].entry["transport"], found["b"].entry["timeout"]) == ("http", 30)
    assert found["c"].entry["transport"] == "sse"


def test_goose(home, worktree):
    found = taken(
        home / ".config/goose/config.yaml",
        """
        extensions:
          a: {enabled: true, type: stdio, name: a, cmd: x, args: [-a], envs: {M: f}, env_keys: [TOKEN], timeout: 300}
          b: {enabled: false, type: streamable_http, uri: "https://h/mcp", bundled: true}
          developer: {enabled: true, type: builtin}
        """,
        worktree,
    )
    assert found["a"].entry == {
        "transport": "stdio",
        "command": "x",
        "args": ["-a"],
        "env": {"M": "f", "TOKEN": "${TOKEN}"},
        "timeout": 300,
    }
    assert found["b"].entry == {"transport": "http", "url": "https://h/mcp", "enabled": False}
    assert found["b"].left_out == ("bundled",)
    assert found["developer"].reason == "'builtin' servers are part of goose"


def test_our_own_entry_is_never_taken(home, worktree):
    found = taken(
        worktree / ".mcp.json",
        '{"mcpServers": {"binnacle": {"url": "http://127.0.0.1:1/mcp"}, "bn": {"command": "/opt/bn", "args": ["mcp", '
        '"serve"]}, "x": {"command": "bn", "args": ["other"]}}}',
        worktree,
    )
    assert list(found) == ["x"]


def test_only_files_that_are_there_are_looked_into_the_projects_first(home, worktree):
    assert list(client_files(str(worktree))) == []
    (home / ".cursor").mkdir(parents=True)
    (home / ".cursor/mcp.json").write_text("{}")
    (worktree / ".mcp.json").write_text("{}")
    found = list(client_files(str(worktree)))
    assert [(one.client, one.scope) for one in found] == [("claude", "project"), ("cursor", "user")]
    assert list(client_files(str(worktree), only="zed")) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"mcpServers": {"a": {"command": "x"}}}'),
        ("b.json", '{"servers": {"a": {"command": "x"}}}'),
        ("settings.json", '{"mcp": {"servers": {"a": {"command": "x"}}}}'),
        ("c.toml", '[mcp_servers.a]\ncommand = "x"'),
        ("d.yml", "extensions: {a: {cmd: x, type: stdio}}"),
    ],
)
def test_any_file_can_be_named(home, worktree, name, text):
    found = taken(worktree / name, text, worktree)
    assert found["a"].entry == {"transport": "stdio", "command": "x"}
    assert found["a"].file.scope == "project"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"x": s3cret}'),
        ("a.json", "[]"),
        ("a.toml", "x = s3cret"),
        ("a.yaml", "a: [s3cret"),
        ("b.yaml", "1"),
    ],
)
def test_a_file_that_cannot_be_read_says_so_without_showing_it(home, worktree, name, text):
    with pytest.raises(ConfigError) as caught:
        taken(worktree / name, text, worktree)
    assert name in caught.value.message
    assert "s3cret" not in caught.value.message


def test_what_is_no_server_does_not_stop_the_others(home, worktree):
    found = taken(
        worktree / "a.json", '{"mcpServers": {"a": 3, "b": {"command": "x", "args": "y"}, "c": {}}}', worktree
    )
    assert found["a"].reason == "it is no object"
    assert found["c"].reason
    assert found["b"].entry == {"transport": "stdio", "command": "x", "args": "y"}
