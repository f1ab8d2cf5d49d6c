"""MCP over HTTP: one endpoint for both eras.

Localhost is not trusted: every request must name a host and an origin of this machine, and
carry the bearer token, unless the server was started without one.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Coroutine, Mapping
from typing import Any, NoReturn

from binnacle.server.bearer_tokens import BearerTokens
from binnacle.server.http_exchange import HttpExchange, HttpReply
from binnacle.server.mcp_server import McpAnswer, McpServer
from binnacle.server.request import Peer, RequestOrigin
from binnacle.wire import jsonrpc, mcp_headers
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

MAX_BODY_BYTES = 32 << 20
"""Bytes of one message."""

MAX_SESSIONS = 1000
"""Sessions kept at once; beyond that, the one that was silent longest ends."""

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})


class McpOverHttp:
    """Serves one MCP server at one path."""

    def __init__(
        self,
        mcp_server: McpServer,
        *,
        tokens: BearerTokens | None,
        path: str = "/mcp",
        hosts: frozenset[str] = LOCAL,
        body_limit: int = MAX_BODY_BYTES,
        sessions: int = MAX_SESSIONS,
    ) -> None:
        """Without `tokens`, clients need no token."""
        self._mcp_server = mcp_server
        self._tokens = tokens
        self._path = path
        self._hosts = hosts
        self._body_limit = body_limit
        self._session_limit = sessions
        self._sessions: dict[str, Peer] = {}
        self._watched: dict[Peer, HttpExchange] = {}
        """Streams of changes of the handshake era, one per session."""

        self._listening: dict[HttpExchange, bytes] = {}
        """Streams of changes of the stateless era, with the last message of each."""

        self._works: set[asyncio.Task[None]] = set()
        self._leaving: set[asyncio.Task[None]] = set()

    def take(self, exchange: HttpExchange) -> None:
        """Answers a request, at once if possible, otherwise in a task."""
        handlers = {"POST": self._post, "GET": self._get, "DELETE": self._delete}
        handle = handlers.get(exchange.method, _refuse) if exchange.path == self._path else _no_such_path
        try:
            handle(exchange)
        except HttpReply as reply:
            exchange.reply(reply)

    def close(self) -> None:
        """Ends every stream of changes, so that the server can stop. Requests in progress continue."""
        for exchange, farewell in list(self._listening.items()):
            exchange.end(farewell)
            exchange.on_gone()
        for exchange in list(self._watched.values()):
            exchange.end()
            exchange.on_gone()

    @property
    def is_busy(self) -> bool:
        """Whether a request is in progress; streams of changes do not count."""
        return bool(self._works)

    def cancel(self) -> None:
        """Cancels every request in progress."""
        for work in self._works:
            work.cancel()

    def check_size(self, size: int) -> None:
        """Refuses a message that is too long.

        Raises:
            HttpReply: the answer to give instead.
        """
        if size > self._body_limit:
            raise HttpReply(413, _error_body(INVALID_REQUEST, f"the message is longer than {self._body_limit} bytes"))

    def admit(self, exchange: HttpExchange) -> None:
        """Refuses a request that names another machine or has no valid token; sets the name of its token.

        Raises:
            HttpReply: the answer to give instead.
        """
        self.check_place(exchange.headers)
        if self._tokens is not None:
            name = self._tokens.find(bearer_of(exchange.headers))
            if name is None:
                raise HttpReply(
                    401, _error_body(INVALID_REQUEST, "a bearer token is needed"), www_authenticate="Bearer"
                )
            exchange.token = name

    def check_place(self, headers: Mapping[str, str]) -> None:
        """Refuses a request that names another machine.

        Raises:
            HttpReply: the answer to give instead.
        """
        check_place(headers, self._hosts)

    def _delete(self, exchange: HttpExchange) -> None:
        self._find_session(exchange)
        self._end(exchange.headers["mcp-session-id"])
        raise HttpReply(200)

    def _end(self, session_id: str) -> None:
        peer = self._sessions.pop(session_id)
        peer.close()
        leaving = asyncio.get_running_loop().create_task(self._mcp_server.leave(peer))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        if stream := self._watched.get(peer):
            stream.end()
            stream.on_gone()

    def _get(self, exchange: HttpExchange) -> None:
        """Opens the handshake era's stream for messages that belong to no request."""
        headers = exchange.headers
        if headers.get("mcp-protocol-version") in STATELESS_VERSIONS or "mcp-session-id" not in headers:
            raise HttpReply(405, allow="POST")
        peer = self._find_session(exchange)
        if peer in self._watched:
            raise HttpReply(409, _error_body(INVALID_REQUEST, "this session already has a stream"))

        def forget() -> None:
            peer.send = None
            del self._watched[peer]

        self._watched[peer] = exchange
        peer.send = exchange.announce
        exchange.on_gone = forget
        exchange.open()

    def _post(self, exchange: HttpExchange) -> None:
        message = jsonrpc.parse(exchange.body)
        match message:
            case Request():
                self._request(message, exchange)
            case Invalid(request_id, code, text):
                raise HttpReply(400, jsonrpc.error_message(request_id, code, text))
            case Notification() | Response():
                self._take(message, exchange)
                raise HttpReply(202)
            case list():
                self._batch(message, exchange)

    def _take(self, message: Notification | Response, exchange: HttpExchange) -> None:
        """Handles a message that gets no answer. Only the handshake era has such messages."""
        if exchange.headers.get("mcp-protocol-version") in STATELESS_VERSIONS:
            return
        peer = self._find_session(exchange)
        match message:
            case Response(request_id, result, error):
                peer.resolve(request_id, result, error)
            case Notification("notifications/cancelled", params):
                with contextlib.suppress(RpcError):  # a notification is never answered, not even an invalid one
                    peer.cancel(bytes(decode_params(params, CancelParams).request_id))

    def _request(self, request: Request, exchange: HttpExchange) -> None:
        headers = exchange.headers
        try:
            stateless = self._is_stateless(request, headers)
            if stateless and request.method == "tools/call":
                self._check_arguments(decode_params(request.params, CallParams), headers)
        except RpcError as error:
            body = jsonrpc.error_message(request.id, error.code, error.message, error.data)
            raise HttpReply(HTTP_STATUS.get(error.code, 400), body) from error
        if stateless and request.method == "subscriptions/listen":
            self._listen(request, exchange)
        elif request.method == "initialize" and not stateless:
            self._begin(self._initialize(request, exchange), exchange)
        elif stateless:
            # This era has no sessions: its clients are distinguished by their process, or by a handle.
            self._begin(self._answer(request, exchange, _single_peer(exchange), "stateless"), exchange)
        else:
            peer = self._find_session(exchange, request.id)
            peer.begin(request.id, self._begin(self._answer(request, exchange, peer, "handshake"), exchange))

    def _begin(self, work: Coroutine[Any, Any, None], exchange: HttpExchange) -> asyncio.Task[None]:
        """Starts a task that answers. If the client disconnects, it is cancelled."""
        task = asyncio.get_running_loop().create_task(work)
        self._works.add(task)
        exchange.on_gone = task.cancel

        def end(_: object) -> None:
            self._works.discard(task)
            if not exchange.is_answered:
                exchange.reply(HttpReply(202))  # it was cancelled, and a cancelled request gets no answer

        task.add_done_callback(end)
        return task

    async def _answer(self, request: Request, exchange: HttpExchange, peer: Peer, era: Era) -> None:
        """Answers a request: with plain JSON, or as the end of a stream if other messages came first."""
        answer = await self._mcp_server.answer(request, peer, era, exchange.mention)
        status = HTTP_STATUS.get(answer.code, 200) if era == "stateless" else 200
        exchange.reply(HttpReply(status, answer.message))

    def _batch(self, messages: list[Message], exchange: HttpExchange) -> None:
        """Handles a batch, which 2025-03-26 requires; the stateless era has none."""
        if exchange.headers.get("mcp-protocol-version", LATEST_HANDSHAKE) not in HANDSHAKE_VERSIONS:
            raise HttpReply(400, _error_body(INVALID_REQUEST, "a single message is needed, not a batch"))
        peer = self._find_session(exchange)
        works: list[asyncio.Task[McpAnswer]] = []
        for one in messages:
            if isinstance(one, Request):
                works.append(asyncio.create_task(self._mcp_server.answer(one, peer, "handshake", exchange.mention)))
                peer.begin(one.id, works[-1])
        for one in messages:
            if isinstance(one, Notification | Response):
                self._take(one, exchange)
        wrong = [jsonrpc.error_message(*one) for one in messages if isinstance(one, Invalid)]
        self._begin(self._answer_batch(works, wrong, exchange), exchange)

    async def _answer_batch(
        self, works: list[asyncio.Task[McpAnswer]], wrong: list[bytes], exchange: HttpExchange
    ) -> None:
        """Answers the requests of a batch. If cancelled, it cancels all of them."""
        answers = await asyncio.gather(*works, return_exceptions=True)
        found = [*wrong, *(answer.message for answer in answers if isinstance(answer, McpAnswer))]
        exchange.reply(HttpReply(200, b"[%b]" % b",".join(found)) if found else HttpReply(202))

    def _is_stateless(self, request: Request, headers: Mapping[str, str]) -> bool:
        """Whether a request is of the stateless era. If it is, its headers and `_meta` must agree."""
        meta = meta_of(request.params)
        version = headers.get("mcp-protocol-version")
        named = meta is not None and isinstance(meta.version, str)
        foreign = version is not None and version not in HANDSHAKE_VERSIONS
        new = "mcp-session-id" not in headers and request.method in ONLY_STATELESS
        if not (named or foreign or new):
            return False
        mcp_headers.check(headers, request.method, request.params, meta)
        return True

    def _check_arguments(self, call: CallParams, headers: Mapping[str, str]) -> None:
        if schema := self._mcp_server.provider.marked_schema(call.name):
            mcp_headers.check_arguments(headers, schema, decode_params(bytes(call.arguments), dict[str, Any]))

    async def _initialize(self, request: Request, exchange: HttpExchange) -> None:
        """Begins a session of the handshake era."""
        peer = Peer(origin=RequestOrigin(exchange.token, exchange.find_client))
        answer = await self._mcp_server.answer(request, peer, "handshake", lambda _: None)
        if answer.code:
            exchange.reply(HttpReply(200, answer.message))
            return
        while len(self._sessions) >= self._session_limit:
            self._end(next(iter(self._sessions)))
        session_id = secrets.token_hex(16)
        self._sessions[session_id] = peer
        self._mcp_server.join(peer)
        exchange.reply(HttpReply(200, answer.message, mcp_session_id=session_id))

    def _find_session(self, exchange: HttpExchange, request_id: bytes = jsonrpc.NO_ID) -> Peer:
        session_id = exchange.headers.get("mcp-session-id")
        if session_id is None:
            raise HttpReply(
                400, jsonrpc.error_message(request_id, INVALID_REQUEST, "the header Mcp-Session-Id is missing")
            )
        peer = self._sessions.get(session_id)
        if peer is None or peer.origin.token != exchange.token:
            raise HttpReply(
                404, jsonrpc.error_message(request_id, INVALID_REQUEST, "no such session; initialize again")
            )
        self._sessions[session_id] = self._sessions.pop(session_id)  # most recently used last
        if not peer.has_called:
            # The connection of `initialize` may be closed by the time its process is looked up.
            peer.origin = peer.origin._replace(find_process=exchange.find_client)
        return peer

    def _listen(self, request: Request, exchange: HttpExchange) -> None:
        """Opens the stateless era's stream of changes."""
        try:
            listener = self._mcp_server.listen(request, _single_peer(exchange), exchange.announce)
        except RpcError as error:
            raise HttpReply(400, jsonrpc.error_message(request.id, error.code, error.message, error.data)) from error

        def forget() -> None:
            del self._listening[exchange]
            self._mcp_server.forget(listener)

        self._listening[exchange] = self._mcp_server.farewell(listener)
        exchange.on_gone = forget


def _single_peer(exchange: HttpExchange) -> Peer:
    """The client of one request of the stateless era."""
    return Peer(origin=RequestOrigin(exchange.token, exchange.find_client, is_single=True))


def check_place(headers: Mapping[str, str], hosts: frozenset[str] = LOCAL) -> None:
    """Refuses a request whose host or origin is not one of `hosts`.

    Raises:
        HttpReply: the answer to give instead.
    """
    origin = headers.get("origin")
    named = [headers.get("host", ""), *([origin.partition("://")[2]] if origin is not None else [])]
    if any(_host_of(name) not in hosts for name in named):
        raise HttpReply(403, _error_body(INVALID_REQUEST, "forbidden: the host or origin is not this machine"))


def bearer_of(headers: Mapping[str, str]) -> str:
    """The bearer token of a request; empty if it has none."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    # Headers are decoded as Latin-1, but a token is UTF-8.
    return given.strip().encode("latin-1").decode(errors="replace") if scheme.lower() == "bearer" else ""


def _no_such_path(exchange: HttpExchange) -> NoReturn:  # noqa: ARG001
    raise HttpReply(404)


def _refuse(exchange: HttpExchange) -> NoReturn:  # noqa: ARG001
    raise HttpReply(405, allow="POST, GET, DELETE")


def _error_body(code: int, message: str) -> bytes:
    return jsonrpc.error_message(jsonrpc.NO_ID, code, message)


def _host_of(name: str) -> str:
    """The host in `host:port`, in lower case; empty if the port is not a number."""
    host, colon, port = name.rpartition(":")
    if name.endswith("]") or not colon:
        return name.lower()
    return host.lower() if port.isdecimal() else ""
