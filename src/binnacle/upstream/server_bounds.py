"""Limits on what one server may offer and say. A note for people names what exceeds them. No I/O.

A hostile server may send lists without end. Everything that we keep of a server, show of it or do at its request has a
bound here, so that one server cannot use up the memory or the time of the gateway, of other servers or of the next
start.
"""

from typing import Literal, NamedTuple

import msgspec
from msgspec import Raw

from binnacle.wire.jsonrpc import UNREADABLE

ListKind = Literal["tools", "prompts", "resources", "templates"]

MAX_ENTRIES: dict[ListKind, int] = {"tools": 1000, "prompts": 1000, "resources": 5000, "templates": 1000}
"""Entries of one list. Agents see far fewer at once, and find the others by search."""

MAX_LIST_PAGES = 100
"""Pages of one list that we request."""

MAX_LIST_BYTES = 4 << 20
"""Bytes of one list, and of one page of it; a larger page is not decoded."""

MAX_ENTRY_BYTES = 128 << 10
"""Bytes of one tool, prompt, resource or template."""

MAX_CURSOR_BYTES = 10_000
"""Bytes of the cursor of the next page."""

MAX_LIST_SECONDS = 5.0
"""Seconds after which no further page is requested, for all lists of a server together."""

MAX_NAME_CHARACTERS = 256
"""Characters of the name of a tool or prompt. The protocol recommends at most 128."""

MAX_URI_CHARACTERS = 4000
"""Characters of the address of a resource or template."""

MAX_NOTES = 50
"""Notes about one server that are shown; the others are counted."""

NOT_OFFERED = "not offered"
"""What a note says about an entry that is not offered."""

MAX_ERROR_CHARACTERS = 4000
"""Characters of an error of a server that are passed on."""

MAX_ERROR_DATA_BYTES = 16 << 10
"""Bytes of the data of a server's error. More is left out."""

MAX_HELLO_BYTES = 64 << 10
"""Bytes of a server's capabilities, and of its description of itself."""

MAX_QUESTIONS_OF_A_CALL = 20
"""Questions to a person during one call."""

MAX_OPEN_REQUESTS = 100
"""Requests of a server that are answered at the same time. More are ignored."""

MAX_UPDATES = 1000
"""Resources whose changes are announced together."""

MAX_CALL_SECONDS = 3600.0
"""Seconds that one call may take in all, however much progress its server reports."""

PROGRESS_AT_ONCE, PROGRESS_PER_SECOND = 100, 20
"""Progress notifications of one call that are passed on: at once, and in each further second."""


class ListedEntries(NamedTuple):
    """A list, within its bounds."""

    entries: tuple[Raw, ...]
    notes: tuple[str, ...] = ()
    """What was left out, and why."""


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
        """The list so far."""
        return ListedEntries(tuple(self._entries), tuple(self._notes))

    def add(self, answer: Raw, key: str) -> str | None:
        """Adds a page. Returns the cursor of the next one; None if no more are wanted.

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
        """Adds entries. False if there was no room for all of them."""
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
            # A copy: the decoded entry would keep its complete message in memory.
            self._entries.append(entry.copy())
        return True

    def take_too_long(self) -> None:
        """Notes that the list ends here because the time is over."""
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


def limit_entries(kind: ListKind, entries: tuple[Raw, ...]) -> tuple[Raw, ...]:
    """The entries of a list, within its bounds."""
    pages = PagedList(kind)
    pages.extend(entries)
    return pages.listed.entries


class _Named(msgspec.Struct):
    name: str = ""


def _name_in(entry: Raw) -> str:
    """The name of an entry, cut."""
    try:
        return msgspec.json.decode(entry, type=_Named).name[:MAX_NAME_CHARACTERS] or "an entry"
    except UNREADABLE:
        return "an entry"


class RereadPace:
    """How soon something may be done again: at once after a quiet time, less often the more often it is wanted."""

    def __init__(self, first: float, last: float) -> None:
        """`first` and `last` are the shortest and the longest pause, in seconds."""
        self._first = first
        self._last = last
        self._pause = first
        self._next_at = 0.0

    def wait(self, now: float) -> float:
        """Seconds until it may be done."""
        return max(0.0, self._next_at - now)

    def done(self, now: float) -> None:
        """Notes that it was done."""
        was_quiet = now - self._next_at > self._pause
        self._pause = self._first if was_quiet else min(self._pause * 2, self._last)
        self._next_at = now + self._pause


class RateAllowance:
    """Allows a number at once, and a number in each further second."""

    def __init__(self, at_once: int, per_second: float) -> None:
        self._at_once = at_once
        self._per_second = per_second
        self._left = float(at_once)
        self._counted_at = 0.0

    def take(self, now: float) -> bool:
        """Uses one, and returns whether there was one left."""
        self._left = min(self._at_once, self._left + (now - self._counted_at) * self._per_second)
        self._counted_at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
