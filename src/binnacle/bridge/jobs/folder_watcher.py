"""Watches folders for changes: by inotify where it exists, else by polling.

The callback finds out itself what has changed. It is also called now and then without a change, because notifications
may get lost: network mounts send none, and a full queue drops them.
"""

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from binnacle.processes.linux import IS_LINUX

RECHECK_SECONDS = 0.5
"""Seconds between two polls in addition to inotify."""

POLL_SECONDS = 0.02
"""Seconds between two polls without inotify."""

CREATED, DELETED, MOVED_IN, MODIFIED, SELF_GONE = 0x100, 0x200, 0x80, 0x2, 0x400 | 0x800
OVERFLOWED = 0x4000
_MASK = CREATED | DELETED | MOVED_IN | MODIFIED | SELF_GONE
_EVENT = struct.Struct("iIII")

Look = Callable[[], None]


class FolderWatcher:
    """Calls back when a watched folder has changed, until it is closed."""

    def __init__(self, *, polls: bool = False) -> None:
        """`polls` means without inotify."""
        self._loop = asyncio.get_running_loop()
        self._looks: dict[int, Look] = {}
        self._numbers: dict[int, int] = {}
        """inotify's id of a watch → our callback. A folder has one watch."""

        self._last = 0
        self._inotify = None if polls else _open_inotify()
        if self._inotify is not None:
            self._loop.add_reader(self._inotify.fd, self._read)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_polling(self) -> bool:
        return self._inotify is None

    def watch(self, folder: str, look: Look) -> Callable[[], None]:
        """Calls `look` when something in `folder` changes. Returns a function that ends this.

        A folder can be watched only once. It may be renamed meanwhile.
        """
        self._last += 1
        number = self._last
        self._looks[number] = look
        mark = self._inotify.add(folder) if self._inotify is not None else -1
        if mark >= 0:
            self._numbers[mark] = number
        if self._timer is None:
            self._look_later()

        def end() -> None:
            if self._looks.pop(number, None) is None:
                return
            if mark >= 0 and self._numbers.get(mark) == number:
                del self._numbers[mark]
                if self._inotify is not None:
                    self._inotify.remove(mark)

        return end

    def close(self) -> None:
        self._looks.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._inotify is not None:
            self._loop.remove_reader(self._inotify.fd)
            self._inotify.close()
            self._inotify = None

    def _read(self) -> None:
        try:
            data = os.read(self._inotify.fd, 64 * 1024) if self._inotify is not None else b""
        except OSError:
            return
        changed: dict[int, None] = {}
        start = 0
        while start < len(data):
            mark, mask, _, length = _EVENT.unpack_from(data, start)
            start += _EVENT.size + length
            if mask & OVERFLOWED:
                changed |= dict.fromkeys(self._looks)
            elif mark in self._numbers:
                changed[self._numbers[mark]] = None
        for number in changed:
            if look := self._looks.get(number):
                look()

    def _look_later(self) -> None:
        self._timer = self._loop.call_later(POLL_SECONDS if self.is_polling else RECHECK_SECONDS, self._look_anyway)

    def _look_anyway(self) -> None:
        self._timer = None
        for look in list(self._looks.values()):
            look()
        if self._looks:
            self._look_later()


class _Inotify(Protocol):
    fd: int

    def add(self, folder: str) -> int: ...

    def remove(self, mark: int) -> None: ...

    def close(self) -> None: ...


def _open_inotify() -> _Inotify | None:
    """inotify; None on another system, or if the user has no instance left."""
    if not IS_LINUX:
        return None
    with suppress(OSError, AttributeError):
        return _LinuxInotify()
    return None


class _LinuxInotify:
    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "no inotify")

    def add(self, folder: str) -> int:
        mark: int = self._libc.inotify_add_watch(self.fd, os.fsencode(folder), _MASK)
        return mark

    def remove(self, mark: int) -> None:
        self._libc.inotify_rm_watch(self.fd, mark)

    def close(self) -> None:
        os.close(self.fd)
