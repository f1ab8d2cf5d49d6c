"""Reports are kept at once and settled when their session ends, on both engines."""

from datetime import timedelta

import pytest

from binnacle.errors import Ambiguous, NotFound, Refused
from binnacle.store import (
    comments,
    dependencies,
    interim_reports,
    lapsed_claims,
    questions,
    reports,
    sessions,
    task_deletion,
    task_moves,
)
from binnacle.store.views.task_details import load_details
from binnacle.work.actor import SYSTEM
from binnacle.work.report import SILENT_REASON
from places import NOW
from store.verbs import AGENT, ANN, OTHER, actions, again, contents, do, put, rows, see


def bind(store, task, *, by=AGENT, recipe="report", claim=True) -> str:
    """A session bound to `task`, which it holds."""
    session = do(store, sessions.start, recipe=recipe, task_id=task.id, by=by).id
    if claim:
        do(store, task_moves.start, task.id, by=by, session=session)
    return session


def close(store, session, kind, /, *, by=AGENT, **body):
    return do(store, reports.close, kind, body, by=by, session=session)


def settle(store, session, *, by=AGENT):
    return do(store, reports.settle, session, by=by, session=session)


def run(store, task, kind=None, /, *, by=AGENT, **body):
    """A whole session: takes the task, reports and ends."""
    session = bind(store, task, by=by)
    if kind:
        close(store, session, kind, by=by, **body)
    return settle(store, session, by=by)


def said_on(store, task) -> list[str]:
    return [comment.body for comment in see(store, comments.list_comments, task.id)]


def test_a_closing_report_is_kept_and_waits_for_the_end_of_the_session(store):
    task = put(store)
    session = bind(store, task)
    _, report, settled, _ = close(store, session, "done", summary="built it")
    assert settled is None
    assert (report.session, report.task_id, report.author, report.settled_at) == (session, task.id, AGENT.name, None)
    assert again(store, task).status == "in_progress"
    assert actions(store, report.id) == ["reported"]


def test_done_finishes_the_task_with_the_summary(store):
    task = put(store)
    after = put(store, depends_on=(task.id,))
    settled = run(store, task, "done", summary="built it")
    assert (settled.outcome, settled.report, settled.unblocked) == ("done", "done", (after.id,))
    now = again(store, task)
    assert (now.status, now.closed_reason, now.claimed_by) == ("done", "built it", None)
    assert said_on(store, task) == []


def test_settling_again_changes_nothing(store):
    task = put(store)
    session = bind(store, task)
    close(store, session, "partial", summary="half", remaining="half")
    assert settle(store, session).outcome == "pending"
    before = contents(store)
    assert settle(store, session) is None
    assert settle(store, session, by=SYSTEM) is None
    assert contents(store) == before


def test_the_last_closing_report_wins(store):
    task = put(store)
    session = bind(store, task)
    close(store, session, "stuck", reason="no idea")
    close(store, session, "partial", summary="half", remaining="half")
    close(store, session, "done", summary="all of it")
    assert settle(store, session).outcome == "done"
    found = rows(store, "select kind, outcome from report where settled_at is not null order by number")
    assert found == [("stuck", "superseded"), ("partial", "superseded"), ("done", "done")]
    assert [one.report.kind for one in see(store, reports.load_outcomes, task.id).tried] == ["done"]


def test_done_of_what_is_done_already_is_fine(store):
    task = put(store)
    session = bind(store, task)
    close(store, session, "done", summary="built it")
    do(store, task_moves.finish, task.id, reason="merged by hand", force=True)
    assert settle(store, session).outcome == "done"
    assert again(store, task).closed_reason == "merged by hand"


@pytest.mark.parametrize("by", [AGENT, SYSTEM, OTHER, ANN])
@pytest.mark.parametrize("kind", ["done", "partial", "stuck", "blocked"])
def test_whoever_settles_the_claim_is_released(store, by, kind):
    task = put(store)
    session = bind(store, task)
    close(store, session, kind, summary="s", remaining="r", reason="r", on="the vendor")
    settled = settle(store, session, by=by)
    now = again(store, task)
    assert now.claimed_by is None
    assert now.claim_expires_at is None
    assert now.status == settled.outcome == {"done": "done", "blocked": "blocked"}.get(kind, "pending")


def test_done_with_open_parts_falls_back_to_partial_and_says_why(store):
    task = put(store)
    part = put(store, "the part", parent=task.id)
    settled = run(store, task, "done", summary="built it")
    assert settled.outcome == "pending"
    assert part.id in settled.note
    assert again(store, task).status == "pending"
    (comment,) = said_on(store, task)
    assert "not finished" in comment
    assert "built it" in comment
    assert part.id in see(store, reports.load_outcomes, task.id).remaining


def test_done_with_open_dependencies_waits_for_them(store):
    task, other = put(store), put(store)
    session = bind(store, task)
    do(store, dependencies.add, task.id, other.id, by=AGENT)
    close(store, session, "done", summary="built it")
    assert settle(store, session).outcome == "pending"
    now = again(store, task)
    assert (now.status, now.open_dependencies) == ("pending", 1)


def test_partial_requeues_the_task_with_what_remains(store):
    task = put(store)
    settled = run(store, task, "partial", summary="the model", remaining="the view")
    assert settled.outcome == "pending"
    assert again(store, task).status == "pending"
    (comment,) = see(store, comments.list_comments, task.id)
    assert (comment.author, comment.body) == (AGENT.name, "Partly done: the model\n\nRemaining: the view")
    assert see(store, reports.load_outcomes, task.id).remaining == "the view"


def test_a_session_without_a_closing_report_was_stuck(store):
    task = put(store)
    settled = run(store, task)
    assert (settled.report, settled.outcome) == ("stuck", "pending")
    assert again(store, task).status == "pending"
    assert said_on(store, task) == [f"Stuck: {SILENT_REASON}"]
    assert see(store, reports.load_outcomes, task.id).stuck == 1


def test_three_stucks_in_a_row_block_the_task_with_the_reasons(store):
    task = put(store)
    assert run(store, task, "stuck", reason="no network").outcome == "pending"
    assert run(store, task).outcome == "pending"
    assert run(store, task, "stuck", reason="still none", by=OTHER).outcome == "blocked"
    assert again(store, task).status == "blocked"
    last = said_on(store, task)[-1]
    for reason in ("3 times", "no network", SILENT_REASON, "still none"):
        assert reason in last


def test_what_was_unblocked_gets_three_more_tries(store):
    task = put(store)
    for _ in range(3):
        run(store, task, "stuck", reason="no network")
    do(store, task_moves.reopen, task.id)
    assert see(store, reports.load_outcomes, task.id).stuck == 0
    assert [run(store, task, "stuck", reason="again").outcome for _ in range(3)] == ["pending", "pending", "blocked"]


def test_a_partial_between_breaks_the_row(store):
    task = put(store)
    run(store, task, "stuck", reason="one")
    run(store, task, "stuck", reason="two")
    run(store, task, "partial", summary="some", remaining="more")
    assert run(store, task, "stuck", reason="three").outcome == "pending"
    found = see(store, reports.load_outcomes, task.id)
    assert (found.stuck, found.remaining) == (1, "more")
    assert [one.said.partition("\n")[0] for one in found.tried] == [
        "Stuck: three", "Partly done: some", "Stuck: two", "Stuck: one",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [lambda t: t.id, lambda t: t.id[3:], lambda t: t.title.upper(), lambda t: f"needs {t.id}, really."],
    ids=["id", "digits", "title", "prose"],
)
@pytest.mark.parametrize("kind", ["upstream_task", None])
def test_blocked_on_a_task_waits_for_it(store, name, kind):
    task, other = put(store), put(store, "write the schema")
    settled = run(store, task, "blocked", on=name(other), kind=kind, detail="no tables yet")
    assert settled.outcome == "pending"
    now = again(store, task)
    assert (now.status, now.open_dependencies) == ("pending", 1)
    (waits,) = see(store, load_details, task.id).depends_on
    assert waits.id == other.id
    assert waits.reason.endswith("no tables yet")
    do(store, task_moves.finish, other.id)
    assert again(store, task).open_dependencies == 0


@pytest.mark.parametrize(("on", "kind"), [("the vendor", "external"), ("a task nobody made", "upstream_task")])
def test_blocked_on_anything_else_waits_for_people(store, on, kind):
    task = put(store)
    assert run(store, task, "blocked", on=on, kind=kind, detail="no key").outcome == "blocked"
    assert again(store, task).status == "blocked"
    assert said_on(store, task) == [f"Blocked: {on}: no key"]


def test_blocked_on_what_is_done_waits_for_people(store):
    task, other = put(store), put(store, "write the schema")
    do(store, task_moves.finish, other.id)
    assert run(store, task, "blocked", on=other.id, detail="a column is missing").outcome == "blocked"
    assert again(store, task).status == "blocked"


def test_what_was_reported_is_said_by_the_agent_whoever_settles(store):
    task = put(store)
    session = bind(store, task)
    close(store, session, "blocked", on="the vendor")
    settle(store, session, by=ANN)
    assert [comment.author for comment in see(store, comments.list_comments, task.id)] == [AGENT.name]


def test_what_is_external_is_no_task_even_if_one_is_called_so(store):
    task, other = put(store), put(store, "the vendor")
    assert run(store, task, "blocked", on=other.title, kind="external").outcome == "blocked"


def test_blocked_on_what_waits_for_it_is_blocked_without_a_circle(store):
    task = put(store)
    after = put(store, depends_on=(task.id,))
    assert run(store, task, "blocked", on=after.id, kind="upstream_task").outcome == "blocked"
    itself = put(store)
    assert run(store, itself, "blocked", on=itself.id, kind="upstream_task").outcome == "blocked"


@pytest.mark.parametrize("kind", ["partial", "stuck", "blocked", None])
def test_an_open_blocking_question_means_needs_input_until_it_is_answered(store, kind):
    task = put(store)
    session = bind(store, task)
    asked = do(store, questions.ask, task.id, "Which one?", blocking=True, by=AGENT, session=session)
    if kind:
        close(store, session, kind, summary="s", remaining="r", reason="x", on="the vendor")
    settled = settle(store, session)
    assert (settled.outcome, settled.questions) == ("needs_input", (asked.id,))
    assert again(store, task).status == "needs_input"
    do(store, questions.answer, asked.id, "this one")
    assert again(store, task).status == "pending"
    (told,) = see(store, reports.load_outcomes, task.id).questions
    assert (told.text, told.answer) == ("Which one?", "this one")


def test_needs_input_keeps_what_the_task_was_found_to_wait_for(store):
    task, other = put(store), put(store)
    session = bind(store, task)
    do(store, questions.ask, task.id, "Which one?", blocking=True, by=AGENT, session=session)
    close(store, session, "blocked", on=other.id)
    assert settle(store, session).outcome == "needs_input"
    assert again(store, task).open_dependencies == 1


@pytest.mark.parametrize(("blocking", "answered"), [(False, False), (True, True)])
def test_other_questions_do_not_hold_the_task_up(store, blocking, answered):
    task = put(store)
    session = bind(store, task)
    asked = do(store, questions.ask, task.id, "Which one?", blocking=blocking, by=AGENT, session=session)
    if answered:
        do(store, questions.answer, asked.id, "this one")
    close(store, session, "partial", summary="s", remaining="r")
    assert settle(store, session).outcome == "pending"


def test_a_blocking_question_does_not_undo_what_is_done(store):
    task = put(store)
    session = bind(store, task)
    do(store, questions.ask, task.id, "Which one?", blocking=True, by=AGENT, session=session)
    close(store, session, "done", summary="chose one")
    assert settle(store, session).outcome == "done"


@pytest.mark.parametrize("by", [AGENT, SYSTEM])
@pytest.mark.parametrize("kind", ["done", "partial", "stuck", "blocked"])
def test_a_task_taken_by_someone_else_is_left_to_them(store, kind, by):
    task = put(store)
    session = bind(store, task)
    close(store, session, kind, summary="s", remaining="r", reason="x", on="the vendor")
    do(store, task_moves.release, task.id, force=True)
    taken = do(store, task_moves.start, task.id, by=OTHER).task
    settled = settle(store, session, by=by)
    assert settled.outcome == "left"
    assert OTHER.name in settled.note
    now = again(store, task)
    assert (now.status, now.claimed_by, now.fence) == ("in_progress", OTHER.name, taken.fence)
    (comment,) = see(store, comments.list_comments, task.id)
    assert comment.author == AGENT.name
    assert "Nothing was changed" in comment.body
    assert settle(store, session, by=by) is None


def test_a_task_taken_and_given_back_by_someone_else_is_left_alone_too(store):
    task = put(store)
    session = bind(store, task)
    do(store, task_moves.release, task.id, force=True)
    do(store, task_moves.start, task.id, by=OTHER)
    do(store, task_moves.release, task.id, by=OTHER)
    close(store, session, "done", summary="built it")
    assert settle(store, session).outcome == "left"
    assert again(store, task).status == "pending"


def test_a_person_who_takes_over_keeps_the_task(store):
    task = put(store)
    session = bind(store, task)
    do(store, task_moves.start, task.id, by=ANN, force=True)
    assert settle(store, session).outcome == "left"
    assert again(store, task).claimed_by == ANN.name
    assert "ended without a report" in said_on(store, task)[0]


@pytest.mark.parametrize("close_it", [task_moves.finish, task_moves.skip])
def test_a_task_closed_by_a_person_stays_closed(store, close_it):
    task = put(store)
    session = bind(store, task)
    close(store, session, "partial", summary="s", remaining="r")
    do(store, close_it, task.id, reason="enough", force=True)
    before = again(store, task)
    assert settle(store, session).outcome == "left"
    assert again(store, task) == before
    assert "already" in said_on(store, task)[0]


@pytest.mark.parametrize("status", ["blocked", "needs_input", "draft"])
def test_what_a_person_made_of_the_task_meanwhile_stands(store, status):
    task = put(store)
    session = bind(store, task)
    close(store, session, "stuck", reason="x")
    do(store, task_moves.set_status, task.id, status, reason="wait", force=True)
    assert settle(store, session).outcome == "left"
    assert again(store, task).status == status


def test_a_silent_session_adds_nothing_to_what_it_moved_itself(store):
    task = put(store)
    session = bind(store, task)
    do(store, task_moves.finish, task.id, reason="set by hand", by=AGENT, session=session)
    assert settle(store, session).outcome == "left"
    assert said_on(store, task) == []
    assert settle(store, session) is None


def test_a_lapsed_claim_that_nobody_took_still_counts(store):
    task = put(store)
    session = bind(store, task)
    close(store, session, "done", summary="slowly")
    do(store, lapsed_claims.release_lapsed, now=NOW + timedelta(hours=2), by=SYSTEM)
    assert settle(store, session).outcome == "done"


def test_a_claim_made_before_the_session_began_is_the_sessions(store):
    task = put(store)
    do(store, task_moves.start, task.id, by=AGENT)
    session = bind(store, task, claim=False)
    assert settle(store, session, by=SYSTEM).outcome == "pending"
    assert again(store, task).claimed_by is None


def test_an_earlier_claim_of_others_that_is_over_does_not_matter(store):
    task = put(store)
    do(store, task_moves.start, task.id, by=OTHER)
    do(store, task_moves.release, task.id, by=OTHER)
    session = bind(store, task, claim=False)
    close(store, session, "done", summary="built it")
    assert settle(store, session).outcome == "done"


def test_what_was_flagged_as_blocking_shows_when_settling(store):
    task = put(store)
    session = bind(store, task)
    do(store, interim_reports.flag, "the spec contradicts itself", severity="blocking", by=AGENT, session=session)
    do(store, interim_reports.flag, "a typo", severity="info", by=AGENT, session=session)
    close(store, session, "stuck", reason="x")
    close(store, session, "partial", summary="s", remaining="r")
    assert settle(store, session).flags == ("the spec contradicts itself",)
    assert run(store, task, "done", summary="s").flags == ()


def test_a_killed_server_leaves_reports_that_are_settled_before_the_next_session(place):
    store = place.open()
    task = put(store)
    killed = bind(store, task)
    close(store, killed, "partial", summary="the model", remaining="the view")
    store.close()  # nobody settled

    store = place.open()
    following = bind(store, task, claim=False, by=OTHER)
    (settled,) = do(store, reports.settle_abandoned, task.id, but=following, by=OTHER, session=following)
    assert (settled.session, settled.outcome) == (killed, "pending")
    assert again(store, task).claimed_by is None
    assert see(store, reports.load_outcomes, task.id).remaining == "the view"
    assert see(store, comments.list_comments, task.id)[0].author == AGENT.name
    assert do(store, reports.settle_abandoned, task.id, but=following, by=OTHER, session=following) == []
    do(store, task_moves.start, task.id, by=OTHER, session=following)
    close(store, following, "done", by=OTHER, summary="all of it")
    assert settle(store, following, by=OTHER).outcome == "done"


def test_sessions_that_were_killed_without_a_word_count_as_stuck(store):
    task = put(store)
    for _ in range(3):
        do(store, sessions.start, recipe="report", task_id=task.id, by=AGENT)
    following = bind(store, task, claim=False)
    settled = do(store, reports.settle_abandoned, task.id, but=following, by=AGENT, session=following)
    assert [one.outcome for one in settled] == ["pending", "pending", "blocked"]


def test_sessions_that_only_planned_the_task_did_not_get_stuck_on_it(store):
    task = put(store)
    bind(store, task, recipe="enrich", claim=False)
    later = bind(store, task, claim=False)
    assert do(store, reports.settle_abandoned, task.id, but=later, by=AGENT, session=later) == []
    assert said_on(store, task) == []


def test_sessions_that_ended_without_having_to_report_did_not_get_stuck_either(store):
    task = put(store)
    for _ in range(4):
        talked = bind(store, task, recipe="disciplines", claim=False)
        assert do(store, reports.settle_abandoned, task.id, but=talked, session=talked) == []
        do(store, sessions.abort, talked, reason="the client went away")
    assert said_on(store, task) == []


def test_a_session_that_was_killed_holding_the_task_gives_it_back_whatever_its_recipe(store):
    task = put(store)
    killed = bind(store, task, recipe="task")
    later = bind(store, task, claim=False, by=OTHER)
    (settled,) = do(store, reports.settle_abandoned, task.id, but=later, by=OTHER, session=later)
    assert (settled.session, settled.outcome) == (killed, "pending")
    assert again(store, task).claimed_by is None


def test_a_later_session_on_the_task_is_not_abandoned(store):
    task = put(store)
    first = bind(store, task, claim=False)
    second = bind(store, task, by=OTHER)
    assert do(store, reports.settle_abandoned, task.id, but=first, by=AGENT, session=first) == []
    assert again(store, task).claimed_by == OTHER.name
    # Settled late, the first one does not take the task from the second, whoever asks.
    for by in (OTHER, SYSTEM):
        do(store, reports.settle_abandoned, task.id, but=second, by=by, session=second)
        assert again(store, task).claimed_by == OTHER.name


def test_a_session_that_was_resumed_is_settled_a_second_time(store):
    task = put(store)
    session = bind(store, task)
    assert settle(store, session).outcome == "pending"
    do(store, task_moves.start, task.id, by=AGENT, session=session)
    assert settle(store, session).outcome == "pending"
    assert again(store, task).claimed_by is None
    close(store, session, "done", summary="at last")
    assert settle(store, session).outcome == "done"
    assert settle(store, session) is None


def test_without_a_session_the_report_is_about_the_task_one_holds_and_settled_at_once(store):
    task = put(store)
    do(store, task_moves.start, task.id, by=AGENT)
    on, report, settled, _ = do(store, reports.close, "done", {"summary": "built it"}, by=AGENT)
    assert (on.session, report.session, settled.outcome) == (None, None, "done")
    assert again(store, task).closed_reason == "built it"


def test_a_session_bound_to_no_task_settles_at_once_and_takes_the_next(store):
    session = do(store, sessions.start, by=AGENT).id
    for _ in range(2):
        task = put(store)
        do(store, task_moves.start, task.id, by=AGENT, session=session)
        assert close(store, session, "partial", summary="s", remaining="r")[2].outcome == "pending"
    assert settle(store, session) is None


def test_nothing_to_report_on_is_said(store):
    with pytest.raises(Refused, match="holds none"):
        do(store, reports.close, "done", {"summary": "x"}, by=AGENT)
    with pytest.raises(Refused, match="holds none"):
        do(store, reports.close, "done", {"summary": "x"}, by=AGENT, session="mcp-0123")
    for task in (put(store), put(store)):
        do(store, task_moves.start, task.id, by=AGENT, force=True)
    with pytest.raises(Ambiguous, match="several"):
        do(store, reports.close, "done", {"summary": "x"}, by=AGENT)
    assert rows(store, "select id from report") == []


def test_a_deleted_task_takes_its_reports_and_questions_along(store):
    task = put(store)
    session = bind(store, task)
    close(store, session, "stuck", reason="x")
    do(store, questions.ask, task.id, "Which one?", blocking=True, by=AGENT)
    do(store, task_deletion.delete_task, task.id, force=True)
    assert rows(store, "select id from report") == rows(store, "select id from question") == []
    assert settle(store, session) is None
    with pytest.raises(NotFound):
        close(store, session, "done", summary="x")


def test_an_unknown_session_cannot_be_settled(store):
    with pytest.raises(NotFound, match="no session"):
        settle(store, "bns-0")


def test_a_settlement_that_fails_changes_nothing(store):
    task = put(store)
    session = bind(store, task)
    close(store, session, "partial", summary="s", remaining="r")
    before = contents(store)

    def fail(tx):
        reports.settle(tx, session)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        do(store, fail, by=AGENT, session=session)
    assert contents(store) == before
    assert settle(store, session).outcome == "pending"
