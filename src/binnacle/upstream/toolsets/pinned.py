"""Compares tools with their pins, and withholds what has changed."""

from binnacle.errors import ConfigError
from binnacle.upstream.configuration.server_config import PinMode
from binnacle.upstream.listing.pins import Pins
from binnacle.upstream.toolsets.toolset import ToolListing, Toolset, ToolsetWrapper


class PinnedToolset(ToolsetWrapper):
    """Tools as they were pinned, or whose changes the server's mode allows."""

    def __init__(self, inner: Toolset, pins: Pins, *, server: str, mode: PinMode) -> None:
        super().__init__(inner)
        self._pins = pins
        self._server = server
        self._mode: PinMode = mode

    def list_tools(self) -> ToolListing:
        listed = super().list_tools()
        try:
            changes = self._pins.check(self._server, [tool.entry for tool in listed.tools], mode=self._mode)
        except ConfigError as error:
            note = f"its tools cannot be compared with those seen before: {error.message}"
            return ToolListing((), (*listed.notes, note))
        held = {one.tool for one in changes if one.held}
        notes = (f"{one.tool}: {one.kind}{', withheld' if one.held else ''}" for one in changes)
        return ToolListing(tuple(tool for tool in listed.tools if tool.name not in held), (*listed.notes, *notes))
