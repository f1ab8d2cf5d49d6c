"""Requests to a server at a URL: with credentials, redirects within its origin only, and failures in words."""

import asyncio
import contextlib
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Protocol
from urllib.request import getproxies, proxy_bypass

from multidict import CIMultiDict
from yarl import URL

from binnacle.errors import UpstreamError
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports import http_failures
from binnacle.upstream.transports.address_policy import (
    ANYWHERE,
    AddressNearness,
    check_host,
    limit_addresses,
    limit_of,
)
from binnacle.upstream.transports.http_connections import HttpConnections
from binnacle.upstream.transports.http_failures import REQUEST_FAILURES, AnswerHead
from binnacle.upstream.transports.http_session import USER_AGENT, HttpSession

MAX_MESSAGE_BYTES = 64 << 20
"""Bytes of one message."""

MAX_REFUSAL_BYTES = 1 << 20
"""Bytes of a refusal that are read."""

CLOSE_GRACE_SECONDS = 2.0
"""Seconds for what no caller should wait for: the text of a refusal, the request that ends a session."""

MAX_REDIRECTS = 5
"""Redirects followed for one request."""

DRAIN_SECONDS = 1.0
"""Seconds that a stream gets to end after its answer, so that its connection can be used again."""

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
DEFAULT_PORTS = (("http", 80), ("https", 443))
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
CHALLENGE_STATUSES = frozenset({401, 403})


class Credentials(Protocol):
    """How we authenticate to a server."""

    async def headers(self) -> dict[str, str]:
        """The headers that authenticate a request now."""

    async def handle_challenge(self, status: int, www_authenticate: str) -> bool:
        """Handles a 401 or 403 and its `WWW-Authenticate`. Returns whether the request may be sent again."""


class HttpBody(Protocol):
    """A body that has not been read."""

    def at_eof(self) -> bool: ...

    def iter_any(self) -> AsyncIterator[bytes]: ...


class Redirect(AnswerHead, Protocol):
    """An answer that may lead elsewhere."""

    @property
    def method(self) -> str: ...


class HttpAnswer(Redirect, Protocol):
    """An answer, over our own connections or, through a proxy, over those of aiohttp."""

    @property
    def ok(self) -> bool: ...

    @property
    def url(self) -> URL: ...

    @property
    def content_type(self) -> str: ...

    @property
    def content(self) -> HttpBody: ...

    def close(self) -> None: ...


DEFAULT_HEADERS = {**USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}


def new_session() -> HttpSession:
    """A pool of connections for what our own cannot do. The caller closes it."""
    return HttpSession()


class HttpClient:
    """Sends requests to one server."""

    def __init__(
        self,
        config: ServerConfig,
        *,
        session: HttpSession,
        credentials: Credentials,
    ) -> None:
        url = URL(config.url)
        self.url = url.with_user(None)
        self.name = config.name
        self._session = session
        self._credentials = credentials
        self._given: CIMultiDict[str] = CIMultiDict(DEFAULT_HEADERS | _login_in(url))
        self._given.update(config.headers)
        self._connect_seconds = config.connect_timeout
        self._proxy = proxy_of(self.url)
        self._limit = limit_of(config)
        self._connections = HttpConnections(connect_within=config.connect_timeout, limit=self._limit)

    async def send(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None, *, url: URL | None = None
    ) -> HttpAnswer:
        """Sends a request; returns the head of the answer. After a refusal, asks again with new credentials.

        Raises:
            UpstreamDown: there is no answer.
            UpstreamError: it leads elsewhere.
            UpstreamLogin: a person must sign in.
        """
        at = url or self.url
        redirects = 0
        may_repeat = True
        while True:
            response = await self.once(method, headers, body, url=at)
            if response.status in REDIRECT_STATUSES:
                response.close()
                redirects += 1
                if redirects >= MAX_REDIRECTS:
                    raise UpstreamError(f"{self.name} redirects without end", hint="check its url")
                at = redirect_target(self.name, response, at)
            elif response.status in CHALLENGE_STATUSES and may_repeat and await self._has_new_credentials(response):
                response.close()
                at, redirects, may_repeat = url or self.url, 0, False
            else:
                return response

    async def _has_new_credentials(self, response: HttpAnswer) -> bool:
        """Whether we have other credentials than those that were refused."""
        challenge = ", ".join(response.headers.getall("WWW-Authenticate", ()))
        try:
            return await self._credentials.handle_challenge(response.status, challenge)
        except BaseException:
            response.close()
            raise

    async def once(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None, *, url: URL | None = None
    ) -> HttpAnswer:
        """One request and its answer, which may be a redirect or a refusal."""
        sent = self._given.copy()
        sent.update(await self._credentials.headers())
        sent.update(headers)
        try:
            if self._proxy is None:
                return await self._connections.ask(method, url or self.url, sent, body)
            return await self._send_by_proxy(method, url or self.url, sent, body)
        except REQUEST_FAILURES as error:
            raise self.failure(error) from error

    async def _send_by_proxy(self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None) -> HttpAnswer:
        from binnacle.upstream.transports.aiohttp_requests import send_request

        check_host(url.host or "", self._limit)
        return await send_request(
            self._session,
            method,
            url,
            headers=headers,
            data=body,
            proxy=self._proxy,
            connect_seconds=self._connect_seconds,
        )

    def close(self) -> None:
        """Closes every connection."""
        self._connections.close()

    def failure(self, error: Exception) -> UpstreamError:
        """The error for a failed request."""
        return http_failures.describe_failure(self.name, self.url, error)

    async def body(self, response: HttpAnswer) -> bytes:
        """The body of an answer. Closes it.

        Raises:
            UpstreamError: it is too long or incomplete.
        """
        try:
            data = await read_body(response, MAX_MESSAGE_BYTES)
        except REQUEST_FAILURES as error:
            raise self.failure(error) from error
        finally:
            response.close()
        if data is None:
            raise self.too_long()
        return data

    async def refusal(self, response: HttpAnswer) -> bytes:
        """The error for an HTTP error, with its text if it can be read. Closes the answer."""
        try:
            async with asyncio.timeout(CLOSE_GRACE_SECONDS):
                return await read_body(response, MAX_REFUSAL_BYTES) or b""
        except REQUEST_FAILURES:
            return b""
        finally:
            response.close()

    def too_long(self) -> UpstreamError:
        return UpstreamError(
            f"{self.name} sent a message of more than {MAX_MESSAGE_BYTES >> 20} MiB", hint="ask it for less"
        )


def redirect_target(name: str, response: Redirect, url: URL) -> URL:
    """Where a redirect leads.

    Raises:
        UpstreamError: out of the server's origin; what was meant for the server must not go there.
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
    if host in LOOPBACK_HOSTS or proxy_bypass(host):
        return None
    found = getproxies().get({"ws": "http", "wss": "https"}.get(url.scheme, url.scheme))
    return URL(found) if found else None


@contextlib.contextmanager
def limit_connections(url: URL, proxy: URL | None, limit: AddressNearness) -> Iterator[None]:
    """Keeps aiohttp from connecting nearer than `limit` in the block; the proxy itself is the person's choice.

    Raises:
        AddressNotAllowed: the spelling of the host is nearer. A proxy resolves names itself, so we check the spelling.
    """
    check_host(url.host or "", limit)
    with limit_addresses(ANYWHERE if proxy is not None else limit):
        yield


async def read_body(response: HttpAnswer, limit: int) -> bytes | None:
    """The body of an answer; None if it is longer than `limit`, which also closes its connection."""
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        parts.append(chunk)
        size += len(chunk)
        if size > limit:
            response.close()
            return None
    return b"".join(parts)


async def drain_body(response: HttpAnswer) -> None:
    """Reads the rest of an answer, usually nothing, so that the connection can be used again."""
    with contextlib.suppress(*REQUEST_FAILURES):
        async with asyncio.timeout(DRAIN_SECONDS):
            await read_body(response, MAX_REFUSAL_BYTES)


def _login_in(url: URL) -> dict[str, str]:
    """The `Authorization` header for a name and a password in a URL."""
    if url.user is None and url.password is None:
        return {}
    login = b64encode(f"{url.user or ''}:{url.password or ''}".encode()).decode()
    return {"Authorization": f"Basic {login}"}


def _is_upgrade(url: URL, target: URL) -> bool:
    return ((url.scheme, url.port), (target.scheme, target.port)) == DEFAULT_PORTS and url.host == target.host
