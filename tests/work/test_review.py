"""Who has to look at a change, who may, and what a reviewer has to say."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.errors import InvalidInput
from binnacle.work.diff import Hunk, find_fold, follow_line, keep_hunks, parse_hunks
from binnacle.work.review import (
    Acceptance,
    CriterionVerdict,
    Identity,
    ReviewRemark,
    ReviewVerdict,
    check_criteria,
    count_verdicts,
    find_acceptance,
    is_independent,
    judge_remark,
    name_criteria,
    parse_place,
)
from binnacle.work.review_policy import (
    REQUIREMENTS,
    ReviewPolicy,
    ReviewRule,
    find_need,
    find_untouched,
    is_weaker,
    matches_path,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
POLICY = ReviewPolicy(
    reviewers=3,
    rules=(
        ReviewRule(require="agent", priorities=("high", "critical")),
        ReviewRule(require="person", features=("auth",)),
        ReviewRule(require="both", features=("shop",), paths=("src/pay/**", "*.sql")),
    ),
)


def need(*, paths=(), **given):
    untouched = () if paths is None else find_untouched(POLICY, paths)
    return find_need(POLICY, **({"feature": None, "priority": 2, "untouched": untouched} | given))


@pytest.mark.parametrize(
    ("given", "require", "reason"),
    [
        ({}, "none", ""),
        ({"priority": 1}, "agent", "high or critical priority"),
        ({"priority": 0, "feature": "auth"}, "person", "feature auth"),
        ({"feature": "shop", "paths": ["src/app.py"]}, "none", ""),
        ({"feature": "shop", "paths": ["src/app.py", "src/pay/in/card.py"]}, "both", "it changes src/pay/**"),
        ({"feature": "shop", "paths": None}, "both", "it changes src/pay/**"),
        ({"feature": "blog", "paths": ["src/pay/card.py"]}, "none", ""),
        ({"doubts": ["a test was removed"]}, "person", "a test was removed"),
        ({"priority": 1, "doubts": ["a test was removed"]}, "both", "a test was removed"),
    ],
)
def test_the_strictest_rule_that_matches_wins(given, require, reason):
    found = need(**given)
    assert found.require == require
    assert reason in "; ".join(found.reasons)
    assert bool(found) is (require != "none")
    assert (found.needs_person, found.needs_agents) == (require in ("person", "both"), require in ("agent", "both"))


def test_rules_that_cannot_be_read_need_a_person():
    found = find_need(ReviewPolicy(problem="they are broken"), feature=None, priority=4)
    assert (found.require, found.reasons) == ("person", ("they are broken",))


@given(st.sampled_from(REQUIREMENTS), st.sampled_from(REQUIREMENTS))
def test_of_two_requirements_at_most_one_is_weaker(one, other):
    assert is_weaker(one, other) + is_weaker(other, one) == (one != other)


@pytest.mark.parametrize(
    ("path", "pattern", "is_matched"),
    [
        ("src/pay/a/b.py", "src/pay/**", True),
        ("src/pay", "src/pay/**", False),
        ("src/payment.py", "src/pay", False),
        ("src/pay/a.py", "src/pay", True),
        ("src/pay/a.py", "src/pay/", True),
        ("a.sql", "*.sql", True),
        ("db/a.sql", "*.sql", False),
        ("db/a.sql", "**/*.sql", True),
        ("a.sql", "**/*.sql", True),
        ("a.pyc", "?.py", False),
        ("a+b.py", "a+b.py", True),
        ("line\nfeed/a.py", "**/a.py", True),
    ],
)
def test_patterns_mean_files_and_folders(path, pattern, is_matched):
    assert matches_path(path, [pattern]) is is_matched


def verdict(author="bna-1", decision="accept", *, tree="t1", is_by_person=False):
    return ReviewVerdict(
        id="bnj-1", review="bnv-1", task_id="bn-1", commit_id="c1", tree=tree, author=author,
        is_by_person=is_by_person, decision=decision, created_at=NOW,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("decisions", "reviewers", "said"),
    [
        ("", 1, None), ("a", 1, "accept"), ("c", 1, "changes"), ("a", 2, None),
        ("c", 2, "changes"), ("aa", 2, "accept"),
        ("a", 3, None), ("ac", 3, None), ("aa", 3, "accept"), ("aca", 3, "accept"), ("acc", 3, "changes"),
        ("c", 3, None),
    ],
)  # fmt: skip
def test_more_than_half_of_the_reviewers_decide(decisions, reviewers, said):
    words = {"a": "accept", "c": "changes"}
    given = [verdict(f"bna-{number}", words[one]) for number, one in enumerate(decisions)]
    assert count_verdicts(given, reviewers=reviewers).decision == said


def test_the_last_word_of_a_reviewer_counts_and_one_reviewer_is_one():
    twice = [verdict("bna-1"), verdict("bna-1"), verdict("bna-2", "changes"), verdict("bna-2")]
    assert count_verdicts(twice[:2], reviewers=3).decision is None
    assert count_verdicts(twice, reviewers=3).accepted == ("bna-1", "bna-2")


def test_an_acceptance_is_of_one_tree_and_of_a_kind():
    ann, agent = verdict("ann", is_by_person=True), verdict()
    assert not find_acceptance("t2", [ann, agent], reviewers=1).suffices("person")
    by_ann = find_acceptance("t1", [ann], reviewers=1)
    assert [by_ann.suffices(one) for one in REQUIREMENTS] == [True, False, True, False]
    by_agent = find_acceptance("t1", [agent], reviewers=1)
    assert [by_agent.suffices(one) for one in REQUIREMENTS] == [True, True, False, False]
    both = find_acceptance("t1", [agent, ann], reviewers=1)
    assert both.suffices("both")
    assert both.describe() == "ann and agent bna-1"
    assert not find_acceptance("t1", [agent, ann], reviewers=2).suffices("both")


def test_a_person_who_asks_for_changes_stops_what_another_accepted():
    bob = verdict("bob", "changes", is_by_person=True)
    ann = verdict("ann", is_by_person=True)
    assert find_acceptance("t1", [ann, bob], reviewers=1) == Acceptance(tree="t1")
    changed = [ann, bob, verdict("bob", is_by_person=True)]
    assert find_acceptance("t1", changed, reviewers=1).people == ("ann", "bob")


def test_a_reviewer_has_nothing_in_common_with_the_worker():
    worker = Identity(names=frozenset({"bna-1", "bns-1"}), processes=frozenset({(7, "boot")}))
    assert not is_independent(Identity(names=frozenset({"bna-2", "bns-1"})), worker)
    assert not is_independent(Identity(names=frozenset({"bna-2"}), processes=frozenset({(7, "boot")})), worker)
    other = Identity(names=frozenset({"bna-2"}), processes=frozenset({(7, "later"), (8, "boot")}))
    assert is_independent(other, worker)


@pytest.mark.parametrize(
    ("text", "place"),
    [("a/b.py", ("a/b.py", 0)), ("a/b.py:12", ("a/b.py", 12)), ("a:b:3", ("a:b", 3)), ("C:x", ("C:x", 0))],
)
def test_a_place_is_a_path_with_or_without_a_line(text, place):
    assert parse_place(text) == place


@pytest.mark.parametrize(
    "text",
    ["", ":3", "/etc/passwd", "~/x", "../x", "a/../b", "a//b", "./a", "a/./b", "a\x1b[2Jb", "a\nb", "a\u202eb", "a:0",
     "a\0b", "x" * 1001, "a:99999999999999"],
)  # fmt: skip
def test_a_place_outside_of_the_repository_is_refused(text):
    with pytest.raises(InvalidInput):
        parse_place(text)
    with pytest.raises(InvalidInput):
        parse_place("a.py", needs_line=True)


@given(st.text())
def test_whatever_is_called_a_place_is_one_or_refused(text):
    try:
        path, line = parse_place(text)
    except InvalidInput:
        return
    assert not path.startswith("/")
    assert ".." not in path.split("/")
    assert path.isprintable()
    assert line >= 0


def test_an_acceptance_says_something_about_each_criterion_and_what_shows_it():
    wanted = name_criteria(["it adds [check: tests]", "it is fast"])
    assert wanted == ["it adds", "it is fast"]
    adds = CriterionVerdict(criterion="it adds", met=True, place="a.py:1")
    fast = CriterionVerdict(criterion="it is fast", met=True, place="b.py:2")
    check_criteria(wanted, [adds, fast], "accept")
    check_criteria(wanted, [adds], "changes")
    for found, words in (
        ([adds], "no verdict: it is fast"),
        ([adds, CriterionVerdict(criterion="it is fast", met=True)], "nothing shows"),
        ([adds, CriterionVerdict(criterion="it is fast", met=False, place="b.py:2")], "not met"),
    ):
        with pytest.raises(InvalidInput, match=words):
            check_criteria(wanted, found, "accept")


def remark(state="sent", code="x = 1"):
    return ReviewRemark(
        id="bnm-1", review="bnv-1", task_id="bn-1", author="ann", commit_id="c1", path="a.py", line=3, code=code,
        body="why", state=state, created_at=NOW,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "code", "is_by_attempt", "now"),
    [
        ("sent", "x = 1", True, "sent"), ("seen", "x = 1", True, "seen"), ("seen", "x = 2", True, "addressed"),
        ("sent", None, True, "addressed"), ("seen", "x = 2", False, "outdated"), ("draft", "x = 2", True, "outdated"),
        ("addressed", "x = 1", False, "addressed"), ("outdated", None, True, "outdated"),
    ],
)  # fmt: skip
def test_a_comment_is_settled_when_its_line_is_another(state, code, is_by_attempt, now):
    assert judge_remark(remark(state), code, is_by_attempt=is_by_attempt) == now


def test_lines_are_followed_through_hunks():
    patch = "@@ -2,2 +2,0 @@\n-b\n-c\n@@ -5,0 +4,3 @@\n+n\n+n\n+n\n@@ -8 +10 @@\n-h\n+H\n"
    hunks = parse_hunks(patch)
    assert hunks == [Hunk(2, 2, 2, 0), Hunk(5, 0, 4, 3), Hunk(8, 1, 10, 1)]
    assert [follow_line(hunks, line) for line in range(1, 10)] == [1, None, None, 2, 3, 7, 8, None, 10]


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_a_line_that_is_followed_is_the_same_line(old, new):
    from difflib import SequenceMatcher

    hunks = [
        Hunk(one + (two > one), two - one, three + (four > three), four - three)
        for kind, one, two, three, four in SequenceMatcher(None, old, new).get_opcodes() if kind != "equal"
    ]  # fmt: skip
    for number, text in enumerate(old, 1):
        place = follow_line(hunks, number)
        assert place is None or new[place - 1] == text


@pytest.mark.parametrize(
    ("path", "lines", "size", "fold"),
    [
        ("src/app.py", 10, 100, ""), ("src/app.py", 5000, 100, "5,000 changed lines"), ("uv.lock", 3, 10, "generated"),
        ("web/dist/app.js", 3, 10, "generated"), ("a.min.js", 1, 10, "generated"),
        ("a.txt", 1, 3 << 20, "3,145,728 bytes"),
    ],
)  # fmt: skip
def test_generated_and_long_files_are_folded(path, lines, size, fold):
    assert find_fold(path, lines=lines, size=size) == fold
    assert find_fold(path, lines=lines, size=size, is_asked=True) == (fold if "bytes" in fold else "")


def test_a_patch_is_shown_from_its_first_hunk_on():
    assert (
        keep_hunks("diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n") == "@@ -1 +1 @@\n-a\n+b\n"
    )
    assert keep_hunks("diff --git a/x b/x\nold mode 1\nnew mode 2\n") == ""
