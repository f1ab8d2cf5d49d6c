"""Requests to authorization servers: bounded, never redirected elsewhere, their failures in words."""

from typing import Any, NamedTuple, TypeVar
from urllib.parse import urljoin

import aiohttp
import msgspec
from yarl import URL

from binnacle.errors import UpstreamDown, UpstreamError
from binnacle.upstream.auth.addresses import check_place, origin
from binnacle.upstream.auth.authorizer import HttpSession
from binnacle.upstream.config import ServerConfig
from binnacle.upstream.destinations import limit_for
from binnacle.upstream.failures import Failure, failure
from binnacle.upstream.web import proxy_of, reaching, read

WITHIN = 15.0
"""Seconds for one request and its answer."""

LONGEST = 1 << 20
"""Bytes of an answer."""

HOPS = 3
"""Redirects followed for a description, all within its origin."""

T = TypeVar("T")


class Answer(NamedTuple):
    """What came back."""

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


async def get(http: HttpSession, url: str, *, what: str, near: ServerConfig) -> Answer:
    """Asks for a description of something on behalf of the server `near`, without any credentials.

    Raises:
        UpstreamDown: there is no answer now.
        UpstreamError: it leads elsewhere.
    """
    for _ in range(HOPS):
        check_place(url, what, near=near.url)
        answer = await _request(http, "GET", url, what=what, near=near)
        if not 300 <= answer.status < 400:
            return answer
        target = urljoin(url, answer.location)
        if not answer.location or origin(target) != origin(url):
            return answer  # like one that is not there; nobody is led elsewhere
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
) -> Answer:
    """Sends a form or JSON, and follows nothing: what is sent may be secret.

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
            f"the {what} redirects to {_shown(target)}, which was not followed", hint="its operator has to mend it"
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
) -> Answer:
    address = URL(url)
    proxy = proxy_of(address)
    try:
        with reaching(address, proxy, await limit_for(url, near)):
            async with http.request(
                method,
                address,
                headers={"Accept": "application/json", **(headers or {})},
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=WITHIN),
                proxy=proxy,
                **sent,
            ) as response:
                body = await read(response, LONGEST)
                location = response.headers.get("Location", "")
                challenge = ", ".join(response.headers.getall("WWW-Authenticate", ()))
    except TimeoutError as error:
        raise UpstreamDown(
            f"the {what} at {origin(url)} did not answer within {WITHIN:g} s", hint="try again later"
        ) from error
    except Failure as error:
        raise failure(f"the {what}", address, error) from error
    if body is None:
        raise UpstreamError(f"the {what} at {origin(url)} answered more than {LONGEST >> 20} MiB", hint="check its URL")
    return Answer(response.status, body, location, challenge)


def _shown(url: str) -> str:
    try:
        return origin(url)
    except ValueError:
        return "nowhere"
