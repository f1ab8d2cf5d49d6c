"""Recipes: what a kind of session gets. Written as data, checked when they are loaded."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from binnacle.work.status import Status

Scope = Literal["any", "own", "near"]
"""Which tasks a tool may be used on: any, the session's own, or also those of its feature and its dependents."""

Step = tuple[str, ...]
"""Wordings of one sentence or step, the preferred first: the first one whose tools are all there is used."""


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

    created_status: Status | None = None
    """What new tasks get, whatever is asked for."""

    upstreams: bool = False
    """Whether the tools of other MCP servers join."""

    budget: int = 6000
    """Tokens of the prompt."""
