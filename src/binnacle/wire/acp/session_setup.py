"""Opening a session: its folder and MCP servers, its modes, models and options."""

from typing import Any, TypeAlias

import msgspec

from binnacle.wire.acp.content import Shape
from binnacle.wire.jsonrpc import INVALID_PARAMS, RpcError


class NameValue(Shape, frozen=True, kw_only=True):
    """A header, or an environment variable."""

    name: str
    value: str


class HttpMcpServer(Shape, frozen=True, kw_only=True, tag_field="type", tag="http"):
    """An MCP server that the agent reaches over HTTP."""

    name: str
    url: str
    headers: tuple[NameValue, ...]
    """Always written, because some agents refuse a server without headers."""


class StdioMcpServer(Shape, frozen=True, kw_only=True):
    """An MCP server that the agent starts. Only this kind has no `type`."""

    name: str
    command: str
    args: tuple[str, ...]
    env: tuple[NameValue, ...]


McpServer: TypeAlias = HttpMcpServer | StdioMcpServer


class NewSession(Shape, frozen=True, kw_only=True):
    """Opens a session in a folder, with MCP servers."""

    cwd: str
    mcp_servers: tuple[Any, ...]
    """`McpServer`s when written; `servers_of` reads them."""


class LoadSession(NewSession, frozen=True, kw_only=True):
    """Opens a session that the agent saved: `session/load` replays its updates, `session/resume` does not."""

    session_id: str


class Mode(Shape, frozen=True, kw_only=True):
    """A way of working that an agent offers."""

    id: str
    name: str = ""
    description: str | None = None


class Modes(Shape, frozen=True, kw_only=True):
    """The modes of a session."""

    current_mode_id: str
    available_modes: tuple[Mode, ...] = ()


class Model(Shape, frozen=True, kw_only=True):
    """A model that an agent offers."""

    model_id: str
    name: str = ""
    description: str | None = None


class Models(Shape, frozen=True, kw_only=True):
    """The models of a session. Not stable: newer agents offer them as an option of category `model`."""

    current_model_id: str
    available_models: tuple[Model, ...] = ()


class OptionChoice(Shape, frozen=True, kw_only=True):
    """One value of an option, or a group of values."""

    name: str = ""
    value: str | None = None
    group: str | None = None
    options: "tuple[OptionChoice, ...] | None" = None


class SessionOption(Shape, frozen=True, kw_only=True):
    """Something that can be set in a session."""

    id: str
    name: str = ""
    type: str = "select"
    category: Any = None
    """`mode`, `model`, `thought_level`, or a category of the agent."""

    current_value: Any = None
    options: tuple[OptionChoice, ...] | None = None


class SessionOpened(Shape, frozen=True, kw_only=True):
    """An agent's answer to the opening of a session."""

    session_id: str | None = None
    """Only for a new session."""

    modes: Modes | None = None
    models: Models | None = None
    config_options: tuple[SessionOption, ...] | None = None


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


class SessionReference(Shape, frozen=True, kw_only=True):
    """Names a session: to cancel its turn, or to close it."""

    session_id: str


def servers_of(session: NewSession) -> tuple[McpServer, ...]:
    """The MCP servers that a client named.

    Raises:
        RpcError: one has another type, or is incomplete.
    """
    return tuple(_server(found) for found in session.mcp_servers)


def _server(found: Any) -> McpServer:
    kind: type[McpServer] = HttpMcpServer if isinstance(found, dict) and "type" in found else StdioMcpServer
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"invalid params: mcpServers: {error}") from error
