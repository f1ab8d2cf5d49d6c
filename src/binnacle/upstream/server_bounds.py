"""How much one server may offer and say. What is beyond is held back, and people are told what and why. No I/O.

A server writes its lists itself, and a hostile one writes them without end. Everything that is kept of a server, shown
of it or done for it at its own wish has a bound here, so that one server can take neither the memory nor the time of
the gateway, of the other servers or of the next start.
"""

from typing import Literal, NamedTuple

import msgspec
from msgspec import Raw

from binnacle.wire.jsonrpc import UNREADABLE

ListKind = Literal["tools", "prompts", "resources", "templates"]

MAX_ENTRIES: dict[ListKind, int] = {"tools": 1000, "prompts": 1000, "resources": 5000, "templates": 1000}
"""Entries of one list. Agents are shown far fewer at once, and find the others by search."""

MAX_LIST_PAGES = 100
"""Pages of one list that are asked for."""

MAX_LIST_BYTES = 4 << 20
"""Bytes of one list, and of one page of it: a page is taken apart only if it is no larger."""

MAX_ENTRY_BYTES = 128 << 10
"""Bytes of one tool, prompt, resource or template."""

MAX_CURSOR_BYTES = 10_000
"""Bytes of what names the next page."""

MAX_LIST_SECONDS = 5.0
"""Seconds after which no further page is asked for, for all lists of a server together."""

MAX_NAME_CHARACTERS = 256
"""Characters of the name of a tool or prompt. The protocol recommends at most 128."""

MAX_URI_CHARACTERS = 4000
"""Characters of the address of a resource or template."""

MAX_NOTES = 50
"""Notes about one server that are shown; the others are counted."""

NOT_OFFERED = "not offered"
"""What a note says of an entry that is held back."""

MAX_ERROR_CHARACTERS = 4000
"""Characters of an error of a server that are passed on."""

MAX_ERROR_DATA_BYTES = 16 << 10
"""Bytes of what a server adds to an error. More is left out."""

MAX_HELLO_BYTES = 64 << 10
"""Bytes of the capabilities that a server names when it is met, and of what it says of itself."""

MAX_QUESTIONS_OF_A_CALL = 20
"""Times that a person may be asked something for one call."""

MAX_OPEN_REQUESTS = 100
"""Requests of a server that are answered at the same time. What it asks beyond is passed over."""

MAX_UPDATES = 1000
"""Resources whose changes are announced together."""

MAX_CALL_SECONDS = 3600.0
"""Seconds that one call may take in all, however much progress its server reports."""

PROGRESS_AT_ONCE, PROGRESS_PER_SECOND = 100, 20
"""Notes of progress of one call that are passed on: at once, and in each further second."""


class ListedEntries(NamedTuple):
    """A list as far as it is kept."""

    entries: tuple[Raw, ...]
    notes: tuple[str, ...] = ()
    """What was held back, and why."""


class PagedList:
    """Puts a list together, page by page."""

    def __init__(self, kind: ListKind) -> None:
        self._kind = kind
        self._entries: list[Raw] = []
        self._notes: list[str] = []
        self._size = 0
        self._pages = 0
        self._cursors: set[str] = set()

    @property
    def listed(self) -> ListedEntries:
        """What there is of it now."""
        return ListedEntries(tuple(self._entries), tuple(self._notes))

    def add(self, answer: Raw, key: str) -> str | None:
        """Takes a page. Returns what names the next one; None if no other is wanted.

        Raises:
            msgspec.DecodeError: it is no page.
        """
        if memoryview(answer).nbytes > MAX_LIST_BYTES:
            self._stop(f"has more than {MAX_LIST_BYTES >> 20} MiB")
            return None
        page = msgspec.json.decode(answer, type=dict[str, Raw])
        if not self.extend(msgspec.json.decode(page.get(key, Raw(b"[]")), type=list[Raw])):
            return None
        self._pages += 1
        return self._next(page.get("nextCursor", Raw(b"null")))

    def extend(self, entries: "list[Raw] | tuple[Raw, ...]") -> bool:
        """Takes entries. False if there was no room for all of them."""
        for entry in entries:
            size = memoryview(entry).nbytes
            if size > MAX_ENTRY_BYTES:
                self._notes.append(f"{_name_in(entry)}: {NOT_OFFERED}, it has more than {MAX_ENTRY_BYTES >> 10} KiB")
                continue
            if len(self._entries) >= MAX_ENTRIES[self._kind]:
                self._stop(f"has more than {MAX_ENTRIES[self._kind]} {self._kind}")
                return False
            if self._size + size > MAX_LIST_BYTES:
                self._stop(f"has more than {MAX_LIST_BYTES >> 20} MiB")
                return False
            self._size += size
            # A copy: the entry as it was decoded keeps all of its message in memory.
            self._entries.append(entry.copy())
        return True

    def take_too_long(self) -> None:
        """No further page is asked for, because the time is over."""
        self._stop("took too long")

    def _next(self, raw: Raw) -> str | None:
        if memoryview(raw).nbytes > MAX_CURSOR_BYTES:
            self._stop(f"names its next page in more than {MAX_CURSOR_BYTES} bytes")
            return None
        cursor = msgspec.json.decode(raw)
        if not isinstance(cursor, str) or not cursor:
            return None
        if cursor in self._cursors:
            self._stop("names the same page again")
            return None
        if self._pages >= MAX_LIST_PAGES:
            self._stop(f"has more than {MAX_LIST_PAGES} pages")
            return None
        self._cursors.add(cursor)
        return cursor

    def _stop(self, why: str) -> None:
        self._notes.append(f"its list of {self._kind} {why}; the rest is {NOT_OFFERED}")


def bounded(kind: ListKind, entries: tuple[Raw, ...]) -> tuple[Raw, ...]:
    """As many entries of a list as are kept of one."""
    pages = PagedList(kind)
    pages.extend(entries)
    return pages.listed.entries


class _Named(msgspec.Struct):
    name: str = ""


def _name_in(entry: Raw) -> str:
    """What an entry calls itself, cut."""
    try:
        return msgspec.json.decode(entry, type=_Named).name[:MAX_NAME_CHARACTERS] or "an entry"
    except UNREADABLE:
        return "an entry"


class RereadPace:
    """How soon something may be done again: at once after a quiet time, less and less often in a storm."""

    def __init__(self, first: float, last: float) -> None:
        """Seconds between the first two times, and at most."""
        self._first = first
        self._last = last
        self._pause = first
        self._next_at = 0.0

    def wait(self, now: float) -> float:
        """Seconds until it may be done."""
        return max(0.0, self._next_at - now)

    def done(self, now: float) -> None:
        """It was done."""
        was_quiet = now - self._next_at > self._pause
        self._pause = self._first if was_quiet else min(self._pause * 2, self._last)
        self._next_at = now + self._pause


class RateAllowance:
    """So many at once, and so many in each further second."""

    def __init__(self, at_once: int, per_second: float) -> None:
        self._at_once = at_once
        self._per_second = per_second
        self._left = float(at_once)
        self._counted_at = 0.0

    def take(self, now: float) -> bool:
        """Whether there is one left for now; if so, it is used."""
        self._left = min(self._at_once, self._left + (now - self._counted_at) * self._per_second)
        self._counted_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
