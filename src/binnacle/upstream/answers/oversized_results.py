"""Results that are too large for a session: saved completely to a file that the answer names, and cut.

Text is cut to the limit; anything else, such as an image, is passed on completely or not at all.
"""

import contextlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from binnacle.config.private_files import make_private_folder
from binnacle.upstream.toolsets.toolset import Result

SHOWN_BYTES = 20_000
"""Bytes of text that a cut result still shows: enough to know what it is, when the rest is in a file."""

MAX_SAVED_FILES, MAX_SAVED_BYTES = 200, 500_000_000
"""Saved results that are kept, and their bytes; the oldest make room."""

SAVED_PREFIX = "result-"
"""How the names of saved results begin. No other file in the folder is ever removed."""

SUCCEEDED = "The call succeeded; it counts as an error only because its schema promises what is left out here."


class _Resource(Struct):
    uri: str = ""
    text: str | None = None


class _Block(Struct):
    type: str = ""
    text: str | None = None
    mime_type: str = msgspec.field(name="mimeType", default="")
    resource: _Resource | None = None


def cut_result(
    result: Result,
    limit: int,
    folder: str,
    *,
    name: str = "",
    promises_structure: bool = False,
    files: int = MAX_SAVED_FILES,
    total: int = MAX_SAVED_BYTES,
) -> tuple[Result, int]:
    """A result within `limit` bytes, and its size before. A smaller one, or any if `limit` is 0, is returned unchanged.

    A larger one is saved in `folder`, under a name that contains `name`. Its replacement says so, names the file,
    and shows the beginning. A result that cannot be saved is cut, too.

    Where the tool `promises_structure` and there is no room for it, the replacement is an error: clients refuse any
    other result without it, and then show neither the text nor the file.
    """
    size = size_of(result)
    if size <= limit or not limit or "inputRequests" in result:  # half of a dialogue goes on only if it is complete
        return result, size
    blocks = list_of(result.get("content", ()))
    saved = save(*_file_of(result, blocks), folder, name, files, total)
    why = f"the result is {amount(size)}, the limit {amount(limit)}. {saved}"
    return _cut(result, blocks, why, limit, promises_structure=promises_structure), size


def list_of(content: Any) -> list[Raw]:
    """The parts of the content. Anything but a list counts as one unreadable part."""
    whole = raw_of(content)
    try:
        return msgspec.json.decode(whole, type=list[Raw])
    except msgspec.DecodeError:
        return [whole]


def _cut(result: Result, blocks: Sequence[Raw], why: str, limit: int, *, promises_structure: bool) -> Result:
    """The result with as much of it as there is room for: the beginning of its text, then what fits completely."""
    fields = {key: raw_of(value) for key, value in result.items() if key not in ("content", "structuredContent")}
    if size_of(fields) > limit // 4:
        fields = {key: value for key, value in fields.items() if key in ("isError", "resultType")}
    room = max(0, limit - size_of({**fields, "content": [text_block(_notice(f"{why} {SUCCEEDED}", ["x" * 250]))]}))
    for_text = min(SHOWN_BYTES, room // 2)
    texts = _first_texts(blocks, for_text)
    room -= for_text
    shown: list[Any] = []
    hidden: list[str] = []
    for number, raw in enumerate(blocks):
        if number in texts:
            shown += texts[number]
        elif length(raw) < room:
            shown.append(raw)
            room -= length(raw) + 1
        else:
            hidden.append(f"{_kind(raw)} of {amount(length(raw))}")
    if "structuredContent" in result:
        structure = raw_of(result["structuredContent"])
        if length(structure) + 30 <= room:
            fields["structuredContent"] = structure
        else:
            hidden.append(f"structured content of {amount(length(structure))}")
            if not any(texts.values()) and (
                beginning := head(bytes(structure).decode(errors="replace"), for_text - 30)
            ):
                shown.append(text_block(beginning))
    if promises_structure and "structuredContent" not in fields and fields.get("isError") != Raw(b"true"):
        fields["isError"] = Raw(b"true")
        why = f"{why} {SUCCEEDED}"
    content = Raw(msgspec.json.encode([text_block(_notice(why, hidden)), *shown]))
    return {"content": content, **fields}


def _first_texts(blocks: Sequence[Raw], room: int) -> dict[int, list[Any]]:
    """What is shown of every block that can be read: all, its beginning, or nothing once the room is used up."""
    shown: dict[int, list[Any]] = {}
    for number, raw in enumerate(blocks):
        text = _text_of(_block(raw))
        if text is None:
            continue
        if length(raw) < room:
            shown[number] = [raw]
            room -= length(raw) + 1
        else:
            beginning = head(text, room - 30)
            shown[number] = [text_block(beginning)] if beginning else []
            room = 0
    return shown


def _notice(why: str, hidden: Sequence[str]) -> str:
    told = ", ".join(hidden[:5]) + (f" and {len(hidden) - 5} more" if len(hidden) > 5 else "")
    without = f" Left out here: {told}." if told else ""
    return f"[cut: {why}{without} What follows is its beginning.]"


def _block(raw: Raw) -> _Block:
    try:
        return msgspec.json.decode(raw, type=_Block)
    except msgspec.DecodeError:
        return _Block()


def _text_of(block: _Block) -> str | None:
    """What can be read of a block; None for what cannot be cut."""
    if block.type == "text":
        return block.text
    if block.type == "resource" and block.resource is not None and block.resource.text is not None:
        return f"{block.resource.uri}:\n{block.resource.text}"
    return None


def _kind(raw: Raw) -> str:
    block = _block(raw)
    return (block.mime_type or block.type or "something")[:40]


def head(text: str, room: int) -> str:
    """The beginning of a text that takes no more than `room` bytes as JSON."""
    start = text[: max(0, room)]
    while start and (size := len(msgspec.json.encode(start))) > room:
        start = start[: len(start) * room // size]
    return start


def text_block(text: str) -> dict[str, str]:
    """Text as a part of a content."""
    return {"type": "text", "text": text}


def raw_of(value: Any) -> Raw:
    """A value as JSON, which it may be already."""
    return value if isinstance(value, Raw) else Raw(msgspec.json.encode(value))


def length(raw: Raw) -> int:
    """Bytes of it."""
    return memoryview(raw).nbytes


def size_of(fields: Mapping[str, Any]) -> int:
    """Bytes of an object as JSON."""
    return 2 + sum(len(key) + 4 + length(raw_of(value)) for key, value in fields.items())


def amount(count: int) -> str:
    """Bytes, for people."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1e3:.1f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def _file_of(result: Result, blocks: Sequence[Raw]) -> tuple[bytes, str]:
    """What is saved: bare text, where the result is nothing else; otherwise its JSON, in lines that tools can read."""
    if blocks and not result.keys() - {"content", "isError", "resultType"}:
        try:
            found = [msgspec.json.decode(raw, type=dict[str, str]) for raw in blocks]
        except msgspec.DecodeError:
            found = [{}]
        if all(one.keys() == {"type", "text"} for one in found):
            return "\n".join(one["text"] for one in found).encode(), ".txt"
    return in_lines(result), ".json"


def in_lines(value: Any) -> bytes:
    """JSON that tools which read by lines can read."""
    whole = msgspec.json.encode(value)
    try:
        return msgspec.json.format(whole, indent=2)
    except msgspec.DecodeError:
        return whole


def save(
    content: bytes, suffix: str, folder: str, name: str, files: int = MAX_SAVED_FILES, total: int = MAX_SAVED_BYTES
) -> str:
    """Saves a result for its owner only. Returns a sentence that says where it is, or why it is not."""
    label = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:80]
    own = f"{SAVED_PREFIX}{time.time_ns()}-{os.urandom(3).hex()}{'-' if label else ''}{label}{suffix}"
    path = os.path.join(os.path.abspath(folder), own)
    try:
        make_private_folder(folder)
        _write(path, content)
        _make_room(folder, own, files, total)
    except OSError as error:
        return f"It could not be saved: {error.strerror or error}."
    return f"All of it is in the file {path}."


def _write(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
    except OSError:
        os.unlink(path)
        raise


def _make_room(folder: str, newest: str, files: int, total: int) -> None:
    """Removes the oldest results beyond the bounds, never the newest."""
    names = [one for one in os.listdir(folder) if one.startswith(SAVED_PREFIX) and one != newest]
    kept, used = 1, os.path.getsize(os.path.join(folder, newest))
    for name in sorted(names, reverse=True):  # the time is in the name
        path = os.path.join(folder, name)
        with contextlib.suppress(FileNotFoundError):  # another session was faster
            kept += 1
            used += os.path.getsize(path)
            if kept > files or used > total:
                os.unlink(path)
