"""MCP over HTTP: one endpoint for both eras.

Localhost is not trusted: every request must name a host and an origin of this machine, and
carry the bearer token, unless the server was told to do without.
"""

import asyncio
import contextlib
import secrets
from collections.abc import MutableMapping
from typing import Any

from binnacle.server.call import Peer
from binnacle.server.engine import Answer, Engine
from binnacle.server.streams import KEEP_ALIVE, LENGTH, Queue, Receive, Send, disconnected, offer, stream
from binnacle.wire import headers as mcp_headers
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INVALID_REQUEST, Invalid, Notification, Request, Response, RpcError
from binnacle.wire.mcp import (
    HANDSHAKE_VERSIONS,
    HTTP_STATUS,
    ONLY_STATELESS,
    STATELESS_VERSIONS,
    CancelParams,
    decode_params,
    meta_of,
)

Scope = MutableMapping[str, Any]
BODY_LIMIT = 32 << 20
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

    def __init__(self, engine: Engine, *, token: str | None, path: str = "/mcp", hosts: frozenset[str] = LOCAL) -> None:
        self._engine = engine
        self._token = token
        self._path = path
        self._hosts = hosts
        self._sessions: dict[str, Peer] = {}
        self._streams: set[Queue] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1").strip() for name, value in scope["headers"]}
        try:
            self._admit(scope["path"], headers)
            handlers = {"POST": self._post, "GET": self._get, "DELETE": self._delete}
            await handlers.get(scope["method"], self._refuse)(headers, receive, send)
        except Reply as reply:
            await _respond(send, reply)

    def close(self) -> None:
        """Ends every open stream and every request, so that the server can stop."""
        for queue in list(self._streams):
            offer(queue, None)
        for peer in self._sessions.values():
            peer.close()

    def _admit(self, path: str, headers: dict[str, str]) -> None:
        origin = headers.get("origin")
        named = [headers.get("host", ""), *([origin.partition("://")[2]] if origin is not None else [])]
        if any(_host_of(name) not in self._hosts for name in named):
            raise Reply(403, _error(INVALID_REQUEST, "forbidden: the host or origin is not this machine"))
        if path != self._path:
            raise Reply(404)
        if self._token is not None:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not secrets.compare_digest(given.strip().encode(), self._token.encode()):
                raise Reply(401, _error(INVALID_REQUEST, "a bearer token is needed"), www_authenticate="Bearer")

    async def _refuse(self, headers: dict[str, str], receive: Receive, send: Send) -> None:  # noqa: ARG002
        raise Reply(405, allow="POST, GET, DELETE")

    async def _delete(self, headers: dict[str, str], receive: Receive, send: Send) -> None:  # noqa: ARG002
        peer = self._sessions.pop(headers.get("mcp-session-id", ""), None)
        if peer is None:
            raise Reply(404)
        peer.close()
        raise Reply(200)

    async def _get(self, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """The handshake era's stream for what belongs to no request."""
        if headers.get("mcp-protocol-version") in STATELESS_VERSIONS or "mcp-session-id" not in headers:
            raise Reply(405, allow="POST")
        peer = self._session(headers)
        if peer.send is not None:
            raise Reply(409, _error(INVALID_REQUEST, "this session has a stream already"))
        queue: Queue = asyncio.Queue(LENGTH)
        peer.send = lambda message: offer(queue, message)
        try:
            await self._watch(queue, receive, send)
        finally:
            peer.send = None

    async def _post(self, headers: dict[str, str], receive: Receive, send: Send) -> None:
        message = jsonrpc.parse(await _body(receive))
        match message:
            case Request():
                await self._request(message, headers, receive, send)
            case Invalid(request_id, code, text):
                raise Reply(400, jsonrpc.error_message(request_id, code, text))
            case Notification():
                self._notified(message, headers)
                raise Reply(202)
            case Response(request_id, result, error):
                if peer := self._sessions.get(headers.get("mcp-session-id", "")):
                    peer.resolve(request_id, result, error)
                raise Reply(202)
            case list():
                raise Reply(400, _error(INVALID_REQUEST, "a single message is needed, not a batch"))

    def _notified(self, message: Notification, headers: dict[str, str]) -> None:
        peer = self._sessions.get(headers.get("mcp-session-id", ""))
        if peer is not None and message.method == "notifications/cancelled":
            with contextlib.suppress(RpcError):  # a notification is never answered, not even a wrong one
                peer.cancel(bytes(decode_params(message.params, CancelParams).request_id))

    async def _request(self, request: Request, headers: dict[str, str], receive: Receive, send: Send) -> None:
        try:
            stateless = self._is_stateless(request, headers)
        except RpcError as error:
            body = jsonrpc.error_message(request.id, error.code, error.message, error.data)
            raise Reply(HTTP_STATUS.get(error.code, 400), body) from error
        queue: Queue = asyncio.Queue(LENGTH)

        def emit(message: bytes) -> None:
            offer(queue, message)

        if stateless:
            if request.method == "subscriptions/listen":
                await self._listen(request, queue, receive, send)
                return
            peer = Peer()
            work = self._engine.answer(request, peer, "stateless", emit)
        else:
            peer, extra = self._joined(request, headers)
            work = self._engine.answer(request, peer, "handshake", emit)
            if extra:
                answer = await work
                raise Reply(200, answer.message, content_type="application/json", **extra)
        await self._run(request, peer, asyncio.ensure_future(work), queue, receive, send, stateless=stateless)

    def _is_stateless(self, request: Request, headers: dict[str, str]) -> bool:
        """Which era a request belongs to; one that says so must say it everywhere."""
        meta = meta_of(request.params).meta or None
        version = headers.get("mcp-protocol-version")
        named = meta is not None and isinstance(meta.version, str)
        foreign = version is not None and version not in HANDSHAKE_VERSIONS
        new = "mcp-session-id" not in headers and request.method in ONLY_STATELESS
        if not (named or foreign or new):
            return False
        mcp_headers.check(headers, request.method, request.params, meta)
        return True

    def _joined(self, request: Request, headers: dict[str, str]) -> tuple[Peer, dict[str, str]]:
        """The session of a request of the handshake era, a new one for `initialize`."""
        if request.method != "initialize":
            return self._session(headers, request.id), {}
        while len(self._sessions) >= SESSIONS:
            oldest = next(iter(self._sessions))
            self._sessions.pop(oldest).close()
        peer = Peer()
        session_id = secrets.token_hex(16)
        self._sessions[session_id] = peer
        self._engine.join(peer)
        return peer, {"mcp_session_id": session_id}

    def _session(self, headers: dict[str, str], request_id: bytes = jsonrpc.NO_ID) -> Peer:
        session_id = headers.get("mcp-session-id")
        if session_id is None:
            raise Reply(400, jsonrpc.error_message(request_id, INVALID_REQUEST, "the header Mcp-Session-Id is missing"))
        peer = self._sessions.pop(session_id, None)
        if peer is None:
            raise Reply(404, jsonrpc.error_message(request_id, INVALID_REQUEST, "no such session; initialize again"))
        self._sessions[session_id] = peer  # most recently used last
        return peer

    async def _run(
        self,
        request: Request,
        peer: Peer,
        work: asyncio.Future[Answer],
        queue: Queue,
        receive: Receive,
        send: Send,
        *,
        stateless: bool,
    ) -> None:
        """Waits for the answer: plain JSON if it comes first, a stream as soon as something else does."""
        assert isinstance(work, asyncio.Task)
        peer.running[request.id] = work
        work.add_done_callback(lambda _: offer(queue, None))
        gone = asyncio.ensure_future(disconnected(receive))
        first = asyncio.ensure_future(queue.get())
        try:
            waiting: set[asyncio.Future[Any]] = {work, first, gone}
            await asyncio.wait(waiting, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            if work.done() and (not first.done() or first.result() is None):
                await _respond(send, _reply_of(work, stateless=stateless))
                return
            await self._open(queue, send, gone, first=first, work=work)
        finally:
            peer.running.pop(request.id, None)
            for task in (work, gone, first):
                task.cancel()
            await asyncio.gather(work, gone, first, return_exceptions=True)

    async def _watch(self, queue: Queue, receive: Receive, send: Send) -> None:
        """A stream that lasts until the client goes or the server stops."""
        gone = asyncio.ensure_future(disconnected(receive))
        try:
            await self._open(queue, send, gone)
        finally:
            gone.cancel()

    async def _open(self, queue: Queue, send: Send, gone: asyncio.Future[None], **parts: Any) -> None:
        self._streams.add(queue)
        try:
            await stream(queue, send, gone, **parts)
        finally:
            self._streams.discard(queue)

    async def _listen(self, request: Request, queue: Queue, receive: Receive, send: Send) -> None:
        try:
            end = self._engine.listen(request, lambda message: offer(queue, message))
        except RpcError as error:
            raise Reply(400, jsonrpc.error_message(request.id, error.code, error.message, error.data)) from error
        try:
            await self._watch(queue, receive, send)
        finally:
            end()


def _reply_of(work: asyncio.Future[Answer], *, stateless: bool) -> Reply:
    if work.cancelled():
        return Reply(202)
    answer = work.result()
    status = HTTP_STATUS.get(answer.code, 200) if stateless else 200
    return Reply(status, answer.message, content_type="application/json")


def _error(code: int, message: str) -> bytes:
    return jsonrpc.error_message(jsonrpc.NO_ID, code, message)


def _host_of(name: str) -> str:
    """The host in `host:port`, in lower case."""
    return (name if name.endswith("]") else name.rpartition(":")[0] or name).lower()


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Reply(400)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_LIMIT:
            raise Reply(413, _error(INVALID_REQUEST, "the message is too long"))
        if not message.get("more_body"):
            return b"".join(parts)


async def _respond(send: Send, reply: Reply) -> None:
    headers = {"content-length": str(len(reply.body)), **reply.headers}
    if reply.body:
        headers.setdefault("content-type", "application/json")
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": raw})
    await send({"type": "http.response.body", "body": reply.body})
