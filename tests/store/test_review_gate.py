"""A task whose change needs a review is done when exactly that tree was accepted by those who have to."""

from dataclasses import dataclass, field

import msgspec
import pytest

from binnacle.errors import ConfigError, PersonNeeded, Refused, Unproven
from binnacle.store import (
    evidence,
    feature_merge,
    features,
    review_decisions,
    reviews,
    task_moves,
    task_requirements,
    tasks,
    undo,
    waivers,
)
from binnacle.store.transaction import StoreOutlook
from binnacle.work.actor import SYSTEM
from binnacle.work.done_gate import DoneProof, TrustedCheck
from binnacle.work.evidence import Evidence
from binnacle.work.gaming import ChangeFinding
from binnacle.work.review_policy import ReviewNeed, ReviewPolicy, ReviewRule
from binnacle.work.task import NewTask
from places import NOW
from store.verbs import AGENT, ANN, OTHER, again, do, put, see

TESTS = TrustedCheck(name="tests", definition="d1", is_for_all=True)
PROOF = DoneProof(commit_id="c1", tree="t1", base="c0", base_tree="t0", evidence=())
REWRITTEN = (ChangeFinding(kind="snapshot_rewritten", path="a.snap"),)


@dataclass
class Project:
    """What the project of a store asks for, as a person trusted it."""

    reviews: ReviewPolicy | Exception = field(default_factory=ReviewPolicy)
    checks: tuple[TrustedCheck, ...] = ()

    def find_reviews(self):
        if isinstance(self.reviews, Exception):
            raise self.reviews
        return self.reviews


@pytest.fixture
def project():
    return Project()


@pytest.fixture
def reviewed(place, store, project):
    """A store of a project whose rules a test sets."""
    return place.open(outlook=StoreOutlook(find_checks=lambda: project.checks, find_reviews=project.find_reviews))


def started(store, **fields):
    task = put(store, **fields)
    return do(store, task_moves.start, task.id, by=AGENT, force=True).task


def passed(store, **changes):
    """A proof by one result, as Binnacle makes it."""
    made = Evidence(
        id="", check_name="tests", definition="d1", commit_id="c1", tree="t1", base="c0", verdict="pass", created_at=NOW
    )
    kept = do(store, evidence.add, msgspec.structs.replace(made, **changes))
    return msgspec.structs.replace(PROOF, evidence=(kept.id,))


def put_up(store, task, proof=PROOF, *, need, tree="t1"):
    """The review of a change, as Binnacle opens it."""
    do(store, task_moves.set_status, task.id, "in_review", by=SYSTEM)
    kept = msgspec.to_builtins(proof) if proof is not None else None
    return do(store, reviews.open_review, task.id, commit="c1", tree=tree, base="c0", need=need, proof=kept, by=SYSTEM)


def finish(store, task, proof=PROOF, by=AGENT, **options):
    return do(store, task_moves.finish, task.id, proof=proof, by=by, **options).task


def refused(store, task, proof=PROOF, by=AGENT):
    """What is missing, in words."""
    with pytest.raises(Unproven) as caught:
        finish(store, task, proof, by, may_request=False)
    assert again(store, task).status != "done"
    return caught.value.message


def test_without_rules_nothing_changes(reviewed):
    assert finish(reviewed, started(reviewed)).evidence_level == "said"


@pytest.mark.parametrize("require", ["agent", "person", "both"])
def test_a_task_without_checks_is_not_done_without_its_review_either(reviewed, project, require):
    project.reviews = ReviewPolicy(default=require)
    task = started(reviewed)
    moved = do(reviewed, task_moves.finish, task.id, by=AGENT)
    assert (moved.task.status, moved.request.review) == ("in_progress", require)
    assert "has accepted the change" in moved.warnings[0]
    missing = refused(reviewed, task)
    assert ("a person has to accept exactly this tree" in missing) is (require != "agent")
    assert ("an agent that did not work on it" in missing) is (require != "person")
    assert "nobody has accepted" in refused(reviewed, task, None)
    assert "a person has to" in refused(reviewed, task, by=ANN) or require == "agent"


def test_the_acceptance_of_the_tree_closes_it_and_of_another_does_not(reviewed, project):
    project.reviews = ReviewPolicy(default="person")
    task = started(reviewed)
    other = put_up(reviewed, task, need=ReviewNeed(require="person"), tree="t9")
    result = do(reviewed, review_decisions.accept, other)
    assert (result.review.status, result.task.status) == ("accepted", "in_review")
    assert result.request is not None
    assert "exactly this tree" in refused(reviewed, task, by=SYSTEM)
    made = put_up(reviewed, task, need=ReviewNeed(require="person"))
    closed = do(reviewed, review_decisions.accept, made, message="well done").task
    assert (closed.status, closed.evidence_level, closed.evidence_commit) == ("done", "accepted", "c1")


def test_an_acceptance_does_not_replace_a_check(reviewed, project):
    project.reviews, project.checks = ReviewPolicy(default="agent"), (TESTS,)
    task = started(reviewed)
    made = put_up(reviewed, task, need=ReviewNeed(require="agent"))
    result = do(reviewed, review_decisions.judge, made, "accept", criteria=(), message="read it", by=OTHER)
    assert (result.review.status, result.task.status, result.request.checks) == ("accepted", "in_review", ("tests",))
    assert "'tests' has not passed" in refused(reviewed, task, by=SYSTEM)
    done = finish(reviewed, task, passed(reviewed), by=SYSTEM)
    assert (done.status, done.evidence_level) == ("done", "accepted")


def test_a_person_settles_findings_that_ask_for_one_and_an_agent_does_not(reviewed, project):
    project.checks = (TESTS,)
    task = started(reviewed)
    proof = passed(reviewed, decision="ask", findings=REWRITTEN)
    assert "a person has to look at it: snapshot rewritten: a.snap" in refused(reviewed, task, proof)
    made = put_up(reviewed, task, proof, need=ReviewNeed(require="both"))
    do(reviewed, review_decisions.judge, made, "accept", criteria=(), message="read it", by=OTHER)
    assert "a person has to look at it" in refused(reviewed, task, proof, by=SYSTEM)
    assert do(reviewed, review_decisions.accept, made).task.evidence_level == "accepted"


def test_nobody_settles_findings_that_the_policy_refuses(reviewed, project):
    project.checks = (TESTS,)
    task = started(reviewed)
    proof = passed(reviewed, decision="refuse", findings=REWRITTEN)
    made = put_up(reviewed, task, proof, need=ReviewNeed(require="person"))
    result = do(reviewed, review_decisions.accept, made)
    assert (result.task.status, result.request is not None) == ("in_review", True)
    assert "may not be changed so" in refused(reviewed, task, proof, by=SYSTEM)


@pytest.mark.parametrize(("decision", "is_done"), [("allow", True), ("ask", True), ("refuse", False)])
def test_findings_count_without_checks_as_well_if_somebody_looks(reviewed, project, decision, is_done):
    project.reviews = ReviewPolicy(default="person")
    proof = msgspec.structs.replace(PROOF, decision=decision, doubts=("test removed: tests/test_a.py",))
    task = started(reviewed)
    made = put_up(reviewed, task, proof, need=ReviewNeed(require="person"))
    assert (do(reviewed, review_decisions.accept, made).task.status == "done") is is_done


def test_rules_about_paths_hold_until_the_proof_shows_that_none_is_touched(reviewed, project):
    rule = ReviewRule(require="person", paths=("src/pay/**", "*.sql"))
    project.reviews = ReviewPolicy(rules=(rule,))
    task = started(reviewed)
    for untouched in ((), ("src/pay/**",), ("another",)):
        assert "it changes src/pay/**" in refused(reviewed, task, msgspec.structs.replace(PROOF, untouched=untouched))
    done = finish(reviewed, task, msgspec.structs.replace(PROOF, untouched=("*.sql", "src/pay/**")))
    assert (done.status, done.evidence_level) == ("done", "said")


def test_a_merge_by_binnacle_is_accepted_with_the_change_that_it_merges(reviewed, project):
    project.reviews = ReviewPolicy(default="person")
    task = started(reviewed)
    made = put_up(reviewed, task, need=ReviewNeed(require="person"))
    with reviewed.write(by=ANN, now=NOW) as tx:
        reviews.REVIEWS.update(tx, {"run": "run-1"}, "id = ?", made.id)
        review_decisions.accept(tx, reviews.get(tx, made.id))
    merged = msgspec.structs.replace(PROOF, commit_id="c7", tree="t7", is_merged=True)
    assert "exactly this tree" in refused(reviewed, task, merged, by=SYSTEM)
    not_merged = msgspec.structs.replace(merged, is_merged=False, change_tree="t1")
    assert "exactly this tree" in refused(reviewed, task, not_merged, by=SYSTEM)
    done = finish(reviewed, task, msgspec.structs.replace(merged, change_tree="t1"), by=SYSTEM)
    assert (done.evidence_level, done.evidence_commit) == ("accepted", "c7")


def test_rules_that_cannot_be_read_close_nothing(reviewed, project):
    task = started(reviewed)
    project.reviews = ConfigError("broken", hint="repair it")
    for by in (AGENT, ANN, SYSTEM):
        with pytest.raises(ConfigError):
            finish(reviewed, task, by=by)
    project.reviews = ReviewPolicy(problem="the rules cannot be read")
    assert "the rules cannot be read" in refused(reviewed, task)


def test_more_reviewers_are_needed_as_soon_as_a_person_asks_for_more(reviewed, project):
    project.reviews = ReviewPolicy(default="agent", reviewers=3)
    task = started(reviewed)
    made = put_up(reviewed, task, need=ReviewNeed(require="agent"))
    do(reviewed, review_decisions.judge, made, "accept", criteria=(), message="read it", by=OTHER)
    assert "an agent" in refused(reviewed, task, by=SYSTEM)


def test_a_person_waives_a_review_with_a_reason(reviewed, project):
    project.reviews = ReviewPolicy(default="person")
    task = started(reviewed)
    with pytest.raises(PersonNeeded):
        do(reviewed, task_moves.finish, task.id, waive="trust me", by=AGENT)
    done = do(reviewed, task_moves.finish, task.id, waive="a typo").task
    assert (done.status, done.evidence_level) == ("done", "waived")
    assert see(reviewed, waivers.list_waivers, task.id)[0].checks == ("a review by a person",)


def test_an_agent_does_not_take_a_task_out_of_its_review(reviewed, project):
    task = started(reviewed)
    put_up(reviewed, task, need=ReviewNeed(require="person"))
    for status in ("pending", "cancelled", "blocked", "draft", "done", "in_progress"):
        with pytest.raises(Refused):
            do(reviewed, task_moves.set_status, task.id, status, reason="because", by=AGENT)
        assert (again(reviewed, task).status, see(reviewed, reviews.find_open, task.id).status) == ("in_review", "open")
    assert do(reviewed, task_moves.reopen, task.id).task.status == "pending"


def test_an_agent_does_not_change_a_task_so_that_nobody_looks_at_it(reviewed, project):
    rules = (ReviewRule(require="person", features=("auth",)), ReviewRule(require="both", priorities=("critical",)))
    project.reviews = ReviewPolicy(rules=rules)
    for name in ("auth", "misc"):
        do(reviewed, features.add, name, {})
    task = put(reviewed, feature="auth")
    urgent = put(reviewed, priority=0)
    for one, fields in ((task, {"feature": "misc"}), (task, {"feature": None}), (urgent, {"priority": 3})):
        with pytest.raises(PersonNeeded, match="a review by"):
            do(reviewed, tasks.update, one.id, fields, by=AGENT)
    with pytest.raises(PersonNeeded):
        do(reviewed, feature_merge.merge_features, "auth", "misc", by=AGENT)
    assert do(reviewed, tasks.update, task.id, {"priority": 0}, by=AGENT).priority == 0
    assert do(reviewed, tasks.update, urgent.id, {"priority": 3}).priority == 3
    do(reviewed, feature_merge.merge_features, "auth", "misc")
    with pytest.raises(Unproven, match="a review by a person"):
        do(reviewed, tasks.add, [NewTask(title="done already", priority=0, status="done")], by=AGENT)


def test_what_was_accepted_can_be_undone_and_accepted_again(reviewed, project):
    project.reviews = ReviewPolicy(default="both")
    task = started(reviewed)
    made = put_up(reviewed, task, need=ReviewNeed(require="both"))
    first = do(reviewed, review_decisions.accept, made)
    assert (first.review.status, "agents that did not work on it" in first.warnings[0]) == ("open", True)
    with reviewed.write(by=ANN, now=NOW) as tx:
        undo.undo(tx, undo.choose_last(tx, ANN.name, count=1))
    assert not see(reviewed, reviews.find_acceptance, task.id, "t1").people
    do(reviewed, review_decisions.judge, made, "accept", criteria=(), message="read it", by=OTHER)
    assert again(reviewed, task).status == "in_review"
    assert do(reviewed, review_decisions.accept, made).task.status == "done"


def test_a_task_that_is_opened_again_needs_its_next_tree_accepted(reviewed, project):
    project.reviews = ReviewPolicy(default="person")
    task = started(reviewed)
    do(reviewed, review_decisions.accept, put_up(reviewed, task, need=ReviewNeed(require="person")))
    do(reviewed, task_moves.reopen, task.id)
    later = msgspec.structs.replace(PROOF, commit_id="c2", tree="t2")
    assert "exactly this tree" in refused(reviewed, task, later)
    assert see(reviewed, task_requirements.find_requirements, again(reviewed, task)).names == ("a review by a person",)
