"""The one protocol of this package: what a server lists, and the way to ask it something.

A toolset is a server (`server_toolset`), or a wrapper around another toolset that changes one thing about it. Wrappers
know nothing of each other; `chain` says in which order they stand.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Raw, Struct

from binnacle.wire.mcp import CallingClient

Result = dict[str, Any]
"""A result of a server: its fields as they came, mostly `Raw`."""

RequestKind = Literal["tool", "resource", "prompt", "completion"]


class UpstreamRequest(Struct, frozen=True, kw_only=True):
    """One request of a client to a server."""

    kind: RequestKind
    subject: str
    """What is asked for, as people read it: `server:tool`."""

    method: str
    params: Mapping[str, Any]
    client: CallingClient | None
    """Who is asked what the server wants to know; None if nobody can be."""

    who: str
    """The actor, for the record."""

    on_progress: Callable[[Raw], None] | None = None
    is_repeatable: bool = False
    """Whether asking twice does no more than asking once."""

    promises_structure: bool = False
    """Whether the tool has a schema that its structured results fit."""

    headers: tuple[tuple[str, str], ...] = ()
    """Further headers for a server that is reached over HTTP."""


class UpstreamAnswer(NamedTuple):
    """What a server answered."""

    result: Result
    """What is passed on."""

    complete: Result
    """What the server sent. Differs from `result` where that was too large."""

    size_bytes: int
    """Of what the server sent."""


class ListedTool(NamedTuple):
    """A tool of one server."""

    name: str
    """What its server calls it."""

    entry: dict[str, Any]
    """As `tools/list` has it. Only what was screened is known to be an object with a name."""

    is_repeatable: bool
    called: str
    """The name that the server's configuration gives it, or else its own."""

    is_named: bool = False
    """Whether the server's configuration allows it by its very name."""


class ToolListing(NamedTuple):
    """The tools of one server that are offered, and what people should know about the others."""

    tools: tuple[ListedTool, ...]
    notes: tuple[str, ...] = ()


class Toolset(Protocol):
    """The tools of a server, and the way to it."""

    def list_tools(self) -> ToolListing:
        """The tools it has now."""

    def send(self, request: UpstreamRequest) -> Coroutine[Any, Any, UpstreamAnswer]:
        """Asks the server.

        Raises:
            RpcError: the server's own error.
            UpstreamError: it cannot be asked now, and why.
            TimedOut: it took too long.
        """


class ToolsetWrapper:
    """Passes on what it does not change. `send` returns the inner coroutine, so that a call is no deeper for it."""

    def __init__(self, inner: Toolset) -> None:
        self._inner = inner

    def list_tools(self) -> ToolListing:
        return self._inner.list_tools()

    def send(self, request: UpstreamRequest) -> Coroutine[Any, Any, UpstreamAnswer]:
        return self._inner.send(request)
