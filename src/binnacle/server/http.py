"""MCP over HTTP: one endpoint for both eras.

Localhost is not trusted: every request must name a host and an origin of this machine, and
carry the bearer token, unless the server was told to do without.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any, NoReturn

from binnacle.server.call import Peer
from binnacle.server.call import Send as Say
from binnacle.server.engine import Answer, Engine
from binnacle.server.streams import KEEP_ALIVE, Queue, Receive, Send, announce, disconnected, mention, stream
from binnacle.wire import headers as mcp_headers
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INVALID_REQUEST, Invalid, Message, Notification, Request, Response, RpcError
from binnacle.wire.mcp import (
    HANDSHAKE_VERSIONS,
    HTTP_STATUS,
    LATEST_HANDSHAKE,
    ONLY_STATELESS,
    STATELESS_VERSIONS,
    CallParams,
    CancelParams,
    Era,
    decode_params,
    meta_of,
)

Scope = MutableMapping[str, Any]
BODY_LIMIT = 32 << 20
"""Bytes of one message."""

SESSIONS = 1000
"""Sessions kept at once; the one that was silent longest makes room."""

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Reply(Exception):
    """An HTTP answer that ends the request where it is decided."""

    def __init__(self, status: int, body: bytes = b"", **headers: str) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class HttpServer:
    """An ASGI application that serves one engine at one path."""

    def __init__(
        self,
        engine: Engine,
        *,
        token: str | None,
        path: str = "/mcp",
        hosts: frozenset[str] = LOCAL,
        body_limit: int = BODY_LIMIT,
        sessions: int = SESSIONS,
        keep_alive: float = KEEP_ALIVE,
    ) -> None:
        self._engine = engine
        self._token = token
        self._path = path
        self._hosts = hosts
        self._body_limit = body_limit
        self._session_limit = sessions
        self._keep_alive = keep_alive
        self._sessions: dict[str, Peer] = {}
        self._shared: dict[str, Any] = {}
        self._watched: dict[Peer, Queue] = {}
        """Streams of changes of the handshake era, one for a session."""

        self._listening: dict[Queue, bytes] = {}
        """Streams of changes of the stateless era, and the last word on each."""

        self._works: set[asyncio.Task[Answer]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = headers_of(scope)
        try:
            self.admit(headers)
            handlers = {"POST": self._post, "GET": self._get, "DELETE": self._delete}
            handle = handlers.get(scope["method"], self._refuse) if scope["path"] == self._path else _no_such_path
            await handle(headers, receive, send)
        except Reply as reply:
            await respond(send, reply)

    def close(self) -> None:
        """Ends every stream of changes, so that the server can stop. Requests under way go on."""
        for queue, farewell in self._listening.items():
            queue.put_nowait(farewell)
            queue.put_nowait(None)
        for queue in self._watched.values():
            queue.put_nowait(None)

    def cancel(self) -> None:
        """Stops every request under way."""
        for work in self._works:
            work.cancel()

    def admit(self, headers: Mapping[str, str]) -> None:
        """Refuses who names another machine or has no token.

        Raises:
            Reply: what to answer instead.
        """
        origin = headers.get("origin")
        named = [headers.get("host", ""), *([origin.partition("://")[2]] if origin is not None else [])]
        if any(_host_of(name) not in self._hosts for name in named):
            raise Reply(403, _error(INVALID_REQUEST, "forbidden: the host or origin is not this machine"))
        if self._token is not None:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            same = secrets.compare_digest(given.strip().encode("latin-1"), self._token.encode())
            if scheme.lower() != "bearer" or not same:
                raise Reply(401, _error(INVALID_REQUEST, "a bearer token is needed"), www_authenticate="Bearer")

    async def _refuse(self, headers: dict[str, str], receive: Receive, send: Send) -> None:  # noqa: ARG002
        raise Reply(405, allow="POST, GET, DELETE")

    async def _delete(self, headers: dict[str, str], receive: Receive, send: Send) -> None:  # noqa: ARG002
        self._session(headers)
        self._end(headers["mcp-session-id"])
        raise Reply(200)

    def _end(self, session_id: str) -> None:
        peer = self._sessions.pop(session_id)
        peer.close()
        if queue := self._watched.get(peer):
            queue.put_nowait(None)

    async def _get(self, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """The handshake era's stream for what belongs to no request."""
        if headers.get("mcp-protocol-version") in STATELESS_VERSIONS or "mcp-session-id" not in headers:
            raise Reply(405, allow="POST")
        peer = self._session(headers)
        if peer in self._watched:
            raise Reply(409, _error(INVALID_REQUEST, "this session has a stream already"))
        queue: Queue = asyncio.Queue()
        self._watched[peer] = queue
        peer.send = lambda message: announce(queue, message)
        try:
            await self._watch(queue, receive, send)
        finally:
            peer.send = None
            del self._watched[peer]

    async def _post(self, headers: dict[str, str], receive: Receive, send: Send) -> None:
        message = jsonrpc.parse(await _body(headers, receive, self._body_limit))
        match message:
            case Request():
                await self._request(message, headers, receive, send)
            case Invalid(request_id, code, text):
                raise Reply(400, jsonrpc.error_message(request_id, code, text))
            case Notification() | Response():
                self._take(message, headers)
                raise Reply(202)
            case list():
                await self._batch(message, headers, receive, send)

    def _take(self, message: Notification | Response, headers: dict[str, str]) -> None:
        """A message that wants no answer. Those that mean anything are of the handshake era."""
        if headers.get("mcp-protocol-version") in STATELESS_VERSIONS:
            return
        peer = self._session(headers)
        match message:
            case Response(request_id, result, error):
                peer.resolve(request_id, result, error)
            case Notification("notifications/cancelled", params):
                with contextlib.suppress(RpcError):  # a notification is never answered, not even a wrong one
                    peer.cancel(bytes(decode_params(params, CancelParams).request_id))

    async def _request(self, request: Request, headers: dict[str, str], receive: Receive, send: Send) -> None:
        try:
            stateless = self._is_stateless(request, headers)
            if stateless and request.method == "tools/call":
                self._check_arguments(decode_params(request.params, CallParams), headers)
        except RpcError as error:
            body = jsonrpc.error_message(request.id, error.code, error.message, error.data)
            raise Reply(HTTP_STATUS.get(error.code, 400), body) from error
        if stateless and request.method == "subscriptions/listen":
            await self._listen(request, receive, send)
        elif request.method == "initialize" and not stateless:
            await self._initialize(request)
        elif stateless:
            peer = Peer()
            # This era has no sessions: all its clients are one to the host, unless they pass a handle.
            peer.state = self._shared
            await self._run(partial(self._begin, request, peer, "stateless"), "stateless", receive, send)
        else:
            peer = self._session(headers, request.id)
            await self._run(partial(self._begin, request, peer, "handshake"), "handshake", receive, send)

    def _begin(self, request: Request, peer: Peer, era: Era, say: Say) -> asyncio.Task[Answer]:
        work = asyncio.create_task(self._engine.answer(request, peer, era, say))
        peer.begin(request.id, work)
        return work

    async def _batch(self, messages: list[Message], headers: dict[str, str], receive: Receive, send: Send) -> None:
        """2025-03-26 wants batches to be taken; the stateless era has none."""
        if headers.get("mcp-protocol-version", LATEST_HANDSHAKE) not in HANDSHAKE_VERSIONS:
            raise Reply(400, _error(INVALID_REQUEST, "a single message is needed, not a batch"))

        def begin(say: Say) -> asyncio.Task[Answer]:
            return asyncio.create_task(self._answer_batch(messages, headers, say))

        await self._run(begin, "handshake", receive, send)

    async def _answer_batch(self, messages: list[Message], headers: dict[str, str], say: Say) -> Answer:
        """Answers what wants an answer. Cancelled, it cancels every request of the batch."""
        peer = self._session(headers)
        works = [self._begin(one, peer, "handshake", say) for one in messages if isinstance(one, Request)]
        wrong = [jsonrpc.error_message(*one) for one in messages if isinstance(one, Invalid)]
        for one in messages:
            if isinstance(one, Notification | Response):
                self._take(one, headers)
        answers = await asyncio.gather(*works, return_exceptions=True)
        found = [*wrong, *(answer.message for answer in answers if isinstance(answer, Answer))]
        if not found:
            raise asyncio.CancelledError  # as a single request that is not answered
        return Answer(b"[%b]" % b",".join(found))

    def _is_stateless(self, request: Request, headers: dict[str, str]) -> bool:
        """Which era a request belongs to; one that says so must say it everywhere."""
        meta = meta_of(request.params)
        version = headers.get("mcp-protocol-version")
        named = meta is not None and isinstance(meta.version, str)
        foreign = version is not None and version not in HANDSHAKE_VERSIONS
        new = "mcp-session-id" not in headers and request.method in ONLY_STATELESS
        if not (named or foreign or new):
            return False
        mcp_headers.check(headers, request.method, request.params, meta)
        return True

    def _check_arguments(self, call: CallParams, headers: dict[str, str]) -> None:
        if schema := self._engine.host.marked_schema(call.name):
            mcp_headers.check_arguments(headers, schema, decode_params(bytes(call.arguments), dict[str, Any]))

    async def _initialize(self, request: Request) -> NoReturn:
        """Begins a session of the handshake era."""
        peer = Peer()
        answer = await self._engine.answer(request, peer, "handshake", lambda _: None)
        if answer.code:
            raise Reply(200, answer.message)
        while len(self._sessions) >= self._session_limit:
            self._end(next(iter(self._sessions)))
        session_id = secrets.token_hex(16)
        self._sessions[session_id] = peer
        self._engine.join(peer)
        raise Reply(200, answer.message, mcp_session_id=session_id)

    def _session(self, headers: dict[str, str], request_id: bytes = jsonrpc.NO_ID) -> Peer:
        session_id = headers.get("mcp-session-id")
        if session_id is None:
            raise Reply(400, jsonrpc.error_message(request_id, INVALID_REQUEST, "the header Mcp-Session-Id is missing"))
        peer = self._sessions.pop(session_id, None)
        if peer is None:
            raise Reply(404, jsonrpc.error_message(request_id, INVALID_REQUEST, "no such session; initialize again"))
        self._sessions[session_id] = peer  # most recently used last
        return peer

    async def _run(self, begin: Callable[[Say], asyncio.Task[Answer]], era: Era, receive: Receive, send: Send) -> None:
        """Waits for the answer: plain JSON if it comes first, a stream as soon as something else does.

        A client that goes away cancels its request in either era: nobody could read the answer.
        """
        queue: Queue = asyncio.Queue()
        work = begin(lambda message: mention(queue, message))
        self._works.add(work)
        work.add_done_callback(self._works.discard)
        work.add_done_callback(lambda _: queue.put_nowait(None))
        await asyncio.sleep(0)
        if work.done() and queue.empty():
            # What needed no waiting is answered without the means to wait.
            await respond(send, _reply_of(work, era))
            return
        gone = asyncio.ensure_future(disconnected(receive))
        first = asyncio.ensure_future(queue.get())
        try:
            waiting: set[asyncio.Future[Any]] = {first, gone}  # the end of the work is in the queue, too
            await asyncio.wait(waiting, timeout=self._keep_alive, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            if first.done() and first.result() is None:
                await respond(send, _reply_of(work, era))
                return
            await stream(queue, send, gone, keep_alive=self._keep_alive, first=first, work=work)
        finally:
            left = [task for task in (work, gone, first) if not task.done()]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _watch(self, queue: Queue, receive: Receive, send: Send) -> None:
        """A stream that lasts until the client goes or the server stops."""
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            await stream(queue, send, gone, keep_alive=self._keep_alive)
        finally:
            gone.cancel()

    async def _listen(self, request: Request, receive: Receive, send: Send) -> None:
        """The stateless era's stream of changes."""
        queue: Queue = asyncio.Queue()
        try:
            listener = self._engine.listen(request, lambda message: announce(queue, message))
        except RpcError as error:
            raise Reply(400, jsonrpc.error_message(request.id, error.code, error.message, error.data)) from error
        self._listening[queue] = self._engine.farewell(listener)
        try:
            await self._watch(queue, receive, send)
        finally:
            del self._listening[queue]
            self._engine.forget(listener)


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of a request, by their names in lower case."""
    return {name.decode("latin-1"): value.decode("latin-1").strip() for name, value in scope["headers"]}


async def _no_such_path(headers: dict[str, str], receive: Receive, send: Send) -> NoReturn:  # noqa: ARG001
    raise Reply(404)


def _reply_of(work: asyncio.Future[Answer], era: Era) -> Reply:
    if work.cancelled():
        return Reply(202)
    answer = work.result()
    return Reply(HTTP_STATUS.get(answer.code, 200) if era == "stateless" else 200, answer.message)


def _error(code: int, message: str) -> bytes:
    return jsonrpc.error_message(jsonrpc.NO_ID, code, message)


def _host_of(name: str) -> str:
    """The host in `host:port`, in lower case; nothing, if what follows it is no port."""
    host, colon, port = name.rpartition(":")
    if name.endswith("]") or not colon:
        return name.lower()
    return host.lower() if port.isdecimal() else ""


async def _body(headers: dict[str, str], receive: Receive, limit: int) -> bytes:
    # The connection stays open: closed with data on its way, it would be reset and the answer lost.
    too_long = Reply(413, _error(INVALID_REQUEST, f"the message is longer than {limit} bytes"))
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise too_long
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Reply(400)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise too_long
        if not message.get("more_body"):
            return b"".join(parts)


async def respond(send: Send, reply: Reply) -> None:
    headers = {"content-length": str(len(reply.body)), **reply.headers}
    if reply.body:
        headers["content-type"] = "application/json"
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": raw})
    await send({"type": "http.response.body", "body": reply.body})
