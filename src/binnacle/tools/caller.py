"""Who calls a tool, and how they hear of its progress."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from msgspec import Struct, field

from binnacle.tools.activity import Activity
from binnacle.wire.mcp import CallingClient
from binnacle.work.actor import Actor
from binnacle.work.session import Session

Progress = Callable[[float, float | None, str], None]
"""Called with how much is done, of how much, and a word about it."""


def _silent(done: float, total: float | None, message: str) -> None:
    """Nobody wants to know."""


class OpenedSession(NamedTuple):
    """A session that was begun or changed, and the handle by which its caller names it."""

    session: Session
    handle: str
    agent_id: str | None
    """The registered agent that it acts as; None before it has done anything."""


class SessionControl(Protocol):
    """What a caller may do about its own session. Every method raises what is wrong as a `BinnacleError`."""

    @property
    def is_open(self) -> bool:
        """Whether it was opened by `binnacle-set_agent` or `binnacle-orient`."""

    @property
    def is_identified(self) -> bool:
        """Whether it is known which registered agent acts."""

    async def identify(self, *, registers: bool = True) -> Session:
        """The session with its registered agent, which is found by its process.

        One that is not there is registered if `registers`; a session that only reads needs none.
        """

    async def move(self, path: str, agent_id: str | None, *, is_named: bool) -> OpenedSession:
        """Takes the caller to the project at `path`, as the agent `agent_id` if one is named.

        With `is_named`, the caller said which session it means, and that one is moved. Otherwise handles that were
        given out before still mean where they meant.
        """

    async def register(self, name: str | None) -> OpenedSession:
        """Makes the session known as an agent; as a second one if it gives itself another name."""

    async def close(self) -> None:
        """Notes that the session's agent has signed off."""


class Caller(Struct, kw_only=True):
    """One client of the catalog: an MCP connection, or a command."""

    session: Session
    activity: Activity = field(default_factory=Activity)
    progress: Progress = _silent
    client: CallingClient | None = None
    """None where there is nobody to ask."""

    control: SessionControl | None = None
    """None for a session that cannot change, as that of a command."""

    is_named: bool = False
    """Whether it says by a handle which session is its own."""

    is_ambiguous: bool = False
    """Whether several agents share its connection and it does not say which of them it is."""

    @property
    def actor(self) -> Actor:
        return self.session.actor
