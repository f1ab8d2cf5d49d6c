"""Who does something."""

from typing import Literal

from msgspec import Struct


class Actor(Struct, frozen=True):
    """A person, an agent, or Binnacle itself, as written into the event log."""

    name: str
    kind: Literal["human", "agent", "system"] = "human"
    is_shared: bool = False
    """Whether several callers may stand behind the name, because nothing tells them apart. Then it holds no task."""


SYSTEM = Actor("binnacle", "system")
"""What happens by itself: a lapsed claim, a repair."""
