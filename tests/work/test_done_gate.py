"""What proves that a task is done: its checks, as they are defined now, passed on the tree of its change."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from binnacle.work.done_gate import DoneProof, TrustedCheck, find_gaps, level_of_proof, requirements_of
from binnacle.work.evidence import Evidence, describe_level
from binnacle.work.gaming import ChangeFinding
from binnacle.work.verdict import Verdict
from places import NOW
from work.builders import HOUR, a_task

TESTS = TrustedCheck(name="tests", definition="d1", is_for_all=True)
LINT = TrustedCheck(name="lint", definition="d2", has_paths=True, is_for_all=True)
SLOW = TrustedCheck(name="slow", definition="d3")
REMOVED = ChangeFinding(kind="test_removed", path="tests/test_cart.py")
PROOF = DoneProof(commit_id="c1", tree="t1", base="c0", base_tree="t0", evidence=("bne-1",))


def evidence(number=1, **changes):
    made = Evidence(
        id=f"bne-{number}",
        check_name="tests",
        definition="d1",
        commit_id="c1",
        tree="t1",
        verdict="pass",
        created_at=NOW,
    )
    return replace(made, **changes)


def needs_of(project=(TESTS,), feature=(), parts=(), **fields):
    return requirements_of(a_task(**fields), feature_checks=feature, project=project, parts=parts)


def gaps(needs, *found, proof=PROOF, failures=()):
    return [one.text for one in find_gaps(needs, proof, found, failures=failures)]


def test_without_checks_nothing_is_needed():
    assert not needs_of(project=(SLOW,))
    assert gaps(needs_of(project=()), proof=None) == []


def test_a_task_needs_its_own_checks_its_criterias_its_features_and_the_projects():
    needs = needs_of(
        (TESTS, SLOW), ("docs",), checks=("slow",), acceptance_criteria=("x [check: unit]", "y [test: a::b]", "z")
    )
    assert needs.names == ("slow", "unit", "docs", "tests", "test a::b")
    assert [check.problem != "" for check in needs.checks] == [False, True, True, False]


def test_what_passed_on_the_tree_is_proven():
    assert gaps(needs_of(), evidence()) == []
    assert level_of_proof(PROOF, [evidence()]) == "checked"
    merged = replace(PROOF, is_merged=True)
    assert level_of_proof(merged, [evidence()]) == "merged", "the branch has the very tree that was checked"
    assert level_of_proof(merged, []) == "said"


@pytest.mark.parametrize("verdict", [one for one in get_args(Verdict) if one != "pass"])
def test_only_a_pass_opens_the_gate(verdict):
    assert "did not pass" in gaps(needs_of(), evidence(verdict=verdict))[0]
    both = replace(PROOF, evidence=("bne-1", "bne-2"))
    assert "did not pass" in gaps(needs_of(), evidence(), evidence(2, verdict=verdict), proof=both)[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tree": "t2"}, "another tree"),
        ({"id": "bne-9"}, "missing"),
        ({"definition": "old"}, "another definition"),
        ({"check_name": "other"}, "has not passed"),
        ({"decision": "ask", "findings": (REMOVED,)}, "test removed: tests/test_cart.py"),
        ({"decision": "ask"}, "a person has to look"),
        ({"decision": "refuse"}, "may not be changed so"),
    ],
)
def test_evidence_of_something_else_proves_nothing(changes, words):
    assert words in " ".join(gaps(needs_of(), evidence(**changes)))


def test_a_pass_after_a_failure_on_the_same_tree_is_flaky():
    failed = evidence(7, verdict="fail")
    assert "flaky" in gaps(needs_of(), evidence(), failures=[failed])[0]
    for other in (replace(failed, tree="t9"), replace(failed, definition="d9"), replace(failed, verdict="timeout")):
        assert gaps(needs_of(), evidence(), failures=[other]) == []


@pytest.mark.parametrize("changes", [{"commit_id": "c0"}, {"commit_id": ""}, {"tree": "t0"}, {"tree": ""}])
def test_without_a_change_nothing_is_done(changes):
    proof = replace(PROOF, **changes)
    assert "nothing was changed" in gaps(needs_of(), evidence(tree=proof.tree), proof=proof)[0]
    assert gaps(needs_of(kind="idea"), evidence(tree=proof.tree), proof=proof) == []


def test_a_whole_needs_no_change_of_its_own_if_a_part_was_proven():
    proven = a_task(status="done", evidence_level="checked")
    assert not needs_of(parts=(proven,)).needs_change
    for part in (
        a_task(status="done", evidence_level="said"),
        a_task(status="cancelled"),
        a_task(status="done", kind="idea", evidence_level="checked"),
    ):
        assert needs_of(parts=(part,)).needs_change


def test_a_check_whose_files_did_not_change_is_not_needed_unless_it_is_named():
    proof = replace(PROOF, unconcerned=("lint", "tests"))
    assert gaps(needs_of((LINT, TESTS)), evidence(), proof=proof) == []
    assert "'lint'" in gaps(needs_of((LINT, TESTS), checks=("lint",)), evidence(), proof=proof)[0]
    nothing = replace(proof, evidence=())
    assert "'tests'" in gaps(needs_of((LINT, TESTS)), proof=nothing)[0]
    assert gaps(needs_of((LINT,)), proof=nothing) == []
    assert level_of_proof(nothing, []) == "said"


def test_a_check_that_is_unknown_or_changed_is_never_proven():
    changed = replace(TESTS, definition="", problem="it was changed")
    assert gaps(needs_of((changed,)), evidence(definition="")) == ["it was changed"]
    assert "no check 'x' is trusted" in gaps(needs_of((), checks=("x",)), evidence(check_name="x", definition=""))[0]


def test_a_criterions_test_has_to_have_passed():
    needs = needs_of(acceptance_criteria=("rounds [test: test_rounds]",))
    assert "'test_rounds'" in gaps(needs, evidence())[0]
    assert gaps(needs, evidence(passed=("tests/a.py::test_rounds",))) == []
    assert "'test_rounds'" in gaps(needs, evidence(passed=("tests/a.py::test_rounds_up",)))[0]
    assert gaps(needs, evidence(passed=("a::test_rounds",), failed=("b::test_rounds",))) != []
    assert "have not run" in gaps(needs_of((), acceptance_criteria=("x [test: a]",)), proof=None)[0]


def test_a_level_is_said_with_its_commit_and_its_age():
    assert describe_level("", now=NOW) == ""
    assert describe_level("said", now=NOW) == "said"
    assert describe_level("merged", "0123456789ab", NOW - 2 * HOUR, now=NOW) == "checked as merged at 01234567, 2 h ago"


NAMES = st.sampled_from(["tests", "lint", "slow"])
RESULTS = st.builds(
    evidence,
    st.integers(1, 4),
    check_name=NAMES,
    definition=st.sampled_from(["d1", "d2", "d3", "old", ""]),
    tree=st.sampled_from(["t1", "t2"]),
    verdict=st.sampled_from(get_args(Verdict)),
    decision=st.sampled_from(["allow", "allow", "ask"]),
)


@given(st.lists(RESULTS, max_size=6), st.lists(NAMES, max_size=3, unique=True), st.lists(NAMES, max_size=2))
def test_whatever_is_handed_in_every_needed_check_passed_as_it_is_now_on_that_tree(found, named, unconcerned):
    project = (TESTS, LINT, SLOW)
    needs = needs_of(project, checks=tuple(named))
    proof = replace(PROOF, evidence=tuple({one.id for one in found}), unconcerned=tuple(unconcerned))
    if find_gaps(needs, proof, found):
        return
    definitions = {check.name: check.definition for check in project}
    for name in {"tests", "lint", *named} - ({"lint"} & set(unconcerned) - set(named)):
        assert any(
            (one.check_name, one.definition, one.tree, one.verdict, one.decision)
            == (name, definitions[name], "t1", "pass", "allow")
            for one in found
        )
