"""Requests to a server at a URL: with credentials, redirected within its origin only, their failures in words."""

import asyncio
import contextlib
import io
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Protocol
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from binnacle import __version__
from binnacle.errors import UpstreamError
from binnacle.upstream import failures
from binnacle.upstream.config import ServerConfig
from binnacle.upstream.destinations import ANYWHERE, Nearness, check_host, limit_of, limited, open_socket
from binnacle.upstream.failures import Answered, Failure
from binnacle.upstream.sockets import KEPT_ALIVE, Connections

LIMIT = 64 << 20
"""Bytes of one message."""

REFUSAL_LIMIT = 1 << 20
"""Bytes of a refusal that are read."""

GRACE = 2.0
"""Seconds for what nobody waits for gladly: the text of a refusal, a word in parting."""

HOPS = 5
"""Redirects followed for one request."""

REST = 1.0
"""Seconds that a stream gets to end after its answer, so that its connection can be used again."""

LARGE = 1 << 20
"""Bytes of a body that is handed to the socket in pieces."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
DEFAULT_PORTS = (("http", 80), ("https", 443))
REDIRECTS = frozenset({301, 302, 303, 307, 308})
CHALLENGES = frozenset({401, 403})

Headers = Callable[[], Awaitable[dict[str, str]]]
"""What a request carries now to say who we are."""

Challenged = Callable[[int, str], Awaitable[bool]]
"""Told of a 401 or 403 and its `WWW-Authenticate`: whether the request may be sent again."""


class Content(Protocol):
    """A body that is still to be read."""

    def at_eof(self) -> bool: ...

    def iter_any(self) -> AsyncIterator[bytes]: ...


class Answer(Answered, Protocol):
    """What came back, over our own connections or, through a proxy, over those of aiohttp."""

    @property
    def ok(self) -> bool: ...

    @property
    def method(self) -> str: ...

    @property
    def url(self) -> URL: ...

    @property
    def content_type(self) -> str: ...

    @property
    def content(self) -> Content: ...

    def close(self) -> None: ...


AGENT = {"User-Agent": f"binnacle/{__version__}"}
ALWAYS = {**AGENT, "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}


def new_session() -> aiohttp.ClientSession:
    """One pool of connections for what is not for our own: proxies, WebSockets, logins. Whoever makes it closes it.

    It has no bound of its own: a server that hangs would keep the others waiting. It keeps no cookies, because two
    servers on one host may know us by different names.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_ALIVE, socket_factory=open_socket),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(),
        headers=AGENT,
    )


class Web:
    """Sends requests to one server."""

    def __init__(
        self, config: ServerConfig, *, session: aiohttp.ClientSession, headers: Headers, challenged: Challenged
    ) -> None:
        url = URL(config.url)
        self.url = url.with_user(None)
        self.name = config.name
        self._session = session
        self._headers = headers
        self._challenged = challenged
        self._given: CIMultiDict[str] = CIMultiDict(ALWAYS | _login_in(url))
        self._given.update(config.headers)
        self._timeout = aiohttp.ClientTimeout(connect=config.connect_timeout)
        self._proxy = proxy_of(self.url)
        self._limit = limit_of(config)
        self._connections = Connections(connect_within=config.connect_timeout, limit=self._limit)

    async def send(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None, *, url: URL | None = None
    ) -> Answer:
        """The answer's head; its body is still to come. Who was refused and can now say better who we are, asks again.

        Raises:
            UpstreamDown: there is no answer.
            UpstreamError: it leads elsewhere.
            UpstreamLogin: a person must sign in.
        """
        response = await self._follow(method, headers, body, url or self.url)
        if response.status not in CHALLENGES:
            return response
        challenge = ", ".join(response.headers.getall("WWW-Authenticate", ()))
        try:
            again = await self._challenged(response.status, challenge)
        except BaseException:
            response.close()
            raise
        if not again:
            return response
        response.close()
        return await self._follow(method, headers, body, url or self.url)

    async def _follow(self, method: str, headers: Mapping[str, str], body: bytes | None, url: URL) -> Answer:
        for _ in range(HOPS):
            response = await self.once(method, headers, body, url=url)
            if response.status not in REDIRECTS:
                return response
            response.close()
            url = redirected(self.name, response, url)
        raise UpstreamError(f"{self.name} redirects without end", hint="check its url")

    async def once(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None, *, url: URL | None = None
    ) -> Answer:
        """One request and whatever comes back, a redirect and a refusal too."""
        sent = self._given.copy()
        sent.update(await self._headers())
        sent.update(headers)
        try:
            if self._proxy is None:
                return await self._connections.ask(method, url or self.url, sent, body)
            check_host((url or self.url).host or "", self._limit)
            return await self._session.request(
                method,
                url or self.url,
                headers=sent,
                data=io.BytesIO(body) if body is not None and len(body) >= LARGE else body,
                allow_redirects=False,
                timeout=self._timeout,
                proxy=self._proxy,
            )
        except Failure as error:
            raise self.failure(error) from error

    def close(self) -> None:
        """Closes every connection."""
        self._connections.close()

    def failure(self, error: Exception) -> UpstreamError:
        """What the failure of a request means."""
        return failures.failure(self.name, self.url, error)

    async def body(self, response: Answer) -> bytes:
        """The body of an answer. Closes it.

        Raises:
            UpstreamError: it is too long, or breaks off.
        """
        try:
            data = await read(response, LIMIT)
        except Failure as error:
            raise self.failure(error) from error
        finally:
            response.close()
        if data is None:
            raise self.too_long()
        return data

    async def refusal(self, response: Answer) -> bytes:
        """What an HTTP error says, as far as it can be read. Closes it."""
        try:
            async with asyncio.timeout(GRACE):
                return await read(response, REFUSAL_LIMIT) or b""
        except Failure:
            return b""
        finally:
            response.close()

    def too_long(self) -> UpstreamError:
        return UpstreamError(f"{self.name} sent a message of more than {LIMIT >> 20} MiB", hint="ask it for less")


def redirected(name: str, response: Answer | aiohttp.ClientResponse, url: URL) -> URL:
    """Where a redirect leads.

    Raises:
        UpstreamError: out of the server's origin, where nothing that was meant for it must go.
    """
    try:
        target = url.join(URL(response.headers.get("Location", "")))
        shown = str(target.with_query(None).with_fragment(None).with_user(None))
        stays = target.origin() == url.origin() or _is_upgrade(url, target)
    except ValueError:
        shown, stays = "nowhere", False
    if not stays or (response.status == 303 and response.method != "GET"):
        text = f"{name} redirects to {shown}, which was not followed"
        raise UpstreamError(text, hint="if that is the server, make it its url")
    return target


def proxy_of(url: URL) -> URL | None:
    """The proxy that the environment names for a URL. Nothing on this machine goes through one."""
    host = url.host or ""
    if host in LOOPBACK or proxy_bypass(host):
        return None
    found = getproxies().get({"ws": "http", "wss": "https"}.get(url.scheme, url.scheme))
    return URL(found) if found else None


@contextlib.contextmanager
def reaching(url: URL, proxy: URL | None, limit: Nearness) -> Iterator[None]:
    """What aiohttp connects to in the block is no nearer than `limit`; the proxy itself is the person's own.

    Raises:
        NotAllowed: the host is spelled as one that is nearer. A proxy, which resolves names itself, is asked for none.
    """
    check_host(url.host or "", limit)
    with limited(ANYWHERE if proxy is not None else limit):
        yield


async def read(response: Answer, limit: int) -> bytes | None:
    """The body of an answer; None if it is longer than `limit`, and then its connection is gone."""
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        parts.append(chunk)
        size += len(chunk)
        if size > limit:
            response.close()
            return None
    return b"".join(parts)


async def drain(response: Answer) -> None:
    """Reads what follows an answer, which is nothing as a rule, so that the connection can be used again."""
    with contextlib.suppress(*Failure):
        async with asyncio.timeout(REST):
            await read(response, REFUSAL_LIMIT)


def _login_in(url: URL) -> dict[str, str]:
    """The header that a name and a password in a URL come to."""
    if url.user is None and url.password is None:
        return {}
    login = b64encode(f"{url.user or ''}:{url.password or ''}".encode()).decode()
    return {"Authorization": f"Basic {login}"}


def _is_upgrade(url: URL, target: URL) -> bool:
    return ((url.scheme, url.port), (target.scheme, target.port)) == DEFAULT_PORTS and url.host == target.host
