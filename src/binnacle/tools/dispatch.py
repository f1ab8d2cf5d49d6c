"""The one way a tool is called."""

import asyncio
import time
from collections.abc import Callable, Collection
from typing import Any

from binnacle.errors import BinnacleError, NotReady, TimedOut, ToolDisabled
from binnacle.tools import arguments
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.outcome import Outcome, failed, succeeded
from binnacle.tools.spec import ToolSpec

Audit = Callable[[Caller, str, dict[str, Any]], None]
"""Told of every call that may have changed something outside the store."""


class Dispatcher:
    """Calls tools of a catalog on behalf of callers."""

    def __init__(self, catalog: Catalog, *, enabled: Collection[str] | None = None, audit: Audit | None = None) -> None:
        """`enabled` names the tools that may be called, by any of their names; None enables all."""
        self.catalog = catalog
        self._enabled = (
            None if enabled is None else {catalog.find(name).spec.name for name in enabled if name in catalog}
        )
        self._audit = audit

    def enabled(self) -> list[ToolSpec]:
        """The tools that may be called, in the order of the catalog."""
        return [spec for spec in self.catalog if self._enabled is None or spec.name in self._enabled]

    async def call(self, name: str, raw: bytes, caller: Caller) -> Outcome:
        """Calls one tool. Failures are outcomes; only a cancellation leaves it."""
        began = time.perf_counter()
        prefix = False
        try:
            spec, alias = self.catalog.find(name)
            prefix = spec.prefix
            self._check_enabled(spec, name)
            values = arguments.parse(spec, alias, raw)
            _check_prerequisites(spec, caller)
            reply = await _within(spec, caller, values)
            outcome = succeeded(reply, seconds=time.perf_counter() - began)
        except BinnacleError as error:
            outcome = failed(error, seconds=time.perf_counter() - began, prefix=prefix)
        else:
            caller.state.setdefault("called", set()).add(spec.name)
        self._tell(name, caller, outcome)
        return outcome

    def _check_enabled(self, spec: ToolSpec, name: str) -> None:
        if self._enabled is not None and spec.name not in self._enabled:
            raise ToolDisabled(f"{name} is not enabled in this session", hint="tools/list names those that are")

    def _tell(self, name: str, caller: Caller, outcome: Outcome) -> None:
        found = self.catalog.find(name).spec if name in self.catalog else None
        if self._audit is not None and found is not None and found.hints.open_world and not found.hints.read_only:
            ok = not outcome.is_error
            self._audit(caller, found.name, {"ok": ok, "duration": outcome.envelope["meta"]["duration"]})


async def _within(spec: ToolSpec, caller: Caller, values: Any) -> Any:
    """Runs the tool under its deadline. Leaving it, however, leaves nothing running."""
    if spec.timeout is None:
        return await spec.run(caller, values)
    try:
        async with asyncio.timeout(spec.timeout):
            return await spec.run(caller, values)
    except TimeoutError as error:
        raise TimedOut(
            f"{spec.name} was given up after {spec.timeout:g} s", hint="try again with less to do, or later"
        ) from error


def _check_prerequisites(spec: ToolSpec, caller: Caller) -> None:
    called = caller.state.get("called", ())
    for name in spec.prerequisites:
        if name not in called:
            raise NotReady(f"{spec.name} needs {name} first", hint=f"call {name}, then this again")
