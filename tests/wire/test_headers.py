"""Arguments that a tool's schema wants repeated in headers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.wire.jsonrpc import RpcError
from binnacle.wire.mcp_headers import check_arguments, decoded, encoded

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
    named = {f"mcp-param-{name}": value for name, value in headers.items()}
    assert check_arguments(named, SCHEMA, arguments) is None


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


@given(
    st.text() | st.text(alphabet="=?base64 \t\r\n") | st.sampled_from(["=?base64?=", "=?base64??=", " a", "a ", "a b"])
)
def test_any_text_goes_through_a_header(text: str):
    value = encoded(text)
    assert decoded(value) == text
    assert value.isascii()
    assert value.isprintable()
    assert value == value.strip()


@pytest.mark.parametrize("text", ["", "a", "a b", "tool_name", "file:///a%20b?c=d", "~!@#"])
def test_plain_text_stays_as_it_is(text: str):
    assert encoded(text) == text


@pytest.mark.parametrize(
    "value", ["=?base64?é?=", "=?base64?YQ?=", "=?base64?/w==?=", "=?base64?Y Q==?=", "=?base64?YR==?="]
)
def test_what_only_looks_wrapped_stands_for_nothing(value: str):
    assert decoded(value) is None
