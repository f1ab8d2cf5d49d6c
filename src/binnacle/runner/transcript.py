"""Records what was said and done in a session, as it happens: a JSON value per line in `transcript.jsonl`.

An incomplete line, whose writer was killed, is skipped. Pieces of a message are joined when they are written and again
when they are read, so a kill loses little. A piece waits a moment for the next one, and is then written: people read
along, and an agent that said something may work on it in silence for long.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import msgspec
from msgspec import Struct

from binnacle.config.private_files import make_private_folder
from binnacle.runner.agents.call_details import clip, diff_of, text_of
from binnacle.runner.agents.permissions import PermissionDecision, PermissionRequest
from binnacle.wire import acp
from binnacle.wire.jsonrpc import UNREADABLE, encode

TRANSCRIPT_FILE = "transcript.jsonl"

MAX_JOINED_CHARACTERS = 8 << 10
"""Characters of a message that are joined before they are written."""

JOIN_WAIT_SECONDS = 0.25
"""Seconds that the first piece of a message waits for others. People see it then at the latest."""

MAX_TITLE_CHARACTERS = 16 << 10

MAX_ITERATION_BYTES = 64 << 20
"""Bytes of one iteration; the transcript of a flooding agent is cut here."""

MAX_CALLS = 1000
"""Tool calls of which is remembered what was recorded."""

TEXT_KINDS = ("message", "thought")

CallLater = Callable[[float, Callable[[], None]], asyncio.TimerHandle]


class TranscriptEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was said or done. Which fields are set follows from its kind."""

    at: str
    iteration: int
    kind: str
    """`iteration`, `prompt`, `message`, `thought`, `tool`, `plan`, `usage`, `permission`, `end` or `cut`."""

    text: str = ""
    """The text of a prompt, a message or a thought; the reason why a turn ended."""

    id: str = ""
    """The id of a tool call, which later entries repeat."""

    title: str = ""
    tool: str = ""
    """The kind of a tool call."""

    status: str = ""
    paths: tuple[str, ...] = ()
    input: str = ""
    """The arguments of a tool call."""

    output: str = ""
    """Its result."""

    diff: str = ""
    """Its change of files, as a unified diff."""

    steps: tuple[tuple[str, str], ...] = ()
    """The steps of a plan, each with its status."""

    used: int | None = None
    size: int | None = None
    cost: float | None = None
    tokens: int | None = None
    is_allowed: bool | None = None
    by: str = ""


class Transcript:
    """Writes the transcript of a session. Leaving the block writes what is buffered."""

    def __init__(self, folder: str, *, call_later: CallLater | None = None) -> None:
        """`folder` holds `transcript.jsonl`, which is made if it does not exist.

        `call_later` is that of the event loop; without it, a message is written when something else comes.
        """
        make_private_folder(folder)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(os.path.join(folder, TRANSCRIPT_FILE), flags, 0o600)
        self._call_later = call_later
        self._timer: asyncio.TimerHandle | None = None
        self._iteration = 0
        self._written = 0
        self._is_cut = False
        self._usage: acp.UsageUpdate | None = None
        self._recorded: dict[str, _RecordedCall] = {}
        self._waiting: list[str] = []
        self._waiting_kind = ""
        self._waiting_length = 0
        self._is_torn = self._ends_torn()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()
        os.close(self._descriptor)

    def begin_iteration(self, number: int) -> None:
        """Assigns what follows to this iteration."""
        self.flush()
        self._iteration = number
        self._written = 0
        self._is_cut = False
        self._recorded.clear()
        self._write("iteration")

    def record_prompt(self, text: str) -> None:
        """Records a prompt."""
        self._write("prompt", text=text)

    def record_update(self, update: acp.Update) -> None:
        """Records what the agent reports."""
        match update:
            case acp.MessageChunk(content=acp.ContentBlock(text=str(text))):
                self._join("message", text)
            case acp.ThoughtChunk(content=acp.ContentBlock(text=str(text))):
                self._join("thought", text)
            case acp.ToolCallStarted() | acp.ToolCallChanged():
                self._tool(update)
            case acp.Plan():
                self._write("plan", steps=tuple((step.content, step.status) for step in update.entries))
            case acp.UsageUpdate() if update != self._usage:
                self._usage = update
                cost = update.cost.amount if update.cost else None
                self._write("usage", used=update.used, size=update.size, cost=cost)

    def record_decision(self, request: PermissionRequest, decision: PermissionDecision) -> None:
        """Records the answer to a request for permission, with what the request says for the first time."""
        call = self._recorded_call(request.tool_call_id)
        self._write(
            "permission",
            id=request.tool_call_id,
            title=request.title[:MAX_TITLE_CHARACTERS],
            tool=request.kind,
            is_allowed=decision.is_allowed,
            by=decision.by,
            **call.take_news({"input": text_of(request.input), "diff": request.diff}),
        )

    def record_end(self, stop_reason: str, *, tokens: int | None = None) -> None:
        """Records the end of a turn."""
        self._write("end", text=stop_reason, tokens=tokens)

    def flush(self) -> None:
        """Writes the message that is waiting for its next piece."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            text, self._waiting, self._waiting_length = "".join(self._waiting), [], 0
            self._append(self._waiting_kind, text=text)

    def _join(self, kind: str, text: str) -> None:
        if kind != self._waiting_kind:
            self.flush()
        if self._call_later is not None and self._timer is None:
            self._timer = self._call_later(JOIN_WAIT_SECONDS, self.flush)
        self._waiting_kind = kind
        self._waiting.append(text)
        self._waiting_length += len(text)
        if self._waiting_length >= MAX_JOINED_CHARACTERS:
            self.flush()

    def _tool(self, call: acp.ToolCallFields) -> None:
        """Writes a line for the beginning of a call, and one for everything new about it."""
        is_new = call.tool_call_id not in self._recorded
        recorded = self._recorded_call(call.tool_call_id)
        recorded.kind = call.kind or recorded.kind
        news = recorded.take_news(
            {
                "title": (call.title or "")[:MAX_TITLE_CHARACTERS],
                "tool": call.kind or "",
                "status": call.status or "",
                "paths": tuple(place.path for place in call.locations or ()),
                "input": text_of(call.raw_input),
                "output": _output(call),
                "diff": diff_of(call, kind=recorded.kind),
            }
        )
        if is_new or news:
            self._write("tool", id=call.tool_call_id, **news)

    def _recorded_call(self, call_id: str) -> "_RecordedCall":
        found = self._recorded.setdefault(call_id, _RecordedCall())
        if len(self._recorded) > MAX_CALLS:
            del self._recorded[next(iter(self._recorded))]
        return found

    def _write(self, kind: str, **fields: Any) -> None:
        self.flush()
        self._append(kind, **fields)

    def _append(self, kind: str, **fields: Any) -> None:
        if self._is_cut:
            return
        if self._written > MAX_ITERATION_BYTES:
            self._is_cut, kind, fields = True, "cut", {"text": f"no more of this iteration after {self._written} bytes"}
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = encode(TranscriptEntry(at=moment, iteration=self._iteration, kind=kind, **fields)) + b"\n"
        # A full disk does not stop the work: what cannot be written is lost.
        with contextlib.suppress(OSError):
            written = os.write(self._descriptor, b"\n" + line if self._is_torn else line)
            self._is_torn = written < len(line)
            self._written += written

    def _ends_torn(self) -> bool:
        """Whether a writer before us was killed in the middle of a line, so that ours must begin a new one."""
        size = os.fstat(self._descriptor).st_size
        return size > 0 and os.pread(self._descriptor, 1, size - 1) != b"\n"


class _RecordedCall:
    """What was recorded of a tool call. Agents repeat themselves: only what is new is written."""

    def __init__(self) -> None:
        self.kind = ""
        self._hashes: dict[str, int] = {}

    def take_news(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Those of the fields that say something new."""
        news = {name: value for name, value in fields.items() if value and self._hashes.get(name) != hash(value)}
        self._hashes |= {name: hash(value) for name, value in news.items()}
        return news


def read_transcript(folder: str, *, iteration: int | None = None) -> Iterator[TranscriptEntry]:
    """The entries of a session, or of one iteration, in order; pieces of one message as one.

    An incomplete entry is skipped. A session without a transcript has no entries.
    """
    last: TranscriptEntry | None = None
    for entry in _entries(folder):
        if iteration is not None and entry.iteration != iteration:
            continue
        if last and entry.kind in TEXT_KINDS and (entry.kind, entry.iteration) == (last.kind, last.iteration):
            last = msgspec.structs.replace(last, text=last.text + entry.text)
            continue
        if last:
            yield last
        last = entry
    if last:
        yield last


_read = msgspec.json.Decoder(TranscriptEntry).decode


def _entries(folder: str) -> Iterator[TranscriptEntry]:
    try:
        file = open(os.path.join(folder, TRANSCRIPT_FILE), "rb")  # noqa: SIM115 - closed below, opened where it may be missing
    except FileNotFoundError:
        return
    with file:
        for line in file:
            try:
                yield _read(line)
            except UNREADABLE:
                continue


def _output(call: acp.ToolCallFields) -> str:
    """The output of a call, as text for people."""
    texts = [part.content.text for part in call.content or () if part.content is not None and part.content.text]
    return clip("\n".join(texts)) if texts else text_of(call.raw_output)
