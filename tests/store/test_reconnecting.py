"""A database that is restarted, killed or cut off comes back by itself; what is uncertain is found out or said."""

import os
import shutil
import signal
import tempfile
import threading

import psycopg
import pytest

from binnacle.errors import StoreLost, StoreUnreachable
from binnacle.store import events, tasks
from binnacle.store.opening import open_postgres
from binnacle.store.tasks import TaskFilter
from binnacle.work.task import NewTask
from store.cut_line import cut_line
from store.verbs import ANN, do, put, ready, see


def cut(url: str, store) -> None:
    """Ends the connection of `store` from the server's side."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("select pg_terminate_backend(%s, 10000)", (store._connection._db.info.backend_pid,))


def test_a_connection_that_was_cut_between_two_changes_is_not_noticed(postgres_place):
    store = postgres_place.open()
    for number in range(3):
        put(store, f"task {number}")
        cut(postgres_place.where, store)
    assert ready(store) == ["task 0", "task 1", "task 2"]


def test_a_connection_that_is_cut_in_a_change_undoes_it_and_the_next_one_works(postgres_place):
    store = postgres_place.open()

    def add_two(tx):
        tasks.add(tx, [NewTask(title="not to be")])
        cut(postgres_place.where, store)
        tasks.add(tx, [NewTask(title="nor this")])

    with pytest.raises(StoreUnreachable, match="no connection") as caught:
        do(store, add_two)
    assert caught.value.retryable
    assert caught.value.hint.startswith("nothing was changed; try again")
    put(store, "there")
    assert ready(store) == ["there"]


def test_what_was_read_before_the_cut_is_not_lost_by_it(postgres_place):
    store = postgres_place.open()
    put(store, "there")
    with store.read() as tx:
        found = [task.title for task in tasks.list_ready(tx, limit=5)[0]]
        cut(postgres_place.where, store)
    assert found == ["there"]


def test_a_whole_transaction_is_repeated_that_was_cut_before_its_commit(postgres_place):
    store = postgres_place.open()
    attempts = []

    def transaction():
        with store.write(by=ANN) as tx:
            attempts.append(tasks.add(tx, [NewTask(title="once")]))
            if len(attempts) == 1:
                cut(postgres_place.where, store)

    store.repeat_if_lost(transaction)
    assert len(attempts) == 2
    assert ready(store) == ["once"]


@pytest.fixture
def line(postgres_place, postgres_url):
    """A line that can be cut, and a store at its end."""
    folder = tempfile.mkdtemp(prefix="bn-cut-")
    options = psycopg.conninfo.conninfo_to_dict(postgres_url)
    with cut_line(folder, str(options["host"])) as opened:
        url = f"postgresql://{options.get('user', 'postgres')}@/{options.get('dbname', 'postgres')}?host={folder}"
        with open_postgres(url, schema=postgres_place.schema) as store:
            yield opened, store
    shutil.rmtree(folder)


def test_a_change_whose_answer_was_lost_is_found_to_be_made_and_not_made_twice(line):
    opened, store = line
    put(store, "before")
    opened.cut_at = "after the commit"
    store.repeat_if_lost(lambda: put(store, "once"))
    assert opened.cut_at is None
    assert ready(store) == ["before", "once"]


def test_a_change_that_never_arrived_is_found_not_to_be_made(line):
    opened, store = line
    opened.cut_at = "before the commit"
    with pytest.raises(StoreUnreachable, match="before the change was made"):
        put(store, "not to be")
    assert ready(store) == []
    opened.cut_at = "before the commit"
    store.repeat_if_lost(lambda: put(store, "once"))
    assert ready(store) == ["once"]


def test_a_change_that_cannot_be_found_again_is_said_to_be_uncertain(line):
    opened, store = line
    put(store, "there")
    opened.cut_at = "after the commit"
    with pytest.raises(StoreLost) as caught, store.write(by=ANN) as tx:
        tx.run("update task set description = 'changed without an event'")
    assert (caught.value.code, caught.value.retryable) == ("E_STORE_LOST", True)
    assert caught.value.hint.startswith("check whether it was done, and repeat it")
    assert see(store, tasks.list_tasks, TaskFilter(), limit=5)[0][0].description == "changed without an event"


@pytest.mark.parametrize("how", ["restarted", "killed"])
def test_a_server_that_comes_back_is_used_again_and_keeps_what_was_acknowledged(own_postgres, how):
    with open_postgres(own_postgres.url) as store:
        put(store, "before")
        if how == "restarted":
            own_postgres.stop()
        else:
            own_postgres.kill()
        starting = threading.Thread(target=own_postgres.start)
        starting.start()
        put(store, "after")
        starting.join(timeout=60)
        assert ready(store) == ["before", "after"]


def test_a_killed_backend_takes_all_connections_with_it_and_all_come_back(own_postgres):
    with open_postgres(own_postgres.url) as store, open_postgres(own_postgres.url) as other:
        put(store, "before")
        os.kill(store._connection._db.info.backend_pid, signal.SIGKILL)
        # The server ends the others a moment later, maybe in the middle of a transaction.
        other.repeat_if_lost(lambda: put(other, "by another"))
        store.repeat_if_lost(lambda: put(store, "after"))
        assert sorted(ready(store)) == ["after", "before", "by another"]


def test_a_server_that_stays_away_is_waited_for_once_and_then_only_tried(own_postgres):
    with open_postgres(own_postgres.url, timeout=0.5) as store:
        put(store, "before")
        own_postgres.stop()
        with pytest.raises(StoreUnreachable) as caught:
            put(store, "not to be")
        assert "check store.url and that the database server is running" in caught.value.hint
        assert store._line.is_down
        with pytest.raises(StoreUnreachable):
            ready(store)
        own_postgres.start()
        put(store, "after")
        assert not store._line.is_down
        assert ready(store) == ["before", "after"]


def test_a_look_for_changes_in_an_outage_leaves_the_next_call_its_patience(own_postgres):
    with open_postgres(own_postgres.url) as store:
        put(store, "before")
        own_postgres.stop()
        with pytest.raises(StoreUnreachable):
            store.wait_change(0)
        starting = threading.Thread(target=own_postgres.start)
        starting.start()
        put(store, "after")
        starting.join(timeout=60)
        assert ready(store) == ["before", "after"]


def test_who_waits_for_changes_waits_out_a_restart_that_takes_longer(own_postgres):
    with open_postgres(own_postgres.url) as store:
        put(store, "before")
        own_postgres.stop()
        starting = threading.Thread(target=own_postgres.start)
        starting.start()
        assert store.wait_change(0.01)
        starting.join(timeout=60)


def test_a_follower_sees_what_happened_while_it_was_cut_off(postgres_place):
    store, other = postgres_place.open(), postgres_place.open()
    followed = events.follow(store, after=0, wait=0)
    assert next(followed) == []
    cut(postgres_place.where, store)
    put(other, "meanwhile")
    seen = [event for _ in range(3) for event in next(followed)]
    assert [event.changes["title"] for event in seen] == ["meanwhile"]
    cut(postgres_place.where, store)
    put(other, "later")
    seen = [event for _ in range(3) for event in next(followed)]
    assert [event.changes["title"] for event in seen] == ["later"]


def test_a_follower_is_not_lost_however_often_it_is_cut_off(postgres_place):
    """In the middle of reading, too, which no single cut is sure to hit."""
    store, other = postgres_place.open(), postgres_place.open()
    titles = [f"task {number}" for number in range(40)]

    def add_and_cut() -> None:
        for title in titles:
            put(other, title)
            cut(postgres_place.where, store)

    seen: list[str] = []
    troubled = threading.Thread(target=add_and_cut)
    troubled.start()
    try:
        for batch in events.follow(store, after=0, wait=1):
            seen += [event.changes["title"] for event in batch]
            if len(seen) >= len(titles):
                break
    finally:
        troubled.join(60)
    assert seen == titles


@pytest.mark.parametrize("how", ["removed", "moved away", "replaced"])
def test_a_store_file_that_is_gone_is_not_written_any_more(sqlite_place, how):
    store = sqlite_place.open()
    put(store, "before")
    folder = os.path.dirname(sqlite_place.where)
    if how == "removed":
        shutil.rmtree(folder)
    else:
        os.rename(folder, f"{folder}-before")
    if how == "replaced":
        put(sqlite_place.open(), "by another")
    put(store, "after")
    assert ready(store) == ready(sqlite_place.open()) == ["by another"] * (how == "replaced") + ["after"]


def test_a_closed_store_stays_closed(place):
    store = place.open()
    store.close()
    with pytest.raises(Exception, match="closed"):
        put(store, "not to be")
