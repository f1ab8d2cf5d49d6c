"""How long the tool calls of agents took and how many failed, from the transcripts that this machine has.

The store does not record tool calls. A call lasts from the first entry about it to the one with which it ends; it
includes the time that it waited for a permission.
"""

import os
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from statistics import median

import msgspec
from msgspec import Struct

from binnacle.runner.transcript import TRANSCRIPT_FILE
from binnacle.wire.jsonrpc import UNREADABLE

MAX_BYTES = 24 << 20
"""Bytes of transcripts that are read, the newest sessions first."""

MAX_LINE_BYTES = 1 << 20

_TOOL = re.compile(rb'\{"at":"[^"]{1,40}","iteration":\d+,"kind":"tool"')


class ToolTime(Struct, frozen=True, kw_only=True):
    """The calls of one kind of tool."""

    kind: str
    calls: int
    failed: int
    median_seconds: float
    slow_seconds: float
    """95 of 100 were faster."""

    longest_seconds: float


class ToolTimes(Struct, frozen=True, kw_only=True):
    """The calls of agents, by kind, and what they were counted from."""

    tools: list[ToolTime]
    sessions: int
    is_complete: bool
    """Whether the transcripts of all these sessions were read to their ends."""


class _ToolEntry(Struct, frozen=True):
    at: str
    iteration: int
    id: str = ""
    tool: str = ""
    status: str = ""


class _Call(Struct):
    begun: str
    kind: str = ""
    ended: str = ""
    is_failed: bool = False


def measure_tools(folders: Iterable[str]) -> ToolTimes:
    """The tool calls of sessions, by kind, the most frequent first. `folders` are theirs, the newest first."""
    left, sessions, is_complete = MAX_BYTES, 0, True
    seconds: dict[str, list[float]] = {}
    failed: dict[str, int] = {}
    for folder in folders:
        calls: dict[tuple[int, str], _Call] = {}
        try:
            size = os.path.getsize(os.path.join(folder, TRANSCRIPT_FILE))
        except OSError:
            continue
        if left <= 0:
            is_complete = False
            break
        sessions += 1
        is_complete = is_complete and size <= left
        for entry in _read_calls(folder, min(size, left)):
            _note(calls, entry)
        left -= size
        for call in calls.values():
            if call.ended:
                seconds.setdefault(call.kind or "other", []).append(_between(call.begun, call.ended))
                failed[call.kind or "other"] = failed.get(call.kind or "other", 0) + call.is_failed
    tools = [_describe(kind, sorted(found), failed[kind]) for kind, found in seconds.items()]
    return ToolTimes(tools=sorted(tools, key=lambda one: -one.calls), sessions=sessions, is_complete=is_complete)


_decode = msgspec.json.Decoder(_ToolEntry).decode


def _read_calls(folder: str, most: int) -> Iterator[_ToolEntry]:
    with open(os.path.join(folder, TRANSCRIPT_FILE), "rb") as file:
        while file.tell() < most and (line := file.readline(MAX_LINE_BYTES)):
            if _TOOL.match(line):
                try:
                    yield _decode(line)
                except UNREADABLE:
                    continue


def _note(calls: dict[tuple[int, str], _Call], entry: _ToolEntry) -> None:
    call = calls.setdefault((entry.iteration, entry.id), _Call(begun=entry.at))
    call.kind = entry.tool or call.kind
    if entry.status in ("completed", "failed"):
        call.ended, call.is_failed = entry.at, entry.status == "failed"


def _between(begun: str, ended: str) -> float:
    try:
        return max(0.0, (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds())
    except ValueError:
        return 0.0


def _describe(kind: str, seconds: list[float], failed: int) -> ToolTime:
    return ToolTime(
        kind=kind,
        calls=len(seconds),
        failed=failed,
        median_seconds=round(median(seconds), 3),
        slow_seconds=round(seconds[min(len(seconds) - 1, int(len(seconds) * 0.95))], 3),
        longest_seconds=round(seconds[-1], 3),
    )
