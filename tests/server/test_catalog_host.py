"""What the host of a catalog knows without a client."""

import json

import pytest

from binnacle.server.catalog_host import CatalogHost
from binnacle.work.actor import Actor


class Listed:
    """Tools that can be listed."""

    def __init__(self, *tools: dict) -> None:
        self.tools = tools

    def listing(self) -> bytes:
        return json.dumps(self.tools).encode()


@pytest.mark.parametrize("mark", [{}, {"x-mcp-header": "Region"}])
def test_a_schema_is_needed_beforehand_only_where_arguments_are_wanted_in_headers(mark):
    schema = {"type": "object", "properties": {"region": {"type": "string", **mark}}}
    host = CatalogHost(Listed({"name": "route", "inputSchema": schema}), actor=lambda _: Actor("ann"))
    assert host.marked_schema("route") == (schema if mark else {})
    assert host.marked_schema("another") == {}
