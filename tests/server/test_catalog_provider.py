"""What the host of a catalog knows without a client."""

import json

import pytest

from binnacle.server.catalog_provider import CatalogProvider
from binnacle.server.session_lookup import Sessions


class Listed:
    """Tools that can be listed."""

    def __init__(self, *tools: dict) -> None:
        self.tools = tools

    def listing(self) -> bytes:
        return json.dumps(self.tools).encode()


async def nowhere(path: str) -> Listed:
    raise AssertionError(path)


@pytest.mark.parametrize("mark", [{}, {"x-mcp-header": "Region"}])
def test_a_schema_is_needed_beforehand_only_where_arguments_are_wanted_in_headers(mark):
    schema = {"type": "object", "properties": {"region": {"type": "string", **mark}}}
    host = CatalogProvider(Sessions(Listed({"name": "route", "inputSchema": schema}), nowhere))
    assert host.marked_schema("route") == (schema if mark else {})
    assert host.marked_schema("another") == {}
