"""A tool as one session sees it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from binnacle.tools.schema import input_schema, output_schema
from binnacle.tools.spec import Alias, Hints, ToolSpec


class Exposed(NamedTuple):
    """A tool under the name that a session knows it by, within the limits that hold there."""

    name: str
    spec: ToolSpec
    alias: Alias | None = None

    def entry(self) -> dict[str, Any]:
        """As `tools/list` shows it."""
        spec = self.spec
        output = output_schema(spec)
        return {
            "name": self.name,
            "title": spec.title,
            "description": f"{spec.description} {spec.when_to_use}".strip(),
            "inputSchema": input_schema(spec, self.alias),
            **({"outputSchema": output} if output else {}),
            "annotations": _annotations(spec.hints),
        }


def _annotations(hints: Hints) -> Mapping[str, bool]:
    """What the protocol does not take for granted. Reading is never destructive and always idempotent."""
    found = {"readOnlyHint": hints.read_only, "openWorldHint": hints.open_world}
    if not hints.read_only:
        found["destructiveHint"] = hints.destructive
        found |= {"idempotentHint": True} if hints.idempotent else {}
    return found
