"""The Agent Client Protocol, version 1, on top of JSON-RPC: the messages of both sides.

A *client* (an editor, our runner) starts an *agent*, opens sessions in it and prompts it; the agent streams what it
does and asks for permission. What is read comes from foreign programs of many versions: unknown fields are passed over,
closed choices are read as text, an update of an unknown kind becomes an `OtherUpdate`. What is absent is not written.
"""

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from binnacle.wire.jsonrpc import INVALID_PARAMS, UNREADABLE, RpcError

VERSION = 1

AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REQUEST_CANCELLED = -32800

INITIALIZE = "initialize"
AUTHENTICATE = "authenticate"
NEW = "session/new"
LOAD = "session/load"
RESUME = "session/resume"
SET_MODE = "session/set_mode"
SET_MODEL = "session/set_model"
SET_OPTION = "session/set_config_option"
PROMPT = "session/prompt"
CANCEL = "session/cancel"
CLOSE = "session/close"

UPDATE = "session/update"
REQUEST_PERMISSION = "session/request_permission"

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
ToolStatus = Literal["pending", "in_progress", "completed", "failed"]

Meta: TypeAlias = dict[str, Any]


class Shape(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What every message and part of one may carry."""

    meta: Meta | UnsetType | None = field(name="_meta", default=UNSET)


# What may be in a prompt or an answer


class Content(Shape, frozen=True, kw_only=True):
    """A block of content. Which fields are set follows from its type."""

    type: str
    """`text`, `image`, `audio`, `resource_link` or `resource`."""

    text: str | None = None
    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None
    resource: Any = None


def text_block(text: str) -> Content:
    """Plain text."""
    return Content(type="text", text=text)


class ToolContent(Shape, frozen=True, kw_only=True):
    """Something a tool call made: content, a change of a file, or a terminal."""

    type: str
    """`content`, `diff` or `terminal`."""

    content: Content | None = None
    path: str | None = None
    old_text: str | None = None
    new_text: str | None = None
    terminal_id: str | None = None


# Opening a connection


class Implementation(Shape, frozen=True, kw_only=True):
    """Name and version of a program."""

    name: str
    version: str = ""
    title: str | None = None


class FileAccess(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """Which file operations a client offers its agent."""

    read_text_file: bool = False
    write_text_file: bool = False


class ClientCapabilities(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """What a client can do for an agent. Written in full: some agents fail on an absent field."""

    fs: FileAccess | None = field(default_factory=FileAccess)
    terminal: bool | None = False


class Initialize(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """The first request of a client."""

    protocol_version: int
    client_capabilities: ClientCapabilities | None = None
    client_info: Implementation | None = None


class PromptCapabilities(Shape, frozen=True, kw_only=True):
    """What besides text and links a prompt may hold."""

    image: bool | None = False
    audio: bool | None = False
    embedded_context: bool | None = False


class McpCapabilities(Shape, frozen=True, kw_only=True):
    """By which transports besides stdio an agent reaches MCP servers."""

    http: bool | None = False
    sse: bool | None = False


class SessionCapabilities(Shape, frozen=True, kw_only=True):
    """Which further methods on sessions an agent has: an object where it has one."""

    resume: Meta | None = None
    close: Meta | None = None


class AgentCapabilities(Shape, frozen=True, kw_only=True):
    """What an agent can do."""

    load_session: bool | None = False
    prompt_capabilities: PromptCapabilities | None = None
    mcp_capabilities: McpCapabilities | None = None
    session_capabilities: SessionCapabilities | None = None


class AuthMethod(Shape, frozen=True, kw_only=True):
    """A way to log in to an agent."""

    id: str
    name: str = ""
    description: str | None = None


class Initialized(Shape, frozen=True, kw_only=True):
    """An agent's answer to `initialize`."""

    protocol_version: int
    agent_capabilities: AgentCapabilities | None = None
    agent_info: Implementation | None = None
    auth_methods: tuple[AuthMethod, ...] | None = None


class Authenticate(Shape, frozen=True, kw_only=True):
    """Logs in by a method the agent named."""

    method_id: str


class Done(Shape, frozen=True, kw_only=True):
    """An answer that says no more than that it was done."""


# Opening a session


class Pair(Shape, frozen=True, kw_only=True):
    """A header, or a variable of the environment."""

    name: str
    value: str


class HttpServer(Shape, frozen=True, kw_only=True, tag_field="type", tag="http"):
    """An MCP server the agent shall reach over HTTP."""

    name: str
    url: str
    headers: tuple[Pair, ...]
    """Always written: some agents refuse a server without."""


class StdioServer(Shape, frozen=True, kw_only=True):
    """An MCP server the agent shall start. The one kind that has no `type`."""

    name: str
    command: str
    args: tuple[str, ...]
    env: tuple[Pair, ...]


McpServer: TypeAlias = HttpServer | StdioServer


class NewSession(Shape, frozen=True, kw_only=True):
    """Opens a session in a folder, with MCP servers."""

    cwd: str
    mcp_servers: tuple[Any, ...]
    """`McpServer`s to be written; read by `servers_of`."""


class LoadSession(NewSession, frozen=True, kw_only=True):
    """Opens a session again that the agent kept: `session/load` replays its updates, `session/resume` does not."""

    session_id: str


class Mode(Shape, frozen=True, kw_only=True):
    """A way of working an agent offers."""

    id: str
    name: str = ""
    description: str | None = None


class Modes(Shape, frozen=True, kw_only=True):
    """The modes of a session."""

    current_mode_id: str
    available_modes: tuple[Mode, ...] = ()


class Model(Shape, frozen=True, kw_only=True):
    """A model an agent offers."""

    model_id: str
    name: str = ""
    description: str | None = None


class Models(Shape, frozen=True, kw_only=True):
    """The models of a session. Not stable: newer agents tell them as an option of category `model`."""

    current_model_id: str
    available_models: tuple[Model, ...] = ()


class Choice(Shape, frozen=True, kw_only=True):
    """One value of an option, or a group of values."""

    name: str = ""
    value: str | None = None
    group: str | None = None
    options: "tuple[Choice, ...] | None" = None


class Option(Shape, frozen=True, kw_only=True):
    """Something that can be set in a session."""

    id: str
    name: str = ""
    type: str = "select"
    category: Any = None
    """`mode`, `model`, `thought_level`, or what an agent calls it."""

    current_value: Any = None
    options: tuple[Choice, ...] | None = None


class Opened(Shape, frozen=True, kw_only=True):
    """An agent's answer to the opening of a session."""

    session_id: str | None = None
    """Only of a new one."""

    modes: Modes | None = None
    models: Models | None = None
    config_options: tuple[Option, ...] | None = None


class SetMode(Shape, frozen=True, kw_only=True):
    """Chooses a mode."""

    session_id: str
    mode_id: str


class SetModel(Shape, frozen=True, kw_only=True):
    """Chooses a model."""

    session_id: str
    model_id: str


class SetOption(Shape, frozen=True, kw_only=True):
    """Chooses a value of an option."""

    session_id: str
    config_id: str
    value: Any


class OfSession(Shape, frozen=True, kw_only=True):
    """Names a session: to cancel its turn, or to close it."""

    session_id: str


# Prompting


class Prompt(Shape, frozen=True, kw_only=True):
    """Begins a turn; answered when it ends."""

    session_id: str
    prompt: tuple[Content, ...]


class Usage(Shape, frozen=True, kw_only=True):
    """Tokens a turn took."""

    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class Prompted(Shape, frozen=True, kw_only=True):
    """The end of a turn."""

    stop_reason: str
    usage: Usage | None = None


# What an agent tells while it works


class _Update(Shape, frozen=True, kw_only=True, tag_field="sessionUpdate"):
    """What happened in a session."""


class _Chunk(_Update, frozen=True, kw_only=True):
    content: Content
    message_id: str | None = None


class MessageChunk(_Chunk, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """A piece of what the agent says."""


class ThoughtChunk(_Chunk, frozen=True, kw_only=True, tag="agent_thought_chunk"):
    """A piece of what the agent thinks."""


class UserChunk(_Chunk, frozen=True, kw_only=True, tag="user_message_chunk"):
    """A piece of what it was told, when a session is loaded."""


class Location(Shape, frozen=True, kw_only=True):
    """A place in a file that a tool call is about."""

    path: str
    line: int | None = None


class ToolCall(Shape, frozen=True, kw_only=True):
    """A tool call, or what is new about one."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[ToolContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None


class ToolCallStarted(ToolCall, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call"):
    """A tool call begins."""


class ToolCallChanged(ToolCall, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"):
    """A tool call goes on or ends. Some agents begin one with this."""


class PlanEntry(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """One step of an agent's plan. Written in full, as the protocol asks for."""

    content: str
    priority: str = "medium"
    status: str = "pending"


class Plan(_Update, frozen=True, kw_only=True, tag="plan"):
    """The agent's whole plan, in place of the one before."""

    entries: tuple[PlanEntry, ...] = ()


class Command(Shape, frozen=True, kw_only=True):
    """A command an agent understands in a prompt."""

    name: str
    description: str = ""
    input: Any = None


class Commands(_Update, frozen=True, kw_only=True, tag="available_commands_update"):
    """The commands there are now."""

    available_commands: tuple[Command, ...] = ()


class CurrentMode(_Update, frozen=True, kw_only=True, tag="current_mode_update"):
    """The mode changed."""

    current_mode_id: str


class Options(_Update, frozen=True, kw_only=True, tag="config_option_update"):
    """The options of the session changed."""

    config_options: tuple[Option, ...] = ()


class SessionInfo(_Update, frozen=True, kw_only=True, tag="session_info_update"):
    """What a person would see in a list of sessions."""

    title: str | None = None


class Cost(Shape, frozen=True, kw_only=True):
    """What a session has cost so far."""

    amount: float
    currency: str = "USD"


class UsageUpdate(_Update, frozen=True, kw_only=True, tag="usage_update"):
    """How full the model's context is, and what was paid."""

    used: int | None = None
    size: int | None = None
    cost: Cost | None = None


class OtherUpdate(Struct, frozen=True):
    """An update of a kind that is not known here, or that does not have its shape."""

    kind: str
    raw: bytes


KnownUpdate: TypeAlias = (
    MessageChunk
    | ThoughtChunk
    | UserChunk
    | ToolCallStarted
    | ToolCallChanged
    | Plan
    | Commands
    | CurrentMode
    | Options
    | SessionInfo
    | UsageUpdate
)
Update: TypeAlias = KnownUpdate | OtherUpdate


class Notice(Shape, frozen=True, kw_only=True):
    """`session/update` as an agent writes it."""

    session_id: str
    update: KnownUpdate


class _ReadNotice(Shape, frozen=True, kw_only=True):
    session_id: str
    update: Raw


class _Kind(Struct, frozen=True):
    kind: str = field(name="sessionUpdate", default="")


_read_notice = msgspec.json.Decoder(_ReadNotice).decode
_read_update = msgspec.json.Decoder(KnownUpdate).decode
_read_kind = msgspec.json.Decoder(_Kind).decode


def read_notice(params: bytes) -> tuple[str, Update]:
    """The session and the update in the parameters of `session/update`.

    Raises:
        RpcError: there is no session or no update in them.
    """
    try:
        notice = _read_notice(params)
        try:
            return notice.session_id, _read_update(notice.update)
        except msgspec.ValidationError:
            return notice.session_id, OtherUpdate(_read_kind(notice.update).kind, bytes(notice.update))
    except UNREADABLE as error:
        raise RpcError(INVALID_PARAMS, f"invalid params: {error}") from error


# What an agent asks


class PermissionOption(Shape, frozen=True, kw_only=True):
    """One of the answers to a request for permission."""

    option_id: str
    name: str = ""
    kind: str = ""
    """An `OptionKind`. Ids differ from agent to agent; the kind says what an answer means."""


class RequestPermission(Shape, frozen=True, kw_only=True):
    """May this tool call be made?"""

    session_id: str
    tool_call: ToolCall
    options: tuple[PermissionOption, ...] = ()


class Selected(Shape, frozen=True, kw_only=True, tag_field="outcome", tag="selected"):
    """One of the answers was chosen."""

    option_id: str


class Cancelled(Shape, frozen=True, kw_only=True, tag_field="outcome", tag="cancelled"):
    """None was: the turn is being cancelled, or nobody could answer."""


class Permission(Shape, frozen=True, kw_only=True):
    """The answer."""

    outcome: Selected | Cancelled


def servers_of(session: NewSession) -> tuple[McpServer, ...]:
    """The MCP servers a client named.

    Raises:
        RpcError: one is of another kind, or lacks something.
    """
    return tuple(_server(found) for found in session.mcp_servers)


def _server(found: Any) -> McpServer:
    kind: type[McpServer] = HttpServer if isinstance(found, dict) and "type" in found else StdioServer
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"invalid params: mcpServers: {error}") from error
