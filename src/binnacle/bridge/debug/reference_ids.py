"""Our ids of frames and variables: valid until the program continues, and recognised as stale after that."""

import time
from typing import Generic, Literal, TypeVar

from binnacle.bridge.debug.debug_errors import debug_error

Owner = TypeVar("Owner")
"""The owner of ids: a debugged process."""

Kind = Literal["frame", "variables"]

NEXT_STEPS = {
    "frame": "call debug_stack for the frames there are now",
    "variables": "call debug_list_variables for the variables there are now",
}


class ReferenceIds(Generic[Owner]):
    """Gives each adapter's id our own id, which is never reused: adapters use the same small numbers after each step.

    So an id from an earlier stop is refused instead of meaning something else.
    """

    def __init__(self) -> None:
        # A later host of the same workspace must not reuse the ids of this one.
        self._first = int(time.time()) % 100_000 * 1000
        self._next = self._first
        self._live: dict[int, tuple[Kind, Owner, int]] = {}
        self._given: dict[Owner, dict[tuple[Kind, int], int]] = {}

    def give(self, kind: Kind, owner: Owner, number: int) -> int:
        """Our id for an adapter's."""
        given = self._given.setdefault(owner, {})
        if (known := given.get((kind, number))) is not None:
            return known
        self._next += 1
        given[kind, number] = self._next
        self._live[self._next] = (kind, owner, number)
        return self._next

    def take(self, kind: Kind, reference: int) -> tuple[Owner, int]:
        """The owner of an id, and the adapter's id.

        Raises:
            BridgeError: the program has continued since, or it never was an id.
        """
        if (found := self._live.get(reference)) is not None and found[0] == kind:
            return found[1], found[2]
        if found is not None:
            raise debug_error(
                "E_INVALID_REFERENCE", f"{reference} is the id of something else: a {found[0]}", NEXT_STEPS[kind]
            )
        if self._first < reference <= self._next:
            raise debug_error(
                "E_STALE_REFERENCE", f"the program has continued since the id {reference} was given", NEXT_STEPS[kind]
            )
        raise debug_error("E_INVALID_REFERENCE", f"no such id: {reference}", NEXT_STEPS[kind])

    def forget(self, owner: Owner) -> None:
        """Makes the ids of a program stale, because it continues."""
        for reference in self._given.pop(owner, {}).values():
            del self._live[reference]
