"""Turns the shapes in which people write a server into `ServerConfig`.

Understands the product's own shape, the `mcpServers` of most clients and VS Code's `servers`, with keys in camelCase
or snake_case. An unknown key is refused: a misspelt `deny` would allow what it should deny.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from binnacle.errors import did_you_mean
from binnacle.upstream.configuration import entry_fields
from binnacle.upstream.configuration.entry_fields import Reader, WrongValue
from binnacle.upstream.configuration.server_config import (
    SERVER_NAME,
    AuthConfig,
    ConfigProblem,
    ConfigSource,
    ServerConfig,
    ServerLimits,
    ToolRules,
    TransportKind,
)
from binnacle.upstream.configuration.variable_expansion import ProjectVariables, variables_in

KeyPath = tuple[str, ...]

TRANSPORTS: dict[str, TransportKind] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
    "ws": "websocket",
    "websocket": "websocket",
}
"""What clients call the transports."""

SERVER: dict[str, Reader] = {
    "transport": entry_fields.choice(TRANSPORTS),
    "command": entry_fields.text,
    "args": entry_fields.texts,
    "env": entry_fields.environment,
    "cwd": entry_fields.text,
    "url": entry_fields.text,
    "headers": entry_fields.headers,
    "timeout": entry_fields.seconds,
    "connect_timeout": entry_fields.seconds,
    "lazy": entry_fields.flag,
    "enabled": entry_fields.flag,
    "pin": entry_fields.choice({one: one for one in ("warn", "strict", "off")}),
    "protocol": entry_fields.choice({one: one for one in ("auto", "handshake", "stateless")}),
}
AUTH: dict[str, Reader] = {
    "type": entry_fields.choice({one: one for one in ("none", "api_key", "oauth", "token_file")}),
    "header_name": entry_fields.header,
    "api_key": entry_fields.text,
    "auth_url": entry_fields.url("http", "https"),
    "token_url": entry_fields.url("http", "https"),
    "client_id": entry_fields.text,
    "client_secret": entry_fields.text,
    "scopes": entry_fields.scopes,
    "token_path": entry_fields.text,
    "client_metadata_url": entry_fields.url("https"),
}
TOOLS: dict[str, Reader] = {"allow": entry_fields.texts, "deny": entry_fields.texts, "rename": entry_fields.mapping}
LIMITS: dict[str, Reader] = {
    "result_bytes": entry_fields.count(least=1),
    "concurrency": entry_fields.count(least=1),
    "per_minute": entry_fields.count(least=0),
    "progress_extends": entry_fields.flag,
}
SECTIONS = {"auth": AUTH, "tools": TOOLS, "limits": LIMITS}

ALIASES: dict[str, KeyPath] = {
    "type": ("transport",),
    "http_url": ("url",),
    "server_url": ("url",),
    "uri": ("url",),
    "include_tools": ("tools", "allow"),
    "enabled_tools": ("tools", "allow"),
    "exclude_tools": ("tools", "deny"),
    "disabled_tools": ("tools", "deny"),
    "scope": ("scopes",),
}
"""What clients call some keys, in snake_case."""

IGNORED = frozenset(
    {"name", "title", "description", "icon", "note", "trust", "always_allow", "auto_approve", "auto_start"}
    | {"gallery", "version", "dev", "source"}
)
"""Keys of clients that change nothing here."""

_LOCAL_ONLY = ("args", "env", "cwd")
_REMOTE_ONLY = ("headers", "auth")


class ServerEntry(NamedTuple):
    """A server as somebody wrote it."""

    name: str
    data: Any
    source: ConfigSource
    lines: Mapping[KeyPath, int] = {}
    """Where its parts are in the file, if it is in one."""

    repeated: tuple[KeyPath, ...] = ()
    """Keys that are there twice."""

    is_own: bool = False
    """Whether the person has a server with the same URL in their own file."""

    def where(self, path: KeyPath = ()) -> str:
        """`file:line` of a part, or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            if line := self.lines.get(path[:end]):
                return f"{self.source.file}:{line}"
        return str(self.source)

    def problem(self, message: str, hint: str = "", *, path: KeyPath = ()) -> ConfigProblem:
        """Something wrong with a part of it."""
        key = ".".join(path)
        return ConfigProblem(self.name, self.where(path), f"{key}: {message}" if key else message, hint)


class _Reading:
    """One entry being read. Collects all mistakes, so that they are reported together."""

    def __init__(self, entry: ServerEntry, variables: ProjectVariables) -> None:
        self.entry = entry
        self.problems: list[ConfigProblem] = []
        self.has_unknown = False
        """Whether there is an unknown key. A key that seems to be missing may be misspelt."""

        self.written_url: Any = None
        self.variables: set[str] = set()
        """Names of the variables in what was read."""

        self._variables = variables
        self._paths: dict[KeyPath, KeyPath] = {}
        """The path of a value of our shape in the shape that was written."""

    def refuse(self, message: str, hint: str = "", *, path: KeyPath = ()) -> None:
        self._refuse_written(message, hint, path=self._paths.get(path, path))

    def _refuse_written(self, message: str, hint: str, *, path: KeyPath) -> None:
        self.problems.append(self.entry.problem(message, hint, path=path))

    def values(self) -> dict[str, Any]:
        """Everything in the entry by our keys, sections as nested mappings."""
        found = self._read_keys(self.entry.data, (), {**SERVER, **SECTIONS})
        self.written_url = found.get("url")
        is_enabled = found.get("enabled") is not False
        return {key: self._value(key, value, fill=is_enabled) for key, value in found.items()}

    def _value(self, key: str, value: Any, *, fill: bool) -> Any:
        if key not in SECTIONS:
            return self._read(SERVER[key], value, (key,), fill=fill)
        section = SECTIONS[key]
        if not isinstance(value, Mapping):
            self.refuse(f"expected an object, not {entry_fields.json_type_of(value)}", path=(key,))
            return {}
        known = self._read_keys(value, (key,), section)
        return {name: self._read(section[name], one, (key, name), fill=fill) for name, one in known.items()}

    def _read_keys(self, data: Mapping[str, Any], above: KeyPath, keys: Mapping[str, Any]) -> dict[str, Any]:
        """The values of an object by our keys. Other clients' keys are translated, unknown ones refused."""
        found: dict[str, Any] = {}
        for written, given in data.items():
            path = (*above, written)
            target, value = _translate(written, given, keys) if above else _translate_top(written, given, keys)
            if not target:
                continue
            if target[0] not in keys:
                self.has_unknown = True
                self._refuse_written("unknown key", did_you_mean(target[0], list(keys)), path=path)
            elif not self._place(found, target, value):
                self._refuse_written("is there twice, under two names", "keep one of them", path=path)
            else:
                self._paths.setdefault((*above, *target), path)
        return found

    @staticmethod
    def _place(found: dict[str, Any], target: KeyPath, value: Any) -> bool:
        """Puts a value where it belongs, unless there is one already."""
        *sections, key = target
        for section in sections:
            found = found.setdefault(section, {})
            if not isinstance(found, dict):
                return False
        if isinstance(value, Mapping) and isinstance(found.get(key), dict) and not value.keys() & found[key].keys():
            found[key] |= value
            return True
        is_free = key not in found
        found.setdefault(key, dict(value) if isinstance(value, Mapping) else value)
        return is_free

    def _read(self, reader: Reader, value: Any, path: KeyPath, *, fill: bool) -> Any:
        """A value as its key requires it; None if it is wrong."""
        before = len(self.problems)
        self.variables |= _variables_in(value)
        value = self._fill_in(value, path) if fill else value
        if len(self.problems) > before:
            return None
        try:
            return reader(value)
        except WrongValue as error:
            self.refuse(error.message, error.hint, path=path)
            return None

    def _fill_in(self, value: Any, path: KeyPath) -> Any:
        if isinstance(value, str):
            text, gaps = self._variables.fill(value)
            for gap in gaps:
                self.refuse(gap.message, gap.hint, path=path)
            return text
        if isinstance(value, Mapping):
            return {key: self._fill_in(one, (*self._paths.get(path, path), key)) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._fill_in(one, path) for one in value]
        return value


def _variables_in(value: Any) -> set[str]:
    if isinstance(value, str):
        return variables_in(value)
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return set().union(*map(_variables_in, parts))


def _translate_top(written: str, value: Any, keys: Mapping[str, Any]) -> tuple[KeyPath, Any]:
    """Where a value at the top of an entry belongs in our shape, if anywhere, and what it is there."""
    key = snake_case(written)
    if key in IGNORED or value is None:
        return (), None
    if key == "disabled":
        return ("enabled",), not value if isinstance(value, bool) else value
    if key == "tools" and isinstance(value, list):
        # Copilot's list of the tools it may use: `*` is all of them, and an empty list none.
        return (("tools", "allow"), [] if value == ["*"] else value) if value else (("tools", "deny"), ["*"])
    return _translate(written, value, keys)


def _translate(written: str, value: Any, keys: Mapping[str, Any]) -> tuple[KeyPath, Any]:
    key = snake_case(written)
    return (key,) if key in keys else ALIASES.get(key, (key,)), value


def build_server(
    entry: ServerEntry, variables: ProjectVariables, *, repo: str
) -> tuple[ServerConfig | None, list[ConfigProblem]]:
    """The server that an entry describes, or what is wrong with it."""
    if problem := _unusable(entry):
        return None, [problem]
    reading = _Reading(entry, variables)
    for path in entry.repeated:
        reading.refuse("is there twice", "keep one of them", path=path)
    values = reading.values()
    _check(reading, values)
    if reading.problems:
        return None, reading.problems
    values |= {"variables": tuple(sorted(reading.variables)), "written_url": reading.written_url or ""}
    values["written"] = dict(entry.data)
    return _server(entry, values, repo), []


def is_ourselves(command: str, args: tuple[str, ...]) -> bool:
    """Whether a command starts this server, which would then start itself, and so on."""
    if args[:2] == ("-m", "binnacle"):
        command, args = "bn", args[2:]
    return os.path.basename(command) in ("bn", "binnacle") and args[:2] == ("mcp", "serve")


def usable_name(name: str) -> str:
    """`name` if a server may be called so, or else the nearest that may; empty if nothing is left of it."""
    return name if SERVER_NAME.fullmatch(name) else re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:64]


def written_url(entry: ServerEntry) -> str:
    """The URL of an entry as it was written, variables and all; empty for one that has none."""
    data = entry.data if isinstance(entry.data, Mapping) else {}
    found = [
        data[key]
        for key in data
        if isinstance(key, str) and ALIASES.get(snake_case(key), (snake_case(key),)) == ("url",)
    ]
    return found[0] if len(found) == 1 and isinstance(found[0], str) else ""


def snake_case(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()


def _unusable(entry: ServerEntry) -> ConfigProblem | None:
    """Why an entry cannot be read at all."""
    if not SERVER_NAME.fullmatch(entry.name):
        near = usable_name(entry.name)
        hint = f"call it {near!r}" if near else "begin with a letter or a digit"
        return entry.problem("a server's name has letters, digits, '.', '_' and '-', at most 64", hint)
    if not isinstance(entry.data, Mapping):
        hint = '{"command": "…"} or {"url": "https://…"}'
        return entry.problem(f"expected an object, not {entry_fields.json_type_of(entry.data)}", hint)
    return None


def _check(reading: _Reading, values: dict[str, Any]) -> None:
    """Checks that concern several keys."""
    _check_target(reading, values)
    if reading.problems:
        return
    is_local = bool(values.get("command"))
    for key in _REMOTE_ONLY if is_local else _LOCAL_ONLY:
        if values.get(key):
            reading.refuse(f"only for servers with a {'url' if is_local else 'command'}", "take it out", path=(key,))
    if is_ourselves(values.get("command") or "", values.get("args") or ()):
        reading.refuse("this is Binnacle itself", "take it out; its own tools are there anyway", path=("command",))
    if values.get("enabled") is not False:
        _check_auth(reading, values.get("auth") or {})
    renamed = list((values.get("tools") or {}).get("rename", {}).values())
    if len(set(renamed)) < len(renamed):
        reading.refuse("two tools get the same name", "give each its own", path=("tools", "rename"))


def _check_target(reading: _Reading, values: dict[str, Any]) -> None:
    command, url = values.get("command"), values.get("url")
    said = reading.problems and None in (values.get("command", ""), values.get("url", ""), values.get("transport", ""))
    if said or (reading.has_unknown and not command and not url):
        return
    if command and url:
        reading.refuse("both 'command' and 'url' are there", "a server has one of the two", path=("url",))
    elif not command and not url:
        wanted = {"": "'command' or 'url'", "stdio": "'command'"}.get(values.get("transport", ""), "'url'")
        near = "command" if "command" in wanted else "url"
        empty = next((key for key in ("command", "url") if key in values), "")
        message = f"{wanted} is missing" if not empty else "is empty"
        reading.refuse(message, f'"{near}": "…"', path=(empty,) if empty else ())
    else:
        _check_transport(reading, values)


def _check_transport(reading: _Reading, values: dict[str, Any]) -> None:
    """Sets the transport, and checks command or URL against it."""
    url = values.get("url") or ""
    guess = "stdio" if not url else "websocket" if url.startswith(("ws:", "wss:")) else "http"
    transport = values.setdefault("transport", guess)
    if (transport == "stdio") != (guess == "stdio"):
        needs = "'command'" if transport == "stdio" else "'url'"
        reading.refuse(f"{transport} needs {needs}", f"did you mean {guess!r}?", path=("transport",))
    elif url and values.get("enabled") is not False:
        schemes = ("ws", "wss") if transport == "websocket" else ("http", "https")
        try:
            entry_fields.url(*schemes)(url)
        except WrongValue as error:
            reading.refuse(error.message, error.hint, path=("url",))


def _check_auth(reading: _Reading, auth: dict[str, Any]) -> None:
    needed = {"api_key": "api_key", "token_file": "token_path"}.get(_auth_type(auth), "")
    if needed and not auth.get(needed):
        message = "is empty" if needed in auth else f"{needed!r} is missing"
        reading.refuse(message, f'"{needed}": "${{VAR}}"', path=("auth", needed) if needed in auth else ("auth",))
    if needed == "api_key" and re.search(r"[\r\n]", auth.get("api_key", "")):
        reading.refuse("a line break is in it", "does the variable end with one?", path=("auth", "api_key"))


def _auth_type(auth: Mapping[str, Any]) -> str:
    """The given type, or the one that the keys belong to."""
    if given := auth.get("type"):
        return str(given)
    if "api_key" in auth:
        return "api_key"
    return "token_file" if "token_path" in auth else "oauth" if auth else "none"


def _server(entry: ServerEntry, values: dict[str, Any], repo: str) -> ServerConfig:
    auth = values.pop("auth", {})
    tools, limits = values.pop("tools", {}), values.pop("limits", {})
    if cwd := values.get("cwd"):
        values["cwd"] = os.path.normpath(os.path.join(repo, os.path.expanduser(cwd)))
    values.setdefault("pin", "warn" if entry.source.kind in ("user", "cli") else "strict")
    return ServerConfig(
        name=entry.name,
        auth=AuthConfig(**auth | {"type": _auth_type(auth)}),
        tools=ToolRules(**tools),
        limits=ServerLimits(**limits),
        source=entry.source,
        is_own=entry.is_own,
        **values,
    )
