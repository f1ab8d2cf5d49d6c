"""Questions of agents, on both engines."""

import pytest

from binnacle.errors import InvalidInput, NotFound, Refused
from binnacle.store import questions, task_moves
from binnacle.store.views.task_details import load_details
from store.verbs import AGENT, ANN, actions, again, do, put, rows, see


def ask(store, task, text="Which one?", *, blocking=True, **options):
    return do(store, questions.ask, task.id, text, blocking=blocking, by=AGENT, session="bns-1", **options)


def test_a_question_is_kept_as_it_was_asked(store):
    task = put(store)
    asked = ask(store, task, options=("this", "that"), preferred="that")
    assert see(store, questions.get, asked.id) == asked
    assert see(store, questions.get, asked.id.removeprefix("bnq-").upper()) == asked
    assert (asked.asked_by, asked.session, asked.answer, asked.blocking) == (AGENT.name, "bns-1", "", True)
    assert see(store, load_details, task.id).questions == (asked,)
    assert actions(store, asked.id) == ["asked"]


def test_the_same_question_is_asked_once(store):
    task, other = put(store), put(store)
    first = ask(store, task, blocking=False)
    second = ask(store, task, "  which ONE? ")
    assert (second.id, second.blocking) == (first.id, True)
    assert ask(store, other).id != first.id
    do(store, questions.answer, first.id, "this")
    assert ask(store, task).answer == "this"


def test_open_questions_are_listed_with_those_that_hold_up_a_task_first(store):
    task = put(store)
    texts = [("a", False), ("b", True), ("c", False), ("d", True)]
    asked = {text: ask(store, task, text, blocking=blocking).id for text, blocking in texts}
    found, total = see(store, questions.list_questions)
    assert ([one.text for one in found], total) == (["b", "d", "a", "c"], 4)
    do(store, questions.answer, asked["b"], "yes")
    assert [one.text for one in see(store, questions.list_questions, limit=2)[0]] == ["d", "a"]
    assert see(store, questions.list_questions, limit=2)[1] == 3
    found, total = see(store, questions.list_questions, answered_too=True)
    assert ([one.text for one in found], total) == (["d", "c", "a", "b"], 4)


def test_the_last_answer_makes_the_task_pending_again(store):
    task = put(store)
    first, second, aside = ask(store, task, "a"), ask(store, task, "b"), ask(store, task, "c", blocking=False)
    do(store, task_moves.set_status, task.id, "needs_input")
    assert do(store, questions.answer, aside.id, "x").task.status == "needs_input"
    answered = do(store, questions.answer, first.id, "x")
    assert (answered.task.status, answered.still_open) == ("needs_input", 1)
    answered = do(store, questions.answer, second.id, "x")
    assert (answered.task.status, answered.still_open) == ("pending", 0)
    assert (answered.question.answer, answered.question.answered_by) == ("x", ANN.name)
    assert actions(store, second.id) == ["asked", "answered"]


@pytest.mark.parametrize("status", ["blocked", "done", "draft"])
def test_an_answer_moves_no_task_that_does_not_wait_for_it(store, status):
    task = put(store)
    asked = ask(store, task)
    do(store, task_moves.set_status, task.id, status, reason="so")
    do(store, questions.answer, asked.id, "x")
    assert again(store, task).status == status


def test_agents_may_not_answer(store):
    task = put(store)
    asked = ask(store, task)
    with pytest.raises(Refused, match="only people"):
        do(store, questions.answer, asked.id, "x", by=AGENT)
    with pytest.raises(Refused, match="only people"):
        do(store, questions.answer, asked.id, "x", by=ANN, session="mcp-1")
    assert see(store, questions.get, asked.id).answered_at is None


def test_an_answer_is_given_once(store):
    asked = ask(store, put(store))
    do(store, questions.answer, asked.id, "this")
    with pytest.raises(Refused, match="answered by ann: this"):
        do(store, questions.answer, asked.id, "that")


def test_a_question_that_is_none_is_refused(store):
    task = put(store)
    with pytest.raises(InvalidInput, match="empty"):
        ask(store, task, "  ")
    with pytest.raises(NotFound, match="no question 'bnq-0'"):
        see(store, questions.get, "bnq-0")
    assert rows(store, "select id from question") == []
