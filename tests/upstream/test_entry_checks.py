"""Lists of servers that break the protocol: what clients can read of them is shown, and people hear about the rest."""

import msgspec
import pytest
from msgspec import Raw

from binnacle.upstream.listing.entry_checks import parse_entries
from upstream.faults_of_entries import HELD_BACK, LISTED, SHOWN

KINDS = ("tools", "prompts", "resources", "templates")


def raw(*entries):
    return [Raw(msgspec.json.encode(one)) for one in entries]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_null_or_wrong_is_left_out_and_what_cannot_be_repaired_held_back(kind):
    shown = parse_entries(kind, raw(*LISTED[kind])).entries
    assert [msgspec.json.decode(one) for one in shown] == SHOWN[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_has_no_faults_left(kind):
    shown = parse_entries(kind, raw(*LISTED[kind])).entries
    assert parse_entries(kind, shown) == (shown, ())


def test_every_entry_that_is_held_back_has_a_note():
    notes = [note for kind in KINDS for note in parse_entries(kind, raw(*LISTED[kind])).notes]
    assert tuple(note for note in notes if "not offered" in note) == HELD_BACK


def test_a_good_entry_passes_to_the_byte():
    entry = Raw(b'{ "name":"a", "inputSchema":{"type":"object" ,"x":1.0}, "own":null }')
    assert parse_entries("tools", [entry]) == ((entry,), ())


def test_the_same_fault_of_many_entries_is_one_note():
    many = raw(*({"name": f"t{number}", "title": None, "inputSchema": {"type": "object"}} for number in range(40)))
    assert parse_entries("tools", many).notes == ("t0, t1, t2 and 37 more: title left out, it is null",)


def test_null_stays_where_it_is_a_value():
    schema = {"type": "object", "properties": {"x": {"enum": [None, 1], "default": None, "const": None}}}
    entry = {"name": "a", "inputSchema": schema, "outputSchema": schema, "_meta": {"x": None}}
    assert parse_entries("tools", raw(entry)).notes == ()


def test_a_reference_within_the_schema_of_a_result_is_kept():
    defs = {"a/b": {"type": "string"}, "list": {"type": "array", "items": {"$ref": "#"}}}
    refs = {"x": {"$ref": "#/$defs/a~1b"}, "y": {"$ref": "#/$defs/list"}}
    output = {"type": "object", "properties": refs, "$defs": defs}
    entry = {"name": "a", "inputSchema": {"type": "object"}, "outputSchema": output}
    assert parse_entries("tools", raw(entry)).notes == ()


@pytest.mark.parametrize("levels", [60, 500, 5000])
def test_a_schema_without_end_is_no_trouble(levels):
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    entry = Raw(
        b'{"name":"a","inputSchema":{"type":"object","x":%b},"outputSchema":{"type":"object","x":%b}}' % (deep, deep)
    )
    assert len(parse_entries("tools", [entry]).entries) <= 1


def test_a_schema_of_a_result_that_every_client_can_compile_passes_to_the_byte():
    words = {
        "code": {"type": "string", "pattern": r"^[\w\-]+(?:\.\d{1,3})*$", "minLength": 1},
        "kind": {"enum": ["a", None], "type": ["string", "null"], "nullable": True},
        "id": {"type": "integer", "exclusiveMinimum": 0, "format": "int64"},
        "parts": {"type": "array", "items": {"anyOf": [{"$ref": "#"}, True]}, "uniqueItems": True},
        "one": {"discriminator": {"propertyName": "id"}, "oneOf": [{"$ref": "#/$defs/a%20b"}]},
    }
    output = {"type": "object", "properties": words, "$defs": {"a b": {}}, "additionalProperties": False}
    entry = {"name": "a", "inputSchema": {"type": "object"}, "outputSchema": output | {"dependencies": {"id": ["one"]}}}
    assert parse_entries("tools", raw(entry)) == (tuple(raw(entry)), ())


def test_references_that_form_a_long_chain_take_no_long_time():
    chain = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(20_000)} | {"d20000": {}}
    output = {"type": "object", "$defs": chain}
    assert parse_entries("tools", raw({"name": "a", "inputSchema": {}, "outputSchema": output})).entries
