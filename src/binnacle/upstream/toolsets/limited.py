"""Limits the calls to a server: at once and per minute; the rest wait in a short and fair queue."""

import asyncio
import math
import time
from collections import deque

from binnacle.errors import UpstreamBusy
from binnacle.upstream.toolsets.toolset import Toolset, ToolsetWrapper, UpstreamAnswer, UpstreamRequest

MAX_WAITING_CALLS = 256
"""Calls that may wait for one server."""

TURN_WAIT_SECONDS = 10.0
"""Seconds that a call waits for its turn."""


class CallGate:
    """Lets calls to one server pass: `async with gate:` around each.

    First come, first served. A call that cannot pass in time is refused with `UpstreamBusy`, at once if that can be
    foreseen. A call that is cancelled while it waits leaves nothing behind.
    """

    def __init__(
        self,
        concurrency: int,
        per_minute: int = 0,
        *,
        server: str = "the server",
        queue: int = MAX_WAITING_CALLS,
        patience: float = TURN_WAIT_SECONDS,
        minute: float = 60.0,
    ) -> None:
        """0 means no limit for `concurrency` and `per_minute`. `minute` is its length in seconds."""
        self._concurrency = concurrency or math.inf
        self._per_minute = per_minute
        self._server = server
        self._queue = queue
        self._patience = patience
        self._minute = minute
        self._running = 0
        self._started: deque[float] = deque()
        """When the calls of the last minute began; only where they are limited."""

        self._waiting: deque[asyncio.Future[float]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def running(self) -> int:
        """Calls under way."""
        return self._running

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return len(self._waiting)

    async def __aenter__(self) -> None:
        now = time.monotonic()
        if not self._waiting and self._running < self._concurrency and self._until_allowed(now) <= 0:
            self._begin(now)
            return
        self._check_queue(now)
        await self._turn()

    async def __aexit__(self, *_: object) -> None:
        self._running -= 1
        self._admit()

    async def _turn(self) -> None:
        """Waits for a turn in the queue."""
        turn: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            async with asyncio.timeout(self._patience):
                await turn
        except TimeoutError:
            if not turn.cancelled() and turn.done():
                return  # its turn came at the same moment
            self._leave(turn)
            raise self._busy(f"no turn came within {self._patience:g} s", wait=1.0) from None
        except asyncio.CancelledError:
            self._leave(turn)
            raise

    def _leave(self, turn: "asyncio.Future[float]") -> None:
        """Removes a call that will not be made, from the queue or from the running ones."""
        if turn in self._waiting:
            self._waiting.remove(turn)
        elif turn.done() and not turn.cancelled():
            self._running -= 1
            if self._per_minute and turn.result() in self._started:
                self._started.remove(turn.result())
        self._admit()

    def _admit(self) -> None:
        """Starts the first calls of the queue, as far as the limits allow."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting and self._running < self._concurrency:
            now = time.monotonic()
            delay = self._until_allowed(now)
            if delay > 0:
                self._timer = asyncio.get_running_loop().call_later(delay, self._admit)
                return
            turn = self._waiting.popleft()
            if not turn.done():
                self._begin(now)
                turn.set_result(now)

    def _begin(self, now: float) -> None:
        self._running += 1
        if self._per_minute:
            self._started.append(now)

    def _until_allowed(self, now: float, *, ahead: int = 0) -> float:
        """Seconds until the rate allows another call, after `ahead` others."""
        while self._started and now - self._started[0] >= self._minute:
            self._started.popleft()
        used = len(self._started) + ahead - self._per_minute
        if not self._per_minute or used < 0:
            return 0.0
        rounds, place = divmod(used, self._per_minute)
        begins = self._started[place] if place < len(self._started) else now
        return begins + (rounds + 1) * self._minute - now

    def _check_queue(self, now: float) -> None:
        """Refuses a call that cannot be made in time.

        Raises:
            UpstreamBusy: the queue is full, or the rate is used up for longer than a call waits.
        """
        if len(self._waiting) >= self._queue:
            raise self._busy(f"{self._running} calls are running and {len(self._waiting)} are waiting", wait=1.0)
        delay = self._until_allowed(now, ahead=len(self._waiting))
        if delay > self._patience:
            raise self._busy(f"its {self._per_minute} calls a minute are used up", wait=delay)

    def _busy(self, why: str, *, wait: float) -> UpstreamBusy:
        seconds = math.ceil(wait)
        return UpstreamBusy(
            f"{self._server} is busy: {why}",
            hint=f"try again in {seconds} s",
            details={"server": self._server, "retry_after": seconds},
        )


class LimitedToolset(ToolsetWrapper):
    """A toolset behind a gate, which every session that uses the server shares."""

    def __init__(self, inner: Toolset, gate: CallGate) -> None:
        super().__init__(inner)
        self._gate = gate

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        async with self._gate:
            return await self._inner.send(request)
