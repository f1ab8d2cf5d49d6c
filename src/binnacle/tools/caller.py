"""Who calls a tool, and how they hear of its progress."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from binnacle.work.actor import Actor

Progress = Callable[[float, float | None, str], None]
"""Called with how much is done, of how much, and a word about it."""


def _silent(done: float, total: float | None, message: str) -> None:
    """Nobody wants to know."""


class Client(Protocol):
    """What another server may want of the client behind a call."""

    @property
    def era(self) -> str: ...

    @property
    def capabilities(self) -> Mapping[str, Any]: ...

    @property
    def wants_progress(self) -> bool: ...

    @property
    def request_state(self) -> str | None:
        """What the client was told to hand back, when it calls again with answers."""

    @property
    def input_responses(self) -> Mapping[str, Any] | None: ...

    async def ask(self, method: str, params: Any) -> Any:
        """Asks the client while its call is under way."""


class Caller(Struct, kw_only=True):
    """One client of the catalog: an MCP connection, or a command."""

    actor: Actor
    session: str | None = None
    """The session its changes belong to."""

    state: dict[str, Any] = field(default_factory=dict)
    """What providers keep for this client between calls. `actor` in it is who it turned out to be."""

    progress: Progress = _silent
    client: Client | None = None
    """None where there is nobody to ask."""
