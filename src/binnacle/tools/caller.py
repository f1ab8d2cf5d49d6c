"""Who calls a tool, and how its progress is reported."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from msgspec import Struct, field

from binnacle.tools.activity import SessionActivity
from binnacle.wire.mcp import CallingClient
from binnacle.work.actor import Actor
from binnacle.work.session import Session

Progress = Callable[[float, float | None, str], None]
"""Called with how much is done, the total if known, and a message."""


def _ignore_progress(done: float, total: float | None, message: str) -> None:
    """Reports nothing."""


class OpenedSession(NamedTuple):
    """A session that was opened or changed, and the handle by which its caller names it."""

    session: Session
    handle: str
    agent_id: str | None
    """The registered agent that it acts as; None before its first change."""


class SessionControl(Protocol):
    """What a caller may do with its own session. Every method raises failures as a `BinnacleError`."""

    @property
    def is_open(self) -> bool:
        """Whether it was opened by `binnacle-set_agent` or `binnacle-orient`."""

    @property
    def is_identified(self) -> bool:
        """Whether the registered agent is known."""

    async def identify(self, *, registers: bool = True) -> Session:
        """The session with its registered agent, which is found by its process.

        If there is none and `registers` is set, a new agent is registered; a session that only reads needs none.
        """

    async def move(self, path: str, agent_id: str | None, *, is_named: bool) -> OpenedSession:
        """Moves the caller to the project at `path`, as the agent `agent_id` if given.

        With `is_named`, the caller named its session, and that session moves. Otherwise sessions of handles that were
        given out before stay where they are.
        """

    async def register(self, name: str | None) -> OpenedSession:
        """Registers the session as an agent; as a second one if `name` differs from the first."""

    async def close(self) -> None:
        """Signs the session's agent off."""


class Caller(Struct, kw_only=True):
    """One client of the catalog: an MCP connection, or a command."""

    session: Session
    activity: SessionActivity = field(default_factory=SessionActivity)
    progress: Progress = _ignore_progress
    client: CallingClient | None = None
    """None if there is no client to ask."""

    control: SessionControl | None = None
    """None for a session that cannot change, such as a command's."""

    is_named: bool = False
    """Whether it names its session by a handle."""

    is_ambiguous: bool = False
    """Whether several agents share its connection and it does not say which of them it is."""

    @property
    def actor(self) -> Actor:
        return self.session.actor
