"""Arguments that a tool's schema wants repeated in headers."""

from typing import Any

import pytest

from binnacle.wire.headers import check_arguments
from binnacle.wire.jsonrpc import RpcError

SCHEMA = {
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "limit": {"type": "integer", "x-mcp-header": "Limit"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "options": {"type": "object", "properties": {"tenant": {"type": "string", "x-mcp-header": "Tenant"}}},
        "free": {"type": "string"},
        "anything": True,
    }
}


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us-west1"}, {"region": "us-west1"}),
        ({"region": "é"}, {"region": "=?base64?w6k=?="}),
        ({"region": ""}, {"region": ""}),
        ({"region": "7"}, {"region": "7"}),
        ({"limit": 42}, {"limit": "42"}),
        ({"limit": 42}, {"limit": "42.0"}),
        ({"dry": False}, {"dry": "false"}),
        ({"options": {"tenant": "acme"}}, {"tenant": "acme"}),
        ({"options": 7, "free": "x", "anything": 1, "unknown": 2}, {}),
        ({"region": None}, {}),
        ({}, {"region": "nobody asked"}),
        (7, {}),
    ],
)
def test_headers_that_repeat_them_are_fine(arguments: Any, headers: dict[str, str]):
    check_arguments({f"mcp-param-{name}": value for name, value in headers.items()}, SCHEMA, arguments)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us-west1"}, {}),
        ({"region": "us-west1"}, {"region": "US-WEST1"}),
        ({"region": "us-west1"}, {"region": "=?base64?nonsense?="}),
        ({"region": 7}, {"region": "seven"}),
        ({"limit": 42}, {"limit": "43"}),
        ({"limit": 42}, {"limit": ""}),
        ({"dry": True}, {"dry": "1"}),
        ({"limit": 1}, {"limit": "true"}),
        ({"options": {"tenant": "acme"}}, {}),
    ],
)
def test_headers_that_do_not_are_a_mismatch(arguments: Any, headers: dict[str, str]):
    with pytest.raises(RpcError, match="does not match the body") as caught:
        check_arguments({f"mcp-param-{name}": value for name, value in headers.items()}, SCHEMA, arguments)
    assert caught.value.code == -32020
