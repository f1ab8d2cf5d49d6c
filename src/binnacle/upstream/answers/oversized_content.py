"""Resources, prompts and completions that are too large for a session: saved to files that are named, and cut."""

import base64
import binascii
from collections.abc import Mapping
from functools import partial
from mimetypes import guess_extension
from typing import Any

import msgspec
from msgspec import Raw, Struct

from binnacle.upstream.answers.oversized_results import (
    SHOWN_BYTES,
    amount,
    head,
    in_lines,
    length,
    list_of,
    raw_of,
    save,
    size_of,
    text_block,
)
from binnacle.upstream.toolsets.toolset import Result
from binnacle.wire.jsonrpc import UNREADABLE

MAX_SEPARATE_FILES = 10
"""Contents of one resource that get a file each; the rest shares one."""

NOTICE_BYTES = 1000
"""Bytes of any other field that a cut answer keeps, and of a notice."""


class _Content(Struct):
    uri: str = ""
    mime_type: str | None = msgspec.field(name="mimeType", default=None)
    text: str | None = None
    blob: str | None = None


class _Block(Struct):
    type: str = ""
    text: str | None = None


class _Message(Struct):
    role: str = "user"
    content: _Block | None = None


class _Completion(Struct):
    values: list[str] = []
    total: int | None = None


def cut_content(result: Result, limit: int, folder: str, *, name: str, method: str) -> tuple[Result, int]:
    """An answer to a request other than `tools/call` within `limit` bytes, and how many it had.

    What is too large is saved in `folder`, under a name that contains `name`; the answer says so and names the file.
    """
    size = size_of(result)
    if size <= limit or "inputRequests" in result:  # half of a dialogue goes on only if it is complete
        return result, size
    others = {key: value for key, value in result.items() if length(raw_of(value)) <= NOTICE_BYTES}
    room = max(0, limit - size_of(others) - NOTICE_BYTES)
    keep = partial(save, folder=folder, name=name)
    match method:
        case "resources/read":
            cut: Mapping[str, Any] = {"contents": _cut_contents(result, room, limit, keep)}
        case "prompts/get":
            why = f"the prompt is {amount(size)}, the limit {amount(limit)}. {keep(in_lines(result), '.json')}"
            cut = {"messages": _cut_messages(result, room, why)}
        case _:
            cut = {"completion": _cut_values(result, room)}
    return {**others, **cut}, size


def _cut_contents(result: Result, room: int, limit: int, keep: Any) -> list[Any]:
    """Keeps contents that fit, and replaces others by a text that names their file."""
    shown: list[Any] = []
    apart = left = 0
    for raw in list_of(result.get("contents", ())):
        one: Any = raw
        if length(raw) >= room and apart < MAX_SEPARATE_FILES:
            one, apart = _replace(raw, room, limit, keep), apart + 1
        elif length(raw) >= room:
            left += 1
            continue
        shown.append(one)
        room = max(0, room - length(raw_of(one)) - 1)
    if left:
        saved = keep(in_lines(result), ".json")
        shown.append(_text("", f"[cut: {left} more contents are left out here. {saved}]"))
    return shown


def _replace(raw: Raw, room: int, limit: int, keep: Any) -> dict[str, Any]:
    """Saves a content to a file, and returns as much of it as can be shown."""
    try:
        found = msgspec.json.decode(raw, type=_Content)
    except UNREADABLE:
        found = _Content()
    data, beginning = _bytes_of(found)
    suffix = ".json" if data is None else guess_extension(found.mime_type or "") or (".txt" if beginning else ".bin")
    content = in_lines(raw) if data is None else data
    kind = f"{found.mime_type[:80]} of " if found.mime_type else ""
    told = f"[cut: {kind}{amount(len(content))}, the limit is {amount(limit)}. {keep(content, suffix)}"
    if not beginning:
        return _text(found.uri, f"{told}]")
    return _text(
        found.uri,
        f"{told} What follows is its beginning.]\n{head(beginning, min(SHOWN_BYTES, room // 2 - NOTICE_BYTES))}",
    )


def _bytes_of(found: _Content) -> tuple[bytes | None, str]:
    """What is saved of a content, as it was before it became JSON, and what of it can be read."""
    if found.text is not None:
        return found.text.encode("utf-8", "replace"), found.text
    try:
        return (None if found.blob is None else base64.b64decode(found.blob, validate=True)), ""
    except (binascii.Error, ValueError):
        return None, ""


def _text(uri: str, text: str) -> dict[str, str]:
    return {"uri": uri, "mimeType": "text/plain", "text": text}


def _cut_messages(result: Result, room: int, why: str) -> list[Any]:
    """The messages that fit, the beginning of the first text that does not, and a notice before them."""
    shown: list[Any] = []
    left = 0
    for raw in list_of(result.get("messages", ())):
        if length(raw) < room:
            shown.append(raw)
            room -= length(raw) + 1
            continue
        try:
            found = msgspec.json.decode(raw, type=_Message)
        except UNREADABLE:
            found = _Message()
        beginning = head((found.content and found.content.text) or "", min(SHOWN_BYTES, room // 2))
        if beginning:
            shown.append({"role": found.role, "content": text_block(beginning)})
            room = 0
        else:
            left += 1
    without = f" {left} of its messages are left out here." if left else ""
    return [{"role": "user", "content": text_block(f"[cut: {why}{without} What follows is its beginning.]")}, *shown]


def _cut_values(result: Result, room: int) -> dict[str, Any]:
    """The first values. They are only suggestions: typing more gets others."""
    try:
        found = msgspec.json.decode(raw_of(result.get("completion")), type=_Completion)
    except UNREADABLE:
        found = _Completion()
    values: list[str] = []
    for value in found.values:
        room -= len(msgspec.json.encode(value)) + 1
        if room < 0:
            break
        values.append(value)
    return {"values": values, "total": found.total or len(found.values), "hasMore": True}
