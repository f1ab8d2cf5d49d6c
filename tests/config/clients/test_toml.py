"""TOML is changed where our table is, and nowhere else."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.config.clients import toml
from binnacle.config.clients.config_text import ConfigText, EntryPlace
from binnacle.errors import ConfigError

PLACE = EntryPlace("mcp_servers", {"command": "bn", "args": ["mcp", "serve"]})
TABLE = '[mcp_servers.binnacle]\ncommand = "bn"\nargs = ["mcp", "serve"]\n'


def put(text: str) -> str:
    return toml.put(ConfigText("c.toml", text), PLACE)


def take(text: str) -> str:
    return toml.take(ConfigText("c.toml", text), PLACE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", TABLE),
        ("# mine\n", f"# mine\n\n{TABLE}"),
        ('model = "x"\n', f'model = "x"\n\n{TABLE}'),
        ('model = "x"', f'model = "x"\n\n{TABLE}'.rstrip("\n")),
        ("[a]\nb = 1\n\n# the end\n", f"[a]\nb = 1\n\n# the end\n\n{TABLE}"),
        ("[a]\r\nb = 1\r\n", f"[a]\nb = 1\n\n{TABLE}".replace("\n", "\r\n")),
        ('[mcp_servers.x]\ncommand = "y"\n[z]\n', f'[mcp_servers.x]\ncommand = "y"\n[z]\n\n{TABLE}'),
        ('mcp_servers.x.command = "y"\n', f'mcp_servers.x.command = "y"\n\n{TABLE}'),
        ("a = nan\n", f"a = nan\n\n{TABLE}"),
        ("[[a]]\n[[a]]\n", f"[[a]]\n[[a]]\n\n{TABLE}"),
    ],
)
def test_the_table_is_put_at_the_end(before, after):
    assert put(before) == after
    assert tomllib.loads(after)["mcp_servers"]["binnacle"] == PLACE.entry
    assert put(after) == after
    assert take(after) == before


def test_an_outdated_table_is_mended_where_it_is_and_what_a_person_added_is_kept():
    text = """\
a = 1
  [ mcp_servers . "binnacle" ]  # ours
# over http, once
url = "http://127.0.0.1:1/mcp"
args = [
  "old", # ]
]
startup_timeout_sec = 5  # slow disk

[mcp_servers.binnacle.env]
BN_USER = "ann"

[mcp_servers.binnacle.http_headers]
X = "y"

# of z
[z]
text = \"\"\"
[mcp_servers.binnacle]
\"\"\"
"""
    after = put(text)
    assert tomllib.loads(after)["mcp_servers"]["binnacle"] == {
        "command": "bn",
        "args": ["mcp", "serve"],
        "startup_timeout_sec": 5,
        "env": {"BN_USER": "ann"},
    }
    for kept in ("# over http, once", "startup_timeout_sec = 5  # slow disk", text[text.index("\n# of z") :]):
        assert kept in after
    assert put(after) == after
    assert take(after) == 'a = 1\n\n# of z\n[z]\ntext = """\n[mcp_servers.binnacle]\n"""\n'


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {x = {command = "y"}}  # all of them\n[z]\n',
        '[mcp_servers]  # all\nx = {command = "y"}\nbinnacle = {command = "old", args = []}\n[z]\na = 1\n',
        'mcp_servers.binnacle.command = "old"\n[z]\n',
        '[mcp_servers.binnacle.env]\nA = "b"\n',
        "mcp_servers = {}\n",
        'mcp_servers = {binnacle = {url = "http://x", tool_timeout_sec = 1.5}}\n',
    ],
)
def test_other_ways_to_write_it_are_understood(text):
    before, after = tomllib.loads(text), put(text)
    wanted = before["mcp_servers"].get("binnacle", {}) | PLACE.entry
    wanted.pop("url", None)
    assert tomllib.loads(after) == before | {"mcp_servers": before["mcp_servers"] | {"binnacle": wanted}}
    assert put(after) == after
    removed = tomllib.loads(take(after))
    before["mcp_servers"].pop("binnacle", None)
    assert {"mcp_servers": {}} | removed == before


def test_an_entry_that_says_the_same_is_left_as_it_is_written():
    text = "[mcp_servers]\nbinnacle.args = ['mcp',\n 'serve']\nbinnacle.command = 'bn'"
    assert put(text) == text


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("[a\n", ":1:3: ", "Expected ']'"),
        ("\n\na = \n", ":3:5: ", "Invalid value"),
        ("a = 1\r\na = 2\r\n", ":2:6: ", "overwrite"),
        ('a = "x', ":1:7: ", "Unterminated string"),
        ("mcp_servers = []\n", ": ", "'mcp_servers' is not a table"),
        ('[mcp_servers]\nbinnacle = "bn"\n', ": ", "'binnacle' is not a table"),
        ("[[mcp_servers.binnacle]]\n", ": ", "'binnacle' is not a table"),
        ("[mcp_servers.binnacle]\n[mcp_servers.binnacle]\n", ":2:", "twice"),
    ],
)
def test_what_cannot_be_changed_is_said_with_its_place(text, place, says):
    with pytest.raises(ConfigError) as caught:
        put(text)
    assert caught.value.message.startswith(f"c.toml{place}")
    assert says in caught.value.message
    assert caught.value.hint


PARTS = st.sampled_from(
    [
        "# a comment\n",
        "\n",
        "[{n}]\n",
        "[{n}] # [x]\nk = 1\n",
        'k{n} = "[mcp_servers.binnacle]"\n',
        'k{n} = """\n[mcp_servers.binnacle]\n# no\n"""\n',
        "k{n} = '''\n[x]'''\n",
        "k{n} = [\n  [1], # ]\n  [2],\n]\n",
        "k{n} = {{ a = 'x', b = [1] }}\n",
        "[mcp_servers.s{n}]\ncommand = 'y'\n",
        "[mcp_servers.s{n}.env]\nA = 'b' # c\n\n# about what follows\n",
        "[[t{n}]]\nk = 1\n\n\n",
        "  [ 'q{n}' . \"r\" ]\n",
    ]
)


@st.composite
def documents(draw) -> str:
    text = "".join(part.format(n=number) for number, part in enumerate(draw(st.lists(PARTS, max_size=8))))
    text = text if draw(st.booleans()) else text.rstrip("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(documents())
def test_the_table_joins_what_is_there_and_leaves_it_as_it_was(text):
    before, after = tomllib.loads(text), put(text)
    servers = before.get("mcp_servers", {}) | {"binnacle": PLACE.entry}
    assert tomllib.loads(after) == before | {"mcp_servers": servers}
    assert after.startswith(text)
    assert put(after) == after
    assert text.startswith(take(after))
    assert text.removeprefix(take(after)).strip() == ""


@given(documents(), documents())
def test_the_table_is_taken_out_of_the_middle(text, rest):
    rest = rest.replace("s0", "z0").replace("\r\n", "\n")
    middle = put(text.replace("\r\n", "\n"))
    try:
        expected = tomllib.loads(f"{middle}\n[zz]\n{rest}")
    except tomllib.TOMLDecodeError:
        return  # the two do not go together
    after = tomllib.loads(take(f"{middle}\n[zz]\n{rest}"))
    del expected["mcp_servers"]["binnacle"]
    assert {"mcp_servers": {}} | after == expected
