"""What servers have besides tools, taken together."""

import json

import msgspec
import pytest
from msgspec import Raw

from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig, SourceKind
from binnacle.upstream.listing.content_index import fits_template, gather_content, why_not_offered
from binnacle.upstream.supervisor import SupervisedServer


def server(name: str, kind: SourceKind = "cli", **content: list[str]) -> SupervisedServer:
    made = SupervisedServer(
        ServerConfig(name=name, transport="stdio", command="x", source=ConfigSource(kind)), lambda *_: None
    )
    for what, entries in content.items():
        setattr(made.lists, what, tuple(Raw(entry.encode()) for entry in entries))
    return made


@pytest.mark.parametrize(
    ("uri", "template", "expected"),
    [
        ("a://x/y", "a://{one}/{two}", True),
        ("a://x/y/z", "a://{one}/{two}", False),
        ("a://x/", "a://{one}/{two}", False),
        ("b://x/y", "a://{one}/{two}", False),
        ("a://x/y.txt", "a://{one}/{two}.txt", True),
        ("a://x/y.md", "a://{one}/{two}.txt", False),
        ("file:///a/b/c", "file:///{+path}", True),
        ("file:///", "file:///{+path}", False),
        ("a://x?q=1", "a://{id}{?q}", True),
        ("a://x", "a://{id}{?q}", True),
        ("a://x", "a://x", True),
        ("a://xy", "a://x", False),
        ("anything at all", "{+all}", True),
        ("a" * 5000, "{+a}" * 40 + "b", False),
        ("a" * 5000, "{+x}a" * 400 + "b", False),
    ],
)
def test_a_uri_fits_a_template(uri, template, expected):
    assert fits_template(uri, template) is expected


def test_the_first_server_that_has_a_uri_counts_and_the_other_is_told_so():
    found = gather_content(
        [
            server(
                "b",
                resources=['{"uri": "x:1"}', '{"uri": "x:1", "name": "again"}'],
                templates=['{"uriTemplate": "x:{n}"}'],
            ),
            server("a", resources=['{"uri": "x:1"}', '{"uri": "x:2"}'], templates=['{"uriTemplate": "x:{n}"}']),
        ]
    )
    assert {uri: piece.server for uri, piece in found.resources.items()} == {"x:1": "b", "x:2": "a"}
    assert [found.owners(uri) for uri in ("x:1", "x:2", "x:3", "y:1")] == [("b",), ("a",), ("b",), ()]
    assert [found.owners(uri, "a") for uri in ("x:1", "x:3", "y:1")] == [("b",), ("a",), ("a",)]
    assert found.owners("x:3", "c") == ("b", "c"), "who has no template for it takes nothing from who has"
    told = "not offered, because b has it"
    assert found.notes == (("a", f"x:1: {told}"), ("a", f"x:{{n}}: {told}"))


def test_prompts_have_names_of_their_own_and_are_else_untouched():
    found = gather_content(
        [server("a.b", prompts=['{"name": "c", "x": 1.50}']), server("a", prompts=['{"name": "b_c"}'])]
    )
    assert {(piece.server, piece.name) for piece in found.prompts.values()} == {("a.b", "c"), ("a", "b_c")}
    assert len(found.prompts) == 2
    (entry,) = [bytes(piece.entry) for piece in found.prompts.values() if piece.server == "a.b"]
    assert b'"x":1.50' in entry


def test_an_entry_without_a_name_is_passed_over():
    strange = ["7", "{}", '{"uri": 7}', '{"uri": "x:1"}', '{"name": null}']
    found = gather_content([server("a", resources=strange, templates=strange, prompts=strange)])
    assert (list(found.resources), found.templates, found.prompts) == (["x:1"], {}, {})


HIDDEN = "\u200b\x1b[31m\U000e0041"


def test_hidden_text_is_taken_out_of_what_is_only_read_and_reported():
    prompt = {
        "name": "greet",
        "title": f"Gr{HIDDEN}eet",
        "description": f"Says hello.{HIDDEN}",
        "arguments": [{"name": "who", "description": f"whom{HIDDEN}"}],
    }
    shown = {"name": f"re{HIDDEN}port", "title": f"Re{HIDDEN}port", "description": f"Of{HIDDEN} today.", "size": 1.50}
    found = gather_content(
        [
            server(
                "a",
                prompts=[json.dumps(prompt)],
                resources=[json.dumps({"uri": "x:1", **shown})],
                templates=[json.dumps({"uriTemplate": "x:{n}", **shown})],
            )
        ]
    )
    greet = msgspec.json.decode(found.prompts["mcp_a_greet"].entry)
    clean = {"title": "Greet", "description": "Says hello.", "arguments": [{"name": "who", "description": "whom"}]}
    assert greet == {"name": "mcp_a_greet", **clean}
    for piece in (found.resources["x:1"], found.templates["x:{n}"]):
        entry = msgspec.json.decode(piece.entry)
        assert (entry["name"], entry["title"], entry["description"]) == ("report", "Report", "Of today.")
    what = "1 zero-width characters, 1 terminal sequences, 1 tag characters removed"
    assert found.notes == tuple(("a", f"{name}: {what}") for name in ["x:1"] * 3 + ["x:{n}"] * 3 + ["greet"] * 3)


def test_what_a_request_has_to_repeat_must_hide_nothing():
    found = gather_content(
        [
            server(
                "a",
                prompts=[
                    json.dumps({"name": f"a{HIDDEN}"}),
                    json.dumps({"name": "b", "arguments": [{"name": f"c{HIDDEN}"}]}),
                ],
                resources=[json.dumps({"uri": f"x:{HIDDEN}1"})],
                templates=[json.dumps({"uriTemplate": f"x:{HIDDEN}{{n}}"})],
            )
        ]
    )
    assert [found.prompts, found.resources, found.templates] == [{}, {}, {}]
    assert len(found.notes) == 4
    assert all("not offered, " in note and note.isprintable() for _, note in found.notes)


def test_what_is_clean_is_listed_to_the_byte():
    entry = '{"uri": "x:1", "name":  "größer ⚠️", "size": 1.50}'
    (piece,) = gather_content([server("a", resources=[entry])]).resources.values()
    assert bytes(piece.entry).decode() == entry


@pytest.mark.parametrize(
    ("address", "by_the_person", "by_a_project"),
    [
        ("notes://{id}", True, True),
        ("https://docs.example/{page}", True, True),
        ("file:///a", True, True),
        ("file:///{+path}", True, False),
        ("FILE:///home/{user}", True, False),
        ("https://{host}/x", False, False),
        ("https://docs.example{+rest}", False, False),
        ("{+all}", False, False),
        ("{scheme}://x", False, False),
        ("binnacle://status", False, False),
        ("Binnacle://{+any}", False, False),
        ("binnacle:{x}", False, False),
    ],
)
def test_a_server_answers_for_addresses_that_are_its_own(address, by_the_person, by_a_project):
    for kind, expected in (("user", by_the_person), ("cli", by_the_person), ("project", by_a_project)):
        assert (why_not_offered(address, server("a", kind).config) == "") is expected
    found = gather_content([server("a", "project", templates=[json.dumps({"uriTemplate": address})])])
    assert (address in found.templates, bool(found.notes)) == (by_a_project, not by_a_project)
    assert (found.owners(address) != ()) is by_a_project


def test_a_projects_server_takes_no_address_from_one_that_the_person_set_up():
    same = {"resources": ['{"uri": "x:1"}'], "templates": ['{"uriTemplate": "x:{n}"}']}
    found = gather_content([server("project", "project", **same), server("mine", "user", **same)])
    assert [found.owners(uri) for uri in ("x:1", "x:2")] == [("mine",), ("mine",)]
    assert ("project", "x:1: not offered, because mine has it") in found.notes
