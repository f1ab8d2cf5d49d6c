"""JSON-RPC 2.0 messages, read from hostile bytes and written fast."""

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
"""What an error carries when the id of its request could not be read."""

BATCH_LIMIT = 1000
"""Messages of one batch. Each may be answered, so a short batch of nothing could ask for a long answer."""

BATCH_BYTES = 4 << 20
"""Of one batch. Taken apart, a batch of digits needs forty times its size in memory."""

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
    is_repaired: bool = False
    """Whether it held numbers that JSON does not have; each is null now."""


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

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError)
"""What decoding raises on bytes that are no JSON, no UTF-8, nested too deep, or a number too large for its type."""

_ON_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")
_HEX = rb"[0-9a-fA-F]{2}"
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]%b\\u[dD][c-fC-F]%b|(u[dD][89a-fA-F]%b)|.)" % (_HEX, _HEX, _HEX))
"""Any escape in a JSON string, so that none is read from its middle; the group is half a pair."""


def parse(data: bytes) -> Message | list[Message]:
    """The message in `data`, or the messages of a batch. Never raises."""
    try:
        # What stays raw is not decoded by msgspec, and would go out again as it came in.
        if not data.isascii():
            data.decode()
        return _batch(data) if data.lstrip()[:1] == b"[" else _single(data)
    except UNREADABLE as error:
        # Many clients count text in UTF-16 and cut it between the halves of a pair.
        whole = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], data)
        return parse(whole) if whole != data else Invalid(NO_ID, PARSE_ERROR, f"parse error: {error}")


def _batch(data: bytes) -> Message | list[Message]:
    parts = _decode_batch(data) if len(data) <= BATCH_BYTES else []
    if not 0 < len(parts) <= BATCH_LIMIT:
        bounds = f"1 to {BATCH_LIMIT} messages and at most {BATCH_BYTES} bytes"
        return Invalid(NO_ID, INVALID_REQUEST, f"invalid request: a batch has {bounds}")
    return [_single(bytes(part)) for part in parts]


def _single(data: bytes) -> Message:
    try:
        return _classified(_decode(data))
    except msgspec.ValidationError as error:
        return Invalid(_readable_id(data), INVALID_REQUEST, f"invalid request: {error}")


def _classified(envelope: _Envelope) -> Message:
    given_id = UNSET if envelope.id is UNSET else bytes(envelope.id)
    if envelope.jsonrpc != "2.0":
        return Invalid(_known(given_id), INVALID_REQUEST, 'invalid request: "jsonrpc" must be "2.0"')
    if envelope.method is UNSET:
        return _answered(envelope, given_id)
    params = b"{}" if envelope.params is UNSET else bytes(envelope.params)
    if params == b"null":  # what some serialisers write for nothing
        params = b"{}"
    if is_too_complex(params):
        return Invalid(_known(given_id), INVALID_REQUEST, f"invalid request: {TOO_COMPLEX}")
    if given_id is UNSET:
        return Notification(envelope.method, params)
    if not _is_id(given_id):
        return Invalid(NO_ID, INVALID_REQUEST, "invalid request: an id is a string or a number")
    return Request(given_id, envelope.method, params)


def _answered(envelope: _Envelope, given_id: bytes | UnsetType) -> Response | Invalid:
    if envelope.error is not UNSET:
        # Also without an id: to answer an error with an error could go on for ever.
        return Response(NO_ID if given_id is UNSET else given_id, None, bytes(envelope.error))
    if envelope.result is UNSET or given_id is UNSET:
        return Invalid(_known(given_id), INVALID_REQUEST, 'invalid request: "method" is missing')
    return Response(given_id, bytes(envelope.result), None)


def _is_id(raw: bytes) -> bool:
    return raw[:1] in (b'"', b"-") or raw[:1].isdigit()


def _readable_id(data: bytes) -> bytes:
    """The id of a request that is wrong otherwise, so that its sender can match the answer."""
    try:
        found = msgspec.json.decode(data, type=dict[str, Raw]).get("id")
    except msgspec.ValidationError:
        return NO_ID
    return NO_ID if found is None else _known(bytes(found))


def _known(given_id: bytes | UnsetType) -> bytes:
    """An id to answer with, where the sender gave one that is an id at all."""
    return given_id if isinstance(given_id, bytes) and _is_id(given_id) else NO_ID


def result_message(request_id: bytes, result: bytes) -> bytes:
    """A successful answer, on one line even where somebody else wrote the result over several."""
    if b"\n" in result or b"\r" in result:  # within JSON, only ever between its tokens
        result = result.translate(_ON_ONE_LINE)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, result)


def error_message(request_id: bytes, code: int, message: str, data: Any = None) -> bytes:
    """An answer that is an error."""
    error = {"code": code, "message": message} if data is None else {"code": code, "message": message, "data": data}
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, encode(error))


def notification_message(method: str, params: Any) -> bytes:
    """A message that wants no answer."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), encode(params))


def request_message(request_id: str | int, method: str, params: Any) -> bytes:
    """A request of ours."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (encode(request_id), encode(method), encode(params))
