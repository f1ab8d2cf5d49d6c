"""Finds the servers in the files of other clients and puts them into our shape.

Each client has its own words: opencode writes a command as one list and variables as `{env:X}`, Codex passes variables
on by name, Gemini CLI writes `$X` and counts in milliseconds. Keys without a meaning here are left out and reported.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from binnacle.config.clients.client_files import locate
from binnacle.config.clients.config_text import NAME, ConfigText
from binnacle.config.clients.foreign_files import read
from binnacle.config.clients.jsonc_parser import parse
from binnacle.config.clients.known_clients import CLIENTS, Format, KnownClient, Scope
from binnacle.config.repository_files import is_file_inside
from binnacle.errors import ConfigError
from binnacle.upstream.configuration.server_entry import IGNORED, TRANSPORTS, is_ourselves, snake_case

_CONTAINERS = tuple(dict.fromkeys(("mcpServers", "servers", *(client.container for client in CLIENTS.values()))))
_BARE = re.compile(r"(?<![\w$])\$([A-Za-z_]\w*)")
_BRACED = re.compile(r"\{env:(\w+)\}")
_AS_THEY_ARE = ("cwd", "auth", "lazy", "pin", "protocol", "limits", "connect_timeout")
_OURS_TO_KEEP = frozenset(_AS_THEY_ARE) | {"command", "cmd", "args", "url", "uri", "http_url", "server_url"}
_TRANSLATED = frozenset(
    {"type", "transport", "env", "environment", "envs", "env_vars", "env_keys", "headers", "http_headers"}
    | {"env_http_headers", "bearer_token_env_var", "timeout", "tool_timeout_sec", "startup_timeout_sec"}
    | {"enabled", "disabled", "tools", "include_tools", "exclude_tools", "enabled_tools", "disabled_tools", "oauth"}
)


class ClientFile(NamedTuple):
    """A file of a client that is on this machine."""

    path: str
    format: Format
    container: str
    """Empty if it may be any."""

    scope: Scope
    client: str = ""


class ImportableServer(NamedTuple):
    """A server in a client's file."""

    name: str
    file: ClientFile
    entry: dict[str, Any]
    """In our shape; empty if it could not be imported."""

    left_out: tuple[str, ...] = ()
    """Keys that mean nothing here."""

    reason: str = ""
    """Why it could not be imported."""


def client_files(worktree: str, *, only: str = "") -> Iterator[ClientFile]:
    """The files of all clients, or of one, that exist: those of the project first."""
    clients = [client for client in CLIENTS.values() if only in ("", client.name)]
    for client in clients:
        yield from _find_existing(client, "project", worktree, client.project)
    for client in clients:
        yield from _find_existing(client, "user", locate(client.folder), client.user)


def any_file(path: str, *, worktree: str) -> ClientFile:
    """A file that a person names; a file of a known client is read as that client's.

    Raises:
        ConfigError: it is not there.
    """
    if not os.path.isfile(path):
        raise ConfigError(f"no such file: {path!r}", hint=f"give a file, or one of: {', '.join(CLIENTS)}")
    real = os.path.realpath(path)
    for known in client_files(worktree):
        if os.path.realpath(known.path) == real:
            return known
    formats: dict[str, Format] = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
    is_inside = real.startswith(os.path.realpath(worktree) + os.sep)
    kind = formats.get(os.path.splitext(path)[1].lower(), "jsonc")
    return ClientFile(os.path.abspath(path), kind, "", "project" if is_inside else "user")


def find_servers(file: ClientFile, *, projects: Sequence[str]) -> Iterator[ImportableServer]:
    """The servers in a file, except our own entry.

    Args:
        projects: directories under which Claude Code may keep servers of this project in its own file.

    Raises:
        ConfigError: the file cannot be read.
    """
    for name, data in _servers(_document(file), file, projects):
        found = _translate(name, data, file)
        if name != NAME and not is_ourselves(found.entry.get("command", ""), tuple(found.entry.get("args", ()))):
            yield found


def _find_existing(client: KnownClient, scope: Scope, folder: str, names: Sequence[str]) -> Iterator[ClientFile]:
    for name in names:
        path = os.path.join(folder, name)
        if is_file_inside(folder, path) if scope == "project" else os.path.isfile(path):
            yield ClientFile(path, client.format, client.container, scope, client.name)


def _document(file: ClientFile) -> dict[str, Any]:
    text = (read(file.path) or "").removeprefix("\ufeff")
    source = ConfigText(file.path, text)
    if file.format == "jsonc":
        node = parse(source)
        value = node.value if node else {}
    else:
        value = _toml(source) if file.format == "toml" else _yaml(source)
    if not isinstance(value, dict):
        raise source.fault("no servers: it holds no object", hint="name a file with servers in it")
    return value


def _toml(source: ConfigText) -> Any:
    try:
        return tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise source.fault(f"not TOML: {error}") from error


def _yaml(source: ConfigText) -> Any:
    import yaml

    try:
        return yaml.safe_load(source.text) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        # Only the position: the library's message repeats the line.
        raise source.fault("not YAML", at=mark.index if mark else None) from error


def _servers(document: dict[str, Any], file: ClientFile, projects: Sequence[str]) -> Iterator[tuple[str, Any]]:
    below = [document]
    if file.client == "claude" and isinstance(document.get("projects"), dict):
        below = [one for path in projects if isinstance(one := document["projects"].get(path), dict)] + below
    if isinstance(document.get("mcp"), dict) and not file.client:
        below.append(document["mcp"])
    seen: set[str] = set()
    for part in below:
        for container in (file.container,) if file.container else _CONTAINERS:
            servers = part.get(container)
            if container == "mcp" and isinstance(servers, dict) and "servers" in servers:
                continue
            for name, data in servers.items() if isinstance(servers, dict) else ():
                if str(name) not in seen:
                    seen.add(str(name))
                    yield str(name), data


def _translate(name: str, data: Any, file: ClientFile) -> ImportableServer:
    if not isinstance(data, Mapping):
        return ImportableServer(name, file, {}, reason="it is no object")
    given = {snake_case(str(key)): value for key, value in data.items() if value is not None}
    reason = _no_server(given, file)
    if reason:
        return ImportableServer(name, file, {}, reason=reason)
    entry = _rewrite_variables(_entry(given, file), file)
    known = _OURS_TO_KEEP | _TRANSLATED | IGNORED
    return ImportableServer(name, file, entry, left_out=tuple(sorted(given.keys() - known)))


def _no_server(given: Mapping[str, Any], file: ClientFile) -> str:
    """Why an entry is no MCP server that could be reached from here, if so."""
    kind = given.get("type")
    if isinstance(kind, str) and kind not in (*TRANSPORTS, "remote"):
        return f"{kind!r} servers are part of {CLIENTS[file.client].title if file.client else 'their client'}"
    if not any(given.get(key) for key in ("command", "cmd", "url", "uri", "http_url", "server_url")):
        return "it names no command and no URL"
    return "" if "{file:" not in str(given) or file.client != "opencode" else "it reads a secret from a file: {file:…}"


def _entry(given: Mapping[str, Any], file: ClientFile) -> dict[str, Any]:
    """An entry in our shape, without empty parts."""
    command, args, env = _command(given)
    url = next((given[key] for key in ("http_url", "url", "server_url", "uri") if given.get(key)), "")
    is_local = bool(command) and not url
    enabled = given.get("enabled") is not False and given.get("disabled") is not True
    parts: dict[str, Any] = {"transport": _transport(given, file, is_local=is_local)}
    if is_local:
        parts |= {"command": command, "args": args, "env": env | _passed_variables(given, "env_vars", "env_keys")}
    else:
        named = given.get("env_http_headers")
        secret = {key: f"${{{value}}}" for key, value in named.items()} if isinstance(named, Mapping) else {}
        parts |= {"url": url, "headers": _pairs(given, "headers", "http_headers") | secret, "auth": _auth(given)}
    parts |= {key: given[key] for key in _AS_THEY_ARE if key in given}
    parts |= {"timeout": _seconds(given, "tool_timeout_sec", "timeout"), "tools": _tools(given)}
    parts |= {"connect_timeout": _seconds(given, "startup_timeout_sec", "connect_timeout")}
    kept = {key: value for key, value in parts.items() if value not in ({}, [], (), "", None)}
    return kept if enabled else {**kept, "enabled": False}


def _command(given: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The command, its arguments and its environment, however the client writes them."""
    command = given.get("command") or given.get("cmd") or ""
    args: Any = given.get("args") or []
    env = _pairs(given, "env", "environment", "envs")
    if isinstance(command, list):
        return command[0], [*command[1:], *args], env
    if isinstance(command, Mapping):
        return command.get("path", ""), command.get("args") or args, _pairs(command, "env") | env
    return command, args, env


def _transport(given: Mapping[str, Any], file: ClientFile, *, is_local: bool) -> str:
    if is_local:
        return "stdio"
    written = given.get("type") or given.get("transport")
    if isinstance(written, str) and TRANSPORTS.get(written, "stdio") != "stdio":
        return TRANSPORTS[written]
    if str(given.get("url", "")).startswith(("ws:", "wss:")):
        return "websocket"
    # Gemini CLI keeps `url` for the old transport and `httpUrl` for the new one.
    return "sse" if file.client == "gemini" and "http_url" not in given else "http"


def _pairs(given: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in keys:
        value = given.get(key)
        if isinstance(value, Mapping):
            found |= {str(name): one for name, one in value.items() if one is not None}
    return found


def _passed_variables(given: Mapping[str, Any], *keys: str) -> dict[str, str]:
    """Variables that a client passes on by name."""
    lists: list[Any] = [given[key] for key in keys if isinstance(given.get(key), list)]
    return {name: f"${{{name}}}" for names in lists for name in names if isinstance(name, str)}


def _auth(given: Mapping[str, Any]) -> dict[str, Any]:
    if variable := given.get("bearer_token_env_var"):
        return {"type": "api_key", "api_key": f"${{{variable}}}"}
    oauth = given.get("oauth")
    if not isinstance(oauth, Mapping):
        return {}
    names = {"client_id": "client_id", "client_secret": "client_secret", "scopes": "scopes", "scope": "scopes"}
    names |= {"authorization_url": "auth_url", "token_url": "token_url"}
    found = {names[key]: value for key, value in _snake(oauth).items() if key in names and value}
    return {"type": "oauth", **found}


def _tools(given: Mapping[str, Any]) -> dict[str, Any]:
    tools = given.get("tools")
    if isinstance(tools, Mapping) and tools.keys() <= {"allow", "deny", "rename"}:
        return dict(tools)
    if tools == []:
        return {"deny": ["*"]}
    allow = tools if isinstance(tools, list) else given.get("include_tools") or given.get("enabled_tools")
    deny = given.get("exclude_tools") or given.get("disabled_tools")
    found = {"allow": [] if allow == ["*"] else allow, "deny": deny}
    return {key: value for key, value in found.items() if value}


def _seconds(given: Mapping[str, Any], *keys: str) -> float | None:
    """Seconds from seconds or milliseconds: nobody waits a thousand seconds, or less than one."""
    for key in keys:
        value = given.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return value / 1000 if value >= 1000 else value
    return None


def _snake(data: Mapping[str, Any]) -> dict[str, Any]:
    return {snake_case(str(key)): value for key, value in data.items()}


def _rewrite_variables(value: Any, file: ClientFile) -> Any:
    """The value with variables as we write them."""
    if isinstance(value, str):
        if file.client == "opencode":
            return _BRACED.sub(r"${\1}", value)
        return _BARE.sub(r"${\1}", value) if file.client == "gemini" else value
    if isinstance(value, Mapping):
        return {key: _rewrite_variables(one, file) for key, one in value.items()}
    return [_rewrite_variables(one, file) for one in value] if isinstance(value, list) else value
