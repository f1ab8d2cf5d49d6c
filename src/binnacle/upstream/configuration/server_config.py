"""The configuration of upstream servers, as values. `server_loader` reads the files, `server_entry` their entries."""

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct

TransportKind = Literal["stdio", "http", "sse", "websocket"]
AuthType = Literal["none", "api_key", "oauth", "token_file"]
SourceKind = Literal["cli", "project", "user", "discipline"]
PinMode = Literal["warn", "strict", "off"]
ProtocolChoice = Literal["auto", "handshake", "stateless"]

HIDDEN_VALUE = "‹hidden›"
"""Stands where a value may be a secret."""


class AuthConfig(Struct, frozen=True, kw_only=True):
    """How we authenticate to a server. Its repr shows no secret."""

    type: AuthType = "none"
    header_name: str = "Authorization"
    api_key: str = ""
    auth_url: str = ""
    token_url: str = ""
    client_id: str = ""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()
    token_path: str = ""
    client_metadata_url: str = ""

    def __repr__(self) -> str:
        return f"AuthConfig(type={self.type!r})"


class ToolRules(Struct, frozen=True, kw_only=True):
    """Which tools of a server are offered, and under which names."""

    allow: tuple[str, ...] = ()
    """Patterns of tool names; empty allows all."""

    deny: tuple[str, ...] = ()
    """Patterns of tool names; beats `allow`."""

    rename: dict[str, str] = {}
    """The server's name of a tool to the name we give it."""


class ServerLimits(Struct, frozen=True, kw_only=True):
    """What one server may use."""

    result_bytes: int = 1_000_000
    """A larger result is saved to a file and cut."""

    concurrency: int = 16
    """Calls in flight at once."""

    per_minute: int = 0
    """Calls that may start within a minute; 0 for no limit."""

    progress_extends: bool = True
    """Whether progress starts the timeout of a call again."""


class ConfigSource(Struct, frozen=True):
    """Where a server was configured."""

    kind: SourceKind
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        if not self.file:
            return {"cli": "--mcp-server", "discipline": "discipline"}.get(self.kind, self.kind)
        return f"{self.file}:{self.line}" if self.line else self.file


class ServerConfig(Struct, frozen=True, kw_only=True):
    """One server, complete and checked: variables filled in, exactly one of `command` and `url`.

    Its repr shows no value of `env` and `headers`, no argument, and nothing of the URL after the host.
    """

    name: str
    transport: TransportKind
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    written_url: str = ""
    """The URL before variables were filled in."""

    written: dict[str, Any] = {}
    """The complete entry, before variables were filled in."""

    headers: dict[str, str] = {}
    auth: AuthConfig = AuthConfig()
    variables: tuple[str, ...] = ()
    """Variables that are used anywhere, also those with a default: of the environment, and ours."""

    timeout: float = 60.0
    """Seconds a call may take."""

    connect_timeout: float = 10.0
    """Seconds until the server must be ready."""

    lazy: bool = False
    """Connects at the first use instead of at the start."""

    enabled: bool = True
    pin: PinMode = "warn"
    """What happens to a tool whose description or schema changed. `strict` by default for servers that a person did not
    set up."""

    protocol: ProtocolChoice = "auto"
    """Which era of the protocol to speak; `auto` finds out."""

    tools: ToolRules = ToolRules()
    limits: ServerLimits = ServerLimits()
    source: ConfigSource
    is_own: bool = False
    """Whether the person's own file has the same URL."""

    def __repr__(self) -> str:
        host = re.split(r"[/?#]", self.url.partition("://")[2])[0].rpartition("@")[2]
        target = self.command or host
        return f"ServerConfig({self.name!r}, {self.transport}, {target!r}, {self.source})"


class ConfigProblem(Struct, frozen=True):
    """Something wrong in the configuration, for the person who can change it. Names keys, never secret values."""

    server: str
    """Empty if it concerns the file and no server in particular."""

    where: str
    """`file:line`, or the flag."""

    message: str
    hint: str


MAX_NAMES_TOLD = 5
"""Misconfigured servers that are named to agents; more are only counted."""

SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a server may be called."""


def describe_problem(problem: ConfigProblem) -> str:
    """A problem in a line: where, of which server, and what."""
    server = f"{problem.server}: " if problem.server and not problem.message.startswith(f"{problem.server}:") else ""
    return f"{problem.where}: {server}{problem.message}"


def warn_agents(problems: Sequence[ConfigProblem]) -> str:
    """A sentence for agents about problems; empty if there are none.

    It has only the number and valid names: text from a repository's file must not become an instruction.
    """
    if not problems:
        return ""
    names = list(dict.fromkeys(one.server for one in problems if SERVER_NAME.fullmatch(one.server)))
    named = f", of {', '.join(names[:MAX_NAMES_TOLD])}" if names else ""
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return (
        f"The configuration of other MCP servers has {count}{named}, so their tools may be missing: "
        "binnacle://status says more; tell the person, for whom it is: bn upstream doctor."
    )


class LoadedServers(NamedTuple):
    """The servers that are configured well, by name, and what is wrong with the rest."""

    servers: dict[str, ServerConfig]
    problems: tuple[ConfigProblem, ...]
