"""Servers as people configure them: every source, every shape, and what is said about mistakes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from binnacle.config.trust import keep
from binnacle.upstream.configuration.server_config import (
    AuthConfig,
    ConfigSource,
    LoadedServers,
    ServerLimits,
    ToolRules,
)
from binnacle.upstream.configuration.server_loader import find_changes, fingerprint, load_servers
from binnacle.upstream.configuration.server_overview import find_items

Load = Callable[..., LoadedServers]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def load(repo: Path, environ: dict[str, str]) -> Load:
    """Loads the project, after writing its file if one is given."""

    def loaded(content: Any = None, *, env: dict[str, str] | None = None, **options: Any) -> LoadedServers:
        if content is not None:
            write(repo / ".binnacle/mcp.json", content)
        return load_servers(str(repo), environ=environ | (env or {}), **options)

    return loaded


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def only(loaded: LoadedServers) -> Any:
    assert loaded.problems == ()
    (server,) = loaded.servers.values()
    return server


def test_a_project_without_files_has_no_servers(load):
    assert load() == LoadedServers({}, ())


def test_the_example_of_the_seed_is_read(load):
    loaded = load(
        {
            "servers": {
                "database": {
                    "transport": "stdio",
                    "command": "npx",
                    "args": ["-y", "@modelcontextprotocol/server-postgres"],
                    "env": {"DATABASE_URL": "postgresql://localhost/mydb"},
                },
                "custom-api": {
                    "transport": "http",
                    "url": "https://api.example.com/mcp",
                    "auth": {"type": "api_key", "headerName": "X-API-Key", "apiKey": "${CUSTOM_API_KEY}"},
                },
            }
        },
        env={"CUSTOM_API_KEY": "k-1"},
    )
    assert loaded.problems == ()
    database, api = loaded.servers["database"], loaded.servers["custom-api"]
    assert (database.transport, database.command, database.args[1]) == (
        "stdio",
        "npx",
        "@modelcontextprotocol/server-postgres",
    )
    assert database.env == {"DATABASE_URL": "postgresql://localhost/mydb"}
    assert api.auth == AuthConfig(type="api_key", header_name="X-API-Key", api_key="k-1")


def test_everything_can_be_said_in_both_spellings(load):
    snake = {
        "url": "https://h/mcp",
        "headers": {"X-Team": "a"},
        "timeout": 5,
        "connect_timeout": 2.5,
        "lazy": True,
        "pin": "strict",
        "protocol": "stateless",
        "auth": {"auth_url": "https://a/x", "token_url": "https://a/y", "client_id": "me", "scopes": ["r", "w"]},
        "tools": {"allow": ["a*"], "deny": ["ab"], "rename": {"a": "b"}},
        "limits": {"result_bytes": 10, "concurrency": 2, "per_minute": 30, "progress_extends": False},
    }
    camel = snake | {
        "auth": {"authUrl": "https://a/x", "tokenUrl": "https://a/y", "clientId": "me", "scope": "r w"},
        "connectTimeout": 2.5,
        "limits": {"resultBytes": 10, "concurrency": 2, "perMinute": 30, "progressExtends": False},
    }
    del camel["connect_timeout"]
    first, second = (only(load({"servers": {"api": one}})) for one in (snake, camel))
    assert replace(first, written={}) == replace(second, written={})
    assert first.auth == AuthConfig(
        type="oauth", auth_url="https://a/x", token_url="https://a/y", client_id="me", scopes=("r", "w")
    )
    assert first.tools == ToolRules(allow=("a*",), deny=("ab",), rename={"a": "b"})
    assert first.limits == ServerLimits(result_bytes=10, concurrency=2, per_minute=30, progress_extends=False)
    assert (first.timeout, first.connect_timeout, first.lazy, first.pin, first.protocol) == (
        5.0,
        2.5,
        True,
        "strict",
        "stateless",
    )


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"command": "x"}, "stdio"),
        ({"type": "stdio", "command": "x"}, "stdio"),
        ({"type": "local", "command": "x", "tools": ["*"]}, "stdio"),
        ({"url": "http://h/"}, "http"),
        ({"type": "http", "url": "http://h/"}, "http"),
        ({"type": "streamable-http", "url": "http://h/"}, "http"),
        ({"type": "sse", "url": "http://h/"}, "sse"),
        ({"type": "ws", "url": "ws://h/"}, "websocket"),
        ({"type": "websocket", "url": "wss://h/"}, "websocket"),
        ({"url": "wss://h/"}, "websocket"),
        ({"httpUrl": "http://h/", "trust": True}, "http"),
        ({"transport": "sse", "url": "https://h/sse", "description": "d"}, "sse"),
    ],
)
@pytest.mark.parametrize("container", ["servers", "mcpServers"])
def test_the_shapes_of_clients_are_read(load, container, entry, transport):
    assert only(load({container: {"one": entry}})).transport == transport


def test_a_disabled_server_is_there_but_its_variables_are_not_asked_for(load):
    for switch in ({"enabled": False}, {"disabled": True}):
        server = only(load({"servers": {"off": {"command": "${NOPE}", **switch}}}))
        assert not server.enabled


def test_the_tool_lists_of_clients_are_rules(load):
    server = only(load({"mcpServers": {"one": {"command": "x", "tools": ["a"], "disabledTools": ["b"]}}}))
    assert server.tools == ToolRules(allow=("a",), deny=("b",))
    assert only(load({"mcpServers": {"one": {"command": "x", "tools": []}}})).tools == ToolRules(deny=("*",))


def test_inputs_of_vs_code_come_from_the_environment(load):
    content = {
        "inputs": [{"type": "promptString", "id": "api-key", "password": True}],
        "servers": {"one": {"type": "stdio", "command": "x", "env": {"KEY": "${input:api-key}"}}},
    }
    (problem,) = load(content).problems
    assert problem.message == "env.KEY: ${input:api-key} is not defined"
    assert "BN_INPUT_API_KEY" in problem.hint
    assert only(load(content, env={"BN_INPUT_API_KEY": "v"})).env == {"KEY": "v"}


def test_comments_trailing_commas_and_a_byte_order_mark_are_all_right(load):
    server = only(load('\ufeff{ // ours\n "servers": {\n  /* one */ "one": {"command": "x",},\n },\n}\n'))
    assert server.source.line == 3


def test_a_directory_is_below_the_project(load, repo):
    assert only(load({"servers": {"one": {"command": "x", "cwd": "sub/.."}}})).cwd == str(repo)
    assert only(load({"servers": {"one": {"command": "x", "cwd": "${workspaceFolder}/sub"}}})).cwd == f"{repo}/sub"


def test_flags_beat_the_project_which_beats_the_user_and_a_discipline_only_adds(load, repo, tmp_path):
    files = [
        repo / ".binnacle/mcp.json",
        repo / ".beans/mcp.json",
        tmp_path / "config/binnacle/mcp.json",
        tmp_path / "home/.config/beans-agent/mcp.json",
    ]
    for number, file in enumerate(files):
        write(file, {"servers": {name: {"command": f"from-{number}"} for name in "abcd"[: number + 1]}})
    keep(str(repo), find_items(str(repo)), by="ann", at="", how="terminal")
    loaded = load(flags=["a=flag --one 'two three'"], discipline={"d": {"command": "no"}, "e": {"command": "yes"}})
    assert loaded.problems == ()
    assert {name: (one.command, one.source.kind) for name, one in loaded.servers.items()} == {
        "a": ("flag", "cli"),
        "b": ("from-1", "project"),
        "c": ("from-2", "user"),
        "d": ("from-3", "user"),
        "e": ("yes", "discipline"),
    }
    assert loaded.servers["a"].args == ("--one", "two three")
    assert loaded.servers["b"].source == ConfigSource("project", str(files[1]), 1)


def test_a_broken_entry_keeps_its_name_from_being_taken_by_another(load, tmp_path):
    write(tmp_path / "repo/.beans/mcp.json", {"servers": {"a": {"command": "other"}}})
    loaded = load({"servers": {"a": {"comand": "mine"}}})
    assert loaded.servers == {}


def test_flags_take_urls_and_commands_and_say_what_they_want(load):
    loaded = load(flags=["web=https://h/mcp", "live=wss://h/", "run=tool $HOME;ls", "oops", "bad='", "empty=", "web=x"])
    assert {name: one.transport for name, one in loaded.servers.items()} == {
        "web": "http",
        "live": "websocket",
        "run": "stdio",
    }
    assert loaded.servers["run"].args == ("$HOME;ls",)
    assert [(one.server, one.where) for one in loaded.problems] == [
        ("", "--mcp-server"),
        ("bad", "--mcp-server"),
        ("empty", "--mcp-server"),
        ("web", "--mcp-server"),
    ]


@pytest.mark.parametrize(
    ("entry", "message", "hint"),
    [
        ({"command": "x", "arg": ["a"]}, "arg: unknown key", "did you mean 'args'?"),
        ({"command": "x", "tools": {"denny": ["a"]}}, "tools.denny: unknown key", "did you mean 'deny'?"),
        ({"url": "http://h", "auth": {"apikey": "x"}}, "auth.apikey: unknown key", "did you mean 'api_key'?"),
        ({"command": "x", "args": "-y foo"}, "args: expected a list of strings, not a string", "write each word"),
        ({"command": "x", "args": [{}]}, "args: expected a list of strings, but item 1 is an object", ""),
        ({"command": ["x"]}, "command: expected a string, not a list", ""),
        ({"command": "x", "env": ["A=b"]}, "env: expected an object of strings, not a list", ""),
        ({"command": "x", "env": {"A": None}}, "env: A: expected a string, not null", ""),
        ({"command": "x", "env": {"A=B": "c"}}, "env: no name of an environment variable: 'A…'", ""),
        ({"command": "x", "enabled": "yes"}, "enabled: expected true or false, not a string", ""),
        ({"command": "x", "timeout": "10"}, "timeout: expected a number of seconds, not a string", ""),
        ({"command": "x", "timeout": 30000}, "timeout: expected more than 0", "it is in seconds: 30"),
        ({"command": "x", "timeout": 0}, "timeout: expected more than 0", ""),
        ({"command": "x", "limits": {"concurrency": 0}}, "limits.concurrency: expected at least 1, not 0", ""),
        ({"command": "x", "limits": 3}, "limits: expected an object, not a number", ""),
        ({"command": "x", "type": "studio"}, "type: expected one of stdio, http", "did you mean 'stdio'?"),
        ({"command": "x", "pin": "strickt"}, "pin: expected one of warn, strict, off", "did you mean 'strict'?"),
        ({}, "'command' or 'url' is missing", ""),
        ({"type": "http"}, "'url' is missing", ""),
        ({"type": "stdio"}, "'command' is missing", ""),
        ({"command": ""}, "command: is empty", ""),
        ({"command": "x", "url": "http://h"}, "url: both 'command' and 'url' are there", ""),
        ({"type": "http", "command": "x"}, "type: http needs 'url'", "did you mean 'stdio'?"),
        ({"type": "stdio", "url": "http://h"}, "type: stdio needs 'command'", "did you mean 'http'?"),
        ({"url": "ftp://h/x"}, "url: expected a URL with http:// or https://", ""),
        ({"url": "h/x"}, "url: expected a URL with http:// or https://", ""),
        ({"url": "http://"}, "url: not a URL: no host is in it", ""),
        ({"url": "http://h:port/"}, "url: not a URL: its host or port cannot be read", ""),
        ({"url": "http://h/a b"}, "url: not a URL: a space is in it", ""),
        ({"type": "ws", "url": "http://h"}, "url: expected a URL with ws:// or wss://", ""),
        ({"url": "http://h", "args": ["x"]}, "args: only for servers with a command", ""),
        ({"command": "x", "headers": {"A": "b"}}, "headers: only for servers with a url", ""),
        ({"url": "http://h", "headers": {"A B": "c"}}, "headers: no name of a header: 'A…'", ""),
        ({"url": "http://h", "headers": {"A": "b\nC: d"}}, "headers: A: a line break is in it", ""),
        ({"url": "http://h", "auth": {"type": "api_key"}}, "auth: 'api_key' is missing", ""),
        ({"url": "http://h", "auth": {"type": "token_file"}}, "auth: 'token_path' is missing", ""),
        ({"url": "http://h", "auth": {"apiKey": "${EMPTY}"}}, "auth.apiKey: is empty", ""),
        ({"url": "http://h", "type": "http", "transport": "sse"}, "transport: is there twice, under two names", ""),
        ({"command": "bn", "args": ["mcp", "serve"]}, "command: this is Binnacle itself", ""),
        ({"command": "x", "tools": {"rename": {"a": "c", "b": "c"}}}, "tools.rename: two tools get the same name", ""),
        ({"command": "${NOPE}"}, "command: ${NOPE} is not defined", "export NOPE"),
        ({"command": "x", "env": {"A": "${env:NOPE}"}}, "env.A: ${env:NOPE} is not defined", "export NOPE"),
        ({"command": "x", "env": {"A": "${BYTES}"}}, "env: it is not Unicode text", ""),
        ("npx", "expected an object, not a string", ""),
    ],
)
def test_a_mistake_is_named_with_its_place_and_the_other_servers_stay(load, repo, entry, message, hint):
    text = '{\n "servers": {\n  "good": {"command": "x"},\n  "bad":\n   ' + json.dumps(entry) + "\n }\n}"
    loaded = load(text, env={"EMPTY": "", "BYTES": "\udcff"})
    assert list(loaded.servers) == ["good"]
    (problem,) = loaded.problems
    assert problem.server == "bad"
    assert problem.where in {f"{repo}/.binnacle/mcp.json:4", f"{repo}/.binnacle/mcp.json:5"}
    assert problem.message.startswith(message)
    assert hint in problem.hint


def test_all_mistakes_of_an_entry_are_said_at_once(load):
    loaded = load('{"servers": {"bad": {\n"command": 3,\n"timeout": -1,\n"lasy": true}}}')
    assert [(one.where.rpartition(":")[2], one.message.partition(":")[0]) for one in loaded.problems] == [
        ("4", "lasy"),
        ("2", "command"),
        ("3", "timeout"),
    ]


@pytest.mark.parametrize("name", ["My Server", "a/b", "", "-x", "é", "x" * 65, "a\nb"])
def test_a_bad_name_is_refused(load, name):
    (problem,) = load({"servers": {name: {"command": "x"}}}).problems
    assert "a server's name" in problem.message


def test_a_better_name_is_offered(load):
    (problem,) = load({"servers": {"My Server": {"command": "x"}}}).problems
    assert problem.hint == "call it 'My-Server'"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ('{"servers": {\n "a": }}', 2, "expected a value, not '}'"),
        ("[]", 1, "expected an object"),
        ('{\n"servers": []}', 2, "servers: expected an object"),
        ('{"servers": {"a": {"command": "\\ud800"}}}', 0, "not Unicode: half of a surrogate pair is in it"),
        ('{"servers": {}', 1, "expected ',' or '}', not the end of the file"),
    ],
)
def test_a_broken_file_is_a_problem_and_the_other_files_still_count(load, tmp_path, repo, content, line, message):
    write(tmp_path / "config/binnacle/mcp.json", {"servers": {"mine": {"command": "x"}}})
    loaded = load(content)
    assert list(loaded.servers) == ["mine"]
    (problem,) = loaded.problems
    assert (problem.server, problem.where, problem.message) == (
        "",
        f"{repo}/.binnacle/mcp.json{f':{line}' * bool(line)}",
        message,
    )
    assert problem.hint


def test_a_file_that_is_not_utf8_or_not_a_file_is_a_problem(load, repo):
    write(repo / ".binnacle/mcp.json", "x").write_bytes(b'{"servers": "\xff"}')
    (repo / ".beans/mcp.json").mkdir(parents=True)
    first, second = load().problems
    assert "not UTF-8" in first.message
    assert "cannot read" in second.message


def test_keys_outside_of_the_servers_are_not_overlooked(load, repo):
    loaded = load(
        '{"server": {},\n "stray": {"url": "http://h"},\n "$schema": "x", "servers": {"a": {"command": "x"}}}'
    )
    assert list(loaded.servers) == ["a"]
    assert [(one.server, one.hint) for one in loaded.problems] == [
        ("server", "did you mean 'servers'?"),
        ("stray", "put it below 'servers'"),
    ]


def test_a_name_or_key_that_is_there_twice_is_said(load):
    loaded = load(
        '{"servers": {"a": {"command": "x"},\n "a": {"command": "y"},\n "b": {"command": "x",\n "command": "y"}}}'
    )
    assert loaded.servers["a"].command == "x"
    assert [(one.server, one.where.rpartition(":")[2]) for one in loaded.problems] == [("a", "2"), ("b", "4")]


def test_loading_changes_nothing_and_gives_the_same_again(load, repo):
    content = {"servers": {"a": {"command": "x", "env": {"A": "${HOME}"}}, "b": {}}}
    assert load(content) == load()
    assert [path.name for path in (repo / ".binnacle").iterdir()] == ["mcp.json"]


def test_only_what_really_changed_counts_as_changed(load):
    old = load({"servers": {"a": {"command": "x"}, "b": {"url": "http://h"}, "c": {"command": "z"}}})
    new = load(
        '{\n\n"servers": {"b": {"url": "http://h"},\n "a": {"command": "x", "lazy": true}, "d": {"command": "n"}}}'
    )
    assert find_changes(old, new) == (("c",), ("a", "d"))
    assert find_changes(
        new, load('{"servers": {"a": {"command": "x", "lazy": true}, "b": {"url": "http://h"}, "d": {"command": "n"}}}')
    ) == ((), ())


def test_a_variable_that_changed_counts_too(load):
    content = {"servers": {"a": {"command": "x", "env": {"A": "${V}"}}}}
    assert find_changes(load(content, env={"V": "1"}), load(env={"V": "2"})) == ((), ("a",))


def test_servers_in_a_file_that_is_being_written_run_on(load):
    old = load({"servers": {"a": {"command": "x"}, "b": {"command": "y"}}})
    assert find_changes(old, load('{"servers": {"a": {"command": ')) == ((), ())
    assert find_changes(old, load({"servers": {"a": {"comand": "x"}}})) == (("b",), ())


def test_the_fingerprint_changes_with_every_file(load, repo, tmp_path, environ):
    seen = {fingerprint(str(repo), environ)}
    for place in (repo / ".binnacle/mcp.json", repo / ".beans/mcp.json", tmp_path / "config/binnacle/trust.json"):
        write(place, "{}")
        seen.add(fingerprint(str(repo), environ))
    assert fingerprint(str(repo), environ) in seen
    (repo / ".beans/mcp.json").unlink()
    seen.add(fingerprint(str(repo), environ))
    assert len(seen) == 5
