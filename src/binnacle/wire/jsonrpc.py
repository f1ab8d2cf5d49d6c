"""JSON-RPC 2.0 messages, parsed from hostile bytes and written fast."""

import re
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from binnacle.wire.json_limits import TOO_COMPLEX, is_too_complex

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

NO_ID = b"null"
"""The id of an error whose request has no readable id."""

MAX_BATCH_MESSAGES = 1000
"""Messages of one batch. Each may be answered, so a short batch could require a long answer."""

MAX_BATCH_BYTES = 4 << 20
"""Size of one batch. A decoded batch of digits needs forty times its size in memory."""

encode = msgspec.json.Encoder().encode


class Request(NamedTuple):
    """A call that expects an answer."""

    id: bytes
    """The id as it was sent. It is echoed, never interpreted."""

    method: str
    params: bytes


class Notification(NamedTuple):
    """A message that expects no answer."""

    method: str
    params: bytes


class Response(NamedTuple):
    """The other side's answer to our request."""

    id: bytes
    result: bytes | None
    error: bytes | None
    is_repaired: bool = False
    """Whether it had numbers that are not JSON; each is null now."""


class Invalid(NamedTuple):
    """The answer to something that is not a valid message."""

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

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError)
"""What decoding raises for invalid JSON or UTF-8, for deep nesting, and for a number too large for its type."""

_ON_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")
_HEX = rb"[0-9a-fA-F]{2}"
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]%b\\u[dD][c-fC-F]%b|(u[dD][89a-fA-F]%b)|.)" % (_HEX, _HEX, _HEX))
"""Any escape in a JSON string, so that none is matched in its middle; the group is half of a surrogate pair."""


def parse(data: bytes) -> Message | list[Message]:
    """The message in `data`, or the messages of a batch. Never raises."""
    try:
        # msgspec does not decode raw parts, so invalid UTF-8 in them would be forwarded.
        if not data.isascii():
            data.decode()
        return _parse_batch(data) if data.lstrip()[:1] == b"[" else _parse_single(data)
    except UNREADABLE as error:
        # Many clients count text in UTF-16 and cut it within a surrogate pair.
        whole = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], data)
        return parse(whole) if whole != data else Invalid(NO_ID, PARSE_ERROR, f"parse error: {error}")


def _parse_batch(data: bytes) -> Message | list[Message]:
    parts = _decode_batch(data) if len(data) <= MAX_BATCH_BYTES else []
    if not 0 < len(parts) <= MAX_BATCH_MESSAGES:
        bounds = f"1 to {MAX_BATCH_MESSAGES} messages and at most {MAX_BATCH_BYTES} bytes"
        return Invalid(NO_ID, INVALID_REQUEST, f"invalid request: a batch has {bounds}")
    return [_parse_single(bytes(part)) for part in parts]


def _parse_single(data: bytes) -> Message:
    try:
        return _classify(_decode(data))
    except msgspec.ValidationError as error:
        return Invalid(_readable_id(data), INVALID_REQUEST, f"invalid request: {error}")


def _classify(envelope: _Envelope) -> Message:
    given_id = UNSET if envelope.id is UNSET else bytes(envelope.id)
    if envelope.jsonrpc != "2.0":
        return Invalid(_valid_id(given_id), INVALID_REQUEST, 'invalid request: "jsonrpc" must be "2.0"')
    if envelope.method is UNSET:
        return _classify_answer(envelope, given_id)
    params = b"{}" if envelope.params is UNSET else bytes(envelope.params)
    if params == b"null":  # some serialisers write this for absent params
        params = b"{}"
    if is_too_complex(params):
        return Invalid(_valid_id(given_id), INVALID_REQUEST, f"invalid request: {TOO_COMPLEX}")
    if given_id is UNSET:
        return Notification(envelope.method, params)
    if not _is_id(given_id):
        return Invalid(NO_ID, INVALID_REQUEST, "invalid request: an id is a string or a number")
    return Request(given_id, envelope.method, params)


def _classify_answer(envelope: _Envelope, given_id: bytes | UnsetType) -> Response | Invalid:
    if envelope.error is not UNSET:
        # Also without an id: answering an error with an error could loop forever.
        return Response(NO_ID if given_id is UNSET else given_id, None, bytes(envelope.error))
    if envelope.result is UNSET or given_id is UNSET:
        return Invalid(_valid_id(given_id), INVALID_REQUEST, 'invalid request: "method" is missing')
    return Response(given_id, bytes(envelope.result), None)


def _is_id(raw: bytes) -> bool:
    return raw[:1] in (b'"', b"-") or raw[:1].isdigit()


def _readable_id(data: bytes) -> bytes:
    """The id of an invalid request, so that its sender can match the answer."""
    try:
        found = msgspec.json.decode(data, type=dict[str, Raw]).get("id")
    except msgspec.ValidationError:
        return NO_ID
    return NO_ID if found is None else _valid_id(bytes(found))


def _valid_id(given_id: bytes | UnsetType) -> bytes:
    """The id to answer with: the sender's, if it is valid."""
    return given_id if isinstance(given_id, bytes) and _is_id(given_id) else NO_ID


def result_message(request_id: bytes, result: bytes) -> bytes:
    """A successful answer, on one line even if the result has several."""
    if b"\n" in result or b"\r" in result:  # in JSON, these occur only between tokens
        result = result.translate(_ON_ONE_LINE)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, result)


def error_message(request_id: bytes, code: int, message: str, data: Any = None) -> bytes:
    """An answer that is an error."""
    error = {"code": code, "message": message} if data is None else {"code": code, "message": message, "data": data}
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, encode(error))


def notification_message(method: str, params: Any) -> bytes:
    """A message that expects no answer."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), encode(params))


def request_message(request_id: str | int, method: str, params: Any) -> bytes:
    """A request."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (encode(request_id), encode(method), encode(params))
