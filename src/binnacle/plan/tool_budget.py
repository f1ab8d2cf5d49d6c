"""Chooses which of a session's tools are listed. An agent pays for the list at every turn, so it has a budget.

No tool is removed: one that is not listed is found by `tool_search` and called by `tool_call`, or by its name.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from binnacle.plan.recipe import Recipe
from binnacle.plan.token_count import count
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.tool_search import fit_budget


class ToolsWithinBudget(NamedTuple):
    """The tools of a session, and which of them are listed."""

    exposed: list[ExposedTool]
    """The tools that may be called."""

    entries: list[bytes]
    """The entries of `tools/list`."""


def fit_tools(
    recipe: Recipe, exposed: Sequence[ExposedTool], finders: Sequence[ExposedTool], *, first: Sequence[str]
) -> ToolsWithinBudget:
    """Lists tools within the recipe's budget: all of its own, then upstream tools as long as they fit.

    Upstream tools named in `first` come first, then one of each server in turn, so that a server with many tools
    leaves room for others. `finders` are the tools that find unlisted tools; they are added only if there are any.
    """
    entries = {one.name: msgspec.json.encode(one.entry()) for one in exposed}
    tokens = {name: _cost(entry) for name, entry in entries.items()}
    own = {one.name for one in exposed if one.spec.foreign is None}
    if sum(tokens.values()) <= recipe.tool_budget or len(own) == len(entries):
        return ToolsWithinBudget(list(exposed), list(entries.values()))
    finders = [one for one in finders if one.name not in entries]
    finding = [msgspec.json.encode(one.entry()) for one in finders]
    places = {name: place for place, name in enumerate(dict.fromkeys(first))}
    turns = _turns(entries)
    ordered = sorted(entries, key=lambda name: (places.get(name, len(places)), turns[name]))
    room = recipe.tool_budget - sum(map(_cost, finding))
    kept = fit_budget([(name, tokens[name]) for name in ordered], room, own)
    return ToolsWithinBudget(
        [*exposed, *finders], [*(entry for name, entry in entries.items() if name in kept), *finding]
    )


def _turns(names: Iterable[str]) -> dict[str, int]:
    """For each tool, how many tools of its server come before it. Names begin with `mcp_` and the server's name."""
    seen: Counter[str] = Counter()
    turns = {}
    for name in names:
        server = "_".join(name.split("_", 2)[:2])
        turns[name] = seen[server]
        seen[server] += 1
    return turns


def _cost(entry: bytes) -> int:
    return count(f"{entry.decode()},")
