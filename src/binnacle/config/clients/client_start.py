"""How to start each client on one session: with its prompt, and with the servers of its plan instead of its own.

Claude Code, Gemini CLI and goose have options to use no other servers. Copilot, opencode and Codex add to the servers
in their files, so those are switched off by name. Tested with Claude Code 2.1, Copilot CLI 1.0, opencode 1.18, Codex
0.166, Gemini CLI 0.61 and goose 1.52.
"""

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from binnacle.config.clients.client_files import locate
from binnacle.config.clients.configured_servers import configured_servers, parse_settings
from binnacle.config.clients.foreign_files import read
from binnacle.config.clients.known_clients import CLIENTS

_VARIABLE = re.compile(r"\$\{(\w+)\}")

Servers = Mapping[str, Mapping[str, Any]]
"""MCP servers by name, in the format of `mcp.json`."""


class SessionInput(NamedTuple):
    """The session that a client is started on."""

    prompt: str
    config: str
    """Path of the session's `mcp.json`."""

    servers: Servers
    """The content of that file."""

    ours: str
    """The name of the session's own server among them."""

    home: str
    """The home folder for a client that needs a separate one."""

    environ: Mapping[str, str]
    worktree: str
    is_interactive: bool
    """Whether a person can continue the conversation; otherwise clients work on their prompt and end."""


class ClientStart(NamedTuple):
    """How to start a client."""

    command: list[str]
    env: Mapping[str, str] = MappingProxyType({})
    """Additional variables."""

    files: Mapping[str, str] = MappingProxyType({})
    """Files in its home, by path."""

    links: Mapping[str, str] = MappingProxyType({})
    """Links in its home, by path."""


class ClientLauncher(NamedTuple):
    """A client that can be started on a session."""

    start: Callable[[SessionInput], ClientStart]
    install: str
    """How to install it."""


def claude(given: SessionInput) -> ClientStart:
    """Claude Code. The prompt comes first, because options take every word after them."""
    options = [f"--mcp-config={given.config}", "--strict-mcp-config", f"--allowedTools=mcp__{given.ours}__*"]
    return ClientStart(["claude", given.prompt, *options, *_headless(given, "-p")])


def copilot(given: SessionInput) -> ClientStart:
    """GitHub Copilot CLI."""
    others = [f"--disable-mcp-server={name}" for name in _others("copilot", given)]
    options = [f"--additional-mcp-config=@{given.config}", f"--allow-tool={given.ours}", *others]
    return ClientStart(["copilot", "-i" if given.is_interactive else "-p", given.prompt, *options])


def opencode(given: SessionInput) -> ClientStart:
    """opencode. Its settings for one run are in a variable; what a person put there stays."""
    settings = parse_settings("OPENCODE_CONFIG_CONTENT", given.environ.get("OPENCODE_CONFIG_CONTENT", ""))
    off = {name: {"enabled": False} for name in _others("opencode", given)}
    ours = {name: _for_opencode(server) for name, server in given.servers.items()}
    settings["mcp"] = {**settings.get("mcp", {}), **off, **ours}
    how = ["--prompt"] if given.is_interactive else ["run"]
    return ClientStart(["opencode", *how, given.prompt], {"OPENCODE_CONFIG_CONTENT": json.dumps(settings)})


def codex(given: SessionInput) -> ClientStart:
    """Codex."""
    words = ["codex", *_headless(given, "exec")]
    for name in _others("codex", given):
        words += ["-c", f"mcp_servers.{name}.enabled=false"]
    for name, server in given.servers.items():
        table = _for_codex(server)
        if name == given.ours:
            # Without `required` a server that is slow to start is missing in the first turn.
            table |= {"required": True, "default_tools_approval_mode": "approve", "env_vars": _variables(given)}
        words += ["-c", f"mcp_servers.{re.sub(r'[^A-Za-z0-9_-]', '_', name)}={_toml(table)}"]
    return ClientStart([*words, given.prompt])


def gemini(given: SessionInput) -> ClientStart:
    """Gemini CLI. It takes servers only from settings, so it gets a home with other settings and links to the rest."""
    home = locate(CLIENTS["gemini"].folder)
    path = os.path.join(home, "settings.json")
    settings = parse_settings(path, read(path) or "")
    settings["mcpServers"] = {name: _for_gemini(server) for name, server in given.servers.items()}
    # It does not pass variables that look like secrets to its servers, such as the address of a database.
    settings["mcpServers"][given.ours] |= {"trust": True, "env": {name: f"${{{name}}}" for name in _variables(given)}}
    # Without NO_RELAUNCH it starts a second process, and a signal would reach only the first.
    env = {"GEMINI_CLI_HOME": given.home, "GEMINI_CLI_NO_RELAUNCH": "true"}
    only = [f"--allowed-mcp-server-names={name}" for name in settings["mcpServers"]]
    command = ["gemini", *only, "-i" if given.is_interactive else "-p", given.prompt]
    shared = [entry for entry in _entries(home) if entry != "settings.json"]
    return ClientStart(
        command,
        env,
        {".gemini/settings.json": json.dumps(settings, indent=2) + "\n"},
        {f".gemini/{entry}": os.path.join(home, entry) for entry in shared},
    )


def _entries(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def goose(given: SessionInput) -> ClientStart:
    """goose. Without a profile it lacks its own tools too, so those for files and the shell are named."""
    words = ["goose", "run", "--no-profile", "--with-builtin", "developer"]
    for server in given.servers.values():
        if "url" in server:
            words += ["--with-streamable-http-extension", str(server["url"])]
        else:
            # Its servers have its whole environment.
            own = [f"{name}={value}" for name, value in _env(server).items() if value != f"${{{name}}}"]
            words += ["--with-extension", shlex.join([*own, *_command(server)])]
    return ClientStart([*words, *(["-s"] if given.is_interactive else []), "-t", given.prompt])


LAUNCHERS = {
    "claude": ClientLauncher(claude, "npm install -g @anthropic-ai/claude-code"),
    "copilot": ClientLauncher(copilot, "npm install -g @github/copilot"),
    "opencode": ClientLauncher(opencode, "npm install -g opencode-ai"),
    "codex": ClientLauncher(codex, "npm install -g @openai/codex"),
    "gemini": ClientLauncher(gemini, "npm install -g @google/gemini-cli"),
    "goose": ClientLauncher(goose, "see https://block.github.io/goose"),
}
"""Every client that can be started, by its name, which is also the name of its program."""


def _others(client: str, given: SessionInput) -> list[str]:
    """The other servers in a client's own files."""
    return [name for name in configured_servers(client, given.worktree) if name not in given.servers]


def _headless(given: SessionInput, word: str) -> list[str]:
    return [] if given.is_interactive else [word]


def _variables(given: SessionInput) -> list[str]:
    """The variables that determine where our server finds the project's data."""
    return sorted(name for name in given.environ if name.startswith(("BN_", "XDG_")))


def _command(server: Mapping[str, Any]) -> list[str]:
    return [str(word) for word in (server.get("command", ""), *(server.get("args") or ()))]


def _env(server: Mapping[str, Any], key: str = "env") -> dict[str, str]:
    return {str(name): str(value) for name, value in (server.get(key) or {}).items()}


def _for_opencode(server: Mapping[str, Any]) -> dict[str, Any]:
    def named(values: dict[str, str]) -> dict[str, str]:
        return {name: _VARIABLE.sub(r"{env:\1}", value) for name, value in values.items()}

    if "url" in server:
        where = {"type": "remote", "url": server["url"], "headers": named(_env(server, "headers"))}
    else:
        where = {"type": "local", "command": _command(server), "environment": named(_env(server))}
    return {**where, "enabled": True}


def _for_codex(server: Mapping[str, Any]) -> dict[str, Any]:
    if "url" in server:
        headers = _env(server, "headers")
        secret = {name: found[1] for name, value in headers.items() if (found := _VARIABLE.fullmatch(value))}
        plain = {name: value for name, value in headers.items() if name not in secret}
        return {"url": server["url"], "http_headers": plain, "env_http_headers": secret, "enabled": True}
    command, *args = _command(server)
    plain = {name: value for name, value in _env(server).items() if value != f"${{{name}}}"}
    passed = [name for name in _env(server) if name not in plain]
    return {"command": command, "args": args, "env": plain, "env_vars": passed, "enabled": True}


def _for_gemini(server: Mapping[str, Any]) -> dict[str, Any]:
    if "url" in server:
        kind = "url" if server.get("type") == "sse" else "httpUrl"
        return {kind: server["url"], "headers": _env(server, "headers")}
    command, *args = _command(server)
    return {"command": command, "args": args, "env": _env(server)}


def _toml(value: Any) -> str:
    """A value as TOML, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # JSON strings are TOML strings, except for this one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
