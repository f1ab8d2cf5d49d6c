"""Rooms for checks, with the check's `setup` done."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from binnacle.checks.bounded_log import BoundedLog
from binnacle.checks.check_environment import CheckEnvironment
from binnacle.checks.clean_checkout import CheckRoom, clean_checkout
from binnacle.work.check import Check

RunSetup = Callable[[Check, CheckRoom, CheckEnvironment, BoundedLog], Awaitable[str]]
"""Runs the setup of a check in a room. Returns why it failed; empty if it did not."""


class OpenedRoom(Struct, frozen=True):
    """A room, or why it could not be prepared."""

    room: CheckRoom
    fault: str = ""


class PreparedRooms:
    """Makes rooms for the checks of one repository."""

    def __init__(self, *, repo: str, folder: str, run_setup: RunSetup) -> None:
        self._repo = repo
        self._folder = folder
        self._run_setup = run_setup

    @asynccontextmanager
    async def open(
        self, check: Check, commit: str, *, environment: CheckEnvironment, log: BoundedLog
    ) -> AsyncIterator[OpenedRoom]:
        """A room with a checkout of a commit, prepared. Leaving the block removes it."""
        async with clean_checkout(self._repo, commit, folder=self._folder) as room:
            fault = await self._run_setup(check, room, environment, log) if check.setup else ""
            yield OpenedRoom(room, fault)
