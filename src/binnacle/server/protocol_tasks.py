"""Tasks of the protocol: tool calls that are answered with a handle, and go on while their client asks about them.

A call *becomes* a task in one of two ways. A client of 2025-11-25 asks for it with the call. In the stateless era its
client declares that it takes tasks, and the tool decides, when it knows that it will take long
(`McpRequest.continue_as_task`); until then the call waits like any other.

    working ──► completed: the call has a result, also if that reports an error
            ──► failed: the call ended with a protocol error
            ──► cancelled: the client wanted no more of it

A task belongs to the client that made the call: to its connection, or in the stateless era on HTTP to its token. Nobody
else finds it, and ids cannot be guessed. It is kept in memory. What has to outlive this server is kept by the tool: a
`done` stays a request in the store, and the same call goes on with it.

A client may have `MAX_TASKS_OF_CLIENT` tasks; beyond that its calls are answered as those of clients without tasks. A
task is kept for `KEPT_SECONDS` from its creation, and for at least `RESULT_KEPT_SECONDS` after its end. Closing ends
the calls that still run.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Hashable
from datetime import UTC, datetime, timedelta
from typing import Any

from binnacle.server.provider import Result
from binnacle.server.request import McpRequest, Peer
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, RpcError
from binnacle.wire.mcp import Era
from binnacle.wire.mcp_tasks import ProtocolTaskState, ProtocolTaskStatus

_log = logging.getLogger(__name__)

MAX_TASKS_OF_CLIENT = 32
MAX_TASKS = 1000
KEPT_SECONDS = 3600.0
RESULT_KEPT_SECONDS = 600.0
POLL_SECONDS = 1.0

Changed = Callable[["ProtocolTask"], None]
"""Called when a task has another status, or says something else about it."""


class ProtocolTask:
    """A call that has become a task."""

    def __init__(self, owner: Hashable, era: Era, work: asyncio.Task[Result], changed: Changed) -> None:
        self.id = secrets.token_urlsafe(24)
        self.owner = owner
        """Who may ask about it."""

        self.era = era

        self.status: ProtocolTaskStatus = "working"
        self._work = work
        self._changed = changed
        self._message = ""
        self._created_at = self._updated_at = datetime.now(UTC)
        self._began = time.monotonic()
        self._kept_seconds = KEPT_SECONDS
        self._result: Result | None = None
        self._error: RpcError | None = None
        work.add_done_callback(self._settle)

    @property
    def age(self) -> float:
        """Seconds since it was created."""
        return time.monotonic() - self._began

    @property
    def is_expired(self) -> bool:
        return self.status != "working" and self.age > self._kept_seconds

    @property
    def state(self) -> ProtocolTaskState:
        """What its client sees of it now."""
        error = self._error
        more = {} if error is None or error.data is None else {"data": error.data}
        kept = self._kept_seconds if self.status != "working" else max(KEPT_SECONDS, self.age + RESULT_KEPT_SECONDS)
        return ProtocolTaskState(
            id=self.id,
            status=self.status,
            message=self._message,
            created_at=self._created_at,
            updated_at=self._updated_at,
            kept_for=timedelta(seconds=kept),
            poll_after=timedelta(seconds=POLL_SECONDS),
            result=self._result,
            error={"code": error.code, "message": error.message, **more} if error is not None else None,
        )

    def say(self, message: str) -> None:
        """Says what happens in it."""
        if self.status == "working" and message and message != self._message:
            self._message = message
            self._updated_at = datetime.now(UTC)
            self._changed(self)

    async def outcome(self) -> Result:
        """Waits until it is over. Returns what the call returned.

        Raises:
            RpcError: the call ended with this error, or was cancelled.
        """
        await asyncio.wait({self._work})
        await asyncio.sleep(0)  # what it ended with is taken over by a callback
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RpcError(INVALID_REQUEST, "the task was cancelled")
        return self._result

    async def cancel(self) -> None:
        """Ends the call, and waits until it has ended."""
        self._work.cancel()
        await asyncio.wait({self._work})
        await asyncio.sleep(0)

    def _settle(self, work: asyncio.Task[Result]) -> None:
        """Takes over what the call ended with."""
        if work.cancelled():
            self._end("cancelled", "cancelled by the client")
        elif (error := work.exception()) is None:
            self._result = work.result()
            self._end("completed")
        else:
            self._error = error if isinstance(error, RpcError) else _hide(error)
            self._end("failed", self._error.message)

    def _end(self, status: ProtocolTaskStatus, message: str = "") -> None:
        self.status, self._message = status, message
        self._updated_at = datetime.now(UTC)
        self._kept_seconds = max(KEPT_SECONDS, self.age + RESULT_KEPT_SECONDS)
        self._changed(self)


class ProtocolTasks:
    """The tasks of all clients of a server."""

    def __init__(self, changed: Changed) -> None:
        self._changed = changed
        self._tasks: dict[str, ProtocolTask] = {}

    async def answer(
        self, call: McpRequest, work: Callable[[], Coroutine[Any, Any, Result]], *, at_once: bool
    ) -> Result | ProtocolTask:
        """Runs a call. Returns what it returns, or the task that it becomes; with `at_once`, it becomes one first.

        Cancelling ends the call, because its client does not know of a task yet.

        Raises:
            RpcError: the call ended with this error, or may not become a task although its client wants it.
        """
        owner = owner_of(call.peer)
        if at_once and not self._has_room(owner):
            raise RpcError(INVALID_REQUEST, f"a client may have {MAX_TASKS_OF_CLIENT} tasks at once")
        became: asyncio.Future[ProtocolTask] = asyncio.get_running_loop().create_future()

        def become() -> ProtocolTask | None:
            if not self._has_room(owner):
                return None
            task = ProtocolTask(owner, call.era, running, self._changed)
            self._tasks[task.id] = task
            became.set_result(task)
            return task

        running = asyncio.create_task(work())
        call.offer_task(become)
        if at_once and call.continue_as_task():
            return became.result()
        either: set[asyncio.Future[Any]] = {running, became}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait({running})
            raise
        return became.result() if became.done() else running.result()

    def find(self, task_id: str, peer: Peer) -> ProtocolTask:
        """The task of this id, if it belongs to this client.

        Raises:
            RpcError: there is none, or no longer.
        """
        self._drop_expired()
        task = self._tasks.get(task_id)
        if task is None or task.owner != owner_of(peer):
            raise RpcError(INVALID_PARAMS, "no such task here, or no longer: call the tool again")
        return task

    def has(self, task_id: str, peer: Peer) -> bool:
        """Whether a client has a task of this id."""
        task = self._tasks.get(task_id)
        return task is not None and task.owner == owner_of(peer)

    async def end_all(self, owner: Hashable = None) -> None:
        """Ends the calls of one client, or of all, and forgets them."""
        ended = [task for task in self._tasks.values() if owner is None or task.owner == owner]
        for task in ended:
            self._tasks.pop(task.id, None)
        await asyncio.gather(*(task.cancel() for task in ended))

    def _has_room(self, owner: Hashable) -> bool:
        self._drop_expired()
        own = sum(task.owner == owner for task in self._tasks.values())
        return own < MAX_TASKS_OF_CLIENT and len(self._tasks) < MAX_TASKS

    def _drop_expired(self) -> None:
        for task in [one for one in self._tasks.values() if one.is_expired]:
            del self._tasks[task.id]


def owner_of(peer: Peer) -> Hashable:
    """Who a client is, as far as later requests show it: its connection, or its token if it has none."""
    return peer.origin.token if peer.origin.is_single else peer


def _hide(error: BaseException) -> RpcError:
    """The error that a client sees for a defect of ours."""
    _log.error("internal error in a task", exc_info=error)
    return RpcError(jsonrpc.INTERNAL_ERROR, f"internal error: {type(error).__name__}")
