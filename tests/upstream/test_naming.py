"""Names of upstream tools: valid everywhere, one tool each, the same tomorrow."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.upstream.toolsets.tool_names import MAX_NAME_CHARACTERS, assign_names, display_name, find_collisions

WORDS = st.text(alphabet="ab_-.é ", max_size=4)
OWNERS = st.lists(st.tuples(WORDS | st.text(max_size=90), WORDS | st.text(max_size=90)), max_size=12)


def names(*owners: tuple[str, str]) -> dict[tuple[str, str], str]:
    return {owner: name for name, owner in assign_names(owners).items()}


def test_a_tool_carries_the_name_of_its_server():
    assert assign_names([("github", "create_issue")]) == {"mcp_github_create_issue": ("github", "create_issue")}
    assert display_name("github", "create_issue") == "github:create_issue"


def test_what_clients_do_not_accept_is_replaced():
    assert names(("My Server.v2", "dotted.tool/name")) == {
        ("My Server.v2", "dotted.tool/name"): "mcp_My_Server_v2_dotted_tool_name"
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a_b", "c"), ("a", "b_c")),
        (("a", "read.file"), ("a", "read_file")),
        (("数据", "x"), ("文件", "x")),
        (("a", "x" * 80), ("a", "x" * 81)),
    ],
)
def test_two_tools_never_share_a_name(one, other):
    both = names(one, other)
    assert len(set(both.values())) == 2
    assert all(re.search(r"_[0-9a-f]{8}$", name) for name in both.values())
    assert names(other, one) == both
    assert names(other, one, ("z", "z"))[one] == both[one]


def test_a_name_that_is_too_long_is_cut_with_a_hash_that_depends_on_nothing_else():
    long = ("server", "tool_" * 30)
    (name,) = names(long).values()
    assert len(name) == MAX_NAME_CHARACTERS
    assert names(long, ("other", "tool"), ("server", "tool_" * 29))[long] == name


@pytest.mark.parametrize("prefix", ["mcp__binnacle__", "mcp_binnacle_", "binnacle__", "binnacle-", "binnacle_"])
def test_a_name_is_still_valid_with_what_a_client_puts_before_it(prefix):
    found = assign_names([("a-server-with-a-long-name", "tool_" * number) for number in range(1, 40)])
    assert len(found) == 39
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", prefix + name) for name in found)


def test_a_tool_that_looks_like_a_hashed_one_does_not_take_its_name():
    pair = [("a_b", "c"), ("a", "b_c")]
    hashed = names(*pair)[pair[0]]
    imitation = ("a", hashed.removeprefix("mcp_a_"))
    found = names(*pair, imitation)
    assert found[pair[0]] == hashed
    assert found[imitation] not in (hashed, found[pair[1]])


def test_collisions_are_named():
    pair = [("a_b", "c"), ("a", "b_c")]
    assert find_collisions([*pair, ("x", "y")]) == {"mcp_a_b_c": sorted(pair)}
    assert find_collisions([("x", "y"), ("x", "y")]) == {}


@given(OWNERS)
def test_names_are_valid_and_every_tool_has_exactly_one(owners):
    found = assign_names(owners)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,48}", name) for name in found)
    assert sorted(found.values()) == sorted(set(owners))


@given(OWNERS, st.randoms(use_true_random=False))
def test_names_do_not_depend_on_the_order(owners, random):
    shuffled = list(owners)
    random.shuffle(shuffled)
    assert assign_names(shuffled) == assign_names(owners)


@given(OWNERS, OWNERS)
def test_a_tool_has_its_plain_name_its_hashed_name_or_a_longer_hash(some, more):
    alone, together = names(*some), names(*some, *more)
    for owner, name in alone.items():
        (only,) = names(owner).values()
        assert name == only or re.search(r"_[0-9a-f]{8,32}$", name)
        assert together[owner] == name or re.search(r"_[0-9a-f]{8,32}$", together[owner])
