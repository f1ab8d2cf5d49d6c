"""Requests to a server at a URL: with credentials, redirected within its origin only, their failures in words."""

import io
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from binnacle import __version__
from binnacle.errors import UpstreamDown, UpstreamError
from binnacle.upstream.config import ServerConfig

LIMIT = 64 << 20
"""Bytes of one message."""

EXCERPT = 200
"""Characters of an answer that is no message, shown to whoever wants to know what it was."""

HOPS = 5
"""Redirects followed for one request."""

KEPT_ALIVE = 3.0
"""Seconds an idle connection is kept. Many servers close theirs after five, and what is sent just then is lost."""

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

Failure = (aiohttp.ClientError, OSError, ValueError)
"""What aiohttp raises when a request or the reading of its answer fails."""


def new_session() -> aiohttp.ClientSession:
    """One pool of connections for all servers. Whoever makes it closes it.

    It has no bound of its own: a server that hangs would keep the others waiting. It keeps no cookies, because two
    servers on one host may know us by different names.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_ALIVE),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(),
        headers={"User-Agent": f"binnacle/{__version__}"},
    )


class Web:
    """Sends requests to one server."""

    def __init__(
        self, config: ServerConfig, *, session: aiohttp.ClientSession, headers: Headers, challenged: Challenged
    ) -> None:
        self.url = URL(config.url)
        self.name = config.name
        self._session = session
        self._headers = headers
        self._challenged = challenged
        self._given = config.headers
        self._timeout = aiohttp.ClientTimeout(connect=config.connect_timeout)
        self._proxy = proxy_of(self.url)

    async def send(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None, *, url: URL | None = None
    ) -> aiohttp.ClientResponse:
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

    async def _follow(
        self, method: str, headers: Mapping[str, str], body: bytes | None, url: URL
    ) -> aiohttp.ClientResponse:
        for _ in range(HOPS):
            response = await self.once(method, headers, body, url=url)
            if response.status not in REDIRECTS:
                return response
            response.close()
            url = self._redirected(response, url)
        raise UpstreamError(f"{self.name} redirects without end", hint="check its url")

    async def once(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None, *, url: URL | None = None
    ) -> aiohttp.ClientResponse:
        """One request and whatever comes back, a redirect and a refusal too."""
        sent = CIMultiDict(self._given)
        sent.update(await self._headers())
        sent.update(headers)
        try:
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

    def _redirected(self, response: aiohttp.ClientResponse, url: URL) -> URL:
        """Where a redirect leads.

        Raises:
            UpstreamError: out of the server's origin, where none of this must go.
        """
        try:
            target = url.join(URL(response.headers.get("Location", "")))
            shown = str(target.with_query(None).with_fragment(None).with_user(None))
            stays = target.origin() == url.origin() or _is_upgrade(url, target)
        except ValueError:
            shown, stays = "nowhere", False
        if not stays or (response.status == 303 and response.method != "GET"):
            raise UpstreamError(
                f"{self.name} redirects to {shown}, which was not followed",
                hint="if that is the server, make it its url",
            )
        return target

    def failure(self, error: Exception) -> UpstreamError:
        """Says what went wrong, without what may be secret in the URL."""
        is_ours = isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientError)
        kind = UpstreamError if is_ours else UpstreamDown
        return kind(f"{self.name}: {_reason(error, place_of(self.url))}", hint=_hint(error))


def place_of(url: URL) -> str:
    """The host and port of a URL."""
    return f"{url.host}:{url.port}"


def proxy_of(url: URL) -> URL | None:
    """The proxy that the environment names for a URL. Nothing on this machine goes through one."""
    host = url.host or ""
    if host in LOOPBACK or proxy_bypass(host):
        return None
    found = getproxies().get({"ws": "http", "wss": "https"}.get(url.scheme, url.scheme))
    return URL(found) if found else None


def is_unreachable(error: BaseException) -> bool:
    """Whether no connection could be made at all."""
    return isinstance(error.__cause__, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)


async def read(response: aiohttp.ClientResponse, limit: int = LIMIT) -> bytes | None:
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


def excerpt(data: bytes) -> str:
    """The beginning of an answer on one line, as far as it can be read."""
    text = " ".join(data[: EXCERPT * 4].decode(errors="replace").split())
    return "".join(one if one.isprintable() else "�" for one in text)[:EXCERPT]


def _is_upgrade(url: URL, target: URL) -> bool:
    return ((url.scheme, url.port), (target.scheme, target.port)) == DEFAULT_PORTS and url.host == target.host


_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ClientConnectorCertificateError, "the certificate of {place} is not valid: {detail}"),
    (aiohttp.ClientSSLError, "{place} does not speak TLS as we do: {detail}"),
    (aiohttp.ClientConnectorDNSError, "{place} cannot be found: its host has no address"),
    (aiohttp.ClientConnectorError, "{place} cannot be reached: {detail}"),
    (aiohttp.ConnectionTimeoutError, "{place} cannot be reached: it took no connection in time"),
    (aiohttp.ServerDisconnectedError, "{place} closed the connection without an answer"),
    (aiohttp.ClientPayloadError, "{place} broke off in the middle of its answer"),
    (aiohttp.ClientResponseError, "{place} answered what is no HTTP: {detail}"),
    (aiohttp.ClientError, "the connection to {place} was lost: {detail}"),
    (OSError, "the connection to {place} was lost: {detail}"),
    (ValueError, "its url or one of its headers cannot be sent"),
)


def _reason(error: Exception, place: str) -> str:
    text = next((text for kind, text in _REASONS if isinstance(error, kind)), "it cannot be spoken to")
    return text.format(place=place, detail=_detail(error))


def _detail(error: Exception) -> str:
    """What is known beyond the kind of an error, and cannot be secret."""
    if isinstance(error, aiohttp.ClientResponseError):
        return excerpt(error.message.encode())
    cause = getattr(error, "os_error", error)
    if isinstance(cause, ssl.SSLError):
        return getattr(cause, "verify_message", "") or cause.reason or "no reason given"
    number = getattr(cause, "errno", None)
    return os.strerror(number) if isinstance(number, int) else "no reason given"


def _hint(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return "name the authority that signed it in SSL_CERT_FILE, or check its url"
        case aiohttp.ClientConnectorError() | ValueError():
            return "check its url, and whether it is running"
        case _:
            return "try again"
