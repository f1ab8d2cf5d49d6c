"""Answers the requests of the page: who may ask, and which part of the server answers.

A request passes these checks in this order, before its body is read:

1. It names this server as its host, by the one name that links have: a page elsewhere whose name was pointed at this
   machine is refused.
2. It has the cookie. Without it every path answers 401, except that a link is exchanged for the cookie.
3. What changes something, and the stream, comes from our own page, by its origin; a change also has a header that no
   form can send. Browsers that say where a request comes from must say the same of every call.

What changes something is refused to a client process that is an agent or was started by one, whatever cookie it has.
"""

import asyncio
import os
import re
from collections.abc import Coroutine
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode

from binnacle.errors import BinnacleError, NotFound, PersonNeeded, Refused
from binnacle.lifecycle.process import Process, is_alive
from binnacle.processes.linux import HAS_PROC
from binnacle.server.http_exchange import PROXY_HEADERS, HttpExchange, HttpReply
from binnacle.web.endpoint_calls import call_endpoint, parse_body, parse_query, reply_to_error, reply_with
from binnacle.web.endpoints import PageEndpoint, load_all
from binnacle.web.event_stream import MAX_WATCHES, EventStreams, parse_cursors, parse_watch
from binnacle.web.page_files import PageFile, PageFiles
from binnacle.web.page_projects import PageProjects
from binnacle.web.shown_projects import describe_projects
from binnacle.web.sign_in import COOKIE_SECONDS, SignIns
from binnacle.web.sign_in_pages import page_with_cookie, page_without_cookie

HOST = "127.0.0.1"
"""The only address that the page is served on."""

MAX_BODY_BYTES = 4 << 20
MAX_CALLS = 64
"""Calls in progress at once."""

CALL_HEADER = "x-binnacle-page"
"""Every change has it, with the value `1`. Only a script of our own page can add it."""

SECURITY_HEADERS = (
    b"content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    b"x-content-type-options: nosniff\r\n"
    b"x-frame-options: DENY\r\n"
    b"referrer-policy: no-referrer\r\n"
    b"cross-origin-opener-policy: same-origin\r\n"
    b"cross-origin-resource-policy: same-origin\r\n"
)

PLAIN_PATH = re.compile(r"/(?:[A-Za-z0-9._~%-][A-Za-z0-9._~%/-]*)?")
"""Addresses that a link may lead to: none that a browser could take for another host."""

GONE = "the program that asked has gone"
KEY = re.compile(r"(?:^|&)key=([A-Za-z0-9_-]+)")
READING = ("GET", "HEAD")
API = "/api/"


class PageServer:
    """The HTTP application of the page."""

    def __init__(
        self, projects: PageProjects, *, port: int, files: PageFiles, sign_ins: SignIns, is_readonly: bool
    ) -> None:
        """It must be made in the event loop that serves it, and closed by `aclose`."""
        self._projects = projects
        self._files = files
        self._sign_ins = sign_ins
        self._is_readonly = is_readonly
        self._host = f"{HOST}:{port}"
        self._endpoints = load_all()
        self._streams = EventStreams(projects)
        self._calls: set[asyncio.Task[None]] = set()
        self._agents: dict[Process, str] = {}
        """Why a client process may change nothing; empty if it may."""

    def admit(self, exchange: HttpExchange) -> None:
        """Checks who asks, before the body is read.

        Raises:
            HttpReply: the answer to give instead.
        """
        exchange.fixed_headers = SECURITY_HEADERS
        exchange.may_stream = False
        headers = exchange.headers
        if headers.get("host", "").lower() != self._host:
            raise _error(403, f"this server is {self._host}", hint=f"open http://{self._host}/")
        if any(name in headers for name in PROXY_HEADERS):  # behind a proxy we could not tell an agent from a person
            raise _error(403, "this server answers no proxy", hint=f"open http://{self._host}/")
        if self._is_link(exchange):
            return
        if not self._sign_ins.is_signed_in(headers.get("cookie", "")):
            raise page_without_cookie(exchange)
        if exchange.method not in (*READING, "OPTIONS"):
            self._check_change(exchange)
        elif exchange.path.startswith(API):
            self._check_origin(exchange, must_be_known=exchange.path == "/api/stream")

    def _is_link(self, exchange: HttpExchange) -> bool:
        """Whether the request opens a link that signs in."""
        is_page = not exchange.path.startswith((API, "/assets/"))
        return is_page and exchange.method == "GET" and bool(_find_key(exchange.query))

    def _check_origin(self, exchange: HttpExchange, *, must_be_known: bool) -> None:
        origin, site = (exchange.headers.get(name, "") for name in ("origin", "sec-fetch-site"))
        is_ours = origin == f"http://{self._host}" if origin else site == "same-origin"
        is_foreign = site not in ("", "same-origin", "none") or (origin != "" and not is_ours)
        if is_foreign or (must_be_known and not is_ours):
            raise _error(403, "this did not come from the page itself", hint=f"use the page: http://{self._host}/")

    def _check_change(self, exchange: HttpExchange) -> None:
        self._check_origin(exchange, must_be_known=True)
        if exchange.headers.get(CALL_HEADER) != "1":
            raise _error(403, f"the header {CALL_HEADER} is missing", hint="only the page itself can send it")
        if exchange.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise _error(415, "the body is not JSON", hint="send it as application/json")

    def check_size(self, size: int) -> None:
        if size > MAX_BODY_BYTES:
            raise _error(413, f"the body is longer than {MAX_BODY_BYTES} bytes", hint="send less")

    def take(self, exchange: HttpExchange) -> None:
        """Answers a request, at once if possible, otherwise in a task."""
        try:
            if exchange.method == "OPTIONS":
                exchange.reply(HttpReply(204, allow="GET, HEAD, POST, OPTIONS"))
            elif self._is_link(exchange):
                self._begin(exchange, self._sign_in(exchange))
            elif exchange.path.startswith(API):
                self._take_call(exchange)
            else:
                self._take_file(exchange)
        except HttpReply as reply:
            exchange.reply(reply)
        except BinnacleError as error:
            exchange.reply(reply_to_error(error))

    async def _sign_in(self, exchange: HttpExchange) -> HttpReply:
        """Exchanges a link for the cookie. A link that is used up does no harm to who has the cookie."""
        pairs = [pair for pair in parse_qsl(exchange.query) if pair[0] != "key"]
        address = exchange.path if PLAIN_PATH.fullmatch(exchange.path) else "/"
        target = f"{address}?{urlencode(pairs)}" if pairs else address
        if exchange.find_user() not in (None, os.geteuid()):
            return _error(403, "this link is for another user of this machine", hint="start your own page: bn gui")
        if reason := await self._find_agent(exchange):
            return reply_to_error(PersonNeeded(f"only a person may sign in: {reason}", hint="leave it to the person"))
        cookie = await asyncio.to_thread(self._sign_ins.exchange, _find_key(exchange.query))
        if cookie is not None:
            settings = f"Path=/; Max-Age={COOKIE_SECONDS}; HttpOnly; SameSite=Strict"
            return page_with_cookie(target, set_cookie=f"{self._sign_ins.cookie_name}={cookie}; {settings}")
        is_known = self._sign_ins.is_signed_in(exchange.headers.get("cookie", ""))
        return page_with_cookie(target) if is_known else page_without_cookie(exchange, is_used=True)

    def _take_file(self, exchange: HttpExchange) -> None:
        if exchange.method not in READING:
            raise HttpReply(405, allow="GET, HEAD, OPTIONS")
        if not exchange.path.startswith("/assets/"):
            exchange.reply(_file_reply(self._files.index, exchange))
        elif (file := self._files.find(exchange.path)) is not None:
            exchange.reply(_file_reply(file, exchange))
        else:
            raise HttpReply(404, cache_control="no-store")

    def _take_call(self, exchange: HttpExchange) -> None:
        key, _, name = exchange.path.removeprefix(API).partition("/")
        if not name and key in ("stream", "projects"):
            if exchange.method not in READING or (key == "stream" and exchange.method == "HEAD"):
                raise HttpReply(405, allow="GET")
            self._open_stream(exchange) if key == "stream" else self._begin(exchange, self._list_projects())
            return
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            raise NotFound(f"no such call: {exchange.path[:200]!r}", hint="reload the page: it may be an older one")
        if exchange.method not in (READING if endpoint.kind == "read" else ("POST",)):
            raise HttpReply(405, allow="GET, HEAD" if endpoint.kind == "read" else "POST")
        self._begin(exchange, self._call(exchange, key, endpoint))

    def _open_stream(self, exchange: HttpExchange) -> None:
        given = parse_qs(exchange.query)
        watched = [parse_watch(text) for text in given.get("watch", [])[:MAX_WATCHES]]
        newest = exchange.headers.get("last-event-id") or "".join(given.get("after", [])[:1])
        cursors = None if given.get("changes") == ["no"] else parse_cursors(newest)
        self._streams.open(exchange, cursors, watched)

    async def _list_projects(self) -> HttpReply:
        return reply_with(await describe_projects(self._projects, is_readonly=self._is_readonly))

    async def _call(self, exchange: HttpExchange, key: str, endpoint: PageEndpoint) -> HttpReply:
        is_action = endpoint.kind == "action"
        if is_action and self._is_readonly:
            error = Refused("this page is only for reading", hint="serve it without --readonly: bn gui")
            return reply_to_error(error, 403)
        if is_action and (reason := await self._find_agent(exchange)):
            hint = "ask the person you work for to do this in their browser"
            return reply_to_error(PersonNeeded(f"only a person may use the page: {reason}", hint=hint))
        try:
            asked = (parse_body(exchange.body, endpoint.asked) if is_action
                     else parse_query(exchange.query, endpoint.asked))  # fmt: skip
            project = await self._projects.find(key)
        except BinnacleError as error:
            return reply_to_error(error)
        return await call_endpoint(project, endpoint, asked)

    async def _find_agent(self, exchange: HttpExchange) -> str:
        """Why the client must be an agent; empty if nothing says so."""
        peer = exchange.find_peer()
        if peer is None:
            return _doubt_hidden(exchange)
        if peer.pid == os.getpid():
            return ""
        if peer not in self._agents:
            from binnacle.lifecycle.agent_detection import find_agent_in

            found = await asyncio.to_thread(find_agent_in, peer)
            if found is None and not is_alive(peer.pid, peer.started):
                return GONE  # of a process that has ended nothing is known
            if len(self._agents) >= MAX_CALLS:
                self._agents.clear()
            self._agents[peer] = found.reason if found else ""
        return self._agents[peer]

    def _begin(self, exchange: HttpExchange, work: Coroutine[Any, Any, HttpReply]) -> None:
        """Answers with the result of `work`. If the client goes away, it is cancelled."""
        if len(self._calls) >= MAX_CALLS:
            work.close()
            raise HttpReply(503, retry_after="1")

        async def answer() -> None:
            try:
                exchange.reply(await work)
            except BinnacleError as error:
                exchange.reply(reply_to_error(error))
            except OSError as error:
                hint = "check the disk and the data directory: bn doctor"
                exchange.reply(_error(500, f"{error.strerror}: {error.filename}", hint=hint))
            finally:
                if not exchange.is_answered:  # it was cancelled, or failed in a way that nobody expected
                    exchange.reply(HttpReply(500))

        task = asyncio.get_running_loop().create_task(answer())
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        exchange.on_gone = task.cancel

    def close(self) -> None:
        """Ends every stream. Calls in progress continue."""
        self._streams.end_streams()

    def cancel(self) -> None:
        """Cancels every call in progress."""
        for call in self._calls:
            call.cancel()

    async def aclose(self) -> None:
        """Ends what is left, and waits for its threads."""
        self.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        await self._streams.aclose()


def _error(status: int, message: str, *, hint: str) -> HttpReply:
    return reply_to_error(Refused(message, hint=hint), status)


def _doubt_hidden(exchange: HttpExchange) -> str:
    """Why a client whose process the system does not show may change nothing; empty if it may.

    Where the system shows sockets, it has one of the same user if the client is still there: one that has sent its
    request and gone waits for no answer, and nobody can say any more what it was.
    """
    user = exchange.find_user() if HAS_PROC else os.geteuid()
    if user is None:
        return GONE
    return "" if user == os.geteuid() else "the program that asked is another user's"


def _find_key(query: str) -> str:
    """The secret of a link; empty if it is none."""
    found = KEY.search(query)
    return found[1] if found else ""


def _file_reply(file: PageFile, exchange: HttpExchange) -> HttpReply:
    wants_gzip = "gzip" in exchange.headers.get("accept-encoding", "").lower()
    body, encoding = (file.gzipped, {"content_encoding": "gzip"}) if file.gzipped and wants_gzip else (file.body, {})
    caching = "public, max-age=31536000, immutable" if file.is_lasting else "no-cache"
    varying = {"vary": "accept-encoding"} if file.gzipped else {}
    status = HTTPStatus.OK
    return HttpReply(status, body, content_type=file.mime_type, cache_control=caching, **encoding, **varying)
