"""The catalog: every tool there is, found by any of its names."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from binnacle.errors import NotFound, did_you_mean
from binnacle.tools.tool_spec import ToolAlias, ToolSpec


class FoundTool(NamedTuple):
    """A tool, and the alias by which it was found."""

    spec: ToolSpec
    alias: ToolAlias | None


class Catalog:
    """Tools by name. Two tools never share one, aliases included."""

    def __init__(self, specs: Iterable[ToolSpec] = ()) -> None:
        self._found: dict[str, FoundTool] = {}
        self._specs: dict[str, ToolSpec] = {}
        for spec in specs:
            self.add(spec)

    def add(self, spec: ToolSpec) -> None:
        """Adds a tool. A name that is taken raises ValueError: it is a mistake in the code."""
        names = [(spec.name, None), *((alias.name, alias) for alias in spec.aliases)]
        for name, alias in names:
            if name in self._found:
                raise ValueError(f"two tools are called {name!r}: {self._found[name].spec.name} and {spec.name}")
            self._found[name] = FoundTool(spec, alias)
        self._specs[spec.name] = spec

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(self._specs.values())

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def find(self, name: str) -> FoundTool:
        """The tool called `name`; the error names the nearest one."""
        if found := self._found.get(name):
            return found
        # Not upstream tools: one with a similar name may do the same thing in the wrong place.
        own = [known for known, found in self._found.items() if found.spec.foreign is None]
        hint = did_you_mean(name, own) or "tools/list names them all"
        raise NotFound(f"no tool {name!r}", hint=hint)
