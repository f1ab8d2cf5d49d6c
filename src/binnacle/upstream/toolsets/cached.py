"""Keeps a listing until its server lists something else, because checking it costs far more than a call."""

from collections.abc import Callable

from binnacle.upstream.toolsets.toolset import ToolListing, Toolset, ToolsetWrapper


class CachedToolset(ToolsetWrapper):
    """Lists its tools once for each value of `version`, compared by identity."""

    def __init__(self, inner: Toolset, version: Callable[[], object]) -> None:
        super().__init__(inner)
        self._version = version
        self._cached: tuple[object, ToolListing] | None = None

    def list_tools(self) -> ToolListing:
        version = self._version()
        if self._cached is None or self._cached[0] is not version:
            self._cached = version, self._inner.list_tools()
        return self._cached[1]

    def forget(self) -> None:
        """Lists the tools again the next time, because something else, such as a pin, may have changed."""
        self._cached = None
