"""The HTTP headers of the stateless era, which must match the body."""

import base64
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from binnacle.wire.jsonrpc import INVALID_PARAMS, UNREADABLE, RpcError
from binnacle.wire.mcp import HEADER_MARK, HEADER_MISMATCH, NAMED, STATELESS_VERSIONS, RequestMeta, era_of, unsupported

_WRAPPED = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
"""Values that HTTP carries unchanged: visible ASCII, with spaces only inside."""


class _Subject(msgspec.Struct):
    name: object = None
    uri: object = None
    taskId: object = None  # noqa: N815 - the protocol's name


def check(headers: Mapping[str, str], method: str, params: bytes, meta: RequestMeta | None) -> None:
    """Refuses a request whose headers and body differ, or lack something that this era requires.

    Raises:
        RpcError: the error names the header or the parameter.
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
    """Refuses a call whose headers do not repeat the arguments that the tool's schema marks.

    Raises:
        RpcError: the error names the header.
    """
    for name, part in schema.get("properties", {}).items():
        value = arguments.get(name) if isinstance(arguments, dict) else None
        if value is None or not isinstance(part, dict):
            continue
        mark = part.get(HEADER_MARK)
        if isinstance(mark, str) and not _has_value(decoded(headers.get(f"mcp-param-{mark.lower()}")), value):
            raise RpcError(HEADER_MISMATCH, f"the header Mcp-Param-{mark} does not match the body")
        check_arguments(headers, part, value)


def _has_value(header: str | None, value: object) -> bool:
    """Whether a header has the value of an argument; a number has several notations."""
    if header is None or isinstance(value, str):
        return header == value
    try:
        said = msgspec.json.decode(header)
    except UNREADABLE:
        return False
    return bool(said == value) and isinstance(said, bool) == isinstance(value, bool)


def decoded(value: str | None) -> str | None:
    """A header value, decoded if it is written as `=?base64?…?=`; None if that is invalid."""
    found = None if value is None else _WRAPPED.fullmatch(value)
    if found is None:
        return value
    payload = found[1]
    try:
        raw = base64.b64decode(payload, validate=True)
        return raw.decode() if base64.b64encode(raw).decode() == payload else None
    except ValueError:  # invalid base64 or UTF-8
        return None


def encoded(value: str) -> str:
    """A value in a form that a header can carry, which `decoded` reverses."""
    if (not value or _PLAIN.fullmatch(value)) and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="
