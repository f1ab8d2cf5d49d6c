"""JSON-RPC 2.0 messages, read from hostile bytes and written fast."""

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

NO_ID = b"null"
"""What an error carries when the id of its request could not be read."""

encode = msgspec.json.Encoder().encode


class Request(NamedTuple):
    """A call that wants an answer."""

    id: bytes
    """As it was sent. Echoed, never interpreted."""

    method: str
    params: bytes


class Notification(NamedTuple):
    """A message that wants none."""

    method: str
    params: bytes


class Response(NamedTuple):
    """The other side's answer to a request of ours."""

    id: bytes
    result: bytes | None
    error: bytes | None


class Invalid(NamedTuple):
    """Something that is no message; the answer it deserves."""

    id: bytes
    code: int
    message: str


Message = Request | Notification | Response | Invalid


class RpcError(Exception):
    """An answer that is a protocol error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class _Envelope(Struct):
    jsonrpc: str = ""
    id: Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Envelope).decode
_decode_batch = msgspec.json.Decoder(list[Raw]).decode


def parse(data: bytes) -> Message | list[Message]:
    """The message in `data`, or the messages of a batch. Never raises."""
    try:
        return _classified(_decode(data))
    except msgspec.ValidationError as error:
        if data.lstrip()[:1] == b"[":
            return _batch(data)
        return Invalid(_readable_id(data), INVALID_REQUEST, f"invalid request: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Invalid(NO_ID, PARSE_ERROR, f"parse error: {error}")


def _batch(data: bytes) -> Message | list[Message]:
    try:
        parts = _decode_batch(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Invalid(NO_ID, PARSE_ERROR, f"parse error: {error}")
    if not parts:
        return Invalid(NO_ID, INVALID_REQUEST, "invalid request: an empty batch")
    found: list[Message] = []
    for part in parts:
        message = parse(bytes(part))
        nested = isinstance(message, list)
        found.append(Invalid(NO_ID, INVALID_REQUEST, "invalid request: a batch within a batch") if nested else message)  # type: ignore[arg-type]
    return found


def _classified(envelope: _Envelope) -> Message:
    given_id = UNSET if envelope.id is UNSET else bytes(envelope.id)
    if envelope.jsonrpc != "2.0":
        known = given_id if isinstance(given_id, bytes) and _is_id(given_id) else NO_ID
        return Invalid(known, INVALID_REQUEST, 'invalid request: "jsonrpc" must be "2.0"')
    if envelope.method is not UNSET:
        params = b"{}" if envelope.params is UNSET else bytes(envelope.params)
        if given_id is UNSET:
            return Notification(envelope.method, params)
        if not _is_id(given_id):
            return Invalid(NO_ID, INVALID_REQUEST, "invalid request: an id is a string or a number")
        return Request(given_id, envelope.method, params)
    if given_id is UNSET or (envelope.result is UNSET and envelope.error is UNSET):
        return Invalid(NO_ID, INVALID_REQUEST, 'invalid request: "method" is missing')
    result = None if envelope.result is UNSET else bytes(envelope.result)
    error = None if envelope.error is UNSET else bytes(envelope.error)
    return Response(given_id, result, error)


def _is_id(raw: bytes) -> bool:
    return raw[:1] in (b'"', b"-") or raw[:1].isdigit()


def _readable_id(data: bytes) -> bytes:
    """The id of a request that is wrong otherwise, so that its sender can match the answer."""
    try:
        found = msgspec.json.decode(data, type=dict[str, Raw]).get("id")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return NO_ID
    return bytes(found) if found is not None and _is_id(bytes(found)) else NO_ID


def result_message(request_id: bytes, result: bytes) -> bytes:
    """A successful answer."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, result)


def error_message(request_id: bytes, code: int, message: str, data: Any = None) -> bytes:
    """An answer that is an error."""
    error = {"code": code, "message": message} if data is None else {"code": code, "message": message, "data": data}
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, encode(error))


def notification_message(method: str, params: Any) -> bytes:
    """A message that wants no answer."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), encode(params))


def request_message(request_id: str, method: str, params: Any) -> bytes:
    """A request of ours."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (encode(request_id), encode(method), encode(params))
