"""Failures between us and a server at a URL, in words that can be shown: no query, no credentials."""

import contextlib
import os
import ssl
from typing import Protocol

import msgspec
from multidict import MultiMapping
from yarl import URL

from binnacle.errors import UpstreamBusy, UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream import upstream_steps
from binnacle.upstream.transports import http_errors
from binnacle.upstream.transports.address_policy import AddressNotAllowed
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INTERNAL_ERROR, Response, RpcError


class AnswerHead(Protocol):
    """The head of a refusal."""

    @property
    def status(self) -> int: ...

    @property
    def reason(self) -> str | None: ...

    @property
    def headers(self) -> MultiMapping[str]: ...


EXCERPT_CHARACTERS = 200
"""Characters of an answer that is no message, quoted in the error."""

REQUEST_FAILURES = (http_errors.NoAnswer, OSError, ValueError)
"""What a request or reading its answer may raise."""

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (http_errors.AddressForbidden, "{place} {detail}, and was not asked"),
    (http_errors.CertificateInvalid, "the certificate of {place} is not valid: {detail}"),
    (http_errors.TlsFailed, "{place} does not speak TLS as we do: {detail}"),
    (http_errors.HostNotFound, "{place} cannot be found: its host has no address"),
    (http_errors.ConnectTimedOut, "{place} cannot be reached: it took no connection in time"),
    (http_errors.ProxyUnreachable, "the proxy on the way to {place} cannot be reached: {detail}"),
    (http_errors.ProxyRefused, "the proxy on the way to {place} refused: {detail}"),
    (http_errors.ServerUnreachable, "{place} cannot be reached: {detail}"),
    (http_errors.ConnectionClosed, "{place} closed the connection without an answer"),
    (http_errors.AnswerTruncated, "{place} broke off in the middle of its answer"),
    (http_errors.NotHttp, "{place} answered what is no HTTP: {detail}"),
    (http_errors.ConnectionLost, "the connection to {place} was lost: {detail}"),
    (OSError, "the connection to {place} was lost: {detail}"),
    (ValueError, "its url or one of its headers cannot be sent"),
)


def describe_failure(name: str, url: URL, error: Exception) -> UpstreamError:
    """The error for a failed request."""
    kind = UpstreamError if isinstance(error, ValueError) else UpstreamDown
    return kind(f"{name}: {_reason(error, f'{url.host}:{url.port}')}", hint=_hint(error))


def is_unreachable(error: BaseException) -> bool:
    """Whether no connection could be made at all."""
    return isinstance(error.__cause__, http_errors.ServerUnreachable)


def _reason(error: Exception, place: str) -> str:
    cause = getattr(error, "os_error", error)
    error = http_errors.AddressForbidden(cause) if isinstance(cause, AddressNotAllowed) else error
    text = next((text for kind, text in _REASONS if isinstance(error, kind)), "it cannot be spoken to")
    return text.format(place=place, detail=_detail(error))


def _detail(error: Exception) -> str:
    """Details of an error that cannot be secret."""
    if isinstance(error, http_errors.NotHttp | http_errors.ProxyRefused):
        return make_excerpt(str(error).encode())
    cause = getattr(error, "os_error", error)
    if isinstance(cause, AddressNotAllowed):
        return str(cause.strerror)
    if isinstance(cause, ssl.SSLError):
        return getattr(cause, "verify_message", "") or cause.reason or "no reason given"
    number = getattr(cause, "errno", None)
    return os.strerror(number) if isinstance(number, int) else "no reason given"


def _hint(error: Exception) -> str:
    if isinstance(getattr(error, "os_error", error), AddressNotAllowed):
        return "only an address in your own mcp.json, or one that a project's file plainly names, may lead there"
    match error:
        case http_errors.CertificateInvalid():
            return "name the authority that signed it in SSL_CERT_FILE, or check its url"
        case http_errors.ServerUnreachable() | ValueError():
            return "check its url, and whether it is running"
        case _:
            return "try again"


def make_excerpt(data: bytes) -> str:
    """The beginning of an answer on one line, as far as it can be read."""
    text = " ".join(data[: EXCERPT_CHARACTERS * 4].decode(errors="replace").split())
    return "".join(one if one.isprintable() else "�" for one in text)[:EXCERPT_CHARACTERS]


def find_rpc_error(data: bytes) -> Response | None:
    """The JSON-RPC error in the body of an HTTP error."""
    message = jsonrpc.parse(data)
    return message if isinstance(message, Response) and message.error is not None else None


class _Said(msgspec.Struct):
    message: str = ""


def describe_refusal(name: str, response: AnswerHead, data: bytes) -> UpstreamError | RpcError:
    """The error for an HTTP error."""
    status = response.status
    text = make_excerpt(data)
    with contextlib.suppress(*jsonrpc.UNREADABLE):
        if (found := find_rpc_error(data)) is not None:
            text = make_excerpt(msgspec.json.decode(found.error or b"{}", type=_Said).message.encode())
    said = f"{name} answered {status} {make_excerpt((response.reason or '').encode())}".rstrip()
    if text:
        said += f": {text}"
    match status:
        case 401:
            return UpstreamLogin(said, hint=upstream_steps.sign_in(name, words="check its key, or sign in"))
        case 403:
            return UpstreamError(said, hint="check what its key or login may do")
        case 429:
            return UpstreamBusy(said, hint=_when(response))
        case _ if status >= 500:
            return UpstreamDown(said, hint=_when(response))
        case _:
            return RpcError(INTERNAL_ERROR, said, {"status": status})


def _when(response: AnswerHead) -> str:
    seconds = response.headers.get("Retry-After", "")
    return f"try again in {seconds} s" if seconds.isdecimal() and len(seconds) < 6 else "try again later"
