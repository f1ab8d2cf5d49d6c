"""How the fixture's tools, resources and prompts are written down."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from binnacle.server.request import McpRequest

Arguments = dict[str, Any]
Result = dict[str, Any]
Run = Callable[[McpRequest, Arguments], Awaitable[Result]]


class Tool(NamedTuple):
    """A tool and what `tools/list` says of it."""

    run: Run
    definition: dict[str, Any]


class Tools(dict[str, Tool]):
    """Tools by name, in the order they were written."""

    def tool(self, *strings: str, **integers: int) -> Callable[[Run], Run]:
        """Adds a function as a tool: parameters that are text are required, numbers have a default."""

        def add(run: Run) -> Run:
            properties: dict[str, Any] = {name: {"type": "string", "description": name} for name in strings}
            for name, value in integers.items():
                properties[name] = {"type": "integer", "description": name, "default": value}
            schema = {"type": "object", "properties": properties, "required": list(strings)}
            name = run.__name__
            self[name] = Tool(run, {"name": name, "description": run.__doc__ or name, "inputSchema": schema})
            return run

        return add


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def image(data: str) -> dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": "image/png"}


def embedded(uri: str, value: str, kind: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": value}}


def content(*parts: dict[str, Any]) -> Result:
    return {"content": list(parts), "isError": False}


def said(value: str) -> Result:
    """A result that is one piece of text."""
    return content(text(value))
