"""Recipes: what a kind of session gets. Written as data, checked when they are loaded."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal

import msgspec
from msgspec import Struct

from binnacle.plan.tool_mentions import Step
from binnacle.tools.catalog import Catalog
from binnacle.tools.tool_spec import ToolSpec
from binnacle.work.status import Status

Scope = Literal["any", "own", "near"]
"""Which tasks a tool may be used on: any, the session's own, or also those of its feature and its dependents."""


class ToolRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that a recipe allows, and within which limits."""

    name: str
    """As the session sees it: the tool's own name or an alias; a pattern may match any number of tools."""

    only: tuple[str, ...] = ()
    """The optional parameters it takes; all of them when empty."""

    task: Scope = "any"


class Recipe(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a kind of session gets."""

    name: str
    description: str
    tools: tuple[ToolRule, ...]
    sections: tuple[str, ...] = ()
    """Of the prompt, in order; the most actionable last."""

    instructions: tuple[Step, ...] = ()
    instead: Mapping[str, str] = {}
    """A tool that agents try although it is not here, and the one to use."""

    commands: tuple[str, ...] = ()
    """The tools, by name or pattern, that `bn` commands reach although they are not among `tools`.

    Also acts that only commands do, as `queue_add`. What only people do is never among them.
    """

    created_status: Status | None = None
    """What new tasks get, whatever is asked for."""

    keeps_to_feature: bool = False
    """Whether a session about a feature sees, and adds, tasks of that feature where none is named."""

    upstreams: bool = False
    """Whether the tools of other MCP servers join, and those of the project's own scripts."""

    budget: int = 6000
    """Tokens of the prompt."""

    tool_budget: int = 10_000
    """Tokens of the list of tools. Those of other servers that do not fit are found by search."""


def expand_rules(recipe: Recipe, catalog: Catalog) -> list[ToolRule]:
    """The rules with every pattern replaced by the tools it matches, by their own names; no name is there twice."""
    found: dict[str, ToolRule] = {}
    for rule in recipe.tools:
        for name in matched_names(rule, catalog):
            found.setdefault(name, msgspec.structs.replace(rule, name=name))
    return list(found.values())


def matched_names(rule: ToolRule, catalog: Catalog) -> list[str]:
    """The names of the tools that a rule stands for."""
    return [one.name for one in catalog if fnmatchcase(one.name, rule.name)] if "*" in rule.name else [rule.name]


def task_parameter(spec: ToolSpec) -> str | None:
    """What a tool calls the task it is about: `task_id`, or `id` if it is one of the tasks' own tools."""
    names = ("task_id", "id") if spec.name.startswith("task_") else ("task_id",)
    return next((name for name in names if name in spec.parameters.__struct_fields__), None)


def names_of(name: str, catalog: Catalog) -> tuple[str, ...]:
    """Every name of the tool that one of them is."""
    if name not in catalog:
        return (name,)
    spec = catalog.find(name).spec
    return (spec.name, *(alias.name for alias in spec.aliases))


def matching(words: Iterable[str], names: Iterable[str]) -> str | None:
    """The first of some words or patterns that is, or matches, one of the names."""
    known = tuple(names)
    return next((word for word in words if any(fnmatchcase(name, word) for name in known)), None)
