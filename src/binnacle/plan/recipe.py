"""Recipes: what a kind of session gets. They are data, checked when loaded."""

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
"""Which tasks a tool may be used on: any; the session's own; or, for `near`, also its feature's and its dependents."""


class ToolRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that a recipe allows, and its limits."""

    name: str
    """Its name in the session: the tool's own name, an alias, or a pattern that matches any number of tools."""

    only: tuple[str, ...] = ()
    """The optional parameters that it takes; all of them if empty."""

    task: Scope = "any"


class RecipeStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step at the end of the prompt."""

    wordings: Step
    when: str = ""
    """A section of the prompt, without which the step is not shown."""

    unless: str = ""
    """A section of the prompt, with which the step is not shown."""


class Recipe(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a kind of session gets."""

    name: str
    description: str
    tools: tuple[ToolRule, ...]
    sections: tuple[str, ...] = ()
    """Sections of the prompt, in order; the most actionable last."""

    instructions: tuple[RecipeStep, ...] = ()
    instead: Mapping[str, str] = {}
    """Tools that agents may try although the session lacks them, and the tools to use instead."""

    commands: tuple[str, ...] = ()
    """The tools, by name or pattern, whose `bn` commands are allowed although they are not among `tools`.

    Also rights that only commands need, such as `queue_add`. Commands for people only are never among them.
    """

    created_status: Status | None = None
    """The status of all new tasks, whatever the agent asks for."""

    keeps_to_feature: bool = False
    """Whether a session about a feature lists and adds tasks of that feature by default."""

    upstreams: bool = False
    """Whether the session also gets upstream tools and the project's own scripts."""

    budget: int = 6000
    """Tokens of the prompt."""

    tool_budget: int = 10_000
    """Tokens of the list of tools. Upstream tools that do not fit are found by search."""


def expand_rules(recipe: Recipe, catalog: Catalog) -> list[ToolRule]:
    """The rules with every pattern replaced by the tools it matches. The first rule for a name wins."""
    found: dict[str, ToolRule] = {}
    for rule in recipe.tools:
        for name in matched_names(rule, catalog):
            found.setdefault(name, msgspec.structs.replace(rule, name=name))
    return list(found.values())


def matched_names(rule: ToolRule, catalog: Catalog) -> list[str]:
    """The names of the tools that a rule matches."""
    return [one.name for one in catalog if fnmatchcase(one.name, rule.name)] if "*" in rule.name else [rule.name]


def task_parameter(spec: ToolSpec) -> str | None:
    """The parameter of a tool that names a task: `task_id`, or `id` for tools named `task_…`."""
    names = ("task_id", "id") if spec.name.startswith("task_") else ("task_id",)
    return next((name for name in names if name in spec.parameters.__struct_fields__), None)


def names_of(name: str, catalog: Catalog) -> tuple[str, ...]:
    """Every name of the tool with this name."""
    if name not in catalog:
        return (name,)
    spec = catalog.find(name).spec
    return (spec.name, *(alias.name for alias in spec.aliases))


def matching(words: Iterable[str], names: Iterable[str]) -> str | None:
    """The first of some words or patterns that equals or matches one of the names."""
    known = tuple(names)
    return next((word for word in words if any(fnmatchcase(name, word) for name in known)), None)
