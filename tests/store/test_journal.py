"""Comments, notes and the running log."""

from datetime import timedelta

import pytest

from binnacle.errors import InvalidInput, NotFound
from binnacle.store import comments, notes, task_moves
from places import NOW
from store.verbs import AGENT, ANN, OTHER, actions, contents, do, put, rows, see

LATER = NOW + timedelta(hours=1)


def test_a_comment_is_kept_with_its_author(store):
    task = put(store)
    made = do(store, comments.add, task.id, "tried\x1b it\nfailed", discipline="backend", by=AGENT)
    assert made.id.startswith("bnc-")
    assert (made.task_id, made.author, made.discipline, made.body) == (
        task.id,
        AGENT.name,
        "backend",
        "tried it\nfailed",
    )
    assert see(store, comments.list_comments, task.id) == [made]
    assert see(store, comments.get, made.id.upper()) == made


def test_comments_come_oldest_first_and_the_newest_are_kept_in_view(store):
    task = put(store)
    for number in range(5):
        do(store, comments.add, task.id, f"remark {number}")
    assert [comment.body for comment in see(store, comments.list_comments, task.id, limit=2)] == [
        "remark 3",
        "remark 4",
    ]


def test_anyone_may_comment_on_what_another_holds(store):
    task = put(store)
    do(store, task_moves.start, task.id, by=AGENT)
    assert do(store, comments.add, task.id, "look at #3", by=OTHER).author == OTHER.name


def test_a_comment_is_rewritten(store):
    made = do(store, comments.add, put(store).id, "old")
    changed = do(store, comments.update, made.id, "new", now=LATER)
    assert (changed.body, changed.created_at, changed.updated_at) == ("new", NOW, LATER)
    assert actions(store, made.id) == ["added", "updated"]


def test_a_comment_is_deleted(store):
    task = put(store)
    made = do(store, comments.add, task.id, "old")
    assert do(store, comments.delete, made.id) == made
    assert see(store, comments.list_comments, task.id) == []


@pytest.mark.parametrize("body", ["", " \n ", "\x1b\x00", "x" * 20_001])
def test_an_empty_or_endless_comment_is_refused(store, body):
    task = put(store)
    made = do(store, comments.add, task.id, "fine")
    before = contents(store)
    with pytest.raises(InvalidInput):
        do(store, comments.add, task.id, body)
    with pytest.raises(InvalidInput):
        do(store, comments.update, made.id, body)
    assert contents(store) == before


def test_unknown_comments_and_tasks_are_not_found(store):
    with pytest.raises(NotFound, match="no task"):
        do(store, comments.add, "bn-00000", "hello")
    for change in (comments.delete, comments.get):
        with pytest.raises(NotFound, match="no comment 'bnc-0000'"):
            do(store, change, "bnc-0000")


def test_notes_are_kept_in_the_session_of_the_transaction(store):
    made = do(store, notes.add, [("tip", "use make"), ("stuck", "no network")], iteration=2, session="bns-1", by=AGENT)
    assert [(note.type, note.content, note.session, note.iteration, note.author) for note in made] == [
        ("tip", "use make", "bns-1", 2, AGENT.name),
        ("stuck", "no network", "bns-1", 2, AGENT.name),
    ]
    assert see(store, notes.list_notes) == (made, 2)


def test_notes_are_listed_by_type_and_session_with_their_number(store):
    do(store, notes.add, [("tip", f"tip {number}") for number in range(3)], session="bns-1")
    do(store, notes.add, [("decision", "use SQL")])
    found, total = see(store, notes.list_notes, kind="tip", limit=2)
    assert ([note.content for note in found], total) == (["tip 1", "tip 2"], 3)
    assert see(store, notes.list_notes, session="bns-1")[1] == 3
    assert see(store, notes.list_notes, session="bns-2") == ([], 0)


def test_notes_are_all_or_none(store):
    before = contents(store)
    with pytest.raises(InvalidInput, match="note is empty"):
        do(store, notes.add, [("tip", "fine"), ("tip", " ")])
    assert contents(store) == before


def test_a_note_is_deleted(store):
    (made,) = do(store, notes.add, [("tip", "use make")])
    assert do(store, notes.delete, made.id) == made
    assert see(store, notes.list_notes) == ([], 0)
    with pytest.raises(NotFound, match="no note"):
        do(store, notes.delete, made.id)


def test_progress_is_appended_and_read_from_its_end(store):
    for number in range(4):
        do(store, notes.add_progress, f"step {number}", session="bns-1")
    found, total = see(store, notes.list_progress, limit=2)
    assert ([entry.text for entry in found], total) == (["step 2", "step 3"], 4)
    assert (found[0].author, found[0].session, found[0].created_at) == (ANN.name, "bns-1", NOW)
    with pytest.raises(InvalidInput, match="progress is empty"):
        do(store, notes.add_progress, "\x1b")


def test_ids_of_the_smaller_things_never_repeat(store):
    task = put(store)
    for number in range(200):
        do(store, comments.add, task.id, f"remark {number}")
    assert rows(store, "select count(distinct id) from comment") == [(200,)]
