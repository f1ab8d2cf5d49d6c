"""The folders in which the results of setups are kept, and who may use each of them.

    <folder>/
      <key>-<n>.lock     held while the slot is used; the system releases it when its holder dies
      <key>-<n>/         a slot
        pristine/        what the setup made: tree and home. Nothing runs in it
        room/            the room of the one who uses it, always at this path: a setup writes it into files
        kept.json        written last. Without it, the rest is what a killed process left

A slot has one user at a time, and a key has a few slots, for checks that run at once. Everything is removed again:
rooms after their use, slots when there are too many, they are too large or too old.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec
from msgspec import Struct

from binnacle.checks.clean_checkout import LOCK_SUFFIX, remove_room, remove_tree
from binnacle.config.atomic_write import write_atomically
from binnacle.config.file_lock import try_lock
from binnacle.config.private_files import make_private_folder

SLOTS_OF_KEY = 3
MAX_SLOTS = 12
MAX_BYTES = 8 << 30
"""Of all slots of a project."""

MAX_AGE_SECONDS = 14 * 86400.0
"""After that a setup runs again: it may load more than its lock files say."""

_NAME = re.compile(r"[0-9a-f]{20}-[0-9]")


class KeptSetup(Struct, frozen=True, kw_only=True):
    """What a slot has."""

    base: str
    """The commit on whose checkout the setup ran."""

    tops: tuple[str, ...]
    """The files and folders that it made, from the top of the checkout."""

    digest: str
    size: int
    made: float


class SetupSlot:
    """A slot that we hold. `release` it."""

    def __init__(self, path: str, lock: int) -> None:
        self._path = path
        self._lock = lock
        self.pristine = os.path.join(path, "pristine")
        self.room = os.path.join(path, "room")

    def read(self) -> KeptSetup | None:
        """What it has; None if that is nothing, or not complete, or too old."""
        kept = _read(self._path)
        return kept if kept is not None and 0 <= time.time() - kept.made <= MAX_AGE_SECONDS else None

    def keep(self, kept: KeptSetup) -> None:
        """Says that what it has is complete.

        Raises:
            OSError: it cannot be written.
        """
        write_atomically(_marker(self._path), msgspec.json.encode(kept))

    def touch(self) -> None:
        """Notes that it is used."""
        with suppress(OSError):
            os.utime(_marker(self._path))

    def clear(self) -> None:
        """Removes what it has."""
        _clear(self._path)

    def release(self) -> None:
        """Removes the room, and lets others use the slot."""
        remove_room(self.room)
        os.close(self._lock)


class SetupSlots:
    """The slots of a project."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def claim(self, key: str) -> SetupSlot | None:
        """A slot of a key, one that has something if there is one; None if all are in use.

        Raises:
            OSError: the folder cannot be made.
        """
        make_private_folder(self._folder)
        paths = [os.path.join(self._folder, f"{key}-{number}") for number in range(SLOTS_OF_KEY)]
        for path in sorted(paths, key=lambda one: not os.path.exists(_marker(one))):
            lock = _try_hold(path)
            if lock is not None:
                make_private_folder(path)
                return SetupSlot(path, lock)
        return None

    def remove_oldest(self) -> None:
        """Removes slots that were not used for longest, until number and size are within their bounds."""
        found = []
        for path in self._list_slots():
            with suppress(OSError):
                if (kept := _read(path)) is not None:
                    found.append((os.lstat(_marker(path)).st_mtime, path, kept.size))
        number, size = len(found), sum(one[2] for one in found)
        for _, path, its_size in sorted(found):
            if number <= MAX_SLOTS and size <= MAX_BYTES:
                return
            if self._remove(path):
                number, size = number - 1, size - its_size

    def remove_abandoned(self) -> None:
        """Removes what killed processes left: rooms, and slots that are not complete."""
        for path in self._list_slots():
            room = os.path.join(path, "room")
            if not os.path.exists(_marker(path)):
                self._remove(path)
            elif os.path.exists(room) and (lock := _try_hold(path)) is not None:
                remove_room(room)
                os.close(lock)

    def _remove(self, path: str) -> bool:
        lock = _try_hold(path)
        if lock is None:
            return False
        _clear(path)
        remove_room(os.path.join(path, "room"))
        remove_tree(path)
        with suppress(OSError):
            os.unlink(path + LOCK_SUFFIX)
        os.close(lock)
        return True

    def _list_slots(self) -> Iterator[str]:
        for entry in os.listdir(self._folder) if os.path.isdir(self._folder) else ():
            name = entry.removesuffix(LOCK_SUFFIX)
            if entry != name and _NAME.fullmatch(name):
                yield os.path.join(self._folder, name)


def _try_hold(path: str) -> int | None:
    """The lock of a slot; None if another has it, or there are no locks here."""
    file = path + LOCK_SUFFIX
    try:
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    with suppress(OSError):
        # Another process may have removed the slot, with this file, before we had its lock.
        if try_lock(lock) and os.path.samestat(os.fstat(lock), os.lstat(file)):
            return lock
    os.close(lock)
    return None


def _marker(path: str) -> str:
    return os.path.join(path, "kept.json")


def _read(path: str) -> KeptSetup | None:
    with suppress(OSError, msgspec.DecodeError), open(_marker(path), "rb") as file:
        return msgspec.json.decode(file.read(1 << 20), type=KeptSetup)
    return None


def _clear(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(_marker(path))
    remove_tree(os.path.join(path, "pristine"))
