"""A server at a URL, over Streamable HTTP, in both eras.

Every request is a POST, answered with JSON or with a stream of events that ends with the answer. The handshake era also
has a session, and a stream for messages that belong to no request.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from binnacle.errors import BinnacleError, UpstreamDown, UpstreamError
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports import http_client
from binnacle.upstream.transports.http_client import (
    CLOSE_GRACE_SECONDS,
    MAX_MESSAGE_BYTES,
    Credentials,
    HttpAnswer,
    HttpClient,
)
from binnacle.upstream.transports.http_failures import (
    REQUEST_FAILURES,
    describe_refusal,
    find_rpc_error,
    is_unreachable,
    make_excerpt,
)
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.upstream.transports.task_set import TaskSet
from binnacle.upstream.transports.transport import (
    RECONNECT_HINT,
    OutgoingRequest,
    Receive,
    cancel_message,
    normalize_id,
    parse_messages,
)
from binnacle.wire.framing import EventStreamDecoder, FrameTooLong
from binnacle.wire.jsonrpc import INTERNAL_ERROR, NO_ID, Notification, Request, Response, RpcError
from binnacle.wire.mcp import NAMED, STATELESS_VERSIONS
from binnacle.wire.mcp_headers import encoded

EVENT_STREAM = "text/event-stream"
ACCEPT = {"Accept": f"application/json, {EVENT_STREAM}", "Content-Type": "application/json"}
ACCEPT_EVENTS = {"Accept": EVENT_STREAM}

MAX_IDLE_RESUMES = 5
"""Times in a row that a stream is resumed without anything new on it."""

FIRST_REOPEN_SECONDS, MAX_REOPEN_SECONDS = 0.1, 60.0
"""Seconds before a stream that ended is opened again: at first, and at most."""

LISTENING_WITHIN_SECONDS = 0.5
"""Seconds that a new session waits for its stream of changes. Some servers open it with the first event."""

LASTING_STREAM_SECONDS = 10.0
"""Seconds after which an ended stream counts as having worked."""

RESUME_AFTER_SECONDS = 1.0
"""Seconds before a broken stream is resumed, unless the server says how many."""

T = TypeVar("T")


class StreamableHttpTransport:
    """Speaks with a server over HTTP."""

    def __init__(
        self,
        config: ServerConfig,
        receive: Receive,
        *,
        session: HttpSession,
        credentials: Credentials,
    ) -> None:
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.version = ""
        self._config = config
        self._receive = receive
        self._http = HttpClient(config, session=session, credentials=credentials)
        self._session_id = ""
        self._tasks = TaskSet()
        self._listening = False
        self._heard = asyncio.Event()
        """Set once the server has answered whether it has a stream of changes."""

    async def open(self) -> None:
        """Does nothing: the first request shows whether the server is there."""

    async def ask(self, request: OutgoingRequest) -> Response:
        self._check_open()
        is_stateless = self.version in STATELESS_VERSIONS
        headers = self._headers_of(request) if is_stateless else self._handshake_headers()
        try:
            async with self._tasks.interruptible():
                response = await self._http.send("POST", ACCEPT | headers, request.message)
                if request.method == "initialize" and response.ok:
                    self._session_id = response.headers.get("Mcp-Session-Id", "")
                if response.ok and response.content_type == EVENT_STREAM:
                    return await self._read_stream(request, response, is_resumable=not is_stateless)
                if not response.ok:
                    return await self._refusal(request, response)
                return self._plain(request, response, await self._http.body(response))
        except asyncio.CancelledError:
            if not is_stateless and request.method != "initialize" and not self.ended.done():
                self._tasks.start(self._cancel(request.id))
            raise
        except (TimeoutError, UpstreamDown) as error:
            raise self._explain(error) from error.__cause__

    def _check_open(self) -> None:
        if self.ended.done():
            raise UpstreamDown(self.ended.result(), hint=RECONNECT_HINT)

    def _explain(self, error: TimeoutError | UpstreamDown) -> UpstreamDown:
        """The error for a failed request. An unreachable server ends the transport."""
        if isinstance(error, TimeoutError):
            self._check_open()
            return UpstreamDown(f"{self._config.name} did not answer in time", hint="try again later")
        if is_unreachable(error):
            self._end(error.message)
        return error

    async def _run_until_closed(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """Runs `work` until it is done, or the transport is closed."""
        try:
            async with self._tasks.interruptible(seconds=seconds):
                return await work
        except (TimeoutError, UpstreamDown) as error:
            raise self._explain(error) from error.__cause__

    def _headers_of(self, request: OutgoingRequest) -> dict[str, str]:
        """Headers that repeat parts of the body, as the stateless era requires."""
        headers = {"MCP-Protocol-Version": self.version, "Mcp-Method": request.method}
        if request.method in NAMED:
            headers["Mcp-Name"] = encoded(request.name)
        headers.update((name, encoded(value)) for name, value in request.headers)
        return headers

    def _handshake_headers(self) -> dict[str, str]:
        headers = {"Mcp-Session-Id": self._session_id} if self._session_id else {}
        if self.version:
            headers["MCP-Protocol-Version"] = self.version
        return headers

    def _check_session(self, response: HttpAnswer) -> None:
        """Ends the transport if the server no longer knows the session: it was restarted, or ended the session."""
        if response.status == 404 and self._session_id and self.version not in STATELESS_VERSIONS:
            self._session_id = ""
            self._end(f"{self._config.name} no longer knows our session")
            raise UpstreamDown(self.ended.result(), hint="it is being connected again")

    def _plain(self, request: OutgoingRequest, response: HttpAnswer, data: bytes) -> Response:
        """The answer in a body, whatever its content type."""
        answer = self._take(data, request.id)
        if answer is None:
            what = f"{response.content_type}, no message: {make_excerpt(data)}" if data else "nothing"
            raise RpcError(INTERNAL_ERROR, f"{self._config.name} answered {response.status} with {what}")
        return answer

    async def _refusal(self, request: OutgoingRequest, response: HttpAnswer) -> Response:
        """An HTTP error: the JSON-RPC error in it, if there is one.

        Raises:
            UpstreamError: of the kind that fits the status.
            RpcError: the request was wrong, or the server does not know what it is.
        """
        data = await self._http.refusal(response)
        self._check_session(response)
        answer = find_rpc_error(data)
        if answer is None or response.status == 401:
            raise describe_refusal(self._config.name, response, data)
        return Response(request.id, None, answer.error)

    async def _read_stream(self, request: OutgoingRequest, response: HttpAnswer, *, is_resumable: bool) -> Response:
        """The answer in a stream, which is resumed after a break if the server numbers its events."""
        events = EventStreamDecoder(MAX_MESSAGE_BYTES)
        failure = UpstreamDown(f"{self._config.name} ended the stream without an answer", hint="try again")
        stream: HttpAnswer | None = response
        idle = 0
        while True:
            before = events.last_id
            try:
                stream = stream or await self._events_from(events)
                answer = await self._read(stream, events, request.id) if stream else None
                if answer is not None:
                    return answer
                is_over = stream is None
            except UpstreamDown as error:
                failure, is_over = error, is_unreachable(error) or self.ended.done()
            stream = None
            idle = 0 if events.last_id != before else idle + 1
            if is_over or not is_resumable or not events.last_id or idle >= MAX_IDLE_RESUMES:
                raise failure
            await asyncio.sleep(min(RESUME_AFTER_SECONDS if events.retry is None else events.retry, MAX_REOPEN_SECONDS))

    async def _events_from(self, events: EventStreamDecoder) -> HttpAnswer | None:
        """A stream of the session, resumed where the last one ended; None if the server has none for us.

        Raises:
            UpstreamDown: it has none now.
        """
        events.restart()
        headers = ACCEPT_EVENTS | self._handshake_headers()
        if events.last_id:
            headers["Last-Event-ID"] = events.last_id
        response = await self._http.send("GET", headers)
        if response.ok and response.content_type == EVENT_STREAM:
            return response
        response.close()
        self._check_session(response)
        if response.status >= 500 or response.status in (408, 409, 425, 429):
            raise UpstreamDown(f"{self._config.name} has no stream for us now", hint="try again later")
        return None

    async def _read(self, response: HttpAnswer, events: EventStreamDecoder, request_id: bytes) -> Response | None:
        """Passes on the messages of a stream, up to the answer; None if the stream ends before. Closes it."""
        answer: Response | None = None
        try:
            async for chunk in response.content.iter_any():
                for event in events.feed(chunk):
                    if event.kind == "message" and answer is None:
                        answer = self._take(event.data, request_id)
                if answer is not None:
                    break
        except FrameTooLong:
            raise self._http.too_long() from None
        except REQUEST_FAILURES as error:
            raise self._http.failure(error) from error
        finally:
            self._release(response, is_done=answer is not None)
        return answer

    def _release(self, response: HttpAnswer, *, is_done: bool) -> None:
        """Closes a response, or keeps its connection for the next request if the response is complete."""
        if is_done and not response.content.at_eof() and not self.ended.done():
            draining = self._tasks.start(http_client.drain_body(response))
            draining.add_done_callback(lambda _: response.close())
        else:
            response.close()

    def _take(self, data: bytes, request_id: bytes) -> Response | None:
        """Passes on the messages in `data`. Returns the answer, if it is among them."""
        answer: Response | None = None
        for message in parse_messages(data):
            match message:
                case Response(found_id) if normalize_id(found_id) == request_id or (found_id == NO_ID and request_id):
                    answer = answer or message
                case Request() | Notification():
                    self._receive(message, request_id)
        return answer

    def has_worked(self) -> bool:
        return False  # no local process

    async def tell(self, message: bytes) -> None:
        if self.version in STATELESS_VERSIONS:
            return  # this era has no notifications from clients over HTTP
        self._check_open()
        await self._run_until_closed(self._tell(message), self._config.timeout)
        if not self._listening:
            self._listening = True
            self._tasks.start(self._listen())
            # Changes after the first lists must not be missed.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LISTENING_WITHIN_SECONDS):
                    await self._heard.wait()

    async def _tell(self, message: bytes) -> None:
        response = await self._http.send("POST", ACCEPT | self._handshake_headers(), message)
        if response.ok:
            self._release(response, is_done=True)
            return
        error = describe_refusal(self._config.name, response, await self._http.refusal(response))
        self._check_session(response)
        raise error if isinstance(error, UpstreamError) else UpstreamError(error.message, hint="see its log")

    async def _cancel(self, request_id: bytes) -> None:
        """Tells the server that the request is cancelled."""
        with contextlib.suppress(BinnacleError):
            await self._run_until_closed(self._tell(cancel_message(request_id)), CLOSE_GRACE_SECONDS)

    async def _listen(self) -> None:
        """Reads the stream of messages that belong to no request, again whenever it ends; a server may have none."""
        events = EventStreamDecoder(MAX_MESSAGE_BYTES)
        clock = asyncio.get_running_loop().time
        delay = FIRST_REOPEN_SECONDS
        while not self.ended.done():
            began, before = clock(), events.last_id
            try:
                if not await self._run_until_closed(self._listen_once(events)):
                    return
            except UpstreamDown:
                pass
            except UpstreamError:
                return
            if clock() - began > LASTING_STREAM_SECONDS or events.last_id != before:
                delay = FIRST_REOPEN_SECONDS
            await asyncio.sleep(min(max(events.retry or 0.0, delay), MAX_REOPEN_SECONDS))
            delay *= 2

    async def _listen_once(self, events: EventStreamDecoder) -> bool:
        """Reads a stream to its end. False if the server has none."""
        try:
            response = await self._events_from(events)
        finally:
            self._heard.set()
        if response is not None:
            await self._read(response, events, b"")
        return response is not None

    def _end(self, why: str) -> None:
        if not self.ended.done():
            self.ended.set_result(why)

    async def close(self) -> None:
        was_there = not self.ended.done()
        self._end(f"{self._config.name} was closed")
        with contextlib.suppress(TimeoutError, BinnacleError):
            async with asyncio.timeout(CLOSE_GRACE_SECONDS):
                await self._tasks.stop()
                if was_there and self._session_id:
                    response = await self._http.once("DELETE", self._handshake_headers())
                    response.close()
        self._http.close()
