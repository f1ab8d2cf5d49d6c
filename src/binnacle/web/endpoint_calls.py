"""One call of an endpoint: its arguments from a query or a body, its answer or its error as JSON.

What a page sends is converted strictly: a value of the wrong type, an unknown name and a value that was given twice are
refused with an error that names them.
"""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct, inspect

from binnacle.errors import (
    AgentError,
    BinnacleError,
    ConfigError,
    InvalidInput,
    NoProject,
    NotFound,
    PersonNeeded,
    Refused,
    StoreBusy,
    StoreLost,
    StoreUnreachable,
    TimedOut,
    ToolDisabled,
    UpstreamError,
    UsageError,
    did_you_mean,
)
from binnacle.server.http_exchange import HttpReply
from binnacle.web.endpoints import PageEndpoint
from binnacle.web.page_project import PageProject

_log = logging.getLogger(__name__)

MAX_QUERY_CHARACTERS = 16 << 10
MAX_QUERY_FIELDS = 500

STATUSES: tuple[tuple[tuple[type[BinnacleError], ...], int], ...] = (
    ((PersonNeeded, ToolDisabled), 403),
    ((NotFound, NoProject), 404),
    ((Refused,), 409),
    ((InvalidInput, UsageError, ConfigError), 400),
    ((TimedOut,), 504),
    ((StoreBusy, StoreLost, StoreUnreachable, UpstreamError, AgentError), 503),
)
"""The HTTP status of an error: the first that fits, else 500."""

FieldKind = Literal["plain", "list", "json"]


class PageError(Struct, frozen=True, kw_only=True):
    """An error as the page gets it."""

    code: str
    message: str
    hint: str = ""


async def call_endpoint(project: PageProject, endpoint: PageEndpoint, asked: Struct) -> HttpReply:
    """The answer of an endpoint, or its error."""
    try:
        async with asyncio.timeout(endpoint.within):
            answer = await endpoint.function(project, asked)
    except BinnacleError as error:
        return reply_to_error(error)
    except TimeoutError:
        seconds = f"{endpoint.within:g} s"
        if endpoint.kind == "read":
            return reply_to_error(TimedOut(f"no answer within {seconds}", hint="try again, or ask for less"))
        message = f"the action took longer than {seconds}: it may still have been done"
        return reply_to_error(TimedOut(message, hint="look before you repeat it"))
    except Exception as error:  # noqa: BLE001 - the page must get an answer, and the others go on
        _log.exception("internal error in the endpoint %s", endpoint.name)
        message = f"unexpected {type(error).__name__}: {error}"
        return reply_to_error(BinnacleError(message, hint="this is a defect in bn; its log has more"))
    return reply_with(answer)


def reply_with(answer: object, status: int = 200) -> HttpReply:
    """An answer as JSON."""
    try:
        body = msgspec.json.encode(answer)
    except UnicodeEncodeError:  # a path may have any byte in it
        body = json.dumps(msgspec.to_builtins(answer)).encode()
    return HttpReply(status, body, cache_control="no-store")


def reply_to_error(error: BinnacleError, status: int | None = None) -> HttpReply:
    """An error as JSON, with the status that fits it."""
    found = status or next((number for types, number in STATUSES if isinstance(error, types)), 500)
    return reply_with(describe_error(error), found)


def describe_error(error: BinnacleError) -> PageError:
    return PageError(code=error.code, message=error.message, hint=error.hint)


def parse_query(query: str, asked: type[Struct]) -> Struct:
    """The arguments that a query gives: `status=pending&tag=a&tag=b`. A field with parts of its own is JSON.

    Raises:
        InvalidInput: it is too long, or does not have the expected fields.
    """
    if len(query) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(f"the query is longer than {MAX_QUERY_CHARACTERS} characters", hint="ask for less")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_QUERY_FIELDS, errors="strict")
    except ValueError as error:
        raise InvalidInput(f"not a query: {error}", hint="name=value&name=value in UTF-8") from error
    kinds = _field_kinds(asked)
    _check_names([name for name, _ in pairs], kinds)
    given: dict[str, Any] = {}
    for name, text in pairs:
        match kinds[name]:
            case "list":
                given.setdefault(name, []).append(text)
            case _ if name in given:
                raise InvalidInput(f"{name!r} was given twice", hint="give it once")
            case "plain":
                given[name] = text
            case "json":
                given[name] = _decode_json(name, text)
    return _convert(given, asked, is_strict=False)


def parse_body(body: bytes, asked: type[Struct]) -> Struct:
    """The arguments that a body gives, a JSON object.

    Raises:
        InvalidInput: it is no such object.
    """
    try:
        given = msgspec.json.decode(body or b"{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"the body is not a JSON object: {error}", hint="send the arguments as JSON") from error
    _check_names(list(given), _field_kinds(asked))
    return _convert(given, asked, is_strict=True)


def _convert(given: Mapping[str, Any], asked: type[Struct], *, is_strict: bool) -> Struct:
    try:
        return msgspec.convert(given, asked, strict=is_strict)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InvalidInput(str(error), hint=f"see the fields of {asked.__name__}") from error


def _check_names(names: Sequence[str], kinds: Mapping[str, FieldKind]) -> None:
    for name in names:
        if name not in kinds:
            raise InvalidInput(f"unknown field {name[:100]!r}", hint=did_you_mean(name[:100], list(kinds)))


def _decode_json(name: str, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"{name!r} is not JSON: {error}", hint="send it as JSON text") from error


@lru_cache
def _field_kinds(asked: type[Struct]) -> dict[str, FieldKind]:
    """How each argument is written in a query."""
    described = inspect.type_info(asked)
    assert isinstance(described, inspect.StructType)
    return {field.encode_name: _kind_of(field.type) for field in described.fields}


def _kind_of(described: inspect.Type) -> FieldKind:
    parts = described.types if isinstance(described, inspect.UnionType) else (described,)
    if any(isinstance(part, (inspect.StructType, inspect.DictType, inspect.AnyType)) for part in parts):
        return "json"
    lists = (inspect.ListType, inspect.VarTupleType, inspect.TupleType, inspect.SetType, inspect.FrozenSetType)
    found = next((part for part in parts if isinstance(part, lists)), None)
    if found is None:
        return "plain"
    inner = found.item_types if isinstance(found, inspect.TupleType) else (found.item_type,)
    return "list" if all(_kind_of(one) == "plain" for one in inner) else "json"
