"""Waits for what is away: a provider that takes no requests or does not answer, or a git remote."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from binnacle.errors import AgentLimited, RemoteUnreachable
from binnacle.runner import run_events
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext

Result = TypeVar("Result")

FIRST_WAIT_SECONDS = 10.0
"""Seconds to wait for something that does not say how long; doubled each time."""

MAX_WAIT_SECONDS = 900.0
"""The longest of these waits. One that a provider names may be longer."""


class OutageWait:
    """Does the work of one worker in spite of outages, for as long as the run may wait."""

    def __init__(self, context: RunContext, worker: Worker) -> None:
        self._context = context
        self._worker = worker
        self._waited = 0.0
        """Seconds of the outage that goes on."""

        self._times = 0

    async def bear(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Does something that needs a provider or a remote, again while that is away.

        Raises:
            AgentLimited, RemoteUnreachable: it did not come back, or the run was stopped.
        """
        while True:
            try:
                done = await work()
            except (AgentLimited, RemoteUnreachable) as error:
                if self._context.control.is_stopped or not await self._wait(error):
                    raise
            else:
                self._waited, self._times = 0.0, 0
                return done

    async def _wait(self, error: AgentLimited | RemoteUnreachable) -> bool:
        """Waits for what is away. Returns whether it may be tried again."""
        left = self._context.options.max_outage - self._waited
        if left <= 0:
            return False
        named = error.after if isinstance(error, AgentLimited) else None
        seconds = min(named or min(FIRST_WAIT_SECONDS * 2**self._times, MAX_WAIT_SECONDS), left)
        self._times += 1
        self._context.tell(
            run_events.WorkerWaiting(worker=self._worker.number, why=error.message, seconds=round(seconds, 1))
        )
        await self._sleep_and_renew(seconds)
        self._waited += seconds
        return not self._context.control.is_stopped

    async def _sleep_and_renew(self, seconds: float) -> None:
        """Waits, and keeps the claim on the worker's task meanwhile."""
        step = self._context.store.lease / 3
        while seconds > 0 and not self._context.control.is_stopped:
            await self._context.control.sleep(min(seconds, step))
            seconds -= step
            await self._context.store.renew_claims(self._worker.session)
