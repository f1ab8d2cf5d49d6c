"""The one protocol of this package: what a server lists, and requests to it.

A toolset is a server (`server_toolset`), or a wrapper around another toolset that changes one thing about it. Wrappers
know nothing of each other; `chain` orders them.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Raw, Struct

from binnacle.wire.mcp import CallingClient

Result = dict[str, Any]
"""A result of a server: its fields, mostly `Raw`."""

RequestKind = Literal["tool", "resource", "prompt", "completion"]


class UpstreamRequest(Struct, frozen=True, kw_only=True):
    """One request of a client to a server."""

    kind: RequestKind
    subject: str
    """What is requested, for people: `server:tool`."""

    method: str
    params: Mapping[str, Any]
    client: CallingClient | None
    """The client that answers the server's questions; None if no client can."""

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
    """The result that is passed on."""

    complete: Result
    """What the server sent. Differs from `result` if that was too large."""

    size_bytes: int
    """Bytes of what the server sent."""


class ListedTool(NamedTuple):
    """A tool of one server."""

    name: str
    """Its server's name for it."""

    entry: dict[str, Any]
    """Its entry of `tools/list`. Only after screening is it known to be an object with a name."""

    is_repeatable: bool
    called: str
    """The name from the server's configuration, else its own."""

    is_named: bool = False
    """Whether the server's configuration allows it by name, not by a pattern."""


class ToolListing(NamedTuple):
    """The tools of one server that are offered, and notes for people about the others."""

    tools: tuple[ListedTool, ...]
    notes: tuple[str, ...] = ()


class Toolset(Protocol):
    """The tools of a server, and requests to it."""

    def list_tools(self) -> ToolListing:
        """The tools that it has now."""

    def send(self, request: UpstreamRequest) -> Coroutine[Any, Any, UpstreamAnswer]:
        """Asks the server.

        Raises:
            RpcError: the server's own error.
            UpstreamError: it cannot be asked now; the message says why.
            TimedOut: it took too long.
        """


class ToolsetWrapper:
    """Passes everything on. `send` returns the inner coroutine, so it adds no frame to a call."""

    def __init__(self, inner: Toolset) -> None:
        self._inner = inner

    def list_tools(self) -> ToolListing:
        return self._inner.list_tools()

    def send(self, request: UpstreamRequest) -> Coroutine[Any, Any, UpstreamAnswer]:
        return self._inner.send(request)
