"""What a turn tells its client: words, thoughts, the plan, tool calls and what it used; and what it asks."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from binnacle.wire.acp import (
    KnownUpdate,
    Location,
    MessageChunk,
    Permission,
    PermissionOption,
    PermissionSelected,
    Plan,
    PlanEntry,
    RequestPermission,
    ThoughtChunk,
    TokenUsage,
    ToolCallChanged,
    ToolCallFields,
    ToolCallStarted,
    ToolContent,
    ToolKind,
    UsageUpdate,
    text_block,
)
from binnacle.wire.jsonrpc import encode

BYTES_PER_TOKEN = 4
CONTEXT_TOKENS = (32 << 20) // BYTES_PER_TOKEN
"""What a prompt of this agent can hold: a line of 32 MiB."""

COUNTED = {"binnacle/counted": "bytes divided by four; there is no model"}
"""Goes with every figure, so that nobody takes it for tokens that were paid."""

MAX_SHOWN_CHARACTERS = 4000
"""Characters of a tool's answer that are told."""

OPTIONS = (
    PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
    PermissionOption(option_id="always", name="Allow all of this kind", kind="allow_always"),
    PermissionOption(option_id="no", name="Reject", kind="reject_once"),
)

Send = Callable[[KnownUpdate], Awaitable[None]]
Ask = Callable[[RequestPermission], Awaitable[Permission]]


class Rejected(Exception):
    """The client does not allow something."""


class Call:
    """A tool call under way."""

    def __init__(self, call: ToolCallFields) -> None:
        self.call = call
        self.text = ""
        self.failed = False
        self.content: tuple[ToolContent, ...] = ()

    def ended(self, text: str, *, failed: bool = False) -> None:
        """Says what came of it."""
        self.text, self.failed = text, failed

    def changed(self, change: ToolContent) -> None:
        """Says that it changed a file."""
        self.content = (change,)


class ClientReports:
    """The client's side of one session: what it is told, what it allows, and the bytes that went by."""

    def __init__(self, session_id: str, send: Send, ask: Ask) -> None:
        self.session_id = session_id
        self.taken = 0
        """Bytes that came in: prompts, and what tools answered."""

        self.given = 0
        """Bytes that went out: words, and what tools were asked."""

        self.said: list[str] = []
        """The words of this turn."""

        self._send = send
        self._ask = ask
        self._numbers = count(1)
        self._always: set[str] = set()

    async def say(self, text: str) -> None:
        """Words for the person."""
        self.said.append(text)
        self.given += len(text.encode())
        await self._send(MessageChunk(content=text_block(f"{text}\n")))

    async def think(self, text: str) -> None:
        self.given += len(text.encode())
        await self._send(ThoughtChunk(content=text_block(f"{text}\n")))

    async def plan(self, steps: Sequence[str], current: int) -> None:
        """The steps of the turn, of which those before `current` are done."""
        entries = (
            PlanEntry(
                content=step,
                status="completed" if place < current else "in_progress" if place == current else "pending",
            )
            for place, step in enumerate(steps)
        )
        await self._send(Plan(entries=tuple(entries)))

    @asynccontextmanager
    async def call(
        self,
        title: str,
        kind: ToolKind,
        *,
        given: Any = None,
        at: Sequence[Location] = (),
        change: ToolContent | None = None,
        ask: bool = False,
    ) -> AsyncIterator[Call]:
        """Tells of a tool call from its beginning to its end; with `ask`, once the client has allowed it.

        `change` is what it will do to a file.

        Raises:
            Rejected: it has not.
        """
        call = Call(
            ToolCallFields(
                tool_call_id=f"call-{next(self._numbers)}",
                title=title,
                kind=kind,
                status="pending" if ask else "in_progress",
                content=(change,) if change else None,
                locations=tuple(at) or None,
                raw_input=given,
            )
        )
        self.given += len(encode(given))
        fields = {name: getattr(call.call, name) for name in call.call.__struct_fields__}
        await self._send(ToolCallStarted(**fields))
        try:
            if ask:
                await self._allowed(call.call)
            yield call
        except BaseException as error:
            call.ended(call.text or str(error) or type(error).__name__, failed=True)
            raise
        finally:
            await self._end(call)

    async def _allowed(self, call: ToolCallFields) -> None:
        kind = call.kind or "other"
        if kind in self._always:
            return
        answer = await self._ask(RequestPermission(session_id=self.session_id, tool_call=call, options=OPTIONS))
        chosen = answer.outcome.option_id if isinstance(answer.outcome, PermissionSelected) else ""
        if chosen == "always":
            self._always.add(kind)
        elif chosen != "yes":
            raise Rejected(f"not allowed: {call.title}")
        await self._send(ToolCallChanged(tool_call_id=call.tool_call_id, status="in_progress"))

    async def _end(self, call: Call) -> None:
        self.taken += len(call.text.encode())
        shown = ToolContent(type="content", content=text_block(call.text[:MAX_SHOWN_CHARACTERS]))
        await self._send(
            ToolCallChanged(
                tool_call_id=call.call.tool_call_id,
                status="failed" if call.failed else "completed",
                content=(*call.content, shown) if call.text else call.content or None,
            )
        )

    async def used(self) -> TokenUsage:
        """Tells what the session has used so far."""
        taken, given = self.taken // BYTES_PER_TOKEN, self.given // BYTES_PER_TOKEN
        await self._send(UsageUpdate(used=taken + given, size=CONTEXT_TOKENS, meta=COUNTED))
        return TokenUsage(total_tokens=taken + given, input_tokens=taken, output_tokens=given, meta=COUNTED)
