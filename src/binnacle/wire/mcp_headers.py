"""The HTTP headers of the stateless era, which must say what the body says."""

import base64
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from binnacle.wire.jsonrpc import INVALID_PARAMS, UNREADABLE, RpcError
from binnacle.wire.mcp import HEADER_MARK, HEADER_MISMATCH, NAMED, STATELESS_VERSIONS, RequestMeta, era_of, unsupported

_WRAPPED = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
"""What goes through HTTP as it is: visible ASCII, with spaces only inside."""


class _Subject(msgspec.Struct):
    name: object = None
    uri: object = None


def check(headers: Mapping[str, str], method: str, params: bytes, meta: RequestMeta | None) -> None:
    """Refuses a request whose headers and body differ, or do not say all that this era wants said.

    Raises:
        RpcError: naming the header or the parameter.
    """
    version = headers.get("mcp-protocol-version")
    said = meta.version if meta is not None and isinstance(meta.version, str) else None
    if version is None:
        raise RpcError(HEADER_MISMATCH, "the header MCP-Protocol-Version is missing")
    if said is None:
        if version not in STATELESS_VERSIONS:
            raise unsupported(version)
        raise RpcError(INVALID_PARAMS, "invalid params: _meta names no protocol version")
    if version != said:
        raise RpcError(HEADER_MISMATCH, "the header MCP-Protocol-Version does not match the body")
    era_of(meta)
    if headers.get("mcp-method") != method:
        raise RpcError(HEADER_MISMATCH, "the header Mcp-Method does not match the body")
    key = NAMED.get(method)
    if key and decoded(headers.get("mcp-name")) != getattr(msgspec.json.decode(params, type=_Subject), key):
        raise RpcError(HEADER_MISMATCH, "the header Mcp-Name does not match the body")


def check_arguments(headers: Mapping[str, str], schema: Mapping[str, Any], arguments: Any) -> None:
    """Refuses a call whose headers do not repeat the arguments that the schema of its tool marks.

    Raises:
        RpcError: naming the header.
    """
    for name, part in schema.get("properties", {}).items():
        value = arguments.get(name) if isinstance(arguments, dict) else None
        if value is None or not isinstance(part, dict):
            continue
        mark = part.get(HEADER_MARK)
        if isinstance(mark, str) and not _says(decoded(headers.get(f"mcp-param-{mark.lower()}")), value):
            raise RpcError(HEADER_MISMATCH, f"the header Mcp-Param-{mark} does not match the body")
        check_arguments(headers, part, value)


def _says(header: str | None, value: object) -> bool:
    """Whether a header has the value of an argument; a number may be written in several ways."""
    if header is None or isinstance(value, str):
        return header == value
    try:
        said = msgspec.json.decode(header)
    except UNREADABLE:
        return False
    return bool(said == value) and isinstance(said, bool) == isinstance(value, bool)


def decoded(value: str | None) -> str | None:
    """A header value, unwrapped when it had to be written as `=?base64?…?=`; None when it is not what it says."""
    found = None if value is None else _WRAPPED.fullmatch(value)
    if found is None:
        return value
    payload = found[1]
    try:
        raw = base64.b64decode(payload, validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == payload else None
    except ValueError:  # no base64, not even ASCII, or no UTF-8 in it
        return None


def encoded(value: str) -> str:
    """A value as a header can carry it; what `decoded` undoes."""
    if (not value or _PLAIN.fullmatch(value)) and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="
