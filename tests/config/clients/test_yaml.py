"""YAML is changed where our entry is, and nowhere else."""

import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st

from binnacle.config.clients import yaml
from binnacle.config.clients.config_text import ConfigText, EntryPlace
from binnacle.errors import ConfigError

PLACE = EntryPlace("extensions", {"enabled": True, "cmd": "bn", "args": ["mcp", "serve"]})
ENTRY = "  binnacle:\n    enabled: true\n    cmd: bn\n    args:\n    - mcp\n    - serve\n"
WHOLE = f"extensions:\n{ENTRY}"


def put(text: str) -> str:
    return yaml.put(ConfigText("c.yaml", text), PLACE)


def take(text: str) -> str:
    return yaml.take(ConfigText("c.yaml", text), PLACE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", WHOLE),
        ("# mine\n", f"# mine\n{WHOLE}"),
        ("A: 1\n", f"A: 1\n{WHOLE}"),
        ("A: 1", f"A: 1\n{WHOLE}".rstrip("\n")),
        ("A: 1\r\n# end\r\n", f"A: 1\n# end\n{WHOLE}".replace("\n", "\r\n")),
        ("---\nA: 1\n...\n", f"---\nA: 1\n{WHOLE}...\n"),
        ("A: |+\n  text\n\n", f"A: |+\n  text\n\n{WHOLE}"),
        ("extensions:\n  x:\n    a: 1\nB: 2\n", f"extensions:\n{ENTRY}  x:\n    a: 1\nB: 2\n"),
        (
            "extensions: # all\n  # about x\n\n  x: {a: 1}\n",
            f"extensions: # all\n{ENTRY}  # about x\n\n  x: {{a: 1}}\n",
        ),
        ("extensions:\n x: 1\n", "extensions:\n" + ENTRY.replace("  ", " ", 1).replace("\n  ", "\n ") + " x: 1\n"),
        ("extensions: {}\n", 'extensions: {"binnacle": {"enabled": true, "cmd": "bn", "args": ["mcp", "serve"]}}\n'),
        (
            "extensions: {x: 1}\n",
            'extensions: {"binnacle": {"enabled": true, "cmd": "bn", "args": ["mcp", "serve"]}, x: 1}\n',
        ),
    ],
)
def test_the_entry_is_put_in_as_the_file_is_laid_out(before, after):
    assert put(before) == after
    assert put(after) == after
    assert pyyaml.safe_load(after)["extensions"]["binnacle"] == PLACE.entry
    assert take(after) == before


def test_a_whole_file_in_flow_style_stays_one():
    after = put("{A: 1}")
    assert pyyaml.safe_load(after) == {"A": 1, "extensions": {"binnacle": PLACE.entry}}
    assert "\n" not in after


def test_an_outdated_entry_is_mended_where_it_is_and_what_a_person_added_is_kept():
    ours = "  binnacle:\n    uri: http://x\n    envs: {A: 'b'}\n    cmd: old\n"
    text = f"extensions:\n  x: 1\n{ours}\n  # of y\n  y: |\n   z\n"
    after = put(text)
    assert pyyaml.safe_load(after)["extensions"]["binnacle"] == {"envs": {"A": "b"}} | PLACE.entry
    assert after.startswith("extensions:\n  x: 1\n  binnacle:\n")
    assert after.endswith("\n\n  # of y\n  y: |\n   z\n")
    assert put(after) == after
    assert take(after) == "extensions:\n  x: 1\n\n  # of y\n  y: |\n   z\n"
    assert put("extensions:\n  binnacle: {cmd: bn}\n") == (
        'extensions:\n  binnacle: {"cmd": "bn", "enabled": true, "args": ["mcp", "serve"]}\n'
    )


def test_comments_outlive_the_entry():
    text = "A: 1\nextensions:\n  # mine\n  binnacle:\n    cmd: bn # x\n  # more\nB: 2\n"
    assert take(text) == "A: 1\n  # mine\n  # more\nB: 2\n"


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("a: [1\n", ":2:1: ", "expected ',' or ']'"),
        ("a: 1\n b: 2\n", ":2:3: ", "mapping values are not allowed"),
        ("a:\n\t- 1\n", ":2:1: ", "cannot start any token"),
        ("a: \x00", ":1:4: ", "does not allow"),
        ("- 1\n", ":1:1: ", "the file is not a mapping"),
        ("a: 1\n---\nb: 1\n", ":2:1: ", "but found another document"),
        ("extensions:\nB: 1\n", ":1:1: ", "'extensions' is not a mapping"),
        ("extensions: []\n", ":1:1: ", "'extensions' is not a mapping"),
        ("extensions:\n  binnacle:\n", ":2:3: ", "'binnacle' is not a mapping"),
        ("extensions: {}\nB: 1\nextensions: {}\n", ":3:1: ", "'extensions' occurs twice"),
        ("extensions:\n  binnacle: {}\n  binnacle: {}\n", ":3:3: ", "'binnacle' occurs twice"),
        ("a: &x {b: 1}\nextensions: *x\n", ":2:1: ", "is an alias"),
        ("a: !mine 1\n", ":1:4: ", "could not determine a constructor"),
        ("a: |\n  text", ": ", "cannot be changed safely"),
        ("[" * 5000, ": ", "cannot be read"),
    ],
)
def test_what_cannot_be_changed_is_said_with_its_place(text, place, says):
    with pytest.raises(ConfigError) as caught:
        put(text)
    assert caught.value.message.startswith(f"c.yaml{place}")
    assert says in caught.value.message
    assert caught.value.hint


MEMBERS = [
    "k{n}: 1 # one\n",
    "k{n}: {{a: 'x', b: [1]}}\n",
    "k{n}:\n  a: 1\n  # inside\n  b:\n  - 1\n  - {{c: 2}}\n",
    "k{n}: |\n  text\n    more\n\n  binnacle:\n",
    "k{n}: >-\n  folded\n  text\n",
    'k{n}: "a\n  b"\n',
    "k{n}:\n",
    "'q{n}': yes\n",
]
PARTS = st.sampled_from([*MEMBERS, "# a comment\n", "\n", "# binnacle: x\n"])


def _block(parts: list[str], indent: str) -> str:
    text = "".join(part.format(n=number) for number, part in enumerate(parts))
    return "".join(indent + line if line.strip() else line for line in text.splitlines(keepends=True))


@st.composite
def documents(draw) -> str:
    parts = draw(st.lists(PARTS, max_size=5))
    text = _block(parts, "")
    if draw(st.booleans()):
        indent = draw(st.sampled_from(["  ", "    ", " "]))
        below = [draw(st.sampled_from(MEMBERS)), *draw(st.lists(PARTS, max_size=4))]
        lead = draw(st.sampled_from(["", "  # mine\n", "\n"]))
        container = f"extensions:{draw(st.sampled_from(['', ' # x']))}\n{lead}{_block(below, indent)}"
        text = text + container if draw(st.booleans()) else container + text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(documents())
def test_the_entry_joins_what_is_there_and_is_taken_out_again(text):
    before, after = pyyaml.safe_load(text) or {}, put(text)
    extensions = before.get("extensions", {}) | {"binnacle": PLACE.entry}
    assert pyyaml.safe_load(after) == before | {"extensions": extensions}
    assert put(after) == after
    assert take(after) == text
