"""Entries of lists that break the protocol, as ordinary servers write them, and what clients are shown instead."""

from typing import Any

OBJECT = {"type": "object"}
Entries = dict[str, list[Any]]


def _result_of(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}}


CANNOT_COMPILE: list[dict[str, Any]] = [
    _result_of({"type": "string", "required": True}),
    _result_of({"type": "number", "minimum": 0, "exclusiveMinimum": True}),
    _result_of({"type": "number", "minimum": "0"}),
    _result_of({"enum": []}),
    _result_of({"enum": {"a": 1}}),
    _result_of({"nullable": True}),
    _result_of({"allOf": [5]}),
    _result_of({"items": 5}),
    _result_of({"pattern": "(?i)abc"}),
    _result_of({"pattern": "(?P<year>[0-9]+)"}),
    _result_of({"pattern": r"a\-b"}),
    _result_of({"pattern": r"^a\Z"}),
    _result_of({"pattern": "a++"}),
    _result_of({"id": "x"}),
    _result_of({"$id": 5}),
    _result_of({"$ref": "#x"}) | {"#x": {}},
    _result_of({"$ref": "#/list/" + "9" * 5000}) | {"list": [{}]},
    _result_of({"$ref": "#/$defs/a"}) | {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    {"type": "object", "additionalProperties": "no"},
    {"type": "object", "patternProperties": {"(": {}}},
]
"""Schemas of results that make the official TypeScript SDK refuse the complete list; many are ordinary elsewhere."""

LISTED: Entries = {
    "tools": [
        {"name": "good", "description": "Fine.", "inputSchema": OBJECT, "x-own": None},
        {"name": "nulls", "title": None, "description": None, "inputSchema": OBJECT, "outputSchema": None}
        | {"annotations": None, "icons": None, "_meta": None, "execution": None},
        {"name": "inner", "inputSchema": OBJECT, "annotations": {"title": None, "readOnlyHint": True}}
        | {"icons": [{"src": "data:,", "mimeType": None, "sizes": None}, {"src": None}]},
        {"name": "empty_schema", "inputSchema": {}},
        {"name": "null_schema", "inputSchema": None},
        {"name": "no_schema"},
        {"name": "loose_schema", "inputSchema": {"type": ["object", "null"], "properties": None, "required": None}},
        {
            "name": "odd_properties",
            "inputSchema": {
                "type": "object",
                "properties": {"any": True, "none": None, "kept": {"default": None, "description": None}},
                "required": "any",
            },
        },
        {"name": "output_of_a_list", "inputSchema": OBJECT, "outputSchema": {"type": "array"}},
        {"name": "empty_output", "inputSchema": OBJECT, "outputSchema": {}},
        {"name": "lost_reference", "inputSchema": OBJECT}
        | {"outputSchema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/Gone"}}}},
        {"name": "unknown_type", "inputSchema": OBJECT}
        | {"outputSchema": {"type": "object", "properties": {"x": {"type": "text"}}}},
        {"name": "odd_types", "title": 5, "description": ["x"], "inputSchema": OBJECT, "annotations": "none"},
        {"name": "odd_hints", "inputSchema": OBJECT, "annotations": {"readOnlyHint": "yes", "destructiveHint": None}},
        {"name": "input_of_a_text", "inputSchema": {"type": "string"}},
        {"name": "input_of_words", "inputSchema": "anything"},
        {"description": "Has no name.", "inputSchema": OBJECT},
        {"name": 5, "inputSchema": OBJECT},
        "no object",
        *(
            {"name": f"cannot_compile_{number}", "inputSchema": OBJECT, "outputSchema": schema}
            for number, schema in enumerate(CANNOT_COMPILE)
        ),
        {"name": "schema_of_that_name", "inputSchema": OBJECT, "outputSchema": {"$id": "careless:a", "type": "object"}},
    ],
    "prompts": [
        {"name": "greet", "arguments": None, "title": None, "description": None},
        {"name": "ask", "arguments": [{"name": "who", "description": None, "required": None}, {"description": "x"}]},
        {"name": None},
    ],
    "resources": [
        {"uri": "careless://one", "name": "one", "mimeType": None, "size": None, "description": None}
        | {"annotations": {"audience": None, "priority": None, "lastModified": None}},
        {"uri": "careless://two", "name": "two", "size": "7"}
        | {"annotations": {"audience": ["everyone"], "priority": 7, "lastModified": "yesterday"}},
        {"uri": "careless://nameless"},
        {"name": "without address"},
    ],
    "templates": [
        {"uriTemplate": "careless://t/{id}", "name": "t", "description": None, "mimeType": None, "annotations": None},
        {"uriTemplate": "careless://u/{id}", "name": None},
    ],
}

SHOWN: Entries = {
    "tools": [
        {"name": "good", "description": "Fine.", "inputSchema": OBJECT, "x-own": None},
        {"name": "nulls", "inputSchema": OBJECT},
        {"name": "inner", "inputSchema": OBJECT, "annotations": {"readOnlyHint": True}, "icons": [{"src": "data:,"}]},
        {"name": "empty_schema", "inputSchema": OBJECT},
        {"name": "null_schema", "inputSchema": OBJECT},
        {"name": "no_schema", "inputSchema": OBJECT},
        {"name": "loose_schema", "inputSchema": OBJECT},
        {
            "name": "odd_properties",
            "inputSchema": {
                "type": "object",
                "properties": {"any": {}, "none": {}, "kept": {"default": None}},
                "required": [],
            },
        },
        {"name": "output_of_a_list", "inputSchema": OBJECT},
        {"name": "empty_output", "inputSchema": OBJECT, "outputSchema": OBJECT},
        {"name": "lost_reference", "inputSchema": OBJECT},
        {"name": "unknown_type", "inputSchema": OBJECT},
        {"name": "odd_types", "inputSchema": OBJECT},
        {"name": "odd_hints", "inputSchema": OBJECT, "annotations": {}},
        *({"name": f"cannot_compile_{number}", "inputSchema": OBJECT} for number in range(len(CANNOT_COMPILE))),
        {"name": "schema_of_that_name", "inputSchema": OBJECT, "outputSchema": OBJECT},
    ],
    "prompts": [{"name": "greet"}, {"name": "ask", "arguments": [{"name": "who"}]}],
    "resources": [
        {"uri": "careless://one", "name": "one", "annotations": {}},
        {"uri": "careless://two", "name": "two", "annotations": {}},
    ],
    "templates": [{"uriTemplate": "careless://t/{id}", "name": "t"}],
}

HELD_BACK = (
    "input_of_a_text: not offered, it has a wrong inputSchema: it is a schema of 'string', not of an object",
    "input_of_words: not offered, it has a wrong inputSchema: it is no object",
    "tool 17: not offered, it has no name",
    "tool 18: not offered, it has a wrong name: it is no text",
    "tool 19: not offered, it is no object",
    "prompt 3: not offered, it has no name",
    "careless://nameless: not offered, it has no name",
    "without address: not offered, it has no uri",
    "careless://u/{id}: not offered, it has no name",
)
"""What is said of those that cannot be shown."""
