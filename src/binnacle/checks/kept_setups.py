"""Keeps what the setup of a check made and gives it to the next checkouts, so that it runs once and not each time.

    made   the setup runs in a checkout of the base, never of the commit under test. What git tracks is taken away,
           the rest is kept: it and the home
    used   for a commit whose lock files, setup and environment are the same, and whose base has that base in its
           history: a copy of what was kept, at the same path, and then the commit is checked out over it. The
           copy is removed afterwards, with everything that the check wrote

If anything is in the way, nothing is kept or used, and the setup runs in a checkout of its own: a lock file that
differs, a setup that fails or changes files of the repository, a commit with files where the setup made some, a
kept file that was changed, no space on the disk, all slots in use. None of it is an error.
"""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from binnacle.checks.bounded_log import BoundedLog
from binnacle.checks.check_environment import CheckEnvironment
from binnacle.checks.check_process import run_bounded
from binnacle.checks.check_subject import CheckSubject
from binnacle.checks.clean_checkout import CheckRoom, check_out, make_room, remove_room
from binnacle.checks.setup_key import find_setup_key
from binnacle.checks.setup_slots import MAX_BYTES, KeptSetup, SetupSlot, SetupSlots
from binnacle.checks.setup_snapshot import is_in_the_way, measure_folder, note_files, remove_tracked
from binnacle.config.private_files import make_private_folder
from binnacle.errors import GitError
from binnacle.git.command import Git
from binnacle.processes.keeper import Keeper
from binnacle.work.check import Check

SETUP_FOLDER = "setups"
MAX_KEPT_BYTES = MAX_BYTES // 2
"""Of one setup."""

SPARE_BYTES = 1 << 30
"""Left free on the disk beside a copy."""

COPY_TIMEOUT_SECONDS = 600.0
_PARTS = ("tree", "home")

RunSetup = Callable[[Check, CheckRoom, CheckEnvironment, BoundedLog], Awaitable[str]]
"""Runs the setup of a check in a room. Returns why it failed; empty if it did not."""


class KeptSetups:
    """The setups of one repository that are kept, in `folder`."""

    def __init__(self, *, repo: str, folder: str, keeper: Keeper, run_setup: RunSetup) -> None:
        self._repo = repo
        self._git = Git(repo)
        self._keeper = keeper
        self._run_setup = run_setup
        self._slots = SetupSlots(os.path.join(folder, SETUP_FOLDER))

    @asynccontextmanager
    async def open(self, subject: CheckSubject, commit: str, *, log: BoundedLog) -> AsyncIterator[CheckRoom | None]:
        """A room with a commit and what the setup made, or None. Leaving the block removes the room."""
        slot = None
        key = await find_setup_key(self._git, subject.check, commit, subject.setup_environment)
        if key:
            with suppress(OSError):
                await asyncio.to_thread(self._slots.remove_abandoned)
                slot = self._slots.claim(key)
        if slot is None:
            yield None
            return
        try:
            yield await self._fill(slot, key, subject, commit, log)
        finally:
            await asyncio.shield(asyncio.to_thread(slot.release))

    async def _fill(
        self, slot: SetupSlot, key: str, subject: CheckSubject, commit: str, log: BoundedLog
    ) -> CheckRoom | None:
        base = subject.base
        try:
            kept = await self._find(slot, base or commit)
            if kept is None and base:
                its_key = await find_setup_key(self._git, subject.check, base, subject.setup_environment)
                kept = await self._make(slot, subject, log) if its_key == key else None
            if kept is None:
                return None
            names = (await self._git.ask("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)).names
            if is_in_the_way(kept.tops, names):
                return None
            return await self._use(slot, commit, subject.environment)
        except (OSError, GitError):
            await asyncio.to_thread(slot.clear)
            return None

    async def _find(self, slot: SetupSlot, base: str) -> KeptSetup | None:
        """What a slot has, if it is as it was made, and from a commit that `base` rests on."""
        kept = slot.read()
        if kept is None:
            return None
        if (await self._git.run("merge-base", "--is-ancestor", kept.base, base)).code:
            return None
        measured = await asyncio.to_thread(measure_folder, slot.pristine)
        return kept if measured.digest == kept.digest else None

    async def _make(self, slot: SetupSlot, subject: CheckSubject, log: BoundedLog) -> KeptSetup | None:
        await asyncio.to_thread(slot.clear)
        await asyncio.to_thread(remove_room, slot.room)
        room = make_room(slot.room)
        await check_out(self._repo, subject.base, room)
        # Asked before the setup runs, which can change what git says in that folder.
        names = (await room.git.ask("ls-files", "-z")).names
        before = await asyncio.to_thread(note_files, room.tree, names)
        if await self._run_setup(subject.check, room, subject.environment, log):
            return None
        if await asyncio.to_thread(note_files, room.tree, names) != before:
            log.write(b"the setup changes files of the repository, so it runs for each checkout\n")
            return None
        kept = await asyncio.to_thread(_keep, slot, room, names, subject.base)
        await asyncio.to_thread(self._slots.remove_oldest)
        return kept

    async def _use(self, slot: SetupSlot, commit: str, environment: CheckEnvironment) -> CheckRoom | None:
        slot.touch()
        await asyncio.to_thread(remove_room, slot.room)
        room = make_room(slot.room)
        for part, target in zip(_PARTS, (room.tree, room.home), strict=True):
            if not await self._copy(os.path.join(slot.pristine, part), target, environment):
                return None
        await check_out(self._repo, commit, room)
        return room

    async def _copy(self, source: str, target: str, environment: CheckEnvironment) -> bool:
        """Copies all that is in a folder, with its times; without writing it again where the file system can share."""
        sharing = {"linux": ("--reflink=auto",), "darwin": ("-c",)}.get(sys.platform, ())
        for options in (sharing, ()):
            end = await run_bounded(
                self._keeper,
                ("cp", "-a", *options, os.path.join(source, "."), target),
                cwd=target,
                env={"PATH": environment.variables.get("PATH", os.defpath)},
                timeout=COPY_TIMEOUT_SECONDS,
                log=BoundedLog(),
            )
            if end.exit == 0:
                return True
        return False


def _keep(slot: SetupSlot, room: CheckRoom, names: list[str], base: str) -> KeptSetup | None:
    """Takes what a setup made out of its room."""
    make_private_folder(slot.pristine)
    for part, source in zip(_PARTS, (room.tree, room.home), strict=True):
        os.rename(source, os.path.join(slot.pristine, part))
    tops = remove_tracked(os.path.join(slot.pristine, "tree"), names)
    measured = measure_folder(slot.pristine)
    free = shutil.disk_usage(slot.pristine).free
    if measured.size > MAX_KEPT_BYTES or measured.size + SPARE_BYTES > free:
        slot.clear()
        return None
    kept = KeptSetup(base=base, tops=tops, digest=measured.digest, size=measured.size, made=time.time())
    slot.keep(kept)
    return kept
