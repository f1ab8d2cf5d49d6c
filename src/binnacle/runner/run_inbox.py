"""What people want of a run from elsewhere: taken out of the store and applied to `RunControl`.

A pause is a state of the run in the store, so that it reaches every machine, also one that joins later, and lasts over
a kill. Messages and stops are rows, one for each session, taken by the process that drives the session. While the block
runs, this process holds a lease on its sessions; the caller enters it before it starts anything, so that giving the
lease back confirms that everything has ended.

Applying comes before noting that a message was taken: a message is never lost when the connection is, and the number
of a message that was applied is remembered, so that it is not applied twice.
"""

import asyncio
import contextlib
import os
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Self

from binnacle.errors import BinnacleError
from binnacle.runner import run_events
from binnacle.runner.run_control import RunControl
from binnacle.runner.run_events import Tell
from binnacle.runner.run_store import RunStore
from binnacle.runner.task_watch import POLL_SECONDS
from binnacle.store import attention, run_messages, runs
from binnacle.store.transaction import Reader, Writer
from binnacle.work.run import Attention, RunMessage

RENEW_SECONDS = run_messages.DRIVER_LEASE_SECONDS / 3
"""Seconds between two renewals of the leases."""


class _News(NamedTuple):
    """What a look at the store showed."""

    messages: list[RunMessage]
    is_paused: bool
    steered_by: str
    closed: list[Attention]


class RunInbox:
    """Follows what people want of a run while the block runs. Leaving it notes that nothing of it is alive here."""

    def __init__(self, store: RunStore, control: RunControl, session_ids: Sequence[str], *, tell: Tell) -> None:
        """`session_ids` are the sessions that this process drives."""
        self._store = store
        self._control = control
        self._ids = session_ids
        self._tell = tell
        self._holder = os.urandom(8).hex()
        self._is_paused = False
        """What the store said last."""

        self._applied: set[int] = set()
        self._waiting: dict[str, list[asyncio.Future[Attention]]] = {}
        """Who waits for an entry of `attention` to be closed, by its id."""

        self._polling: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._store.write(self._begin)
        news = await self._look()
        if news.is_paused:
            self._is_paused = True
            self._control.pause()
        for message in news.messages:
            # A stop that an earlier process has not taken was meant for that process.
            if message.kind == "message":
                self._control.say(message.body, session=message.session)
        await self._mark_taken(news.messages)
        self._polling = asyncio.create_task(self._poll())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._polling is not None
        self._polling.cancel()
        await asyncio.gather(self._polling, return_exceptions=True)
        with contextlib.suppress(BinnacleError):  # the leases lapse by themselves
            await self._store.write(lambda tx: run_messages.stop_driving(tx, self._ids, self._holder))

    async def wait_closed(self, attention_id: str) -> Attention:
        """Waits until an entry is closed."""
        closed: asyncio.Future[Attention] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(attention_id, [])
        waiting.append(closed)
        try:
            return await closed
        finally:
            waiting.remove(closed)
            if not waiting:
                self._waiting.pop(attention_id, None)

    def _begin(self, tx: Writer) -> None:
        attention.close_permissions(tx, self._ids)  # their agents ended with the process that was killed
        run_messages.drive(tx, self._ids, self._holder)

    async def _poll(self) -> None:
        """Looks for news, and renews the leases. The store may be away: then the next round tries again."""
        loop = asyncio.get_running_loop()
        renewed = loop.time()
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self._take(await self._look())
                if loop.time() >= renewed + RENEW_SECONDS:
                    await self._store.write(lambda tx: run_messages.drive(tx, self._ids, self._holder))
                    renewed = loop.time()
            except BinnacleError as error:
                self._tell(run_events.WarningReported(message=error.message, hint=error.hint))

    async def _look(self) -> _News:
        waiting = list(self._waiting)

        def look(tx: Reader) -> _News:
            is_paused = runs.get(tx, self._store.run).is_paused
            by = runs.find_last_steerer(tx, self._store.run) if is_paused != self._is_paused else ""
            new = run_messages.list_new(tx, self._ids)
            return _News(new, is_paused, by, attention.list_closed(tx, waiting))

        return await self._store.read(look)

    async def _take(self, news: _News) -> None:
        for closed in news.closed:
            for waiting in self._waiting.get(closed.id, ()):
                if not waiting.done():
                    waiting.set_result(closed)
        await self._follow_pause(news)
        new = [one for one in news.messages if one.number not in self._applied]
        stops = [one for one in new if one.kind == "stop"]
        for message in (*(one for one in new if one.kind == "message"), *stops[:1]):
            self._apply(message)
        self._applied.update(one.number for one in new)
        await self._mark_taken(news.messages)

    async def _follow_pause(self, news: _News) -> None:
        """Follows a pause from elsewhere, and tells the others of one from here."""
        if news.is_paused != self._is_paused:
            self._set_paused(news)
        elif self._control.is_paused != self._is_paused and not self._control.is_stopped:
            is_paused = self._control.is_paused
            await self._store.write(lambda tx: runs.set_paused(tx, self._store.run, is_paused=is_paused))
            self._is_paused = is_paused

    def _set_paused(self, news: _News) -> None:
        self._is_paused = news.is_paused
        if self._control.is_paused != news.is_paused and not self._control.is_stopped:
            (self._control.pause if news.is_paused else self._control.go_on)()
            self._tell(run_events.RunSteered(kind="pause" if news.is_paused else "resume", by=news.steered_by))

    def _apply(self, message: RunMessage) -> None:
        number = self._ids.index(message.session) + 1
        if message.kind == "stop":
            self._control.stop()
        else:
            self._control.say(message.body, session=message.session)
        self._tell(run_events.RunSteered(worker=number, kind=message.kind, by=message.sent_by, text=message.body))

    async def _mark_taken(self, messages: Sequence[RunMessage]) -> None:
        if messages:
            numbers = [one.number for one in messages]
            await self._store.write(lambda tx: run_messages.mark_taken(tx, numbers))
