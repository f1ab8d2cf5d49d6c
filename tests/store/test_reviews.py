"""Reviews are kept, decided by those who may, moved with a store, and restored."""

from datetime import timedelta

import msgspec
import pytest

from binnacle.errors import Full, InvalidInput, NotFound, NotReady, PersonNeeded, Refused, WrongStatus
from binnacle.store import agents, review_decisions, review_remarks, reviews, sessions, task_moves, tasks, undo
from binnacle.store.maintenance.checks import check_store
from binnacle.store.maintenance.export_format import export_lines, read_lines
from binnacle.store.maintenance.importer import clear, import_content
from binnacle.store.review_decisions import RemarkDraft
from binnacle.store.task_deletion import delete_task
from binnacle.store.views.task_details import load_details
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.review import MAX_REMARKS, CriterionVerdict
from binnacle.work.review_policy import ReviewNeed
from places import NOW
from store.verbs import AGENT, ANN, OTHER, actions, again, do, put, rows, see

THIRD = Actor("bna-0003", "agent")
BY_AGENT = ReviewNeed(require="agent", reasons=("it is important",))
BY_BOTH = ReviewNeed(require="both", reasons=("it is important",))
SHOWN = (CriterionVerdict(criterion="it works", met=True, place="a.py:1"),)
UNMET = (CriterionVerdict(criterion="it works", met=False, place="a.py:2", note="it does not"),)


def waiting(store, *, need=None, tree="t1", commit="c1", task=None, **fields):
    """A task that an agent worked on and put up for review, and the review."""
    if task is None:
        task = put(store, acceptance_criteria=("it works",), **fields)
    do(store, task_moves.start, task.id, by=AGENT)
    do(store, task_moves.set_status, task.id, "in_review", by=AGENT)
    made = do(store, reviews.open_review, task.id, commit=commit, tree=tree, base="c0", need=need, by=SYSTEM)
    return task, made


def judge(store, review, decision="accept", *, by=OTHER, criteria=SHOWN, **options):
    return do(store, review_decisions.judge, review, decision, by=by, criteria=criteria, **options)


def current(store, review):
    return see(store, reviews.get, review.id)


def test_a_review_names_commit_tree_and_who_has_to_look_and_why(store):
    task, made = waiting(store, need=BY_BOTH)
    assert made.id.startswith("bnv-")
    assert (made.task_id, made.commit_id, made.tree, made.base, made.round) == (task.id, "c1", "t1", "c0", 1)
    assert made.need == BY_BOTH
    assert (made.status, again(store, task).status) == ("open", "in_review")
    assert see(store, reviews.list_open) == [made] == [see(store, reviews.find_open, task.id)]
    assert see(store, load_details, task.id).review == made
    assert actions(store, made.id) == ["opened"]
    with pytest.raises(NotFound):
        see(store, reviews.get, "bnv-ffff")
    with pytest.raises(NotFound, match="waits for no review"):
        see(store, reviews.get_open, put(store).id)


def test_the_same_tree_keeps_its_review_and_another_replaces_it(store):
    task, made = waiting(store)
    same = do(store, reviews.open_review, task.id, commit="c1", tree="t1", need=BY_AGENT)
    assert (same.id, same.require) == (made.id, "both")
    newer = do(store, reviews.open_review, task.id, commit="c2", tree="t2")
    assert (newer.id != made.id, current(store, made).status) == (True, "replaced")
    assert [one.id for one in see(store, reviews.list_open)] == [newer.id]


def test_a_person_accepts_exactly_one_tree_and_the_task_is_closed(store):
    task, made = waiting(store)
    result = do(store, review_decisions.accept, made, message="well done")
    assert (result.review.status, result.task.status) == ("accepted", "done")
    assert see(store, reviews.find_acceptance, task.id, "t1").people == (ANN.name,)
    assert not see(store, reviews.find_acceptance, task.id, "t2").people
    assert not see(store, reviews.find_acceptance, put(store).id, "t1").people
    assert actions(store, made.id) == ["opened", "accepted"]
    with pytest.raises(Refused, match="is over"):
        do(store, review_decisions.accept, result.review)


@pytest.mark.parametrize("actor", [AGENT, OTHER, SYSTEM])
def test_nobody_but_a_person_gives_a_persons_word(store, actor):
    task, made = waiting(store)
    for decide in (review_decisions.accept, review_decisions.reject):
        with pytest.raises(PersonNeeded):
            do(store, decide, made, message="trust me", by=actor)
    assert current(store, made).status == "open"
    assert see(store, reviews.list_verdicts, task.id) == []


def test_a_person_is_not_an_agent_reviewer(store):
    _, made = waiting(store, need=BY_AGENT)
    with pytest.raises(PersonNeeded):
        judge(store, made, by=ANN)
    with pytest.raises(PersonNeeded):
        judge(store, made, by=SYSTEM)


def test_an_agent_that_did_not_work_on_it_accepts_what_agents_may_accept(store):
    task, made = waiting(store, need=BY_AGENT)
    result = judge(store, made, message="read all of it")
    assert (result.review.status, result.task.status) == ("accepted", "done")
    assert see(store, reviews.find_acceptance, task.id, "t1").agents == (OTHER.name,)
    assert see(store, reviews.list_verdicts, task.id)[0].criteria == SHOWN


@pytest.mark.parametrize("require", ["person", "both"])
def test_an_agent_does_not_replace_a_person(store, require):
    task, made = waiting(store, need=ReviewNeed(require=require))
    judge(store, made)
    assert (current(store, made).status, again(store, task).status) == ("open", "in_review")
    result = do(store, review_decisions.accept, made)
    assert (result.review.status, result.task.status) == ("accepted", "done")


def test_a_person_does_not_replace_the_agents(store):
    task, made = waiting(store, need=BY_BOTH)
    assert do(store, review_decisions.accept, made).review.status == "open"
    assert judge(store, made).review.status == "accepted"
    assert again(store, task).status == "done"


@pytest.mark.parametrize("need", [BY_AGENT, BY_BOTH])
def test_a_person_decides_in_place_of_agents_who_gave_no_verdict_on_exactly_this_tree(store, need):
    task, made = waiting(store, need=need)
    do(store, review_decisions.accept, made)
    assert current(store, made).status == "open"
    handed = do(store, reviews.hand_over, made, "three reviewers crashed", by=SYSTEM)
    assert handed.handed_over == "three reviewers crashed"
    assert actions(store, made.id)[-1] == "handed_over"
    result = do(store, review_decisions.accept, handed)
    assert (result.review.status, result.task.status) == ("accepted", "done")
    task, newer = waiting(store, need=need, tree="t2", task=do(store, task_moves.reopen, task.id, force=True).task)
    do(store, review_decisions.accept, newer)
    assert current(store, newer).status == "open"


def test_a_handed_over_review_is_still_decided_by_agents_who_say_something_after_all(store):
    _, made = waiting(store, need=BY_AGENT)
    handed = do(store, reviews.hand_over, made, "three reviewers crashed", by=SYSTEM)
    assert judge(store, handed).review.status == "accepted"


def test_who_worked_on_it_does_not_accept_it(store):
    _, made = waiting(store, need=BY_AGENT)
    with pytest.raises(Refused, match="you worked on"):
        judge(store, made, by=AGENT)
    assert see(store, reviews.list_verdicts, made.task_id) == []


def test_who_worked_on_it_before_does_not_accept_it_either(store):
    task = put(store, acceptance_criteria=("it works",))
    do(store, task_moves.start, task.id, by=OTHER)
    do(store, task_moves.release, task.id, by=OTHER)
    _, made = waiting(store, need=BY_AGENT, task=task)
    with pytest.raises(Refused, match="you worked on"):
        judge(store, made)


def test_another_name_of_the_same_process_or_session_is_the_same_agent(store):
    process = {"pid": 77, "process_started": "boot-1"}
    with store.write(by=SYSTEM, now=NOW) as tx:
        first = agents.register(tx, name="one", session="mcp-1", **process)
        second = agents.register(tx, name="two", session="mcp-2", **process)
        third = agents.register(tx, name="three", session="mcp-1", pid=78, process_started="boot-1")
        free = agents.register(tx, name="four", session="mcp-3", pid=79, process_started="boot-1")
    task = put(store)
    do(store, task_moves.start, task.id, by=Actor(first.id, "agent"), session="mcp-1")
    do(store, task_moves.set_status, task.id, "in_review", by=Actor(first.id, "agent"), session="mcp-1")
    made = do(store, reviews.open_review, task.id, commit="c1", tree="t1", need=BY_AGENT, by=SYSTEM)
    for agent in (second, third):
        with pytest.raises(Refused, match="you worked on"):
            judge(store, made, by=Actor(agent.id, "agent"), criteria=(), message="fine")
    with pytest.raises(Refused, match="you worked on"):
        judge(store, made, by=THIRD, session="mcp-1", criteria=(), message="fine")
    done = judge(store, made, by=Actor(free.id, "agent"), session="mcp-3", criteria=(), message="fine")
    assert done.task.status == "done"


def test_a_session_that_made_an_attempt_is_not_independent(store):
    task = put(store)
    session = do(store, sessions.start)
    do(store, sessions.begin_iteration, session.id, first=1)
    do(store, sessions.note_task, session.id, task.id)
    made = do(store, reviews.open_review, task.id, commit="c1", tree="t1", need=BY_AGENT, by=SYSTEM)
    with pytest.raises(Refused, match="you worked on"):
        judge(store, made, by=Actor(session.id, "agent"), session=session.id, criteria=(), message="fine")


def test_callers_that_nothing_distinguishes_do_not_review(store):
    _, made = waiting(store, need=BY_AGENT)
    with pytest.raises(NotReady):
        judge(store, made, by=Actor("bna-0009", "agent", is_shared=True))


def test_a_majority_of_agents_decides(store):
    task, made = waiting(store, need=ReviewNeed(require="agent", reviewers=3))
    judge(store, made, by=OTHER)
    judge(store, made, by=OTHER)
    assert current(store, made).status == "open"
    judge(store, made, "changes", by=THIRD, criteria=UNMET)
    assert current(store, made).status == "open"
    assert judge(store, made, by=Actor("bna-0004", "agent")).task.status == "done"
    assert see(store, reviews.find_acceptance, task.id, "t1").agents == (OTHER.name, "bna-0004")


def test_agents_who_ask_for_changes_give_it_back_with_all_they_said(store):
    task, made = waiting(store, need=BY_AGENT)
    draft = RemarkDraft("use the total", "b.py", 7, "  x = y  ")
    result = judge(store, made, "changes", criteria=UNMET, remarks=[draft], message="nearly")
    assert (result.review.status, result.task.status, result.sent) == ("changes", "pending", 3)
    told = see(store, review_remarks.list_for_agent, task.id)
    assert [(one.place, one.state) for one in told] == [("b.py:7", "sent"), ("a.py:2", "sent"), ("", "sent")]
    assert [one.body for one in told] == ["use the total", "not met: it works: it does not", "nearly"]
    assert told[0].code == "  x = y"


def test_after_enough_rounds_a_person_decides(store):
    need = ReviewNeed(require="agent", rounds=2)
    task, made = waiting(store, need=need)
    judge(store, made, "changes", criteria=UNMET)
    _, second = waiting(store, need=need, task=task, tree="t2")
    assert second.round == 2
    result = judge(store, second, "changes", criteria=UNMET)
    assert (result.task.status, result.warnings != ()) == ("needs_input", True)
    assert rows(store, "select count(*) from question where answered_at is null") == [(1,)]
    do(store, task_moves.reopen, task.id)
    _, third = waiting(store, need=need, task=task, tree="t3")
    do(store, review_decisions.reject, third, message="another way")
    _, fourth = waiting(store, need=need, task=task, tree="t4")
    assert fourth.round == 1


@pytest.mark.parametrize(
    ("decision", "options", "words"),
    [
        ("accept", {"criteria": ()}, "no verdict"),
        ("accept", {"criteria": UNMET}, "not met"),
        ("changes", {"criteria": ()}, "nothing says"),
        ("changes", {"criteria": (), "remarks": [RemarkDraft("x")] * (MAX_REMARKS + 1)}, "at most"),
        ("changes", {"criteria": (), "remarks": [RemarkDraft(" ")]}, "empty"),
    ],
)
def test_a_verdict_that_says_too_little_is_refused(store, decision, options, words):
    _, made = waiting(store, need=BY_AGENT)
    with pytest.raises(InvalidInput, match=words):
        judge(store, made, decision, **options)
    assert see(store, reviews.list_verdicts, made.task_id) == []


def test_an_acceptance_of_a_task_without_criteria_says_what_was_looked_at(store):
    task = put(store)
    made = do(store, reviews.open_review, task.id, commit="c1", tree="t1", need=BY_AGENT, by=SYSTEM)
    with pytest.raises(InvalidInput, match="says nothing"):
        judge(store, made, criteria=())
    assert judge(store, made, criteria=(), message="read it").review.status == "accepted"


def test_drafts_are_sent_together_and_seen_by_the_next_agent(store):
    task, made = waiting(store)
    first = do(store, review_remarks.add, made, "why?", path="a.py", line=3, code="x = 1")
    bobs = do(store, review_remarks.add, made, "mine", by=Actor("bob"))
    assert (first.state, see(store, review_remarks.list_for_agent, task.id)) == ("draft", [])
    result = do(store, review_decisions.reject, made, message="see my comments")
    assert (result.task.status, result.sent, result.review.status) == ("pending", 2, "changes")
    assert see(store, review_remarks.get, bobs.id).state == "draft"
    moved = do(store, task_moves.start, task.id, by=OTHER)
    assert any("a.py:3 (`x = 1`) at c1: why?" in warning for warning in moved.warnings)
    seen = see(store, review_remarks.get, first.id[4:])
    assert (seen.state, seen.seen_at) == ("seen", NOW)
    assert [one.body for one in see(store, load_details, task.id).remarks] == ["why?", "see my comments"]
    settled = do(store, review_remarks.settle, seen, "addressed", commit="c2")
    assert (settled.state, settled.settled_commit) == ("addressed", "c2")
    with pytest.raises(WrongStatus):
        do(store, review_remarks.settle, settled, "outdated")


def test_a_person_who_looks_at_a_task_does_not_make_its_comments_seen(store):
    task, made = waiting(store)
    do(store, review_decisions.reject, made, message="another way")
    do(store, task_moves.start, task.id)
    assert [one.state for one in see(store, review_remarks.list_for_agent, task.id)] == ["sent"]


def test_to_ask_for_changes_somebody_says_which(store):
    _, made = waiting(store)
    with pytest.raises(InvalidInput, match="a reason"):
        do(store, review_decisions.reject, made, message=" ")
    do(store, review_remarks.add, made, "this")
    assert do(store, review_decisions.reject, made, message="").sent == 1


def test_comments_are_cleaned_and_bounded(store):
    _, made = waiting(store)
    kept = do(store, review_remarks.add, made, "red \x1b[31m", path="a.py", line=1, code="\x1b[2J" + "y" * 5000)
    assert ("\x1b" in kept.body + kept.code, len(kept.code)) == (False, 1000)
    with pytest.raises(InvalidInput):
        do(store, review_remarks.add, made, "x" * 5001)
    with store.write(by=ANN, now=NOW) as tx:
        for _ in range(MAX_REMARKS - 1):
            review_remarks.add(tx, made, "again")
    with pytest.raises(Full):
        do(store, review_remarks.add, made, "one more")


@pytest.mark.parametrize("move", ["reopen", "skip", "finish"])
def test_a_task_that_goes_on_without_its_review_withdraws_it(store, move):
    task, made = waiting(store)
    do(store, getattr(task_moves, move), task.id, **({"reason": "not needed"} if move == "skip" else {}))
    assert current(store, made).status == "withdrawn"


def test_in_a_run_an_acceptance_is_only_kept(store):
    task, _ = waiting(store)
    made = do(store, reviews.open_review, task.id, commit="c1", tree="t1", run="run-1")
    result = do(store, review_decisions.accept, made)
    assert (result.review.status, result.task.status) == ("accepted", "in_review")


def test_a_finished_task_can_be_rejected_afterwards(store):
    task = put(store)
    do(store, task_moves.finish, task.id)
    made = do(store, reviews.open_review, task.id, commit="c1", tree="t1")
    assert do(store, review_decisions.accept, made).task.status == "done"
    made = do(store, reviews.open_review, task.id, commit="c1", tree="t1")
    assert do(store, review_decisions.reject, made, message="it is wrong").task.status == "pending"


@pytest.mark.parametrize("decide", ["accept", "reject"])
def test_a_persons_decision_can_be_undone_and_made_again(store, decide):
    task, made = waiting(store)
    do(store, getattr(review_decisions, decide), made, message="because")
    after = (current(store, made).status, again(store, task).status)
    for wanted in (("open", "in_review"), after):
        with store.write(by=ANN, now=NOW) as tx:
            changes, _ = undo.list_changes(tx, ANN.name, limit=1)
            undo.undo(tx, changes)
        assert (current(store, made).status, again(store, task).status) == wanted
    assert len(see(store, reviews.list_verdicts, task.id)) == 1


def test_a_deleted_task_takes_its_reviews_along_and_brings_them_back(store):
    task, made = waiting(store)
    do(store, review_remarks.add, made, "why?")
    do(store, review_decisions.reject, made, message="no")
    before = everything(store)
    do(store, delete_task, task.id)
    assert everything(store) == {"review": [], "review_verdict": [], "review_remark": []}
    with store.write(by=ANN, now=NOW) as tx:
        undo.undo(tx, undo.choose_last(tx, ANN.name, count=1))
    assert everything(store) == before


def everything(store):
    columns = {"review": "id, task_id, tree, status", "review_verdict": "id, review, tree, decision",
               "review_remark": "id, review, body, state"}  # fmt: skip
    return {name: sorted(rows(store, f"select {found} from {name}")) for name, found in columns.items()}


def test_an_export_moves_them_and_gives_new_ids_where_needed(store, place):
    task, made = waiting(store, need=BY_AGENT)
    judge(store, made, "changes", criteria=UNMET, message="no")
    with store.read() as tx:
        lines = list(export_lines(tx))
    before = everything(store)
    do(store, clear)
    assert everything(store) == {"review": [], "review_verdict": [], "review_remark": []}
    do(store, import_content, read_lines(lines))
    assert everything(store) == before
    do(store, import_content, read_lines(lines))
    assert everything(store) == before
    with store.write(by=ANN) as tx:
        tx.run("update task set created_at = '2020-01-01T00:00:00.000Z'")
        tx.run("update review set created_at = '2020-01-01T00:00:00.000Z'")
    do(store, import_content, read_lines(lines))
    ids = {row[0] for row in rows(store, "select task_id from review")}
    assert (len(ids), task.id in ids) == (2, True)
    assert {row[0] for row in rows(store, "select review from review_remark")} <= {
        row[0] for row in rows(store, "select id from review")
    }


def test_the_doctor_finds_reviews_that_nobody_waits_for_and_acceptances_of_nobody(store):
    task, _ = waiting(store)
    other = put(store)
    with store.write(by=SYSTEM) as tx:
        tx.run("update task set status = 'done', evidence_level = 'said' where id = ?", task.id)
        tx.run("update task set status = 'done', evidence_level = 'accepted' where id = ?", other.id)
    found = {one.check: one for one in check_store(store)}
    assert task.id in found["reviews"].message
    assert other.id in found["evidence"].message
    fixed = {one.check: one.fixed for one in check_store(store, fix=True)}
    assert fixed["reviews"]
    assert "reviews" not in {one.check for one in check_store(store)}


def test_verdicts_keep_their_order_and_time(store):
    task, made = waiting(store, need=ReviewNeed(require="agent", reviewers=3))
    for minute, actor in enumerate((OTHER, THIRD)):
        judge(store, made, by=actor, now=NOW + timedelta(minutes=minute))
    assert [one.author for one in see(store, reviews.list_verdicts, task.id)] == [OTHER.name, THIRD.name]
    assert msgspec.json.encode(see(store, tasks.get, task.id))
