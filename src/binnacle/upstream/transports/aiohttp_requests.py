"""Requests over aiohttp, through proxies and to providers of logins. Its errors become ours here.

Imports aiohttp, so other modules import this one only when they need it.
"""

import io
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
from multidict import CIMultiDictProxy
from yarl import URL

from binnacle.upstream.transports import http_errors
from binnacle.upstream.transports.http_errors import NoAnswer
from binnacle.upstream.transports.http_session import HttpSession

LARGE_BODY_BYTES = 1 << 20
"""Bytes of a body that is handed to the socket in pieces."""

_UNREACHABLE: tuple[tuple[type[aiohttp.ClientError], type[http_errors.ServerUnreachable]], ...] = (
    (aiohttp.ClientConnectorCertificateError, http_errors.CertificateInvalid),
    (aiohttp.ClientSSLError, http_errors.TlsFailed),
    (aiohttp.ClientProxyConnectionError, http_errors.ProxyUnreachable),
    (aiohttp.ClientConnectorDNSError, http_errors.HostNotFound),
    (aiohttp.ClientConnectorError, http_errors.ServerUnreachable),
    (aiohttp.ConnectionTimeoutError, http_errors.ConnectTimedOut),
)
"""Our errors for failures to connect; the first match counts."""


class AiohttpResponse:
    """An answer: its head, and its body in pieces."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status: int = response.status
        self.reason: str | None = response.reason
        self.headers: CIMultiDictProxy[str] = response.headers
        self.method: str = response.method
        self.url: URL = response.url
        self.ok: bool = response.ok
        self.content_type: str = response.content_type

    @property
    def content(self) -> "AiohttpResponse":
        """Itself, which also reads the body."""
        return self

    def at_eof(self) -> bool:
        return self._response.content.at_eof()

    async def iter_any(self) -> AsyncIterator[bytes]:
        """The body in the pieces it comes in.

        Raises:
            NoAnswer: it breaks off.
        """
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except aiohttp.ClientError as error:
            raise translate(error) from error

    def close(self) -> None:
        self._response.close()


async def send_request(
    session: HttpSession,
    method: str,
    url: URL,
    *,
    headers: Mapping[str, str],
    proxy: URL | None,
    data: bytes | dict[str, str] | None = None,
    json: Any = None,
    connect_seconds: float | None = None,
) -> AiohttpResponse:
    """Sends a request, follows no redirect, and returns when the head of the answer has arrived.

    Raises:
        NoAnswer: there is none.
        ValueError: it cannot be sent.
    """
    pool = await session.open()
    is_large = isinstance(data, bytes) and len(data) >= LARGE_BODY_BYTES
    try:
        response = await pool.request(
            method,
            url,
            headers=headers,
            data=io.BytesIO(data) if is_large and isinstance(data, bytes) else data,
            json=json,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(connect=connect_seconds),
            proxy=proxy,
        )
    except aiohttp.ClientError as error:
        raise translate(error) from error
    return AiohttpResponse(response)


def translate(error: aiohttp.ClientError) -> NoAnswer:
    """An error of aiohttp as one of ours."""
    cause = getattr(error, "os_error", error)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
    for kind, ours in _UNREACHABLE:
        if isinstance(error, kind) and isinstance(cause, OSError):
            return ours(cause)
    match error:
        case aiohttp.ClientHttpProxyError():
            return http_errors.ProxyRefused(error.message)
        case aiohttp.ServerDisconnectedError():
            return http_errors.ConnectionClosed()
        case aiohttp.ClientPayloadError():
            return http_errors.AnswerTruncated()
        case aiohttp.ClientResponseError():
            return http_errors.NotHttp(error.message)
        case _:
            return http_errors.ConnectionLost(cause if isinstance(cause, OSError) else OSError())
