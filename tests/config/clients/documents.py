"""JSON with comments for tests: random texts, and a reader that shares nothing with the one under test."""

import json
import re
from typing import Any

from hypothesis import strategies as st

STRING = r'"(?:\\.|[^"\\])*"'


def plain(text: str) -> Any:
    """What a text says: comments and trailing commas taken out, the rest read by the standard library."""
    text = text.removeprefix("\ufeff")
    text = re.sub(rf"({STRING})|//[^\r\n]*|/\*.*?\*/", lambda m: m[1] or " ", text, flags=re.DOTALL)
    text = re.sub(rf"({STRING})|,(?=\s*[}}\]])", lambda m: m[1] or "", text)
    return json.loads(text)


SPACE = st.sampled_from(["", "", " ", "  ", "\t", "\n", "\n\n", "\n  ", "\n\t", " \n    "])
COMMENT = st.sampled_from(
    ["// note\n", '// "binnacle": {\n', "/* note */", "/**/", "/* {\n [ */", "/* // */", '/* "servers": {} */ ', "//\n"]
)
TRIVIA = st.lists(st.one_of(SPACE, SPACE, SPACE, COMMENT), max_size=3).map("".join)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-999, 999),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.sampled_from(['"', "//", "/* x */", "}", ",}", "\\", "binnacle", "日本", "\u2028"]),
)
WRITTEN = st.one_of(SCALARS.map(lambda value: json.dumps(value, ensure_ascii=False)), st.just('"\\ud800"'))
KEYS = st.one_of(st.sampled_from(["a", "b", "mcp", "//", '"', "", "url"]), st.text(max_size=4)).filter(
    lambda key: key not in ("servers", "binnacle")
)


@st.composite
def values(draw, depth: int = 2) -> str:
    """The text of any value."""
    kind = draw(st.sampled_from(["scalar", "scalar", "array", "object"] if depth else ["scalar"]))
    if kind == "scalar":
        return draw(WRITTEN)
    if kind == "array":
        items = draw(st.lists(values(depth=depth - 1), max_size=3))
        return draw(bracketed(items, "[]"))
    pairs = draw(st.lists(st.tuples(KEYS, values(depth=depth - 1)), max_size=3))
    return draw(objects(pairs))


@st.composite
def objects(draw, pairs: list[tuple[str, str]]) -> str:
    """The text of an object with these members, laid out anyhow."""
    members = [f"{json.dumps(key)}{draw(TRIVIA)}:{draw(TRIVIA)}{value}" for key, value in pairs]
    return draw(bracketed(members, "{}"))


@st.composite
def bracketed(draw, items: list[str], brackets: str) -> str:
    parts = [draw(TRIVIA) + item + draw(TRIVIA) for item in items]
    comma = draw(st.sampled_from(["", ","])) if items else ""
    return brackets[0] + ",".join(parts) + comma + draw(TRIVIA) + brackets[1]


@st.composite
def pretty(draw) -> str:
    """A document as a program would write it."""
    data: dict[str, Any] = dict(draw(st.lists(st.tuples(KEYS, SCALARS), max_size=3)))
    if draw(st.booleans()):
        data["servers"] = dict(draw(st.lists(st.tuples(KEYS, st.just({"command": "x", "args": []})), max_size=3)))
    indent = draw(st.sampled_from([None, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":")])) if indent is None else None
    return json.dumps(data, indent=indent, separators=separators)


@st.composite
def wild(draw) -> str:
    """A document as nobody would write it."""
    pairs = draw(st.lists(st.tuples(KEYS, values()), max_size=3, unique_by=lambda pair: pair[0]))
    if draw(st.booleans()):
        servers = draw(st.lists(st.tuples(KEYS, values()), max_size=3, unique_by=lambda pair: pair[0]))
        pairs.insert(draw(st.integers(0, len(pairs))), ("servers", draw(objects(servers))))
    return draw(TRIVIA) + draw(objects(pairs)) + draw(TRIVIA)


@st.composite
def documents(draw) -> str:
    """A JSONC text with an object at its top, perhaps with `servers`, without our entry."""
    text = draw(st.one_of(pretty(), wild())) + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text
