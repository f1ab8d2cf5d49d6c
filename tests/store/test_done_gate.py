"""Nothing that has to be proven is done without a proof, whatever an agent does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.errors import BinnacleError, ConfigError, InvalidInput, PersonNeeded, Unproven, WrongStatus
from binnacle.store import (
    attempts,
    done_requests,
    evidence,
    feature_merge,
    features,
    reports,
    sessions,
    task_moves,
    tasks,
    undo,
    waivers,
)
from binnacle.store.task_deletion import delete_task
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import StoreOutlook
from binnacle.work.done_gate import DoneProof, TrustedCheck
from binnacle.work.evidence import Evidence
from binnacle.work.status import STATUSES
from binnacle.work.task import NewTask
from places import NOW
from store.verbs import AGENT, ANN, actions, again, do, put, rows, see

CHECKS = (TrustedCheck(name="tests", definition="d1", is_for_all=True), TrustedCheck(name="slow", definition="d2"))


@pytest.fixture
def gated(place, store):
    """A store of a project whose tasks all need `tests`."""
    return place.open(outlook=StoreOutlook(find_checks=lambda: CHECKS))


def prove(store, *, name="tests", definition="d1", is_merged=False, **changes):
    """A proof by one result, as Binnacle makes it."""
    made = Evidence(
        id="", check_name=name, definition=definition, commit_id="c1", tree="t1", base="c0", verdict="pass",
        is_merged=is_merged, created_at=NOW,
    )  # fmt: skip
    kept = do(store, evidence.add, made)
    fields = {"commit_id": "c1", "tree": "t1", "base": "c0", "base_tree": "t0", "evidence": (kept.id,)}
    return DoneProof(**(fields | {"is_merged": is_merged} | changes))


def started(store, **fields):
    task = put(store, **fields)
    return do(store, task_moves.start, task.id, by=AGENT, force=True).task


def test_done_is_a_request_and_the_task_stays_as_it_is(gated):
    task = started(gated)
    for force in (False, True):
        moved = do(gated, task_moves.finish, task.id, reason="built", by=AGENT, force=force)
        assert (moved.task.status, moved.task.claimed_by) == ("in_progress", AGENT.name)
        assert moved.request.checks == ("tests",)
        assert "when its checks pass" in moved.warnings[0]
    (waiting,) = see(gated, done_requests.list_waiting, task.id)
    assert (waiting.id, waiting.body) == (moved.request.report, {"summary": "built"})
    assert again(gated, task).evidence_level == ""


@pytest.mark.parametrize("is_merged", [False, True])
def test_a_proof_closes_it_with_level_commit_and_time(gated, is_merged):
    task = started(gated)
    do(gated, task_moves.finish, task.id, by=AGENT)
    proof = prove(gated, is_merged=is_merged)
    moved = do(gated, task_moves.finish, task.id, reason="built", proof=proof, by=AGENT).task
    level = "merged" if is_merged else "checked"
    assert (moved.status, moved.evidence_level, moved.evidence_commit, moved.evidence_at) == ("done", level, "c1", NOW)
    assert see(gated, done_requests.list_waiting, task.id) == []
    assert actions(gated, task.id)[-1] == "done"
    reopened = do(gated, task_moves.reopen, task.id).task
    assert (reopened.evidence_level, reopened.evidence_commit, reopened.evidence_at) == ("", "", None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tree": "t2"}, "another tree"),
        ({"evidence": ("bne-ffff",)}, "missing"),
        ({"commit_id": "c0"}, "nothing was changed"),
        ({"tree": "t0"}, "nothing was changed"),
        ({"definition": "old"}, "another definition"),
        ({"name": "slow", "definition": "d2"}, "'tests' has not passed"),
    ],
)
def test_a_proof_of_something_else_is_refused(gated, options, words):
    task = started(gated)
    with pytest.raises(Unproven, match=words) as caught:
        do(gated, task_moves.finish, task.id, proof=prove(gated, **options), by=AGENT, force=True)
    assert caught.value.details["missing"]
    assert again(gated, task).status == "in_progress"


def test_a_request_that_is_refused_keeps_why(gated):
    task = started(gated)
    do(gated, task_moves.finish, task.id, by=AGENT)
    do(gated, done_requests.refuse, task.id, "2 tests failed")
    assert see(gated, done_requests.list_waiting, task.id) == []
    assert rows(gated, "select outcome, note from report") == [("left", "2 tests failed")]
    assert again(gated, task).status == "in_progress"


def test_a_person_waives_with_a_reason_and_it_is_on_record(gated):
    task = started(gated)
    moved = do(gated, task_moves.finish, task.id, reason="tried by hand", waive="the vendor is down").task
    assert (moved.status, moved.evidence_level, moved.evidence_at) == ("done", "waived", NOW)
    assert moved.closed_reason == "tried by hand (checks waived by ann: the vendor is down)"
    (waiver,) = see(gated, waivers.list_waivers, task.id)
    assert (waiver.waived_by, waiver.reason, waiver.checks) == (ANN.name, "the vendor is down", ("tests",))
    assert "waived" in actions(gated, task.id)
    with gated.write(by=ANN, now=NOW) as tx:
        undo.undo(tx, undo.choose_last(tx, ANN.name, count=1))
    assert (again(gated, task).evidence_level, see(gated, waivers.list_waivers, task.id)) == ("", [])
    with gated.write(by=ANN, now=NOW) as tx:
        changes, _ = undo.list_changes(tx, ANN.name, limit=1)
        undo.undo(tx, changes)
    assert again(gated, task).evidence_level == "waived"


def test_agents_do_not_waive_and_nobody_waives_nothing(gated, store):
    task = started(gated)
    with pytest.raises(PersonNeeded):
        do(gated, task_moves.finish, task.id, waive="trust me", by=AGENT, force=True)
    with pytest.raises(InvalidInput, match="reason"):
        do(gated, task_moves.finish, task.id, waive=" ")
    with pytest.raises(InvalidInput, match="nothing to waive"):
        do(store, task_moves.finish, put(store).id, waive="why not")


def test_without_checks_done_is_said(store):
    moved = do(store, task_moves.finish, started(store).id, by=AGENT)
    assert (moved.task.status, moved.task.evidence_level, moved.request) == ("done", "said", None)


def test_without_its_project_a_store_closes_nothing_that_names_a_check(store):
    task = put(store, checks=("tests",))
    moved = do(store, task_moves.finish, task.id)
    assert (moved.task.status, moved.request.problems) == ("pending", ("no check 'tests' is trusted here",))


def test_a_project_that_cannot_be_read_closes_nothing(place, store):
    def broken():
        raise ConfigError("line 3: not a check")

    task = put(store)
    with pytest.raises(ConfigError):
        do(place.open(outlook=StoreOutlook(find_checks=broken)), task_moves.finish, task.id, by=AGENT)
    assert again(store, task).status == "pending"


def test_a_report_of_done_without_a_session_is_a_request(gated):
    task = started(gated)
    closed = do(gated, reports.close, "done", {"summary": "built"}, by=AGENT)
    assert (closed.settled, closed.request.checks) == (None, ("tests",))
    assert again(gated, task).status == "in_progress"
    do(gated, task_moves.finish, task.id, proof=prove(gated), by=AGENT)
    assert rows(gated, "select outcome from report") == [("done",)]


@pytest.mark.parametrize("is_proven", [False, True])
def test_a_session_that_reported_done_is_settled_as_what_was_proven(gated, is_proven):
    task = put(gated)
    session = do(gated, sessions.start, name="night", recipe="task", task_id=task.id).id
    do(gated, task_moves.start, task.id, by=AGENT, session=session)
    do(gated, reports.close, "done", {"summary": "built"}, by=AGENT, session=session)
    proof = prove(gated) if is_proven else None
    settled = do(gated, reports.settle, session, proof=proof)
    assert settled.outcome == ("done" if is_proven else "pending")
    assert ("have not run: tests" in settled.note) is not is_proven
    assert again(gated, task).evidence_level == ("checked" if is_proven else "")


@pytest.mark.parametrize("is_proven", [False, True])
@pytest.mark.parametrize("is_said", [False, True])
def test_an_attempt_of_a_run_is_done_with_a_proof_only(gated, is_proven, is_said):
    task = put(gated)
    session = do(gated, sessions.start, name="night", recipe="loop").id
    with gated.write(by=ANN, now=NOW) as tx:
        tx.run("update session set run = 'run-0001' where id = ?", session)
    claimed = do(gated, attempts.claim, session, TaskFilter())
    if is_said:
        agent = AGENT.__class__(session, "agent")
        noted = do(gated, task_moves.finish, task.id, reason="built", by=agent, session=session)
        assert noted.task.status == "in_progress"
    proof = prove(gated, is_merged=True) if is_proven else None
    left = do(gated, attempts.settle, session, claimed.number, "done", "built", max_attempts=3, proof=proof)
    assert (left.status, left.evidence_level) == (("done", "merged") if is_proven else ("pending", ""))
    (outcome, reason), = rows(gated, "select outcome, reason from iteration")  # fmt: skip
    assert outcome == ("done" if is_proven else "unfinished")
    assert ("have not run" in reason) is not is_proven


def test_a_new_task_is_not_done_already(gated, store):
    for feature in (None, "Auth "):
        if feature:
            do(gated, features.add, "auth", {})
        with pytest.raises(Unproven, match="tests"):
            put(gated, status="done", feature=feature, by=AGENT)
    with pytest.raises(Unproven):
        put(store, status="done", checks=("tests",))


def test_in_review_is_open_not_ready_and_not_held(gated):
    task = started(gated)
    moved = do(gated, task_moves.set_status, task.id, "in_review", reason="please look", by=AGENT).task
    assert (moved.status, moved.claimed_by, moved.closed_at) == ("in_review", None, None)
    assert see(gated, tasks.list_ready, limit=5) == ([], 0)
    assert see(gated, tasks.list_blocked, limit=5)[1] == 1
    with pytest.raises(WrongStatus, match="waits for a review"):
        do(gated, task_moves.finish, task.id, by=AGENT, force=True)
    with pytest.raises(WrongStatus):
        do(gated, task_moves.start, task.id, by=AGENT, force=True)
    assert do(gated, task_moves.finish, task.id, proof=prove(gated)).task.evidence_level == "checked"


def test_an_agent_takes_away_nothing_that_a_task_has_to_prove(gated):
    do(gated, features.add, "auth", {"checks": ("lint",)})
    do(gated, features.add, "shop", {})
    task = put(gated, feature="auth", checks=("slow",), acceptance_criteria=("x [test: a::b]", "y [check: unit]"))
    for changes in (
        {"checks": ()},
        {"checks": ("other",)},
        {"feature": "shop"},
        {"feature": None},
        {"acceptance_criteria": ("y [check: unit]",)},
        {"acceptance_criteria": ("x [test: a::b]",)},
        {"kind": "idea"},
    ):
        with pytest.raises(PersonNeeded, match="take away"):
            do(gated, tasks.update, task.id, changes, by=AGENT, force=True)
    with pytest.raises(PersonNeeded, match="lint"):
        do(gated, features.update, "auth", {"checks": ()}, by=AGENT)
    do(gated, tasks.update, task.id, {"checks": ("slow", "more"), "title": "better"}, by=AGENT)
    do(gated, feature_merge.merge_features, "auth", "shop", by=AGENT)
    assert see(gated, features.get, "shop").checks == ("lint",)
    assert do(gated, tasks.update, task.id, {"checks": ()}).checks == ()


def test_an_agent_words_criteria_before_its_work_begins_and_only_adds_some_afterwards(gated):
    task = put(gated, acceptance_criteria=("totals are exact",))
    do(gated, tasks.update, task.id, {"acceptance_criteria": ("totals are rounded", "it is fast")}, by=AGENT)
    do(gated, task_moves.start, task.id, by=AGENT)
    for criteria in (("totals are shown", "it is fast"), ("it is fast",), ()):
        with pytest.raises(PersonNeeded, match="the criterion 'totals are rounded'"):
            do(gated, tasks.update, task.id, {"acceptance_criteria": criteria}, by=AGENT)
    more = ("it is fast", "totals are rounded [test: test_total]", "it is documented")
    assert do(gated, tasks.update, task.id, {"acceptance_criteria": more}, by=AGENT).acceptance_criteria == more
    assert do(gated, tasks.update, task.id, {"acceptance_criteria": ()}, force=True).acceptance_criteria == ()


# What an agent can do to a store: every function that its tools and commands call.
MOVES = st.one_of(
    st.tuples(st.just("status"), st.sampled_from(STATUSES), st.booleans()),
    st.tuples(st.just("finish"), st.booleans()),
    st.tuples(st.just("update"), st.sampled_from(
        [{"checks": ()}, {"kind": "idea"}, {"kind": "bug"}, {"feature": "b"}, {"feature": None}, {"feature": "a"},
         {"acceptance_criteria": ()}, {"checks": ("tests", "own")}]
    )),
    st.tuples(st.just("feature"), st.sampled_from([{"checks": ()}, {"checks": ("x",)}])),
    st.tuples(st.just("merge")),
    st.tuples(st.just("split")),
    st.tuples(st.just("report"), st.sampled_from(["done", "partial", "stuck"])),
    st.tuples(st.just("settle")),
    st.tuples(st.just("delete")),
    st.tuples(st.just("add")),
)  # fmt: skip


def make_move(tx, task_id, move):  # noqa: C901 - a table of what there is
    """One thing that an agent tries."""
    match move:
        case ("status", status, force):
            task_moves.set_status(tx, task_id, status, reason="because", force=force)
        case ("finish", force):
            task_moves.finish(tx, task_id, reason="done", force=force)
        case ("update", changes):
            tasks.update(tx, task_id, changes, force=True)
        case ("feature", changes):
            features.update(tx, "a", changes)
        case ("merge",):
            feature_merge.merge_features(tx, "a", "b")
        case ("split",):
            task_moves.split(tx, task_id, [NewTask(title="left part"), NewTask(title="other half")], force=True)
        case ("report", kind):
            body = {"summary": "s", "remaining": "r", "reason": "r"}
            reports.close(tx, kind, body)
        case ("settle",):
            reports.settle(tx, tx.session or "bns-0001")
        case ("delete",):
            delete_task(tx, task_id, force=True)
        case ("add",):
            tasks.add(tx, [NewTask(title="already there", status="done", feature="a")])


@given(
    moves=st.lists(MOVES, min_size=1, max_size=8),
    has_own=st.booleans(),
    names_project=st.booleans(),
    in_session=st.booleans(),
)
def test_no_sequence_of_an_agents_changes_leads_to_done_without_a_proof(
    place, store, moves, has_own, names_project, in_session
):
    """Each example begins with an empty store, and leaves it in pieces."""
    from binnacle.store.maintenance.importer import clear

    project = CHECKS if names_project else (TrustedCheck(name="slow", definition="d2"),)
    gated = place.open(outlook=StoreOutlook(find_checks=lambda: project))
    do(gated, clear)
    do(gated, features.add, "a", {"checks": ("lint",)})
    do(gated, features.add, "b", {})
    fields = {"checks": ("own",)} if has_own else {"acceptance_criteria": ("x [check: own]",)}
    task = put(gated, "the work", feature="a", **fields)
    session = do(gated, sessions.start, name="night", recipe="task", task_id=task.id).id if in_session else None
    for move in moves:
        try:
            do(gated, make_move, task.id, move, by=AGENT, session=session)
        except BinnacleError:
            continue
    statuses = dict(rows(gated, "select id, status from task"))
    assert statuses.get(task.id) != "done"
    if names_project:
        assert "done" not in statuses.values()
    gated.close()
