"""Which of a session's tools are listed. An agent pays for the list at every turn, so it has a budget.

Nothing is taken away: a tool that is not listed is found by `tool_search` and called by `tool_call`, or by its name.
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
    """The tools of a session, and what of them is listed."""

    exposed: list[ExposedTool]
    """Those that may be called."""

    entries: list[bytes]
    """Those that are listed, as `tools/list` shows them."""


def fit_tools(
    recipe: Recipe, exposed: Sequence[ExposedTool], finders: Sequence[ExposedTool], *, first: Sequence[str]
) -> ToolsWithinBudget:
    """Lists the tools within the recipe's budget: its own whatever they cost, then those of other servers.

    Of these come `first` those named, then the others, as long as they fit: one of each server in turn, so that none
    with many leaves no room for the rest. `finders` are the tools by which the rest is found; they are there only if
    there is a rest.
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
    """The turn of each tool: how many of the same server come before it. A name begins with `mcp_` and its server's."""
    seen: Counter[str] = Counter()
    turns = {}
    for name in names:
        server = "_".join(name.split("_", 2)[:2])
        turns[name] = seen[server]
        seen[server] += 1
    return turns


def _cost(entry: bytes) -> int:
    return count(f"{entry.decode()},")
