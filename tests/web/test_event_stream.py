"""The stream of changes: in order, once, resumed where it broke off, over every project that is shown."""

import json
import os
import subprocess
from pathlib import Path

import psycopg
import pytest

from binnacle.web.event_stream import MAX_BACKLOG_EVENTS, MAX_STREAMS, parse_cursors
from web.served_gui import OpenStream, ServedGui, add_task, bn


def titles(events: list[dict]) -> list[str]:
    return [event["changes"]["title"] for event in events if event["action"] == "added"]


def add_tasks(repo: Path, count: int) -> None:
    (repo / "tasks.json").write_text(json.dumps([{"title": f"task {number}"} for number in range(count)]))
    bn(repo, "task", "add", "--from", "tasks.json")


@pytest.fixture
def person(served):
    with served.browser() as person:
        yield person


def test_a_change_reaches_an_open_page(person, repo):
    with OpenStream(person) as stream:
        begun = next(stream.changes())
        assert begun["cursor"] == 0
        add_task(repo, "Sell hats")
        (event,) = stream.events(1)
        assert (event["actor"], event["entity"], event["changes"]["title"]) == ("ann", "task", "Sell hats")
        assert stream.newest_id == f"{begun['project']}:1"


@pytest.mark.parametrize("is_by_browser", [True, False])
def test_a_page_that_comes_back_gets_what_it_missed_in_order_and_once(person, repo, is_by_browser):
    with OpenStream(person) as stream:
        next(stream.changes())
        add_task(repo, "one")
        stream.events(1)
        newest = stream.newest_id
    for title in ("two", "three"):
        add_task(repo, title)
    given = {"last-event-id": newest} if is_by_browser else {}
    with OpenStream(person, "" if is_by_browser else f"?after={newest}", **given) as stream:
        assert titles(stream.events(2)) == ["two", "three"]
        add_task(repo, "four")
        assert titles(stream.events(1)) == ["four"]


def test_a_page_comes_back_after_the_server_was_killed(served, person, repo):
    with OpenStream(person) as stream:
        next(stream.changes())
        add_task(repo, "one")
        stream.events(1)
        newest = stream.newest_id
        served.stop(9)
    add_task(repo, "two")
    with ServedGui(repo, port=served.port), OpenStream(person, f"?after={newest}") as stream:
        assert titles(stream.events(1)) == ["two"]


def test_who_missed_too_much_reads_everything_again(served, person, repo):
    add_tasks(repo, MAX_BACKLOG_EVENTS + 1)
    with OpenStream(person, f"?after={served.project}:0") as stream:
        assert next(stream.changes())["reset"]
    with OpenStream(person, f"?after={served.project}:1") as stream:
        assert len(stream.events(MAX_BACKLOG_EVENTS)) == MAX_BACKLOG_EVENTS
    with OpenStream(person, f"?after={served.project}:99999999") as stream:
        assert next(stream.changes())["reset"], "a number of the future is that of another store"


def test_large_changes_are_named_and_not_sent(person, repo):
    with OpenStream(person) as stream:
        next(stream.changes())
        task = add_task(repo, "Write a book")
        bn(repo, "task", "update", task, "--description", "chapter " * 1000)
        event = stream.events(2)[-1]
        assert event["changes"] == {"description": None}


def test_many_pages_hear_the_same(person, repo):
    streams = [OpenStream(person) for _ in range(5)]
    for stream in streams:
        next(stream.changes())
    for number in range(3):
        add_task(repo, f"task {number}")
    for stream in streams:
        with stream:
            assert titles(stream.events(3)) == ["task 0", "task 1", "task 2"]


def test_a_page_that_does_not_read_holds_up_nobody(served, person, repo):
    add_tasks(repo, MAX_BACKLOG_EVENTS)
    with served.browser() as sleeper:
        asleep = [OpenStream(sleeper, f"?after={served.project}:0") for _ in range(8)]
        with OpenStream(person, f"?after={served.project}:0") as stream:
            assert len(stream.events(MAX_BACKLOG_EVENTS)) == MAX_BACKLOG_EVENTS
            add_task(repo, "one more")
            assert titles(stream.events(1)) == ["one more"]
        for one in asleep:
            one.__exit__()


def test_only_so_many_streams_are_open(served, repo):
    with served.browser() as person:
        streams = []
        for _ in range(MAX_STREAMS):
            streams.append(OpenStream(person))
            next(streams[-1].changes())
        with OpenStream(person) as refused:
            assert (refused.response.status_code, refused.response.headers["retry-after"]) == (503, "5")
        assert person.get("/api/projects").status_code == 200
        for stream in streams:
            stream.__exit__()


def make_repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, timeout=60)
    return folder


class TestSeveralProjects:
    def test_one_stream_has_the_changes_of_every_project_that_is_shown(self, repo, tmp_path):
        other = make_repository(tmp_path / "blog")
        add_task(other, "before")
        with ServedGui(repo, "--project", str(other)) as served, served.browser() as person:
            shop, blog = (one["key"] for one in person.get("/api/projects").json()["projects"])
            assert blog.startswith("blog-")
            with OpenStream(person, f"?after={shop}:0,{blog}:1") as stream:
                add_task(repo, "hats")
                stream.events(1)
                add_task(other, "posts")
                stream.events(1)
                assert parse_cursors(stream.newest_id) == {shop: 1, blog: 2}

    def test_another_project_of_the_machine_is_opened_when_somebody_goes_there(self, repo, tmp_path):
        other = make_repository(tmp_path / "blog")
        add_task(other, "before")
        with ServedGui(repo) as served, served.browser() as person, OpenStream(person) as stream:
            next(stream.changes())
            answer = person.get("/api/projects").json()
            assert [one["name"] for one in answer["projects"]] == ["shop"]
            (known,) = answer["others"]
            assert person.get(f"/api/{known['key']}/project").json()["overview"]["tasks"] == 1
            joined = next(stream.changes())
            assert (joined["project"], joined["cursor"]) == (known["key"], 1)
            add_task(other, "after")
            assert titles(stream.events(1)) == ["after"]

    def test_a_project_that_cannot_be_read_does_not_hide_the_others(self, repo, tmp_path):
        other = make_repository(tmp_path / "blog")
        add_task(other, "before")
        (store,) = (tmp_path / "data").glob("blog-*/store.db")
        with ServedGui(repo, "--project", str(other)) as served, served.browser() as person:
            store.write_bytes(b"this is no store at all " * 1000)
            answer = person.get("/api/projects").json()
            assert [one["name"] for one in answer["projects"]] == ["shop"]
            assert [(one["name"], one["problem"]["code"]) for one in answer["broken"]] == [("blog", "E_STORE_CORRUPT")]
            with OpenStream(person) as stream:
                found = [next(stream.changes()) for _ in range(2)]
                problems = [message["problem"]["code"] for message in found if "problem" in message]
                assert problems == ["E_STORE_CORRUPT"]


def test_on_postgresql_changes_of_another_machine_reach_the_page(repo, postgres_url):
    schema = f"stream_{os.getpid()}"
    shared = {**os.environ, "BN_STORE_URL": postgres_url, "BN_STORE_SCHEMA": schema}
    try:
        with ServedGui(repo, env=shared) as served, served.browser() as person, OpenStream(person) as stream:
            next(stream.changes())
            add_task(repo, "Sell hats", env=shared)
            assert titles(stream.events(1)) == ["Sell hats"]
            (project,) = person.get("/api/projects").json()["projects"]
            assert project["is_shared"]
            newest = stream.newest_id
            add_task(repo, "Sell shoes", env=shared)
            with OpenStream(person, f"?after={newest}") as resumed:
                assert titles(resumed.events(1)) == ["Sell shoes"]
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute("set client_min_messages to warning")
            db.execute(f"drop schema if exists {schema} cascade")


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_database_that_goes_away_and_comes_back_is_said_and_nothing_is_missed(repo, own_postgres, how):
    shared = {**os.environ, "BN_STORE_URL": own_postgres.url, "BN_STORE_SCHEMA": "shop"}
    with ServedGui(repo, env=shared) as served, served.browser() as person, OpenStream(person) as stream:
        changes = stream.changes()
        next(changes)
        getattr(own_postgres, how)()
        problem = next(message["problem"] for message in changes if "problem" in message)
        assert (problem["code"], bool(problem["hint"])) == ("E_STORE_UNREACHABLE", True)
        own_postgres.start()
        add_task(repo, "after the break", env=shared)
        found = []
        for message in changes:
            found += titles(message.get("events", []))
            if found:
                break
        assert found == ["after the break"]
        assert person.get("/api/projects").json()["broken"] == []


def test_cursors_that_are_none_are_left_out():
    assert parse_cursors("shop-1f3a:12,blog:7") == {"shop-1f3a": 12, "blog": 7}
    assert parse_cursors("") == {}
    assert parse_cursors("a:b,:3,c,d:-1,e:" + "9" * 30) == {}
