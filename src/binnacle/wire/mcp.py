"""MCP on top of JSON-RPC: two eras, their versions, their metadata and their errors.

The *handshake* era (2024-11-05 to 2025-11-25) begins with `initialize` and keeps a session.
The *stateless* era (2026-07-28) has neither: every request carries its version and the client's
capabilities in `_meta`. Which era a request belongs to is decided for each request.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from binnacle.wire.jsonrpc import INVALID_PARAMS, UNREADABLE, RpcError

Era = Literal["handshake", "stateless"]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
LATEST_HANDSHAKE = HANDSHAKE_VERSIONS[-1]

RESOURCE_NOT_FOUND = -32002
"""Code of the handshake era; the stateless era uses INVALID_PARAMS for the URI."""

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

PREFIX = "io.modelcontextprotocol/"
VERSION_KEY = f"{PREFIX}protocolVersion"
CAPABILITIES_KEY = f"{PREFIX}clientCapabilities"
SERVER_INFO_KEY = f"{PREFIX}serverInfo"
SUBSCRIPTION_KEY = f"{PREFIX}subscriptionId"

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages, least urgent first."""

ONLY_HANDSHAKE = frozenset(
    {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/result"}
)
ONLY_STATELESS = frozenset({"server/discover", "subscriptions/listen", "tasks/update"})

CACHEABLE = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
    }
)
"""Methods whose results say in the stateless era how long they may be cached."""

NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Methods with a parameter that the HTTP header `Mcp-Name` repeats, and that parameter."""

HEADER_MARK = "x-mcp-header"
"""In the schema of a tool's parameter, names the HTTP header `Mcp-Param-…` that repeats its value."""

HTTP_STATUS = {
    -32700: 400,
    -32600: 400,
    -32601: 404,
    -32602: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}
"""HTTP status of an error in the stateless era; 200 for all others."""


class RequestMeta(Struct):
    """What a request says about itself in `_meta`."""

    progress_token: str | int | UnsetType = field(name="progressToken", default=UNSET)
    version: str | UnsetType = field(name=VERSION_KEY, default=UNSET)
    capabilities: dict[str, Any] | UnsetType = field(name=CAPABILITIES_KEY, default=UNSET)
    client: dict[str, Any] | UnsetType = field(name=f"{PREFIX}clientInfo", default=UNSET)
    log_level: str | UnsetType = field(name=f"{PREFIX}logLevel", default=UNSET)


class Params(Struct, kw_only=True):
    """What every request may have."""

    meta: RequestMeta | UnsetType = field(name="_meta", default=UNSET)
    request_state: str | UnsetType = field(name="requestState", default=UNSET)
    input_responses: dict[str, Any] | UnsetType = field(name="inputResponses", default=UNSET)


class InitializeParams(Params, kw_only=True):
    version: str = field(name="protocolVersion")
    capabilities: dict[str, Any] = {}
    client: dict[str, Any] = field(name="clientInfo", default_factory=dict)


class ListParams(Params, kw_only=True):
    cursor: str | None = None


class CallParams(Params, kw_only=True):
    name: str
    arguments: Raw = Raw(b"{}")
    task: Raw = Raw()
    """What 2025-11-25 says about the task that the call is to become; empty if it is none."""


class ReadParams(Params, kw_only=True):
    uri: str


class PromptParams(Params, kw_only=True):
    name: str
    arguments: dict[str, str] = {}


class Reference(Struct):
    type: str
    name: str = ""
    uri: str = ""


class CompletionArgument(Struct):
    name: str
    value: str


class CompleteParams(Params, kw_only=True):
    ref: Reference
    argument: CompletionArgument
    context: dict[str, Any] = {}


class LevelParams(Params, kw_only=True):
    level: Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class ListenTo(Struct, frozen=True, omit_defaults=True):
    """The changes that a listener subscribes to."""

    tools: bool = field(name="toolsListChanged", default=False)
    prompts: bool = field(name="promptsListChanged", default=False)
    resources: bool = field(name="resourcesListChanged", default=False)
    subscriptions: tuple[str, ...] = field(name="resourceSubscriptions", default=())
    tasks: tuple[str, ...] = field(name="taskIds", default=())


class ListenParams(Params, kw_only=True):
    notifications: ListenTo = field(default_factory=ListenTo)


class CancelParams(Struct):
    request_id: Raw = field(name="requestId", default=Raw(b"null"))


P = TypeVar("P")


def decode_params(params: bytes, kind: type[P]) -> P:
    """Parameters of a certain type.

    Raises:
        RpcError: the error names what does not fit.
    """
    try:
        return msgspec.json.decode(params, type=kind)
    except UNREADABLE as error:
        raise RpcError(INVALID_PARAMS, f"invalid params: {error}") from error


def meta_of(params: bytes) -> RequestMeta | None:
    """The `_meta` of a request of any method; None if the parameters are not an object.

    Raises:
        RpcError: the error names what does not fit.
    """
    return decode_params(params, Params).meta or None if params[:1] == b"{" else None


def era_of(meta: RequestMeta | None) -> Era:
    """The era of a request on a stream that carries both.

    Raises:
        RpcError: it names an unsupported version, or lacks something that its era requires.
    """
    if meta is None or meta.version is UNSET:
        return "handshake"
    if meta.version not in STATELESS_VERSIONS:
        raise unsupported(meta.version)
    if meta.capabilities is UNSET:
        raise RpcError(INVALID_PARAMS, "invalid params: _meta names no client capabilities")
    return "stateless"


def unsupported(version: str) -> RpcError:
    """The error for an unsupported version."""
    data = {"supported": list(STATELESS_VERSIONS), "requested": version}
    return RpcError(UNSUPPORTED_VERSION, f"unsupported protocol version: {version}", data)


class CallingClient(Protocol):
    """What a server may need from the client of a call."""

    @property
    def era(self) -> str: ...

    @property
    def capabilities(self) -> Mapping[str, Any]: ...

    @property
    def wants_progress(self) -> bool: ...

    @property
    def request_state(self) -> str | None:
        """The state that the client returns when it calls again with answers."""

    @property
    def input_responses(self) -> Mapping[str, Any] | None: ...

    def continue_as_task(self) -> bool:
        """Answers the call now with a task of the protocol, if the client takes them; its result comes with that."""

    async def ask(self, method: str, params: Any) -> Any:
        """Asks the client during its call."""
