"""The time that one call has. Progress may extend it, but not for ever."""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

from msgspec import Raw

from binnacle.errors import TimedOut
from binnacle.upstream.server_bounds import MAX_CALL_SECONDS, PROGRESS_AT_ONCE, PROGRESS_PER_SECOND, RateAllowance


class CallDeadline:
    """Ends the block in which a call is made, with `TimedOut` where it took too long: `async with deadline:`.

    It cancels the wait for the call in the block, which also cancels the call on the server.
    """

    def __init__(
        self, seconds: float, *, extends: bool, what: str, on_progress: Callable[[Raw], None] | None = None
    ) -> None:
        """`extends` is whether progress extends it; `on_progress` gets progress, at a limited rate."""
        self._seconds = seconds
        self._extends = extends
        self._what = what
        self._on_progress = on_progress
        self._timeout = asyncio.timeout(seconds)
        self._last = 0.0
        """When it ends in any case, by the loop's clock."""

        self._is_running = False
        self._allowance: RateAllowance | None = None

    async def __aenter__(self) -> None:
        self._last = asyncio.get_running_loop().time() + max(self._seconds, MAX_CALL_SECONDS)
        await self._timeout.__aenter__()
        self._is_running = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_running = False  # a server may report progress of a call that is over
        try:
            await self._timeout.__aexit__(kind, error, trace)
            if isinstance(error, TimeoutError):
                raise error
        except TimeoutError as timeout:
            raise TimedOut(
                f"{self._what} did not answer within {self._seconds:g} s",
                hint="try again with less to do; the server's timeout can be raised",
            ) from timeout

    def note_progress(self, progress: Raw) -> None:
        """Extends the deadline, because the server has reported progress."""
        if self._allowance is None:
            self._allowance = RateAllowance(PROGRESS_AT_ONCE, PROGRESS_PER_SECOND)
        if not self._allowance.take(time.monotonic()):
            return
        if self._extends and self._is_running and not self._timeout.expired():
            self._timeout.reschedule(min(self._last, asyncio.get_running_loop().time() + self._seconds))
        if self._on_progress is not None:
            self._on_progress(progress)
