"""A server at a URL, over Streamable HTTP, in both eras.

Every request is a POST of its own, answered with JSON or with a stream of events that ends in the answer. In the
handshake era there is a session besides, and a stream for what belongs to no request.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

import aiohttp
import msgspec
from msgspec import Raw

from binnacle.errors import BinnacleError, UpstreamBusy, UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream import web
from binnacle.upstream.config import ServerConfig
from binnacle.upstream.events import Events, TooLong
from binnacle.upstream.link import Outgoing, Receive
from binnacle.upstream.web import LIMIT, Challenged, Failure, Headers, Web
from binnacle.wire import jsonrpc
from binnacle.wire.headers import encoded
from binnacle.wire.jsonrpc import INTERNAL_ERROR, NO_ID, Invalid, Message, Notification, Request, Response, RpcError
from binnacle.wire.mcp import NAMED, STATELESS_VERSIONS

EVENTS = "text/event-stream"
ACCEPT = {"Accept": f"application/json, {EVENTS}", "Content-Type": "application/json"}
ACCEPT_EVENTS = {"Accept": EVENTS}

REFUSAL_LIMIT = 1 << 20
"""Bytes of a refusal that are read."""

RESUMES = 5
"""Times in a row that a stream is taken up without anything new on it."""

FIRST_DELAY, LAST_DELAY = 0.1, 60.0
"""Seconds before a stream that ended is opened again: at first, and at most."""

LASTING = 10.0
"""Seconds after which a stream that ends counts as one that was there."""

RETRY = 1.0
"""Seconds before a stream is taken up where it broke off, unless the server says how many."""

REST = 1.0
"""Seconds that a stream gets to end after its answer, so that its connection can be used again."""

GRACE = 2.0
"""Seconds for what is said in parting: that a request is cancelled, that a session is over."""

T = TypeVar("T")


class HttpLink:
    """Speaks with a server over HTTP."""

    def __init__(
        self,
        config: ServerConfig,
        receive: Receive,
        *,
        session: aiohttp.ClientSession,
        headers: Headers,
        challenged: Challenged,
    ) -> None:
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.version = ""
        self._config = config
        self._receive = receive
        self._web = Web(config, session=session, headers=headers, challenged=challenged)
        self._session_id = ""
        self._asking: set[asyncio.Timeout] = set()
        self._quiet = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening = False

    async def open(self) -> None:
        """Nothing is to be made: the first request shows whether the server is there."""

    async def ask(self, request: Outgoing) -> Response:
        self._check_open()
        is_stateless = self.version in STATELESS_VERSIONS
        try:
            return await self._until_ended(self._ask(request, is_stateless))
        except asyncio.CancelledError:
            if not is_stateless and request.method != "initialize" and not self.ended.done():
                self._start(self._recant(request.id))
            raise

    def _check_open(self) -> None:
        if self.ended.done():
            raise UpstreamDown(self.ended.result())

    async def _until_ended(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """Does something that closing the link interrupts."""
        try:
            async with asyncio.timeout(seconds) as bound:
                self._asking.add(bound)
                return await work
        except TimeoutError:
            self._check_open()
            raise UpstreamDown(f"{self._config.name} did not answer in time", hint="try again later") from None
        except UpstreamDown as error:
            if web.is_unreachable(error):
                self._end(error.message)
            raise
        finally:
            self._asking.discard(bound)
            if not self._asking:
                self._quiet.set()

    async def _ask(self, request: Outgoing, is_stateless: bool) -> Response:
        headers = self._headers_of(request) if is_stateless else self._handshake_headers()
        response = await self._web.send("POST", ACCEPT | headers, request.message)
        if request.method == "initialize" and response.ok:
            self._session_id = response.headers.get("Mcp-Session-Id", "")
        if response.ok and response.content_type == EVENTS:
            return await self._streamed(request, response, is_resumable=not is_stateless)
        try:
            self._check_session(response)
            if not response.ok:
                return await self._refusal(request, response)
            return self._plain(request, response, await self._body(response, LIMIT))
        finally:
            response.close()

    def _headers_of(self, request: Outgoing) -> dict[str, str]:
        """What the stateless era wants to be said twice."""
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

    def _check_session(self, response: aiohttp.ClientResponse) -> None:
        """A server that no longer knows the session has started again, or had enough of it."""
        if response.status == 404 and self._session_id and self.version not in STATELESS_VERSIONS:
            self._session_id = ""
            self._end(f"{self._config.name} no longer knows our session")
            raise UpstreamDown(self.ended.result(), hint="it is being connected again")

    async def _body(self, response: aiohttp.ClientResponse, limit: int) -> bytes:
        try:
            data = await web.read(response, limit)
        except Failure as error:
            raise self._web.failure(error) from error
        if data is None:
            raise self._too_long()
        return data

    def _too_long(self) -> UpstreamError:
        return UpstreamError(f"{self._config.name} sent a message of more than {LIMIT >> 20} MiB")

    def _plain(self, request: Outgoing, response: aiohttp.ClientResponse, data: bytes) -> Response:
        """The answer in a body, whatever it says it is."""
        answer = self._take(data, request.id)
        if answer is None:
            what = f"{response.content_type}, no message: {web.excerpt(data)}" if data else "nothing"
            raise RpcError(INTERNAL_ERROR, f"{self._config.name} answered {response.status} with {what}")
        return answer

    async def _refusal(self, request: Outgoing, response: aiohttp.ClientResponse) -> Response:
        """An HTTP error: the JSON-RPC error in it, if there is one.

        Raises:
            UpstreamError: of the kind that fits the status.
            RpcError: the request was wrong, or the server does not know what it is.
        """
        status = response.status
        with contextlib.suppress(UpstreamError):
            data = b""
            data = await self._body(response, REFUSAL_LIMIT)
        answer = refusal_in(data)
        if answer is not None and status != 401:
            return Response(request.id, None, answer.error)
        raise refused(self._config.name, response, data)

    async def _streamed(self, request: Outgoing, response: aiohttp.ClientResponse, *, is_resumable: bool) -> Response:
        """The answer in a stream, which is taken up where it breaks off if the server numbers its events."""
        events = Events(LIMIT)
        failure = UpstreamDown(f"{self._config.name} ended the stream without an answer", hint="try again")
        stream: aiohttp.ClientResponse | None = response
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
                failure, is_over = error, web.is_unreachable(error)
            stream = None
            idle = 0 if events.last_id != before else idle + 1
            if is_over or not is_resumable or not events.last_id or idle > RESUMES:
                raise failure
            await asyncio.sleep(min(RETRY if events.retry is None else events.retry, LAST_DELAY))

    async def _events_from(self, events: Events) -> aiohttp.ClientResponse | None:
        """A stream of the session, from where the last one broke off; None if the server has none for us.

        Raises:
            UpstreamDown: it has none now.
        """
        events.restart()
        headers = ACCEPT_EVENTS | self._handshake_headers()
        if events.last_id:
            headers["Last-Event-ID"] = events.last_id
        response = await self._web.send("GET", headers)
        if response.ok and response.content_type == EVENTS:
            return response
        response.close()
        self._check_session(response)
        if response.status >= 500 or response.status in (408, 409, 425, 429):
            raise UpstreamDown(f"{self._config.name} has no stream for us now", hint="try again later")
        return None

    async def _read(self, response: aiohttp.ClientResponse, events: Events, request_id: bytes) -> Response | None:
        """Hands on what comes on a stream, until the answer; None if the stream ends before. Closes it."""
        answer: Response | None = None
        try:
            async for chunk in response.content.iter_any():
                for event in events.feed(chunk):
                    if event.kind == "message" and answer is None:
                        answer = self._take(event.data, request_id)
                if answer is not None:
                    break
        except TooLong:
            raise self._too_long() from None
        except Failure as error:
            raise self._web.failure(error) from error
        finally:
            self._let_go(response, is_done=answer is not None)
        return answer

    def _let_go(self, response: aiohttp.ClientResponse, *, is_done: bool) -> None:
        """Closes a response, or keeps its connection for the next request if nothing more is to come."""
        if is_done and not response.content.at_eof() and not self.ended.done():
            self._start(_drain(response))
        else:
            response.close()

    def _take(self, data: bytes, request_id: bytes) -> Response | None:
        """Hands on the messages in `data`; the answer, if it is among them."""
        answer: Response | None = None
        for message in messages_in(data):
            match message:
                case Response(found_id) if found_id == request_id or (found_id == NO_ID and message.error is not None):
                    answer = answer or message
                case Request() | Notification():
                    self._receive(message, request_id)
        return answer

    async def tell(self, message: bytes) -> None:
        if self.version in STATELESS_VERSIONS:
            return  # this era has nothing that a client would tell over HTTP
        self._check_open()
        await self._until_ended(self._tell(message), self._config.timeout)
        if not self._listening:
            self._listening = True
            self._start(self._listen())

    async def _tell(self, message: bytes) -> None:
        response = await self._web.send("POST", ACCEPT | self._handshake_headers(), message)
        if response.ok:
            self._let_go(response, is_done=True)
            return
        try:
            self._check_session(response)
            error = refused(self._config.name, response, await self._body(response, REFUSAL_LIMIT))
        finally:
            response.close()
        raise error if isinstance(error, UpstreamError) else UpstreamError(error.message)

    async def _recant(self, request_id: bytes) -> None:
        """Tells the server that nobody waits for an answer any more."""
        params = {"requestId": Raw(request_id), "reason": "the caller no longer waits"}
        with contextlib.suppress(BinnacleError):
            message = jsonrpc.notification_message("notifications/cancelled", params)
            await self._until_ended(self._tell(message), GRACE)

    async def _listen(self) -> None:
        """The stream of what belongs to no request, opened again whenever it ends; a server may have none."""
        events = Events(LIMIT)
        clock = asyncio.get_running_loop().time
        delay = FIRST_DELAY
        while not self.ended.done():
            began, before = clock(), events.last_id
            try:
                if not await self._until_ended(self._listen_once(events)):
                    return
            except UpstreamDown:
                pass
            except UpstreamError:
                return
            if clock() - began > LASTING or events.last_id != before:
                delay = FIRST_DELAY
            await asyncio.sleep(min(max(events.retry or 0.0, delay), LAST_DELAY))
            delay *= 2

    async def _listen_once(self, events: Events) -> bool:
        """Hears a stream to its end. False if the server has none."""
        response = await self._events_from(events)
        if response is not None:
            await self._read(response, events, b"")
        return response is not None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end(self, why: str) -> None:
        if not self.ended.done():
            self.ended.set_result(why)

    async def close(self) -> None:
        was_there = not self.ended.done()
        self._end(f"{self._config.name} was closed")
        now = asyncio.get_running_loop().time()
        for bound in self._asking:
            bound.reschedule(now)
        for task in self._tasks:
            task.cancel()
        with contextlib.suppress(TimeoutError, BinnacleError):
            async with asyncio.timeout(GRACE):
                await asyncio.gather(*self._tasks, return_exceptions=True)
                if self._asking:
                    self._quiet.clear()
                    await self._quiet.wait()
                if was_there and self._session_id:
                    response = await self._web.once("DELETE", self._handshake_headers())
                    response.close()


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Reads what follows an answer, which is nothing as a rule, so that the connection can be used again."""
    try:
        with contextlib.suppress(TimeoutError, *Failure):
            async with asyncio.timeout(REST):
                await web.read(response, REFUSAL_LIMIT)
    finally:
        response.close()


def messages_in(data: bytes) -> list[Message]:
    """The messages in what a server sent; bytes that are no text are replaced."""
    found = jsonrpc.parse(data)
    if isinstance(found, Invalid) and not data.isascii():
        found = jsonrpc.parse(data.decode(errors="replace").encode())
    return found if isinstance(found, list) else [found]


def refusal_in(data: bytes) -> Response | None:
    """The JSON-RPC error in the body of an HTTP error."""
    message = jsonrpc.parse(data)
    return message if isinstance(message, Response) and message.error is not None else None


class _Said(msgspec.Struct):
    message: str = ""


def refused(name: str, response: aiohttp.ClientResponse, data: bytes) -> UpstreamError | RpcError:
    """What an HTTP error means for whoever asked."""
    status = response.status
    text = web.excerpt(data)
    with contextlib.suppress(*jsonrpc.UNREADABLE):
        if (found := refusal_in(data)) is not None:
            text = web.excerpt(msgspec.json.decode(found.error or b"{}", type=_Said).message.encode())
    said = f"{name} answered {status} {web.excerpt((response.reason or '').encode())}".rstrip()
    if text:
        said += f": {text}"
    match status:
        case 401:
            return UpstreamLogin(said, hint=f"sign in with: bn upstream login {name}, or check its key")
        case 403:
            return UpstreamError(said, hint="check what its key or login may do")
        case 429:
            return UpstreamBusy(said, hint=_when(response))
        case _ if status >= 500:
            return UpstreamDown(said, hint=_when(response))
        case _:
            return RpcError(INTERNAL_ERROR, said)


def _when(response: aiohttp.ClientResponse) -> str:
    seconds = response.headers.get("Retry-After", "")
    return f"try again in {seconds} s" if seconds.isdecimal() and len(seconds) < 6 else "try again later"
