"""Calls tools: every call of every client goes through `Dispatcher`."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from binnacle.errors import BinnacleError, Hint, NextStep, NotReady, TimedOut, ToolDisabled
from binnacle.tools import arguments
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog, FoundTool
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.hints import render_hint
from binnacle.tools.host_remarks import Worded, fit_remarks, fit_text
from binnacle.tools.outcome import Outcome, ToolReply, as_json, failed, succeeded
from binnacle.tools.tool_spec import ToolAlias, ToolSpec
from binnacle.work import steps

NO_WAY = "this session has no tool for the next step; tools/list names those it has"


def _explain_nothing(name: str) -> None:
    """Knows no reason why a tool is missing."""


class Dispatcher:
    """Calls tools of a catalog on behalf of callers."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        exposed: Sequence[ExposedTool] | None = None,
        instead: Mapping[str, str] | None = None,
        in_shell: bool = False,
        explain_missing: Callable[[str], BinnacleError | None] = _explain_nothing,
    ) -> None:
        """`exposed` are the tools that may be called; None exposes all, under their own names.

        `instead` maps tools that are not exposed to the ones to use. With `in_shell`, hints name commands instead of
        tools. `explain_missing` returns the error for a name that the catalog lacks, if it knows a better one than
        "no such tool".
        """
        self.catalog = catalog
        self.exposed = [ExposedTool(spec.name, spec) for spec in catalog] if exposed is None else list(exposed)
        self._by_name = {one.name: one for one in self.exposed}
        self._by_tool = {one.spec.name: one for one in reversed(self.exposed)}
        self._instead = {
            catalog.find(name).spec.name: catalog.find(other).spec.name for name, other in (instead or {}).items()
        }
        self._in_shell = in_shell
        self._explain_missing = explain_missing

    async def call(self, name: str, raw: bytes, caller: Caller) -> Outcome:
        """Calls one tool. Failures are outcomes too; it raises only cancellation."""
        began = time.perf_counter()
        prefix, is_structured = False, True
        worded: Worded | None = None
        try:
            spec, alias = self._find(name)
            prefix, is_structured = spec.prefix, not spec.promises_structure
            worded = self._worded(spec) if spec.has_remarks else None
            reply = await self._answer(spec, alias, raw, caller)
            if worded is not None:
                reply = _fit_reply(reply, worded)
            outcome = succeeded(reply, seconds=time.perf_counter() - began)
        except BinnacleError as error:
            noted = caller.activity.note_failure(name, raw, error)
            hint = noted.hint if self._in_shell else render_hint(noted, self.exposed, called=name)
            if worded is not None:
                hint = fit_text(hint, worded) or NO_WAY
                noted.details = fit_remarks(noted.details, worded)
            seconds = time.perf_counter() - began
            outcome = failed(noted, seconds=seconds, prefix=prefix, hint=hint, is_structured=is_structured)
        else:
            caller.activity.note_success(spec.name, name, raw)
        return outcome

    async def reply(self, caller: Caller, name: str, raw: bytes) -> ToolReply:
        """Calls a tool on behalf of another tool. Raises failures."""
        spec, alias = self._find(name)
        reply = await self._answer(spec, alias, raw, caller)
        caller.activity.note_success(spec.name, name, raw)
        return reply

    def _find(self, name: str) -> FoundTool:
        """The tool with `name` among its names, with the limits of this session."""
        if one := self._by_name.get(name):
            return FoundTool(one.spec, one.alias)
        if name not in self.catalog and (error := self._explain_missing(name)):
            raise error
        found = self.catalog.find(name)
        if shown := self._by_tool.get(found.spec.name):
            return FoundTool(shown.spec, found.alias)
        other = self._by_tool.get(self._instead.get(found.spec.name, ""))
        raise disabled_tool(name, other.name if other else None, otherwise="tools/list names those that are")

    def _worded(self, spec: ToolSpec) -> Worded | None:
        """What fits a tool's remarks to this session, if the tool names others without knowing which it has."""
        one = self._by_tool.get(spec.name)
        return one.worded if one is not None else None

    async def _answer(self, spec: ToolSpec, alias: ToolAlias | None, raw: bytes, caller: Caller) -> ToolReply:
        values = arguments.parse(spec, alias, raw)
        if caller.is_ambiguous:
            _check_identity(spec)
        if spec.prerequisites:
            self._check_prerequisites(spec, caller)
        if spec.timeout is None:
            return await spec.run(caller, values)
        return await _run_within(spec.timeout, spec, caller, values)

    def _check_prerequisites(self, spec: ToolSpec, caller: Caller) -> None:
        for name in spec.prerequisites:
            if name in caller.activity.called:
                continue
            if one := self._by_tool.get(name):
                raise NotReady(f"{spec.name} needs {one.name} first", hint=f"call {one.name}, then this again")
            raise NotReady(
                f"{spec.name} needs another tool first, which this session does not have",
                hint=NextStep(f"start a session that also has {name}", for_person=True),
            )


def disabled_tool(name: str, other: str | None, *, otherwise: Hint) -> ToolDisabled:
    """The error for a tool that the session lacks. Its hint names the `other` tool to use, or is `otherwise`."""
    return ToolDisabled(f"{name} is not enabled in this session", hint=f"use {other} instead" if other else otherwise)


async def _run_within(seconds: float, spec: ToolSpec, caller: Caller, values: Any) -> ToolReply:
    """Runs a tool under its deadline. Nothing of it keeps running afterwards."""
    try:
        async with asyncio.timeout(seconds):
            return await spec.run(caller, values)
    except TimeoutError as error:
        raise TimedOut(
            f"{spec.name} did not finish within {seconds:g} s", hint="try again with less to do, or later"
        ) from error


def _check_identity(spec: ToolSpec) -> None:
    """Refuses a change that does not say which of the connection's agents makes it."""
    if not spec.hints.read_only and not spec.opens_session:
        raise NotReady(
            f"several agents use this connection, and {spec.name} does not say which one calls it",
            hint=("pass the `session` that was returned to you", steps.OPEN_SESSION),
        )


def _fit_reply(reply: ToolReply, worded: Worded) -> ToolReply:
    data = fit_remarks(reply.data, worded)
    return reply if data == reply.data else reply._replace(data=data, text=as_json(data))
