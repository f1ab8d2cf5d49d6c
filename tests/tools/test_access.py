"""Calls at the same time: they share a commit, and each gets its own answer."""

import asyncio
import sqlite3
import threading
from datetime import timedelta

import msgspec
import pytest

from binnacle.errors import StoreUnreachable
from binnacle.store import tasks
from binnacle.store.opening import open_postgres
from binnacle.store.store import Store
from binnacle.tools.caller import Caller
from binnacle.tools.work.access import MAX_BLOCKING_SECONDS, StoreAccess
from binnacle.work.actor import Actor
from binnacle.work.session import Session
from places import access_to
from tools.conftest import Tools


def together(tools, *calls):
    """The outcomes of calls that are made in one turn of the event loop."""

    async def make():
        return await asyncio.gather(
            *(tools.dispatcher.call(name, msgspec.json.encode(given), tools.caller) for name, given in calls)
        )

    return asyncio.run(make())


def adding(title):
    return "task_add", {"tasks": [{"title": title}]}


def test_each_of_many_at_once_gets_its_own_answer(tools):
    outcomes = together(tools, *(adding(f"task {number}") for number in range(20)), adding("task 7"))
    assert [outcome.is_error for outcome in outcomes] == [False] * 20 + [True]
    assert outcomes[-1].envelope["error"]["code"] == "E_DUPLICATE"
    answered = [outcome.envelope["data"]["tasks"][0].title for outcome in outcomes[:20]]
    assert answered == [f"task {number}" for number in range(20)]
    assert tools("task_list", limit=100)["total"] == 20


def test_a_read_among_them_sees_what_was_asked_for_before_it(tools):
    outcomes = together(tools, adding("one"), ("task_list", {}), adding("two"))
    assert outcomes[1].envelope["data"]["total"] == 1
    assert tools("task_list")["total"] == 2


def test_what_was_answered_was_committed(place):
    access = access_to(place)
    tools, other = Tools(access), place.open()
    assert not together(tools, adding("one"), adding("two"))[1].is_error
    with other.read() as tx:
        assert tasks.list_ready(tx, limit=9)[1] == 2
    access.close()


def test_one_that_is_called_off_does_not_take_others_with_it(tools):
    async def make():
        calls = [
            asyncio.create_task(tools.dispatcher.call(name, msgspec.json.encode(given), tools.caller))
            for name, given in (adding("one"), adding("two"))
        ]
        await asyncio.sleep(0)
        calls[0].cancel()
        return await asyncio.gather(*calls, return_exceptions=True)

    gone, there = asyncio.run(make())
    assert isinstance(gone, asyncio.CancelledError)
    assert not there.is_error


def test_a_commit_that_fails_is_told_to_everyone_who_waits_for_it(sqlite_place):
    access = access_to(sqlite_place)
    tools = Tools(access)
    tools("task_add", tasks=[{"title": "before"}])
    # A rule that is only checked by the commit.
    database = access._quick._connection._db
    database.execute("create table watched (id integer primary key)")
    database.execute("create table watcher (id integer references watched deferrable initially deferred)")
    database.execute("create trigger breaks after insert on task begin insert into watcher values (7); end")
    outcomes = together(tools, adding("one"), adding("two"))
    assert [outcome.envelope["error"]["code"] for outcome in outcomes] == ["E_REFUSED"] * 2
    assert tools("task_list")["total"] == 1
    access.close()


def test_a_claim_that_lapsed_is_given_back_while_serving(place):
    lapsed = Actor("bna-2", "agent")

    access = access_to(place, lease=timedelta(milliseconds=100))
    tools = Tools(access)
    tools("task_add", tasks=[{"title": "one"}])
    assert not tools.outcome("task_claim", Caller(session=Session(actor=lapsed))).is_error

    async def wait_until_ready():
        for _ in range(100):
            outcome = await tools.dispatcher.call("task_next", b"{}", tools.caller)
            if outcome.envelope["data"]["task"]:
                return True
            await asyncio.sleep(0.05)
        return False

    assert asyncio.run(wait_until_ready())
    access.close()


def access_to_server(server, *, patience: float) -> StoreAccess:
    def open_store(timeout, outage):
        return open_postgres(server.url, timeout=timeout, outage=outage)

    return StoreAccess(open_store, patience=patience, is_shared=True)


def test_a_first_call_waits_for_a_database_that_is_being_restarted(own_postgres):
    own_postgres.stop()
    with access_to_server(own_postgres, patience=60) as access:
        starting = threading.Thread(target=own_postgres.start)
        starting.start()
        assert Tools(access)("task_list")["total"] == 0
        starting.join(timeout=60)


def test_a_database_that_stays_away_is_waited_for_once(own_postgres):
    own_postgres.stop()
    with access_to_server(own_postgres, patience=0.5) as access:
        tools = Tools(access)
        assert tools.fails("task_list")["code"] == "E_STORE_UNREACHABLE"
        assert access._is_down
        assert tools.fails("task_list")["code"] == "E_STORE_UNREACHABLE"
        own_postgres.start()
        assert tools("task_list")["total"] == 0
        assert not access._is_down


def test_a_watch_waits_for_nothing_and_leaves_the_first_call_its_patience(own_postgres):
    own_postgres.stop()
    with access_to_server(own_postgres, patience=60) as access:
        with pytest.raises(StoreUnreachable):
            access.watch()
        assert not access._is_down
        own_postgres.start()
        assert Tools(access)("task_list")["total"] == 0


@pytest.mark.parametrize("use", ["watch", "look"])
def test_a_file_that_is_locked_when_it_is_opened_is_waited_for(sqlite_place, use):
    """Another process locks it for a moment when it is the last to close it, or when it repairs it."""
    sqlite_place.open().close()
    lock = sqlite3.connect(sqlite_place.where, isolation_level=None, check_same_thread=False)
    lock.execute("pragma locking_mode = exclusive")
    lock.execute("begin exclusive")
    waited = []

    def open_store(timeout: float, _: float) -> Store:
        if timeout > MAX_BLOCKING_SECONDS:
            lock.close()
            waited.append(timeout)
        return sqlite_place.open(timeout=timeout)

    with StoreAccess(open_store, patience=10) as access:
        if use == "watch":
            access.watch()
        else:
            assert asyncio.run(access.look(lambda tx: tasks.list_ready(tx, limit=9)))[1] == 0
    assert waited == [10]
