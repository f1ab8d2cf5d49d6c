"""What a session may do with `bn`, in its shell or through `bn_run`: the same plan applies.

A command is allowed if a call that does the same is allowed. Three rules decide, in this order:

1. What is denied to the discipline is refused.
2. The limits of a tool in the plan (which parameters, which tasks) apply to commands too.
3. Anything else is allowed if the recipe's `commands` include it.

This module only checks; the command itself does the work.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from binnacle.errors import BinnacleError, InvalidInput, NextStep, ToolDisabled
from binnacle.plan.recipe import Recipe, ToolRule, matching, names_of, task_parameter
from binnacle.plan.session_plan import SessionSubject, bind, choose
from binnacle.plan.tool_limits import CREATES, check_scope, task_check
from binnacle.store.transaction import Reader
from binnacle.tools import arguments
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import disabled_tool
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.work.access import StoreAccess
from binnacle.work.actor import Actor
from binnacle.work.status import Status


class _Allowed(NamedTuple):
    rule: ToolRule
    exposed: ExposedTool


class SessionRights:
    """What one session may do, under its recipe and its discipline."""

    def __init__(self, recipe: Recipe, catalog: Catalog, about: SessionSubject) -> None:
        self.recipe = recipe
        self._catalog = catalog
        self._about = about
        self._denied = about.discipline.denied_tools if about.discipline else ()
        rules, _ = choose(recipe, catalog, about.discipline)
        bound = zip(rules, bind(recipe, rules, catalog, about), strict=True)
        self._allowed = {one.spec.name: _Allowed(rule, one) for rule, one in reversed(list(bound))}

    @property
    def created_status(self) -> Status | None:
        """The status of all new tasks, whatever the agent asks for."""
        return self.recipe.created_status

    @property
    def feature(self) -> str | None:
        """The default feature."""
        return self._about.feature if self.recipe.keeps_to_feature else None

    def check(self, tx: Reader, by: Actor, calls: Iterable[tuple[str, Mapping[str, Any] | None]]) -> None:
        """Refuses a command if none of the equivalent `calls` is allowed.

        Raises:
            ToolDisabled: the session has no tool for it.
            InvalidInput: the tool takes no such parameter in this session.
            Refused: the tool may not be used on that task.
        """
        refusals: list[BinnacleError] = []
        for tool, given in calls:
            try:
                self._check_one(tx, by, tool, given)
            except (ToolDisabled, InvalidInput) as error:
                refusals.append(error)
            else:
                return
        # The error of a tool that the session has explains the refusal best.
        said = [error for error in refusals if not isinstance(error, ToolDisabled)] or refusals
        if said:
            raise said[0]

    def _check_one(self, tx: Reader, by: Actor, tool: str, given: Mapping[str, Any] | None) -> None:
        if matching(self._denied, names_of(tool, self._catalog)):
            raise self._disabled(tool)
        found = self._allowed.get(self._own_name(tool))
        if found is not None and self._is_limited(found):
            self._check_limits(tx, by, found, given)
        elif not matching(self.recipe.commands, names_of(tool, self._catalog)):
            if found is None:
                raise self._disabled(tool)
            if given is not None:
                _parse(found.exposed, given)

    def _is_limited(self, found: _Allowed) -> bool:
        return bool(found.rule.only) or found.rule.task != "any"

    def _check_limits(self, tx: Reader, by: Actor, found: _Allowed, given: Mapping[str, Any] | None) -> None:
        if given is None:
            raise ToolDisabled(
                f"{found.exposed.name} has limits in this session that this command does not support",
                hint=f"use the tool {found.exposed.name} instead",
            )
        values = _parse(found.exposed, given)
        if found.rule.task != "any":
            name = task_parameter(found.exposed.spec)
            own = self._about.task.id if self._about.task else None
            check_scope(tx, by, getattr(values, name or ""), own=own, scope=found.rule.task)

    def check_foreign(self, tool: str) -> None:
        """Refuses an upstream tool, given its name in sessions.

        Raises:
            ToolDisabled: the recipe has no upstream tools, or the tool is denied to the discipline.
        """
        if matching(self._denied, (tool,)) or not (self.recipe.upstreams or matching(self.recipe.commands, (tool,))):
            raise self._disabled(tool)

    def _disabled(self, tool: str) -> ToolDisabled:
        own = self._own_name(tool)
        instead = {self._own_name(name): self._own_name(other) for name, other in self.recipe.instead.items()}
        other = self._allowed.get(instead.get(own, ""))
        see = NextStep("see what it has", f"plan show {self.recipe.name}")
        return disabled_tool(tool, other.exposed.name if other else None, otherwise=see)

    def _own_name(self, tool: str) -> str:
        return self._catalog.find(tool).spec.name if tool in self._catalog else tool

    def expose(self, catalog: Catalog, access: StoreAccess) -> list[ExposedTool]:
        """The tools of a catalog that the session may call, including those that only its commands may use."""
        check = task_check(access, self._about.task.id if self._about.task else None)
        own = [one.rule for name, one in self._allowed.items() if name in catalog]
        bound = bind(self.recipe, own, catalog, self._about, check=check)
        others = (
            spec
            for spec in catalog
            if spec.name not in self._allowed
            and matching(self.recipe.commands, names_of(spec.name, catalog))
            and not matching(self._denied, names_of(spec.name, catalog))
        )
        return [*bound, *(ExposedTool(spec.name, spec) for spec in others)]


def _parse(exposed: ExposedTool, given: Mapping[str, Any]) -> Any:
    """The arguments as a value of the tool's parameters in this session. Raises the tool's errors."""
    spec = exposed.spec
    if spec.name == CREATES and "status" in spec.synonyms:  # accepted and ignored, as by the tool
        given = {**given, "tasks": [{k: v for k, v in one.items() if k != "status"} for one in given["tasks"]]}
    return arguments.parse(spec, None, msgspec.json.encode(given))
