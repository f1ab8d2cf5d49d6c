"""Leaves out tools with hidden text, and cleans the prose of the others."""

from binnacle.upstream.listing.screening import screen_tools
from binnacle.upstream.toolsets.toolset import ToolListing, ToolsetWrapper


class ScreenedToolset(ToolsetWrapper):
    """Tools that anyone may read (`listing.screening`). Of two with one name the first counts."""

    def list_tools(self) -> ToolListing:
        listed = super().list_tools()
        screened = screen_tools([tool.entry for tool in listed.tools])
        by_name = {tool.name: tool for tool in reversed(listed.tools)}
        found = (*screened.cleaned, *screened.refused)
        return ToolListing(
            tuple(by_name[entry["name"]]._replace(entry=entry) for entry in screened.tools),
            (*listed.notes, *(f"{one.tool}: {one.what}" for one in found)),
        )
