"""The first exchange of a connection: versions, capabilities, logins."""

from msgspec import field

from binnacle.wire.acp.content import Meta, Shape


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
    """What a prompt may contain besides text and links."""

    image: bool | None = False
    audio: bool | None = False
    embedded_context: bool | None = False


class McpCapabilities(Shape, frozen=True, kw_only=True):
    """The transports besides stdio by which an agent reaches MCP servers."""

    http: bool | None = False
    sse: bool | None = False


class SessionCapabilities(Shape, frozen=True, kw_only=True):
    """Further methods on sessions: an object for each that the agent has."""

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
    """Logs in by a method that the agent named."""

    method_id: str


class Acknowledged(Shape, frozen=True, kw_only=True):
    """An answer without content."""
