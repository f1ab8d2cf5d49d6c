"""Requests to authorization servers: bounded, never redirected elsewhere, their failures in words."""

import asyncio
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urljoin

import msgspec
from yarl import URL

from binnacle.errors import UpstreamDown, UpstreamError
from binnacle.upstream.auth.url_checks import check_place, origin
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports.address_policy import limit_for
from binnacle.upstream.transports.http_client import limit_connections, proxy_of, read_body
from binnacle.upstream.transports.http_failures import REQUEST_FAILURES, describe_failure
from binnacle.upstream.transports.http_session import HttpSession

REQUEST_SECONDS = 15.0
"""Seconds for one request and its answer."""

MAX_ANSWER_BYTES = 1 << 20
"""Bytes of an answer."""

MAX_REDIRECTS = 3
"""Redirects followed for a description, all within its origin."""

T = TypeVar("T")


class OAuthResponse(NamedTuple):
    """An answer of an authorization server."""

    status: int
    body: bytes
    location: str = ""
    challenge: str = ""

    def decode(self, kind: type[T]) -> T | None:
        """The body as a value; None if it is none."""
        try:
            return msgspec.json.decode(self.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


async def get(http: HttpSession, url: str, *, what: str, near: ServerConfig) -> OAuthResponse:
    """Asks for a description of something on behalf of the server `near`, without any credentials.

    Raises:
        UpstreamDown: there is no answer now.
        UpstreamError: it leads elsewhere.
    """
    for _ in range(MAX_REDIRECTS):
        check_place(url, what, near=near.url)
        answer = await _request(http, "GET", url, what=what, near=near)
        if not 300 <= answer.status < 400:
            return answer
        target = urljoin(url, answer.location)
        if not answer.location or origin(target) != origin(url):
            return answer  # treated as missing; we follow no redirect elsewhere
        url = target
    return answer


async def post(
    http: HttpSession,
    url: str,
    *,
    what: str,
    near: ServerConfig,
    form: dict[str, str] | None = None,
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> OAuthResponse:
    """Sends a form or JSON, and follows no redirect: the content may be secret.

    Raises:
        UpstreamDown: there is no answer now, or none that means anything.
        UpstreamError: it leads elsewhere.
    """
    check_place(url, what, near=near.url)
    sent: dict[str, Any] = {"data": form} if form is not None else {"json": body}
    answer = await _request(http, "POST", url, what=what, near=near, headers=headers or {}, **sent)
    if 300 <= answer.status < 400:
        target = urljoin(url, answer.location)
        raise UpstreamError(
            f"the {what} redirects to {_show_origin(target)}, which was not followed", hint="its operator has to fix it"
        )
    if answer.status >= 500 or answer.status == 429:
        raise UpstreamDown(f"the {what} at {origin(url)} answered {answer.status}", hint="try again later")
    return answer


async def _request(
    http: HttpSession,
    method: str,
    url: str,
    *,
    what: str,
    near: ServerConfig,
    headers: dict[str, str] | None = None,
    **sent: Any,
) -> OAuthResponse:
    from binnacle.upstream.transports.aiohttp_requests import send_request

    address = URL(url)
    proxy = proxy_of(address)
    headers = {"Accept": "application/json", **(headers or {})}
    try:
        with limit_connections(address, proxy, await limit_for(url, near)):
            async with asyncio.timeout(REQUEST_SECONDS):
                response = await send_request(http, method, address, headers=headers, proxy=proxy, **sent)
                try:
                    body = await read_body(response, MAX_ANSWER_BYTES)
                finally:
                    response.close()
    except TimeoutError as error:
        raise UpstreamDown(
            f"the {what} at {origin(url)} did not answer within {REQUEST_SECONDS:g} s", hint="try again later"
        ) from error
    except REQUEST_FAILURES as error:
        raise describe_failure(f"the {what}", address, error) from error
    location = response.headers.get("Location", "")
    challenge = ", ".join(response.headers.getall("WWW-Authenticate", ()))
    if body is None:
        raise UpstreamError(
            f"the {what} at {origin(url)} answered more than {MAX_ANSWER_BYTES >> 20} MiB", hint="check its URL"
        )
    return OAuthResponse(response.status, body, location, challenge)


def _show_origin(url: str) -> str:
    try:
        return origin(url)
    except ValueError:
        return "nowhere"
