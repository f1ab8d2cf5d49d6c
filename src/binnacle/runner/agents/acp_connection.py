"""JSON-RPC with an agent, a message per line: requests, answers and notifications."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from binnacle.errors import AgentError, AgentProtocol, AgentSilent
from binnacle.wire import jsonrpc
from binnacle.wire.framing import LineDecoder, OversizedLine
from binnacle.wire.jsonrpc import (
    INTERNAL_ERROR,
    UNREADABLE,
    Invalid,
    Message,
    Notification,
    Request,
    Response,
    RpcError,
)
from binnacle.wire.pending import PendingRequests

MAX_LINE_BYTES = 32 << 20
"""Bytes of one message. An agent that writes a longer one is ended: we cannot know what was in it."""

MAX_PENDING_REQUESTS = 1000
"""Requests of ours that the agent has not answered. A turn has one, and a session a handful."""

MAX_OPEN_REQUESTS = 100
"""Requests of the agent that are answered at the same time. More are refused."""

TakeNotification = Callable[[str, bytes], None]
"""Takes a notification: its method and parameters."""

AnswerRequest = Callable[[str, bytes], Awaitable[Any]]
"""Answers a request; raises `RpcError` to refuse it."""


class AcpConnection:
    """Both directions between us and one agent. Input is handled as it arrives; nothing is queued."""

    def __init__(
        self,
        name: str,
        *,
        send: Callable[[bytes], None],
        hear: TakeNotification,
        answer: AnswerRequest,
        note: Callable[[bytes], None],
    ) -> None:
        """`send` writes bytes to the agent; `note` gets each line that is no message."""
        self._name = name
        self._send = send
        self._hear = hear
        self._answer = answer
        self._note = note
        self._loop = asyncio.get_running_loop()
        self._last_id = 0
        self._pending: PendingRequests[bytes, Response] = PendingRequests(max_pending=MAX_PENDING_REQUESTS)
        self._answering: set[asyncio.Task[None]] = set()
        self._lines = LineDecoder(MAX_LINE_BYTES)
        self.failed: asyncio.Future[AgentError] = self._loop.create_future()
        """Done when the connection has failed, with the reason."""

        self.heard = self._loop.time()
        """When the agent last sent something."""

    def begin(self, method: str, params: object) -> "asyncio.Future[Response]":
        """Sends a request. `result_of` reads the future's result; the future fails with the connection."""
        self._last_id += 1
        request_id = str(self._last_id).encode()
        answer = self._pending.add(request_id)
        if not self._pending.is_closed:
            self._send(jsonrpc.request_message(self._last_id, method, params) + b"\n")
        return answer

    async def ask(self, method: str, params: object, *, within: float) -> bytes:
        """The result of a request.

        Raises:
            RpcError: the agent answered with an error.
            AgentSilent: it did not answer within `within` seconds.
            AgentError: the connection failed.
        """
        answer = self.begin(method, params)
        try:
            async with asyncio.timeout(within):
                return result_of(await answer)
        except TimeoutError as error:
            message = f"{self._name} did not answer {method} in {within:g} seconds"
            raise AgentSilent(message, hint="see its log; start it by hand to see whether it waits for you") from error

    def tell(self, method: str, params: object) -> None:
        """Sends a notification."""
        if not self.failed.done():
            self._send(jsonrpc.notification_message(method, params) + b"\n")

    def feed(self, data: bytes) -> None:
        """Handles what the agent wrote."""
        if self.failed.done():
            return
        self.heard = self._loop.time()
        for line in self._lines.feed(data):
            if isinstance(line, OversizedLine):
                self.fail(
                    AgentProtocol(
                        f"{self._name} wrote a message of more than {MAX_LINE_BYTES >> 20} MiB and was ended",
                        hint="keep what its tools return small: most agents repeat it in their messages",
                    )
                )
                return
            self._take(line)

    def fail(self, error: AgentError) -> None:
        """Fails all requests with `error`. Only the first error counts."""
        if not self.failed.done():
            self.failed.set_result(error)
        self._pending.close(lambda: error)
        for task in self._answering:
            task.cancel()

    async def aclose(self) -> None:
        """Cancels the answers under way, and waits for them."""
        self.fail(AgentError(f"{self._name} was ended", hint="start it again"))
        if self._answering:
            await asyncio.wait(self._answering)

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        found = jsonrpc.parse(line)
        if isinstance(found, Invalid) and not line.isascii():
            found = jsonrpc.parse(line.decode(errors="replace").encode())
        for message in found if isinstance(found, list) else [found]:
            self._dispatch(message, line)

    def _dispatch(self, message: Message, line: bytes) -> None:
        match message:
            case Response():
                self._pending.resolve(message.id, message)
            case Notification():
                self._notice(message, line)
            case Request():
                self._question(message)
            case Invalid():
                self._note(line)

    def _notice(self, message: Notification, line: bytes) -> None:
        try:
            self._hear(message.method, message.params)
        except RpcError:
            self._note(line)

    def _question(self, request: Request) -> None:
        if len(self._answering) >= MAX_OPEN_REQUESTS:
            message = f"{MAX_OPEN_REQUESTS} requests are being answered already"
            self._send(jsonrpc.error_message(request.id, INTERNAL_ERROR, message) + b"\n")
            return
        task = self._loop.create_task(self._reply(request))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _reply(self, request: Request) -> None:
        try:
            result = await self._answer(request.method, request.params)
            message = jsonrpc.result_message(request.id, jsonrpc.encode(result))
        except RpcError as error:
            message = jsonrpc.error_message(request.id, error.code, error.message, error.data)
        if not self.failed.done():
            self._send(message + b"\n")


class _Error(Struct):
    code: int = INTERNAL_ERROR
    message: str = ""
    data: Any = None


def result_of(response: Response) -> bytes:
    """The result in an agent's answer.

    Raises:
        RpcError: it is an error.
    """
    if response.error is not None:
        _raise(response.error)
    return response.result or b"null"


def _raise(raw: bytes) -> NoReturn:
    try:
        error = msgspec.json.decode(raw, type=_Error)
    except UNREADABLE:
        raise RpcError(INTERNAL_ERROR, raw[:500].decode(errors="replace")) from None
    raise RpcError(error.code, error.message, error.data)
