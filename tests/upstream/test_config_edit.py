"""Entries are changed in place: whatever else stands in a file stays, to the byte."""

import json
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.config.clients.config_text import ConfigText
from binnacle.config.clients.jsonc import put_at, take_at
from binnacle.config.clients.jsonc_parser import parse
from binnacle.errors import ConfigError
from binnacle.upstream.configuration.config_edit import put_server, switch_server, take_server

ENTRY = {"transport": "stdio", "command": "x", "args": ["-y"]}

FILE = """\
// shared by the team
{
    "mcpServers": {
        "first": { "command": "a" }, // keep
        /* the second */
        "second": {
            "command": "b", // why b
            "env": {},
        },
    },
    "inputs": []
}
"""


def test_a_new_file_has_servers(tmp_path):
    path = tmp_path / ".binnacle/mcp.json"
    written = put_server(str(path), "one", ENTRY)
    assert (written.is_changed, written.backup) == (True, None)
    assert json.loads(path.read_text()) == {"servers": {"one": ENTRY}}
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 != 0o077
    assert path.read_text().endswith("}\n")


def test_a_new_private_file_is_for_its_owner(tmp_path):
    path = tmp_path / "mcp.json"
    put_server(str(path), "one", ENTRY, is_private=True)
    put_server(str(path), "two", ENTRY, is_private=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_comments_order_and_layout_stay(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_text(FILE)
    written = put_server(str(path), "third", ENTRY)
    text = path.read_text()
    assert written.backup
    assert (tmp_path / "mcp.json.bak").read_text() == FILE
    lines = ('"third": {', '    "transport": "stdio",', '    "command": "x",', '    "args": ["-y"]', "},")
    added = "".join(f"        {line}\n" for line in lines)
    assert text == FILE.replace("        },\n    },\n", f"        }},\n{added}    }},\n")
    take_server(str(path), "third")
    assert path.read_text() == FILE


def test_a_server_is_switched_in_its_own_words(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_text(FILE.replace('"env": {},', '"disabled": true,'))
    switch_server(str(path), "second", enabled=True)
    assert '"disabled": false,' in path.read_text()
    assert not switch_server(str(path), "first", enabled=True).is_changed
    switch_server(str(path), "first", enabled=False)
    assert '"first": { "command": "a", "enabled": false }, // keep' in path.read_text()
    switch_server(str(path), "first", enabled=True)
    assert '"first": { "command": "a", "enabled": true }, // keep' in path.read_text()


def test_a_server_is_taken_out_with_what_is_around_it_kept(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_text("\ufeff" + FILE)
    assert take_server(str(path), "second").is_changed
    text = path.read_bytes().decode()
    assert text.startswith("\ufeff// shared by the team")
    assert "second" not in parse(ConfigText("", text[1:])).value["mcpServers"]
    assert not take_server(str(path), "nobody").is_changed


@pytest.mark.parametrize("text", ['{"servers": []}', '{"servers": {"one": 1, "one": 2}}', "[]", '{"servers": '])
def test_a_file_that_is_not_understood_is_left_as_it_is(tmp_path, text):
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"mcp\.json"):
        put_server(str(path), "one", ENTRY)
    assert path.read_text() == text
    assert [one.name for one in tmp_path.iterdir()] == ["mcp.json"]


def test_taking_from_a_file_that_is_not_there_makes_none(tmp_path):
    assert not take_server(str(tmp_path / "sub/mcp.json"), "one").is_changed
    assert not (tmp_path / "sub").exists()


names = st.text('abc é"\\/', min_size=1, max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(
    document=st.dictionaries(names, values, max_size=3),
    servers=st.dictionaries(names, values, max_size=3),
    name=names,
    value=values,
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
)
def test_any_document_comes_out_with_the_one_change(document, servers, name, value, indent):
    before = document | {"servers": servers}
    text = json.dumps(before, indent=indent)
    put = put_at(ConfigText("f", text), ("servers", name), value)
    assert json.loads(put) == before | {"servers": servers | {name: value}}
    taken = take_at(ConfigText("f", put), ("servers", name))
    assert json.loads(taken) == before | {"servers": {key: one for key, one in servers.items() if key != name}}
