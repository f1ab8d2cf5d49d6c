"""Keeps what a run takes in the store while it runs, and learns what it takes on other machines."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from binnacle.errors import BinnacleError
from binnacle.runner.run_context import RunContext
from binnacle.store.attempts import Spending

SYNC_SECONDS = 10.0
"""Seconds between two looks at the store: a killed run forgets at most so much of its time."""


class SpendingSync:
    """Counts the time of a run, and what its other sessions take. `load` it first; leaving the block stops it.

    What is not in the store when the block is left, `take_seconds` returns.
    """

    def __init__(self, context: RunContext, session_ids: Sequence[str]) -> None:
        """`session_ids` are those of the workers here, whose spending `IterationSpending` counts."""
        self._context = context
        self._session_ids = list(session_ids)
        self._elsewhere = Spending()
        self._started_at = context.control.now()
        self._saved_seconds = 0.0
        self._syncing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def seconds(self) -> float:
        """Since the run was started here."""
        return self._context.control.now() - self._started_at

    async def load(self) -> None:
        """Counts what the run took before it was resumed."""
        store, spent = self._context.store, self._context.spent
        before = await store.spent_in_run()
        spent.iterations_before, spent.tokens, spent.cost = before.iterations, before.tokens, before.cost
        spent.seconds_before = await store.seconds_in_run()
        self._elsewhere = await store.spent_elsewhere(self._session_ids)

    def take_seconds(self) -> float:
        """The seconds that were not taken yet; the caller adds them to the run in the store."""
        found = self.seconds - self._saved_seconds
        self._saved_seconds += found
        return found

    async def sync(self) -> None:
        """Saves the time, and counts what other machines took meanwhile."""
        async with self._lock:
            await self._sync()

    async def count_here(self, session_id: str) -> None:
        """Counts a session here from now on, like those of the workers, and no longer as one of elsewhere."""
        async with self._lock:
            if session_id in self._session_ids:
                return
            await self._sync()
            self._session_ids.append(session_id)
            self._elsewhere = await self._context.store.spent_elsewhere(self._session_ids)

    async def _sync(self) -> None:
        store, spent = self._context.store, self._context.spent
        seconds = self.take_seconds()
        try:
            await store.add_seconds(seconds)
        except BinnacleError:
            self._saved_seconds -= seconds
            raise
        spent.seconds_before = max(0.0, await store.seconds_in_run() - self._saved_seconds)
        now, before = await store.spent_elsewhere(self._session_ids), self._elsewhere
        spent.iterations_before += now.iterations - before.iterations
        spent.tokens += now.tokens - before.tokens
        spent.cost += now.cost - before.cost
        self._elsewhere = now

    async def __aenter__(self) -> Self:
        self._syncing = asyncio.create_task(self._keep_synced())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._syncing is not None
        self._syncing.cancel()
        await asyncio.gather(self._syncing, return_exceptions=True)

    async def _keep_synced(self) -> None:
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            with suppress(BinnacleError):  # the run itself notices a store that stays away
                await self.sync()
