"""Offers the tools that a server's rules allow, under the names that they give."""

from fnmatch import fnmatchcase

from binnacle.upstream.configuration.server_config import ToolRules
from binnacle.upstream.toolsets.toolset import ListedTool, ToolListing, Toolset, ToolsetWrapper


class SelectedToolset(ToolsetWrapper):
    """Tools that pass `allow` and `deny`, renamed. Of two that get one name the first counts."""

    def __init__(self, inner: Toolset, rules: ToolRules) -> None:
        super().__init__(inner)
        self._rules = rules

    def list_tools(self) -> ToolListing:
        listed = super().list_tools()
        found: dict[str, ListedTool] = {}
        notes = [*listed.notes]
        for tool in listed.tools:
            if not is_allowed(self._rules, tool.name):
                continue
            called = self._rules.rename.get(tool.name, tool.name)
            if called in found:
                notes.append(f"{tool.name}: not offered, because another tool is called {called}")
            else:
                found[called] = tool._replace(called=called, is_named=tool.name in self._rules.allow)
        return ToolListing(tuple(found.values()), tuple(notes))


def is_allowed(rules: ToolRules, name: str) -> bool:
    """Whether rules let a tool through."""
    allowed = not rules.allow or any(fnmatchcase(name, pattern) for pattern in rules.allow)
    return allowed and not any(fnmatchcase(name, pattern) for pattern in rules.deny)
