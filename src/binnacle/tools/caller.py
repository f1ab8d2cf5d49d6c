"""Who calls a tool, and how they hear of its progress."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from binnacle.work.actor import Actor

Progress = Callable[[float, float | None, str], None]
"""Called with how much is done, of how much, and a word about it."""


def _silent(done: float, total: float | None, message: str) -> None:
    """Nobody wants to know."""


class Caller(Struct, kw_only=True):
    """One client of the catalog: an MCP connection, or a command."""

    actor: Actor
    session: str | None = None
    """The session its changes belong to."""

    state: dict[str, Any] = field(default_factory=dict)
    """What providers keep for this client between calls. `actor` in it is who it turned out to be."""

    progress: Progress = _silent
