"""Asks people for permission wherever they are: at the terminal of the run, and through the store.

The request is an entry of `attention` while it waits. Whichever answer comes first counts; the other question is taken
back. A request that nobody answers in time is refused, and one whose agent is gone is closed.
"""

import asyncio

from binnacle.errors import BinnacleError
from binnacle.runner import run_events
from binnacle.runner.agents.permissions import (
    PERMISSION_ANSWERS,
    AskPerson,
    PermissionAnswer,
    PermissionRequest,
    describe_request,
    request_body,
)
from binnacle.runner.run_events import Tell
from binnacle.runner.run_inbox import RunInbox
from binnacle.runner.run_store import RunStore
from binnacle.store import attention
from binnacle.store.transaction import Writer
from binnacle.work.actor import SYSTEM
from binnacle.work.run import Attention

AT_TERMINAL = "the terminal of the run"
"""Who answered, if it was answered there."""


class PermissionRequests:
    """The requests of a run's agents that wait for a person."""

    def __init__(
        self, store: RunStore, inbox: RunInbox, *, at_terminal: AskPerson | None, within: float, tell: Tell
    ) -> None:
        """`at_terminal` asks the person who sees the run, if there is one; a request waits `within` seconds."""
        self._store = store
        self._inbox = inbox
        self._at_terminal = at_terminal
        self._within = within
        self._tell = tell

    async def ask(self, request: PermissionRequest) -> PermissionAnswer | None:
        """The answer of a person; None if nobody answered in time."""
        try:
            entry = await self._store.write(lambda tx: _open(tx, request), session=request.session)
        except BinnacleError as error:
            self._tell(run_events.WarningReported(message=error.message, hint=error.hint))
            return None if self._at_terminal is None else await self._at_terminal(request)
        try:
            said = await self._wait_for_answer(request, entry)
        except asyncio.CancelledError:  # the agent is gone, or the run was stopped
            await asyncio.shield(self._close(entry, ""))
            raise
        closed = await self._close(entry, said or "")
        return said if closed is None else PERMISSION_ANSWERS.get(closed.answer)

    async def _wait_for_answer(self, request: PermissionRequest, entry: Attention) -> PermissionAnswer | None:
        elsewhere = asyncio.create_task(self._inbox.wait_closed(entry.id))
        here = asyncio.create_task(self._ask_here(request))
        try:
            await asyncio.wait({elsewhere, here}, timeout=self._within, return_when=asyncio.FIRST_COMPLETED)
            if here.done():
                return here.result()
            if not elsewhere.done():
                said = f"nobody answered within {self._within / 60:g} minutes: {entry.title}"
                self._tell(run_events.WarningReported(message=said))
            return None  # what was answered elsewhere is in the store
        finally:
            for one in (elsewhere, here):
                one.cancel()
            await asyncio.gather(elsewhere, here, return_exceptions=True)

    async def _ask_here(self, request: PermissionRequest) -> PermissionAnswer | None:
        """Asks at the terminal of the run; without one, waits for ever."""
        if self._at_terminal is None:
            await asyncio.Event().wait()
            return None
        return await self._at_terminal(request)

    async def _close(self, entry: Attention, answer: str) -> Attention | None:
        """Closes a request, unless it is; returns it, with the answer that came first. None if the store is away."""
        try:
            by = AT_TERMINAL if answer else SYSTEM.name
            return await self._store.write(lambda tx: attention.close(tx, entry.id, answer=answer, by=by))
        except BinnacleError as error:
            self._tell(run_events.WarningReported(message=error.message, hint=error.hint))
            return None


def _open(tx: Writer, request: PermissionRequest) -> Attention:
    return attention.open_entry(
        tx,
        "permission",
        describe_request(request),
        body=request_body(request),
        session=request.session,
        task_id=request.task or None,
        options=tuple(PERMISSION_ANSWERS),
    )
