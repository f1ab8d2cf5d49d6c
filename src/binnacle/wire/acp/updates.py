"""What an agent reports while it works."""

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct, field

from binnacle.wire.acp.content import ContentBlock, Shape, ToolContent
from binnacle.wire.acp.session_setup import SessionOption
from binnacle.wire.jsonrpc import INVALID_PARAMS, UNREADABLE, RpcError

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]


ToolStatus = Literal["pending", "in_progress", "completed", "failed"]


class _Update(Shape, frozen=True, kw_only=True, tag_field="sessionUpdate"):
    """What happened in a session."""


class _Chunk(_Update, frozen=True, kw_only=True):
    content: ContentBlock
    message_id: str | None = None


class MessageChunk(_Chunk, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """A piece of what the agent says."""


class ThoughtChunk(_Chunk, frozen=True, kw_only=True, tag="agent_thought_chunk"):
    """A piece of what the agent thinks."""


class UserChunk(_Chunk, frozen=True, kw_only=True, tag="user_message_chunk"):
    """A piece of an earlier prompt, when a session is loaded."""


class Location(Shape, frozen=True, kw_only=True):
    """A place in a file that a tool call is about."""

    path: str
    line: int | None = None


class ToolCallFields(Shape, frozen=True, kw_only=True):
    """A tool call, or changes of one."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[ToolContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None


class ToolCallStarted(ToolCallFields, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call"):
    """A tool call begins."""


class ToolCallChanged(ToolCallFields, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"):
    """A tool call changes or ends. Some agents begin one with this."""


class PlanEntry(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """One step of an agent's plan. All fields are written, as the protocol requires."""

    content: str
    priority: str = "medium"
    status: str = "pending"


class Plan(_Update, frozen=True, kw_only=True, tag="plan"):
    """The agent's complete plan, which replaces the earlier one."""

    entries: tuple[PlanEntry, ...] = ()


class AvailableCommand(Shape, frozen=True, kw_only=True):
    """A command that an agent understands in a prompt."""

    name: str
    description: str = ""
    input: Any = None


class AvailableCommands(_Update, frozen=True, kw_only=True, tag="available_commands_update"):
    """The commands that are available now."""

    available_commands: tuple[AvailableCommand, ...] = ()


class CurrentMode(_Update, frozen=True, kw_only=True, tag="current_mode_update"):
    """The mode changed."""

    current_mode_id: str


class OptionsChanged(_Update, frozen=True, kw_only=True, tag="config_option_update"):
    """The options of the session changed."""

    config_options: tuple[SessionOption, ...] = ()


class SessionInfo(_Update, frozen=True, kw_only=True, tag="session_info_update"):
    """What a list of sessions shows to a person."""

    title: str | None = None


class Cost(Shape, frozen=True, kw_only=True):
    """The cost of a session so far."""

    amount: float
    currency: str = "USD"


class UsageUpdate(_Update, frozen=True, kw_only=True, tag="usage_update"):
    """How full the model's context is, and the cost."""

    used: int | None = None
    size: int | None = None
    cost: Cost | None = None


class OtherUpdate(Struct, frozen=True):
    """An update of an unknown kind, or one that does not match its kind."""

    kind: str
    raw: bytes


KnownUpdate: TypeAlias = (
    MessageChunk
    | ThoughtChunk
    | UserChunk
    | ToolCallStarted
    | ToolCallChanged
    | Plan
    | AvailableCommands
    | CurrentMode
    | OptionsChanged
    | SessionInfo
    | UsageUpdate
)


Update: TypeAlias = KnownUpdate | OtherUpdate


class SessionUpdate(Shape, frozen=True, kw_only=True):
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


def read_session_update(params: bytes) -> tuple[str, Update]:
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
