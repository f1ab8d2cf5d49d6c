"""Calls any tool for a person on the page, through the dispatcher that calls it for agents.

A call has an end: it is cancelled when it takes too long or the page goes away, and what it started ends with it.
"""

import asyncio
import time
from typing import Any

import msgspec
from msgspec import Raw, Struct

from binnacle.app.tool_call import call_own_tool
from binnacle.app.upstream_probe import UpstreamProbe
from binnacle.errors import BinnacleError, InvalidInput, TimedOut
from binnacle.tools.caller import Caller
from binnacle.tools.tool_spec import ToolSpec
from binnacle.web.page_project import PageProject
from binnacle.web.upstream_states import look_around
from binnacle.web.upstream_tests import upstream_tests_of
from binnacle.wire.hidden_text import make_visible

CALL_SECONDS = 300.0
"""Seconds that a call may take. Checks and debuggers may need minutes."""

MAX_SHOWN_CHARACTERS = 200_000
"""Characters of a result that are shown, of each part."""

MAX_SHOWN_PARTS = 50


class ResultPart(Struct, frozen=True, kw_only=True):
    """A part of a result."""

    kind: str
    """`text`, or what the server calls it, such as `image`."""

    text: str
    note: str = ""
    """Its type or address, where it is no text."""

    is_cut: bool = False


class ToolCallResult(Struct, frozen=True, kw_only=True):
    """What a call led to."""

    is_error: bool
    parts: list[ResultPart]
    structured: str
    """Its data as JSON; empty if there is none."""

    milliseconds: float


async def call_tool(project: PageProject, spec: ToolSpec, server: str, arguments: bytes) -> ToolCallResult:
    """Calls a tool as the person of the page. `server` is the upstream server that it belongs to, if any.

    Raises:
        InvalidInput: the arguments are no JSON object.
        TimedOut: it took too long; it was cancelled.
    """
    check_arguments(arguments)
    began = time.perf_counter()
    try:
        async with asyncio.timeout(CALL_SECONDS):
            if server:
                answer = await _call_upstream(project, server, spec.name, arguments)
            else:
                answer = await _call_own(project, spec.name, arguments)
    except TimeoutError:
        hint = "it was cancelled; what it changed before stays"
        raise TimedOut(f"{spec.name} took longer than {CALL_SECONDS:g} s", hint=hint) from None
    return _describe(answer, milliseconds=round((time.perf_counter() - began) * 1000, 1))


def check_arguments(arguments: bytes) -> None:
    """Refuses what is no JSON object."""
    try:
        msgspec.json.decode(arguments, type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InvalidInput(f"not an object of arguments: {error}", hint='{"name": "value"}') from error


async def _call_own(project: PageProject, name: str, arguments: bytes) -> dict[str, Any]:
    caller = Caller(session=project.session)
    outcome = await call_own_tool(project.project, name, arguments, caller, workspace=project.workspace)
    return outcome.to_mcp()


async def _call_upstream(project: PageProject, server: str, name: str, arguments: bytes) -> dict[str, Any]:
    around = await look_around(project)
    config = around.config(server)
    brought = {server: around.brought[server]} if config.source.kind == "discipline" else {}

    async def work(probe: UpstreamProbe) -> dict[str, Any]:
        return await probe.call(probe.find(name), arguments, who=project.person.name, progress=None)

    try:
        return await upstream_tests_of(project).use(project, server, brought, work, within=CALL_SECONDS)
    except BinnacleError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        return {"content": [{"type": "text", "text": f"[{error.code}] {error.message}{hint}"}], "isError": True}


def _describe(answer: dict[str, Any], *, milliseconds: float) -> ToolCallResult:
    result = msgspec.json.decode(msgspec.json.encode(answer))
    content = [part for part in result.get("content") or () if isinstance(part, dict)]
    structured = result.get("structuredContent")
    return ToolCallResult(
        is_error=result.get("isError") is True,
        parts=[_describe_part(part) for part in content[:MAX_SHOWN_PARTS]],
        structured=_shorten(_format(structured))[0] if structured is not None else "",
        milliseconds=milliseconds,
    )


def _describe_part(part: dict[str, Any]) -> ResultPart:
    found = part.get("resource")
    resource: dict[str, Any] = found if isinstance(found, dict) else {}
    text = part.get("text", resource.get("text"))
    note = part.get("mimeType") or part.get("uri") or resource.get("uri") or ""
    shown, is_cut = _shorten(text if isinstance(text, str) else "")
    return ResultPart(kind=str(part.get("type", "")), text=shown, note=make_visible(str(note))[:500], is_cut=is_cut)


def _format(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _shorten(text: str) -> tuple[str, bool]:
    beginning = text[:MAX_SHOWN_CHARACTERS]
    return "\n".join(make_visible(line) for line in beginning.split("\n")), len(text) > len(beginning)
