"""Who makes a change."""

from typing import Literal

from msgspec import Struct


class Actor(Struct, frozen=True):
    """A person, an agent, or Binnacle itself, as written into the event log."""

    name: str
    kind: Literal["human", "agent", "system"] = "human"
    is_shared: bool = False
    """Whether several callers may share the name, because nothing distinguishes them. Then it may hold no task."""


SYSTEM = Actor("binnacle", "system")
"""The actor of automatic changes: a lapsed claim, a repair."""
