"""How to start the agent of a run without the Binnacle server in its own files.

A run gives its agents the server of their session. The server that `bn system init` wrote into a client's files would
run in addition, with more tools than the session's plan allows. So it is switched off, by the means that each client
has: an option, a variable, or a field of the request that opens a session over ACP. Other configuration stays.

In codex-acp, the servers of that request replace all servers in its variable. So it gets the session's server in the
variable too, and none in the request. Gemini CLI has only a list of allowed servers, and asks for no permission to call
those; so the list has only the session's server. Tested with Copilot CLI 1.0.102, opencode 1.18.33, goose 1.52,
claude-agent-acp 0.99, codex-acp 2.6 and Gemini CLI 0.61.
"""

import json
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from binnacle.config.clients.client_files import locate
from binnacle.config.clients.configured_servers import Servers, own_entries, parse_settings, read_document
from binnacle.config.clients.known_clients import CLIENTS

CODEX_CONFIG = "CODEX_CONFIG"
"""Settings of codex-acp, as JSON."""

EMPTY: Mapping[str, Any] = MappingProxyType({})


class RunStart(NamedTuple):
    """Additions to the start of an agent."""

    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = EMPTY
    session_meta: Mapping[str, Any] = EMPTY
    """`_meta` of the request that opens a session."""

    servers_variable: str = ""
    """The variable that gets the servers of a session, as JSON, instead of that request."""


def leave_out_binnacle(agent: str, folder: str, environ: Mapping[str, str], *, server: str) -> RunStart:
    """The additions for an agent that works in `folder`; none if its files have no Binnacle server.

    `server` is the name of the session's server.

    Raises:
        ConfigError: settings in a variable of the client cannot be read.
    """
    client = _ADAPTERS.get(agent, agent)
    if client not in _WAYS:
        return RunStart()
    ours = own_entries(client, folder)
    return _WAYS[client](_Found(ours, environ, server)) if ours else RunStart()


class _Found(NamedTuple):
    ours: Servers
    """The servers to switch off."""

    environ: Mapping[str, str]
    server: str
    """The name of the session's server."""


def _copilot(found: _Found) -> RunStart:
    return RunStart(arguments=tuple(f"--disable-mcp-server={name}" for name in found.ours))


def _gemini(found: _Found) -> RunStart:
    return RunStart(arguments=(f"--allowed-mcp-server-names={found.server}",))


def _opencode(found: _Found) -> RunStart:
    settings = parse_settings("OPENCODE_CONFIG_CONTENT", found.environ.get("OPENCODE_CONFIG_CONTENT", ""))
    settings["mcp"] = {**settings.get("mcp", {}), **{name: {"enabled": False} for name in found.ours}}
    return RunStart(env={"OPENCODE_CONFIG_CONTENT": json.dumps(settings)})


def _goose(found: _Found) -> RunStart:
    """For goose, which takes any setting from a variable with its name, but only completely."""
    if "EXTENSIONS" in found.environ:
        return RunStart()
    path = os.path.join(locate(CLIENTS["goose"].folder), CLIENTS["goose"].user[0])
    extensions = read_document("goose", path)["extensions"]
    others = {name: entry for name, entry in extensions.items() if name not in found.ours}
    return RunStart(env={"EXTENSIONS": json.dumps(others, default=str)})


def _claude(found: _Found) -> RunStart:
    denied = [f"mcp__{name}" for name in found.ours]
    return RunStart(session_meta={"claudeCode": {"options": {"disallowedTools": denied}}})


def _codex(found: _Found) -> RunStart:
    config = parse_settings(CODEX_CONFIG, found.environ.get(CODEX_CONFIG, ""))
    off = {name: {**entry, "enabled": False} for name, entry in found.ours.items()}
    config["mcp_servers"] = {**config.get("mcp_servers", {}), **off}
    return RunStart(env={CODEX_CONFIG: json.dumps(config)}, servers_variable=CODEX_CONFIG)


_ADAPTERS = {"codex-acp": "codex", "claude-agent-acp": "claude", "claude-code-acp": "claude"}
"""ACP adapters of clients, and the client whose files each reads."""

_WAYS: Mapping[str, Callable[[_Found], RunStart]] = {
    "copilot": _copilot,
    "opencode": _opencode,
    "goose": _goose,
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
}
