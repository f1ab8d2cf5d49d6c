"""A tool as one session sees it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from binnacle.tools.json_schema import input_schema, output_schema
from binnacle.tools.tool_spec import ToolAlias, ToolHints, ToolSpec


class ExposedTool(NamedTuple):
    """A tool with the name and the limits that it has in a session."""

    name: str
    spec: ToolSpec
    alias: ToolAlias | None = None
    worded: Callable[[str], str] | None = None
    """Rewords the tool's descriptions so that they fit the session."""

    def entry(self) -> dict[str, Any]:
        """The entry of `tools/list`."""
        spec = self.spec
        if spec.foreign is not None:
            return {**msgspec.json.decode(spec.foreign, type=dict[str, Any]), "name": self.name}
        output = output_schema(spec)
        entry: dict[str, Any] = {
            "name": self.name,
            "title": spec.title,
            "description": f"{spec.description} {spec.when_to_use}".strip(),
            "inputSchema": input_schema(spec, self.alias),
            **({"outputSchema": output} if output else {}),
            "annotations": _annotations(spec.hints),
        }
        return _worded(entry, self.worded) if self.worded else entry


def _worded(node: Any, worded: Callable[[str], str]) -> Any:
    """An entry with every description reworded. Descriptions that become empty are removed."""
    if isinstance(node, list):
        return [_worded(one, worded) for one in node]
    if not isinstance(node, dict):
        return node
    found = {
        key: worded(value) if key == "description" and isinstance(value, str) else _worded(value, worded)
        for key, value in node.items()
    }
    return {key: value for key, value in found.items() if key != "description" or value != ""}


def _annotations(hints: ToolHints) -> Mapping[str, bool]:
    """The annotations that differ from the protocol's defaults. Reading is never destructive, always idempotent."""
    found = {"readOnlyHint": hints.read_only, "openWorldHint": hints.open_world}
    if not hints.read_only:
        found["destructiveHint"] = hints.destructive
        found |= {"idempotentHint": True} if hints.idempotent else {}
    return found
