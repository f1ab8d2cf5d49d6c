"""One request in progress, and its client."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from binnacle.lifecycle.process import Process
from binnacle.server.progress_report import ProgressReport
from binnacle.wire.jsonrpc import INVALID_REQUEST, RpcError, notification_message, request_message
from binnacle.wire.mcp import LEVELS, Era, Params
from binnacle.wire.pending import PendingRequests

MAX_PENDING_QUESTIONS = 1000
"""Questions that one client may leave unanswered."""

Send = Callable[[bytes], None]
"""Passes a message to a transport, which limits what it buffers."""


def _no_process() -> Process | None:
    return None


class RequestOrigin(NamedTuple):
    """Where a request came from, as far as its transport knows."""

    token: str = ""
    """Name of its bearer token."""

    find_process: Callable[[], Process | None] = _no_process
    """Finds the client's process; called only when needed."""

    is_single: bool = False
    """Whether only its process connects it with earlier and later requests."""


UNKNOWN = RequestOrigin()


class Peer:
    """A client: one on stdio, one for each session on HTTP, one for each request in the stateless era."""

    def __init__(self, send: Send | None = None, origin: RequestOrigin = UNKNOWN) -> None:
        self.origin = origin
        self.has_called = False
        """Whether it has called a tool, so that its process was looked up."""

        self.send = send
        """Sends messages that belong to no request; None while the client has no stream for them."""

        self.version = ""
        self.capabilities: dict[str, Any] = {}
        self.client: dict[str, Any] = {}
        self.level = 0
        """Index in `LEVELS` of the lowest level of log messages that the client wants."""

        self.subscriptions: set[str] = set()
        self.running: dict[bytes, asyncio.Task[Any]] = {}
        """Requests in progress, by id, so that they can be cancelled."""

        self._questions: PendingRequests[str, msgspec.Raw] = PendingRequests(max_pending=MAX_PENDING_QUESTIONS)
        self._count = 0

    def begin(self, request_id: bytes, task: asyncio.Task[Any]) -> None:
        """Registers a request by its id until it ends."""
        self.running[request_id] = task
        task.add_done_callback(lambda _: self.end(request_id, task))

    def end(self, request_id: bytes, task: asyncio.Task[Any]) -> None:
        """Forgets a request that is over."""
        if self.running.get(request_id) is task:  # a client may use an id twice
            del self.running[request_id]

    def cancel(self, request_id: bytes) -> None:
        """Cancels a request, if it is in progress."""
        if task := self.running.get(request_id):
            task.cancel()

    def close(self) -> None:
        """Cancels all requests and questions."""
        for task in list(self.running.values()):
            task.cancel()
        self._questions.close(lambda: RpcError(INVALID_REQUEST, "the client has gone"))
        self.subscriptions.clear()

    def resolve(self, request_id: bytes, result: bytes | None, error: bytes | None) -> None:
        """Passes the client's answer to the call that waits for it. Other answers are dropped."""
        asked = request_id.decode(errors="replace").strip('"')
        if error is not None:
            refusal = f"the client refused: {error.decode(errors='replace')[:500]}"
            self._questions.fail(asked, RpcError(INVALID_REQUEST, refusal))
        else:
            self._questions.resolve(asked, msgspec.Raw(result or b"{}"))

    async def ask(self, send: Send, method: str, params: Any, *, timeout: float) -> Any:
        """Sends the client a request and waits for its answer."""
        self._count += 1
        request_id = f"bn-{self._count}"
        future = self._questions.add(request_id)
        try:
            send(request_message(request_id, method, params))
            async with asyncio.timeout(timeout):
                return msgspec.json.decode(await future)
        finally:
            future.cancel()  # removes it if sending failed


class RunningTask(Protocol):
    """A task of the protocol, as the call sees it that has become one."""

    def say(self, message: str) -> None:
        """Says what happens in it."""


class McpRequest:
    """What a handler knows about its request, and its means to contact the client meanwhile."""

    __slots__ = (
        "_become_task", "_report", "capabilities", "client", "era", "params", "peer", "progress_token", "send", "task"
    )  # fmt: skip

    ASK_TIMEOUT_SECONDS = 300.0
    """Seconds that a person has to answer a forwarded question."""

    def __init__(self, peer: Peer, era: Era, params: Params, send: Send) -> None:
        self.peer = peer
        self.era = era
        self.params = params
        self.send = send
        meta = params.meta or None
        self.progress_token = token = meta.progress_token if meta else msgspec.UNSET
        self._report = None if token is msgspec.UNSET else ProgressReport(token, send)
        self._become_task: Callable[[], RunningTask | None] | None = None
        self.task: RunningTask | None = None
        """What the call has become; then its client has an answer already."""

        self.capabilities = peer.capabilities
        self.client = peer.client
        """What the client says about itself: its name, its version."""

        if era == "stateless":
            # What earlier requests said does not count.
            self.capabilities = (meta.capabilities or {}) if meta else {}
            self.client = (meta.client or {}) if meta else {}

    @property
    def wants_progress(self) -> bool:
        return self._report is not None

    @property
    def request_state(self) -> str | None:
        return self.params.request_state or None

    @property
    def input_responses(self) -> dict[str, Any] | None:
        return self.params.input_responses or None

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Reports progress, if the client wants it."""
        if self.task is not None:
            self.task.say(message)
        elif self._report is not None:
            self._report.tell(done, total, message)

    def end_progress(self, *, is_wanted: bool) -> None:
        """Sends the last progress note, if the client still wants it, and stops reporting."""
        if self._report is not None:
            self._report.end(is_wanted=is_wanted)

    def offer_task(self, become: Callable[[], RunningTask | None]) -> None:
        """Lets the call become a task by calling `become`, which returns None if the client has too many."""
        self._become_task = become

    def continue_as_task(self) -> bool:
        if self.task is None and self._become_task is not None:
            self.task = self._become_task()
        return self.task is not None

    def log(self, level: str, data: Any, *, logger: str = "") -> None:
        """Sends a log message, if the client wants messages of that level."""
        if self.task is not None:
            return
        wanted = self.peer.level
        if self.era == "stateless":
            said = self.params.meta.log_level if self.params.meta else msgspec.UNSET
            if not isinstance(said, str) or said not in LEVELS:
                return
            wanted = LEVELS.index(said)
        if LEVELS.index(level) < wanted:
            return
        params = {"level": level, "data": data} | ({"logger": logger} if logger else {})
        self.send(notification_message("notifications/message", params))

    async def ask(self, method: str, params: Any) -> Any:
        """Asks the client during a request. The stateless era cannot: there, a result asks."""
        if self.era == "stateless":
            raise RpcError(INVALID_REQUEST, "the client cannot be asked during a request of this protocol version")
        return await self.peer.ask(self.send, method, params, timeout=self.ASK_TIMEOUT_SECONDS)
