"""Arguments that a schema marks are repeated in headers; marks that cannot be followed are told apart."""

import json
from typing import Any

import pytest
from msgspec import Raw

from binnacle.upstream.listing.header_params import find_header_params, find_wrong_param, make_headers


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def marked(mark: Any, kind: Any = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": mark}


def headers(given: dict[str, Any], arguments: Any) -> dict[str, str]:
    return dict(make_headers(find_header_params(given), Raw(json.dumps(arguments).encode())))


def test_what_is_marked_is_repeated_wherever_it_is():
    inner = schema(deep=marked("Deep", "boolean"))
    given = schema(region=marked("Region"), count=marked("Count", "integer"), inner=inner, plain={"type": "string"})
    arguments = {"region": " é\r\n", "count": 3, "inner": {"deep": False}, "plain": "x"}
    assert find_wrong_param(given) == ""
    assert headers(given, arguments) == {
        "Mcp-Param-Region": " é\r\n",
        "Mcp-Param-Count": "3",
        "Mcp-Param-Deep": "false",
    }


@pytest.mark.parametrize("arguments", [{}, {"region": None}, {"region": {"a": 1}}, {"region": [1]}, [], None, "text"])
def test_what_is_not_there_or_cannot_be_said_is_left_out(arguments: Any):
    assert headers(schema(region=marked("Region")), arguments) == {}


@pytest.mark.parametrize(
    "given",
    [
        schema(a=marked("")),
        schema(a=marked("My Region")),
        schema(a=marked("A:B")),
        schema(a=marked("Région")),
        schema(a=marked("A\tB")),
        schema(a=marked(7)),
        schema(a=marked(["A"])),
        schema(a=marked("A", "number")),
        schema(a=marked("A", "object")),
        schema(a=marked("A", "null")),
        schema(a=marked("A", ["string", "null"])),
        schema(a={"x-mcp-header": "A"}),
        schema(a=marked("Same"), b=marked("same")),
        schema(a=marked("Same"), b=schema(c=marked("SAME"))),
        {**schema(), "x-mcp-header": "Root"},
        schema(a={"type": "array", "items": marked("A")}),
        schema(a={"anyOf": [marked("A"), {"type": "null"}]}),
        {**schema(), "$defs": {"a": marked("A")}},
        {**schema(), "allOf": [schema(a=marked("A"))]},
    ],
)
def test_marks_that_cannot_be_followed_are_found(given: dict[str, Any]):
    assert "x-mcp-header" in find_wrong_param(given)


@pytest.mark.parametrize("given", [schema(a={"default": marked("A")}), schema(a={"enum": [marked("A")]}), {}, True])
def test_data_in_a_schema_is_no_mark(given: Any):
    assert find_wrong_param(given) == ""
    assert find_header_params(given) == ()
