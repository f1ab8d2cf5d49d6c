"""Gives the tools of all servers unique names (`toolsets.tool_names`)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw

from binnacle.upstream.toolsets.tool_names import assign_names, display_name, find_collisions
from binnacle.upstream.toolsets.toolset import ListedTool


class OfferedTool(NamedTuple):
    """A tool as it is offered to sessions."""

    name: str
    """Valid in every client, and unique."""

    server: str
    tool: ListedTool
    entry: Raw
    """As `tools/list` shows it."""

    subject: str
    """The tool as people read it: `server:tool`."""

    is_pinned: bool = False
    """Whether its server's configuration allows it by name, not by a pattern."""

    promises_structure: bool = False
    """Whether it has an output schema."""


class PrefixedTools(NamedTuple):
    """The tools of all servers by their names, and notes for people, by server."""

    offers: dict[str, OfferedTool]
    notes: Mapping[str, Sequence[str]]


def prefix_tools(listings: Mapping[str, Sequence[ListedTool]]) -> PrefixedTools:
    """Names the tools of all servers, given by server."""
    owned = {(server, tool.called): tool for server, tools in listings.items() for tool in tools}
    notes: defaultdict[str, list[str]] = defaultdict(list)
    for public, owners in find_collisions(owned).items():
        for server, called in owners:
            notes[server].append(f"{called}: several tools would be called {public}, so its name has a hash")
    offers = {public: _offer(public, owner[0], owned[owner]) for public, owner in assign_names(owned).items()}
    return PrefixedTools(offers, notes)


def _offer(public: str, server: str, tool: ListedTool) -> OfferedTool:
    return OfferedTool(
        name=public,
        server=server,
        tool=tool,
        entry=Raw(msgspec.json.encode({**tool.entry, "name": public})),
        subject=display_name(server, tool.name),
        is_pinned=tool.is_named,
        promises_structure="outputSchema" in tool.entry,
    )
