"""What waits for people, and what people send to runs, on both engines."""

from datetime import timedelta

import pytest

from binnacle.errors import InvalidInput, NotFound, Refused
from binnacle.store import attention, attention_answers, questions, run_messages, runs, sessions
from binnacle.store.transaction import StoreOutlook
from binnacle.work.actor import SYSTEM
from binnacle.work.done_gate import TrustedCheck
from places import NOW
from store.verbs import AGENT, ANN, actions, do, put, see


def start_run(store, name="words"):
    return do(store, runs.start, name, feature=None, asked="", asked_file="", by=SYSTEM)


def start_session(store, run):
    session = do(store, sessions.start, name=run.name, by=SYSTEM)
    do(store, sessions.join_run, session.id, run.id, "here", by=SYSTEM)
    return session


def ask_permission(store, session_id, title="Deploy it"):
    with store.write(by=SYSTEM, now=NOW) as tx:
        return attention.open_entry(tx, "permission", title, session=session_id, options=("yes", "no", "always"))


def answer(store, entry_id, said, **who):
    with store.write(by=who.get("by", ANN), session=who.get("session")) as tx:
        return attention_answers.answer(tx, attention.get(tx, entry_id), said)


class TestEntries:
    def test_one_cause_has_one_entry(self, store):
        run = start_run(store)
        session = start_session(store, run)
        first = ask_permission(store, session.id)
        assert ask_permission(store, session.id) == first
        assert first.run == run.id
        assert ask_permission(store, session.id, "Another").id != first.id
        assert actions(store, first.id) == ["opened"]
        answer(store, first.id, "yes")
        assert ask_permission(store, session.id).id != first.id

    def test_an_answer_is_one_of_the_options_and_the_first_stays(self, store):
        entry = ask_permission(store, start_session(store, start_run(store)).id)
        with pytest.raises(InvalidInput):
            answer(store, entry.id, "perhaps")
        closed = answer(store, entry.id.removeprefix("bnp-"), "A")
        assert (closed.answer, closed.answered_by) == ("always", ANN.name)
        with pytest.raises(Refused, match="was answered by"):
            answer(store, entry.id, "no")
        with store.write(by=ANN) as tx:
            assert attention.close(tx, entry.id, answer="no", by="x").answer == "always"
        with pytest.raises(NotFound):
            see(store, attention.get, "bnp-0000")

    def test_agents_do_not_answer(self, store):
        entry = ask_permission(store, start_session(store, start_run(store)).id)
        with pytest.raises(Refused, match="only people"):
            answer(store, entry.id, "yes", by=AGENT)
        with pytest.raises(Refused, match="only people"):
            answer(store, entry.id, "yes", session="bns-1")

    def test_a_question_is_answered_in_either_place(self, store):
        task = put(store)
        asked = [
            do(store, questions.ask, task.id, text, blocking=True, by=AGENT, session="bns-1") for text in ("a?", "b?")
        ]
        entries = see(store, attention.list_open)
        assert [(one.kind, one.question, one.task_id) for one in entries] == [
            ("question", asked[0].id, task.id),
            ("question", asked[1].id, task.id),
        ]
        do(store, questions.answer, asked[0].id, "this")
        answer(store, entries[1].id, "that")
        assert [see(store, questions.get, one.id).answer for one in asked] == ["this", "that"]
        assert [see(store, attention.get, one.id).answer for one in entries] == ["this", "that"]
        assert see(store, attention.list_open) == []

    def test_a_run_that_ended_waits_until_it_is_resumed_or_begun_again(self, store):
        run = start_run(store)
        for _ in range(2):
            do(store, runs.end, run.id, why="budget", said="the budget is used up", seconds=1.0, by=SYSTEM)
        (entry,) = see(store, attention.list_open, run=run.id)
        assert (entry.title, entry.body) == ("the run words ended: budget", "the budget is used up")
        do(store, runs.reopen, run.id, by=SYSTEM)
        assert see(store, attention.list_open) == []
        do(store, runs.end, run.id, why="error", said="x", seconds=1.0, by=SYSTEM)
        start_run(store)
        assert see(store, attention.list_open) == []

    def test_one_that_is_not_proven_waits_where_it_could_have_been(self, store, place):
        run = start_run(store)
        do(store, runs.end, run.id, why="unproven", said="2 done: 2 only said", seconds=1.0, by=SYSTEM)
        assert see(store, attention.list_open) == []
        store = place.open(outlook=StoreOutlook(find_checks=lambda: (TrustedCheck(name="tests"),)))
        do(store, runs.end, run.id, why="unproven", said="2 done: 2 only said", seconds=1.0, by=SYSTEM)
        (entry,) = see(store, attention.list_open, run=run.id)
        assert (entry.title, entry.body) == ("the run words ended: not all of it is proven", "2 done: 2 only said")

    @pytest.mark.parametrize("why", ["complete", "interrupted"])
    def test_one_that_is_complete_or_was_stopped_does_not(self, store, why):
        do(store, runs.end, start_run(store).id, why=why, said="x", seconds=1.0, by=SYSTEM)
        assert see(store, attention.list_open) == []


class TestMessages:
    def test_each_session_gets_its_own_until_they_are_taken(self, store):
        run = start_run(store)
        one, two = start_session(store, run), start_session(store, run)
        do(store, run_messages.send, run.id, [one.id, two.id], "message", body="for both")
        do(store, run_messages.send, run.id, [two.id], "stop")
        (mine,) = see(store, run_messages.list_new, [one.id])
        assert (mine.kind, mine.body, mine.sent_by, mine.session) == ("message", "for both", ANN.name, one.id)
        do(store, run_messages.mark_taken, [mine.number], by=SYSTEM)
        assert see(store, run_messages.list_new, [one.id]) == []
        assert [message.kind for message in see(store, run_messages.list_new, [two.id])] == ["message", "stop"]

    def test_a_session_is_driven_until_its_lease_is_given_back_or_lapses(self, store):
        run = start_run(store)
        session = start_session(store, run)
        assert see(store, run_messages.list_driven, run.id) == []
        do(store, run_messages.drive, [session.id], "me", by=SYSTEM)
        assert [one.id for one in see(store, run_messages.list_driven, run.id)] == [session.id]
        with store.read(now=NOW + timedelta(seconds=31)) as tx:
            assert run_messages.list_driven(tx, run.id) == []
        do(store, run_messages.stop_driving, [session.id], "another", by=SYSTEM)
        assert see(store, run_messages.is_driven, session.id)
        do(store, run_messages.stop_driving, [session.id], "me", by=SYSTEM)
        assert not see(store, run_messages.is_driven, session.id)

    def test_a_pause_is_recorded_once(self, store):
        run = start_run(store)
        assert do(store, runs.set_paused, run.id, is_paused=True)
        assert not do(store, runs.set_paused, run.id, is_paused=True)
        assert see(store, runs.find_last_steerer, run.id) == ANN.name
        assert do(store, runs.set_paused, run.id, is_paused=False)
        assert actions(store, run.id) == ["started", "paused", "resumed"]
