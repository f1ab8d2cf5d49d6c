"""Rooms for checks, with the check's `setup` done."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from binnacle.checks.bounded_log import BoundedLog
from binnacle.checks.check_subject import CheckSubject
from binnacle.checks.clean_checkout import CheckRoom, clean_checkout
from binnacle.checks.kept_setups import KeptSetups, RunSetup
from binnacle.processes.keeper import Keeper

ChangeRoom = Callable[[CheckRoom], Awaitable[None]]
"""Changes a checkout before anything of the commit runs in it."""


class OpenedRoom(Struct, frozen=True):
    """A room, or why it could not be prepared."""

    room: CheckRoom
    fault: str = ""


class PreparedRooms:
    """Makes rooms for the checks of one repository."""

    def __init__(self, *, repo: str, folder: str, keeper: Keeper, run_setup: RunSetup) -> None:
        self._repo = repo
        self._folder = folder
        self._run_setup = run_setup
        self._kept = KeptSetups(repo=repo, folder=folder, keeper=keeper, run_setup=run_setup)

    @asynccontextmanager
    async def open(
        self, subject: CheckSubject, commit: str, *, log: BoundedLog, change: ChangeRoom | None = None
    ) -> AsyncIterator[OpenedRoom]:
        """A room with a checkout of a commit, which `change` alters, prepared. Leaving the block removes it.

        The change comes first: it uses git, and a setup may run code of the commit, which can make git run anything.
        """
        async with self._kept.open(subject, commit, log=log) as kept:
            if kept is not None:
                if change is not None:
                    await change(kept)
                yield OpenedRoom(kept)
                return
        async with clean_checkout(self._repo, commit, folder=self._folder) as room:
            if change is not None:
                await change(room)
            check = subject.check
            fault = await self._run_setup(check, room, subject.environment, log) if check.setup else ""
            yield OpenedRoom(room, fault)
