"""The log: what happened as sentences, filtered, page by page, and what is new."""

import json
from datetime import UTC, datetime, timedelta

from binnacle.errors import NotFound
from binnacle.store import agents, comments, events, task_moves, tasks
from binnacle.store.events import MAX_SEARCHED_EVENTS
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask

from .conftest import OpenPage

HOSTILE = '<script>alert("1")</script> %_! café'


def add(page: OpenPage, title: str) -> str:
    return page.write(lambda tx: tasks.add(tx, [NewTask(title=title)])[0].id)


def sentences(page: OpenPage, **asked: object) -> list[str]:
    return [one["sentence"] for one in page("log", **asked)["entries"]]


def test_says_who_did_what_newest_first(page):
    task = add(page, "Sort the basket")
    page.write(lambda tx: task_moves.finish(tx, task))
    done, added = page("log")["entries"]
    assert (done["actor"], done["task"], done["entity"], done["action"]) == ("ann", task, "task", "done")
    assert done["sentence"].startswith(f'finished {task} "Sort the basket"')
    assert added["sentence"] == f'added {task} "Sort the basket"'


def test_an_agent_has_its_name(page):
    def register(tx):
        agent = agents.register(tx, name="rivet")
        tx.by = Actor(agent.id, "agent")
        tasks.add(tx, [NewTask(title="one")])

    page.write(register)
    names = {one["sentence"].split()[0]: one["actor_name"] for one in page("log")["entries"]}
    assert names["added"] == "rivet"
    assert "rivet" in {name for _, name in page("log_words")["actors"]}


def test_filters_by_what_it_is_about_and_by_whom_and_what_was_done(page):
    first, second = add(page, "one"), add(page, "two")
    page.write(lambda tx: comments.add(tx, first, "half way"))
    page.write(lambda tx: task_moves.finish(tx, second))
    assert sentences(page, about=first) == [f'commented on {first} "one": half way', f'added {first} "one"']
    assert len(sentences(page, about=first[:6])) == 2
    assert sentences(page, entity="comment") == [f'commented on {first} "one": half way']
    assert [one["task"] for one in page("log", action="done")["entries"]] == [second]
    assert sentences(page, actor="bob") == []
    assert page("log_words")["kinds"][0] == {"entity": "comment", "actions": ["added"]}


def test_filters_by_text_whatever_it_is(page):
    task = add(page, HOSTILE)
    add(page, "other")
    page.write(lambda tx: comments.add(tx, task, 'the "Basket" is 100% full_'))
    assert len(sentences(page, text="<script>alert(")) == 1  # by the title, which no event repeats
    assert len(sentences(page, text='the "basket"')) == 1
    assert len(sentences(page, text="100% full_")) == 1
    assert len(sentences(page, text="café")) == 1
    assert len(sentences(page, text="%")) == 2
    assert sentences(page, text="'; drop table event; --") == []


def test_filters_by_time(page):
    add(page, "one")
    now = datetime.now(UTC)
    hour = timedelta(hours=1)
    assert len(sentences(page, since=(now - hour).isoformat())) == 1
    assert sentences(page, since=(now + hour).isoformat()) == []
    assert sentences(page, until=(now - hour).isoformat()) == []


def test_goes_on_page_by_page_and_shows_what_is_new(page):
    for number in range(7):
        add(page, f"task {number}")
    first = page("log", limit=3)
    second = page("log", limit=3, before=first["before"])
    third = page("log", limit=3, before=second["before"])
    numbers = [one["seq"] for part in (first, second, third) for one in part["entries"]]
    assert numbers == sorted(set(numbers), reverse=True)
    assert len(numbers) == 7
    assert third["before"] is None
    add(page, "late")
    new = page("log", after=first["newest"])
    assert [one["sentence"].rpartition(" ")[2] for one in new["entries"]] == ['"late"']
    assert new["before"] is None


def test_a_long_log_is_searched_in_bounded_steps(page):
    task = add(page, "the only one")
    row = ("2026-03-01T12:00:00.000Z", "ann", "noise", "n-1", None, "made", "{}")
    insert = "insert into event (at, actor, entity, entity_id, session, action, changes) values (?, ?, ?, ?, ?, ?, ?)"
    page.write(lambda tx: tx.run_many(insert, [row] * (MAX_SEARCHED_EVENTS + 10)))
    first = page("log", about=task)
    assert first["entries"] == []
    assert first["before"] is not None
    second = page("log", about=task, before=first["before"])
    assert [one["task"] for one in second["entries"]] == [task]
    assert second["before"] is None


def test_what_was_recorded_is_shown_on_demand(page):
    task = add(page, HOSTILE)
    entry = page("log")["entries"][0]
    assert entry["has_changes"]
    shown = json.loads(page("event_changes", seq=entry["seq"])["text"])
    assert shown == page.read(lambda tx: events.list_events(tx, limit=1, about=task))[0].changes
    assert isinstance(page.fails("event_changes", seq=10_000_000), NotFound)
