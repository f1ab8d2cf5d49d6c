"""Resources that results point to."""

import msgspec
import pytest
from msgspec import Raw

from binnacle.upstream.answers.resource_links import MAX_URI_CHARACTERS, ResourceLinks


def noted(*parts: object, known: int = 10) -> ResourceLinks:
    pointers = ResourceLinks(known)
    for part in parts:
        pointers.note("one", Raw(msgspec.json.encode([part])))
    return pointers


@pytest.mark.parametrize(
    "part",
    [
        {"type": "resource_link", "uri": "x:1", "name": "n"},
        {"type": "resource", "resource": {"uri": "x:1", "text": "t"}},
        {"role": "user", "content": {"type": "resource_link", "uri": "x:1"}},
        {"role": "user", "content": {"type": "resource", "resource": {"uri": "x:1", "blob": "AA=="}}},
    ],
)
def test_links_and_what_is_embedded_have_an_owner(part):
    assert noted(part).owner("x:1") == "one"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": "resource_link", "uri": "x:1"},
        {"type": "resource_link", "uri": 7},
        {"type": "resource_link"},
        {"type": "resource", "resource": "x:1"},
        "resource",
        {"type": "resource_link", "uri": "x:" + "1" * MAX_URI_CHARACTERS},
    ],
)
def test_nothing_else_has(part):
    pointers = noted(part, {"type": "resource_link", "uri": "x:2"})
    assert list(pointers._owners) == ["x:2"]


def test_what_is_no_list_is_passed_over():
    for parts in (None, [], Raw(b'{"type": "resource"}'), Raw(b'["resource"'), Raw(b'"resource"')):
        pointers = ResourceLinks()
        pointers.note("one", parts)
        assert not pointers._owners


def test_only_so_many_are_remembered_and_the_oldest_goes():
    link = {"type": "resource_link"}
    pointers = noted(*({**link, "uri": f"x:{number}"} for number in (1, 2, 3, 1, 4)), known=3)
    assert [number for number in range(6) if pointers.owner(f"x:{number}")] == [1, 3, 4]


def test_nobody_takes_over_what_a_more_trusted_server_told_of():
    link = Raw(b'[{"type": "resource_link", "uri": "x:1"}]')
    pointers = ResourceLinks()
    for server, rank, owner in (
        ("project", 1, "project"),
        ("user", 0, "user"),
        ("project", 1, "user"),
        ("own", 0, "own"),
    ):
        pointers.note(server, link, rank=rank)
        assert pointers.owner("x:1") == owner
