"""What goes wrong between us and a server at a URL, in words that can be shown: no query, no credentials."""

import contextlib
import os
import ssl
from typing import Protocol

import aiohttp
import msgspec
from multidict import MultiMapping
from yarl import URL

from binnacle.errors import UpstreamBusy, UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream import sockets, steps
from binnacle.upstream.destinations import NotAllowed
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INTERNAL_ERROR, Response, RpcError


class Answered(Protocol):
    """What a refusal is told by."""

    @property
    def status(self) -> int: ...

    @property
    def reason(self) -> str | None: ...

    @property
    def headers(self) -> MultiMapping[str]: ...


EXCERPT = 200
"""Characters of an answer that is no message, shown to whoever wants to know what it was."""

Failure = (sockets.NotAnswered, aiohttp.ClientError, OSError, ValueError)
"""What is raised when a request or the reading of its answer fails."""

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (sockets.Forbidden, "{place} {detail}, and was not asked"),
    (sockets.Untrusted, "the certificate of {place} is not valid: {detail}"),
    (sockets.NotTls, "{place} does not speak TLS as we do: {detail}"),
    (sockets.Nowhere, "{place} cannot be found: its host has no address"),
    (sockets.TooSlow, "{place} cannot be reached: it took no connection in time"),
    (sockets.Unreachable, "{place} cannot be reached: {detail}"),
    (sockets.HungUp, "{place} closed the connection without an answer"),
    (sockets.BrokenOff, "{place} broke off in the middle of its answer"),
    (sockets.NotHttp, "{place} answered what is no HTTP: {detail}"),
    (aiohttp.ClientConnectorCertificateError, "the certificate of {place} is not valid: {detail}"),
    (aiohttp.ClientSSLError, "{place} does not speak TLS as we do: {detail}"),
    (aiohttp.ClientProxyConnectionError, "the proxy on the way to {place} cannot be reached: {detail}"),
    (aiohttp.ClientHttpProxyError, "the proxy on the way to {place} refused: {detail}"),
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


def failure(name: str, url: URL, error: Exception) -> UpstreamError:
    """What the failure of a request means."""
    is_ours = isinstance(error, ValueError) and not isinstance(error, aiohttp.ClientError)
    kind = UpstreamError if is_ours else UpstreamDown
    return kind(f"{name}: {_reason(error, f'{url.host}:{url.port}')}", hint=_hint(error))


def is_unreachable(error: BaseException) -> bool:
    """Whether no connection could be made at all."""
    kinds = sockets.Unreachable | aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError
    return isinstance(error.__cause__, kinds)


def _reason(error: Exception, place: str) -> str:
    cause = getattr(error, "os_error", error)
    error = sockets.Forbidden(cause) if isinstance(cause, NotAllowed) else error
    text = next((text for kind, text in _REASONS if isinstance(error, kind)), "it cannot be spoken to")
    return text.format(place=place, detail=_detail(error))


def _detail(error: Exception) -> str:
    """What is known beyond the kind of an error, and cannot be secret."""
    if isinstance(error, aiohttp.ClientResponseError):
        return excerpt(error.message.encode())
    if isinstance(error, sockets.NotHttp):
        return excerpt(str(error).encode())
    cause = getattr(error, "os_error", error)
    if isinstance(cause, NotAllowed):
        return str(cause.strerror)
    if isinstance(cause, ssl.SSLError):
        return getattr(cause, "verify_message", "") or cause.reason or "no reason given"
    number = getattr(cause, "errno", None)
    return os.strerror(number) if isinstance(number, int) else "no reason given"


def _hint(error: Exception) -> str:
    if isinstance(getattr(error, "os_error", error), NotAllowed):
        return "only an address in your own mcp.json, or one that a project's file plainly names, may lead there"
    match error:
        case sockets.Untrusted() | aiohttp.ClientConnectorCertificateError():
            return "name the authority that signed it in SSL_CERT_FILE, or check its url"
        case sockets.Unreachable() | aiohttp.ClientConnectorError() | ValueError():
            return "check its url, and whether it is running"
        case _:
            return "try again"


def excerpt(data: bytes) -> str:
    """The beginning of an answer on one line, as far as it can be read."""
    text = " ".join(data[: EXCERPT * 4].decode(errors="replace").split())
    return "".join(one if one.isprintable() else "�" for one in text)[:EXCERPT]


def refusal_in(data: bytes) -> Response | None:
    """The JSON-RPC error in the body of an HTTP error."""
    message = jsonrpc.parse(data)
    return message if isinstance(message, Response) and message.error is not None else None


class _Said(msgspec.Struct):
    message: str = ""


def refused(name: str, response: Answered, data: bytes) -> UpstreamError | RpcError:
    """What an HTTP error means for whoever asked."""
    status = response.status
    text = excerpt(data)
    with contextlib.suppress(*jsonrpc.UNREADABLE):
        if (found := refusal_in(data)) is not None:
            text = excerpt(msgspec.json.decode(found.error or b"{}", type=_Said).message.encode())
    said = f"{name} answered {status} {excerpt((response.reason or '').encode())}".rstrip()
    if text:
        said += f": {text}"
    match status:
        case 401:
            return UpstreamLogin(said, hint=steps.sign_in(name, words="check its key, or sign in"))
        case 403:
            return UpstreamError(said, hint="check what its key or login may do")
        case 429:
            return UpstreamBusy(said, hint=_when(response))
        case _ if status >= 500:
            return UpstreamDown(said, hint=_when(response))
        case _:
            return RpcError(INTERNAL_ERROR, said, {"status": status})


def _when(response: Answered) -> str:
    seconds = response.headers.get("Retry-After", "")
    return f"try again in {seconds} s" if seconds.isdecimal() and len(seconds) < 6 else "try again later"
