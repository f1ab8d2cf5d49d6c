"""Ids of frames and variables as we hand them out: valid until the program goes on, and known to be old after that."""

import time
from typing import TYPE_CHECKING, Literal

from binnacle.bridge.debug.faults import fault

if TYPE_CHECKING:
    from binnacle.bridge.debug.target import Target

Kind = Literal["frame", "variables"]

NEXT = {
    "frame": "call debug_stack for the frames there are now",
    "variables": "call debug_list_variables for the variables there are now",
}


class References:
    """Adapters give the same small numbers again after each step; ours are never given twice.

    So an id that was remembered from an earlier stop is refused instead of meaning something else.
    """

    def __init__(self) -> None:
        # Another host, started later for the same workspace, must not give the ids of this one again.
        self._first = int(time.time()) % 100_000 * 1000
        self._next = self._first
        self._live: dict[int, tuple[Kind, Target, int]] = {}
        self._given: dict[Target, dict[tuple[Kind, int], int]] = {}

    def give(self, kind: Kind, target: "Target", number: int) -> int:
        """Our id for an adapter's."""
        given = self._given.setdefault(target, {})
        if (known := given.get((kind, number))) is not None:
            return known
        self._next += 1
        given[kind, number] = self._next
        self._live[self._next] = (kind, target, number)
        return self._next

    def take(self, kind: Kind, reference: int) -> "tuple[Target, int]":
        """Whose id it is, and the adapter's own.

        Raises:
            BridgeError: the program has gone on since, or it never was an id.
        """
        if (found := self._live.get(reference)) is not None and found[0] == kind:
            return found[1], found[2]
        if found is not None:
            raise fault("E_INVALID_REFERENCE", f"{reference} is the id of something else: a {found[0]}", NEXT[kind])
        if self._first < reference <= self._next:
            raise fault("E_STALE_REFERENCE", f"the program has gone on since the id {reference} was given", NEXT[kind])
        raise fault("E_INVALID_REFERENCE", f"no such id: {reference}", NEXT[kind])

    def forget(self, target: "Target") -> None:
        """The program goes on: what was given for it is void."""
        for reference in self._given.pop(target, {}).values():
            del self._live[reference]
