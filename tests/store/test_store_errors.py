"""A store that is locked, damaged, not ours, or not to be reached: said clearly, in bounded time, and untouched."""

import contextlib
import os
import random
import socket
import sqlite3
from datetime import UTC, datetime

import pytest

from binnacle.errors import (
    ConfigError,
    InvalidInput,
    Refused,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
    StoreUnreachable,
)
from binnacle.store import abandoned_work, task_moves, tasks
from binnacle.store.opening import open_postgres, open_sqlite
from binnacle.store.schema_migration import LATEST_SCHEMA
from binnacle.store.tasks import TaskFilter
from binnacle.store.views import search
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask
from store.verbs import ANN, contents, do, put, ready, rows, see


def bytes_beside(path):
    """Every file in the directory of `path`, with what is in it."""
    found = {}
    for name in os.listdir(os.path.dirname(path)):
        with open(os.path.join(os.path.dirname(path), name), "rb") as file:
            found[name] = file.read()
    return found


def test_a_locked_store_is_waited_for_and_then_reported_as_busy(place):
    store, other = place.open(), place.open(timeout=0.1)
    put(store, "there")
    with store.write(by=ANN):
        with pytest.raises(StoreBusy, match=r"locked for 0\.1 s") as caught:
            put(other, "not to be")
        assert caught.value.retryable
        assert ready(other) == ["there"]
    assert put(other, "now it works").title == "now it works"
    assert ready(store) == ["there", "now it works"]


def test_a_new_sqlite_store_locked_by_another_program_is_busy_too(sqlite_place):
    os.makedirs(os.path.dirname(sqlite_place.where))
    with contextlib.closing(sqlite3.connect(sqlite_place.where, isolation_level=None)) as db:
        db.execute("begin exclusive")
        with pytest.raises(StoreBusy):
            sqlite_place.open(timeout=0.1)
        db.execute("rollback")
    assert put(sqlite_place.open(), "there").title == "there"


def test_a_store_can_be_used_again_after_an_error(place):
    store = place.open()
    for sql in ("select * from nowhere", "insert into task (id) values (null)"):
        with pytest.raises((StoreError, Refused)):
            do(store, lambda tx, sql=sql: tx.run(sql))
    put(store, "there")
    assert ready(store) == ["there"]


def test_leaving_a_transaction_by_an_interrupt_undoes_it(place):
    store = place.open()
    before = contents(store)

    def interrupted(tx):
        tasks.add(tx, [tasks.NewTask(title="not to be")])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        do(store, interrupted)
    assert contents(store) == before
    put(place.open(timeout=0.1), "the lock is gone too")


def test_closing_a_store_undoes_what_is_under_way(place):
    store = place.open()
    with contextlib.suppress(Exception), store.write(by=ANN) as tx:
        tasks.add(tx, [tasks.NewTask(title="not to be")])
        store.close()
    assert ready(place.open()) == []


@pytest.mark.parametrize(
    "content", [b"this is no database, only some text that happens to be here" * 100, b"SQLite format 3\x00"]
)
def test_a_file_that_is_no_database_is_said_to_be_damaged_and_is_left_alone(sqlite_place, content):
    os.makedirs(os.path.dirname(sqlite_place.where))
    with open(sqlite_place.where, "wb") as file:
        file.write(content)
    with pytest.raises(StoreCorrupt, match="is damaged") as caught:
        sqlite_place.open()
    assert "bn doctor --fix" in caught.value.hint
    assert bytes_beside(sqlite_place.where) == {"store.db": content}


def test_damage_in_the_middle_of_a_store_is_said_when_it_is_met(sqlite_place):
    store = sqlite_place.open()
    for number in range(50):
        put(store, f"task {number}", description="words " * 500)
    store.close()
    noise = random.Random(1)
    with open(sqlite_place.where, "r+b") as file:
        for page in range(8, os.path.getsize(sqlite_place.where) // 4096):
            file.seek(page * 4096)
            file.write(noise.randbytes(4096))
    with pytest.raises(StoreCorrupt) as caught:
        see(sqlite_place.open(), tasks.list_tasks, tasks.TaskFilter(closed_too=True), limit=100)
    assert "bn doctor" in caught.value.hint


def test_the_database_of_another_program_is_refused_and_not_touched(sqlite_place):
    os.makedirs(os.path.dirname(sqlite_place.where))
    with contextlib.closing(sqlite3.connect(sqlite_place.where)) as db:
        db.execute("create table bookmarks (url)")
        db.execute("insert into bookmarks values ('https://example.com')")
        db.commit()
    before = bytes_beside(sqlite_place.where)
    with pytest.raises(StoreCorrupt, match="is not a Binnacle store") as caught:
        sqlite_place.open()
    assert "BN_DATA_DIR" in caught.value.hint
    assert bytes_beside(sqlite_place.where) == before


def test_a_newer_sqlite_store_is_refused_and_not_touched(sqlite_place):
    store = sqlite_place.open()
    put(store)
    store.close()
    with contextlib.closing(sqlite3.connect(sqlite_place.where)) as db:
        db.execute(f"pragma user_version = {LATEST_SCHEMA + 1}")
    before = bytes_beside(sqlite_place.where)
    with pytest.raises(StoreNewer, match=rf"schema {LATEST_SCHEMA + 1}, this one knows {LATEST_SCHEMA}") as caught:
        sqlite_place.open()
    assert "upgrade Binnacle" in caught.value.hint
    assert bytes_beside(sqlite_place.where) == before


def test_a_newer_postgres_store_is_refused_and_not_touched(postgres_place):
    store = postgres_place.open()
    put(store)
    do(store, lambda tx: tx.run("update schema_version set version = ?", LATEST_SCHEMA + 1))
    before = contents(store)
    with pytest.raises(StoreNewer):
        postgres_place.open()
    assert contents(store) == before
    assert rows(store, "select version from schema_version") == [(LATEST_SCHEMA + 1,)]


def test_a_missing_store_reads_as_empty_and_stays_missing(sqlite_place):
    store = sqlite_place.open(create=False)
    assert ready(store) == []
    with pytest.raises(InvalidInput, match="nothing to search for"):
        see(store, search.find_text, "!")
    assert not os.path.exists(os.path.dirname(sqlite_place.where))


def test_a_server_that_is_not_there_is_unreachable():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # taken, but nobody listens
        url = f"postgresql://ann:secret@127.0.0.1:{taken.getsockname()[1]}/work"
        with pytest.raises(StoreUnreachable, match="no connection to the database") as caught:
            open_postgres(url)
    assert caught.value.retryable
    assert "store.url" in caught.value.hint
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


def test_a_server_that_never_answers_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"postgresql://ann@127.0.0.1:{mute.getsockname()[1]}/work?connect_timeout=2"
        with pytest.raises(StoreUnreachable, match="timeout"):
            open_postgres(url)


@pytest.mark.parametrize("url", ["mysql://ann:secret@host/db", "store.db", "host/db", "", "http://x"])
def test_a_url_that_is_not_postgres_is_a_matter_of_configuration(url):
    with pytest.raises(ConfigError, match="not a PostgreSQL URL") as caught:
        open_postgres(url)
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("schema", ["", "Main", "a-b", "a b", "x; drop schema public", "1st", "x" * 64])
def test_a_schema_that_is_no_plain_name_is_refused(postgres_url, schema):
    with pytest.raises(ConfigError, match=r"store\.schema is not a valid name"):
        open_postgres(postgres_url, schema=schema)


def test_a_database_that_lets_us_only_read_is_read_and_not_written(postgres_place):
    put(postgres_place.open(), "there")
    separator = "&" if "?" in postgres_place.where else "?"
    url = f"{postgres_place.where}{separator}options=-c%20default_transaction_read_only%3Don"
    with open_postgres(url, schema=postgres_place.schema) as store:
        assert ready(store) == ["there"]
        with pytest.raises(StoreReadOnly, match="does not let this user write"):
            put(store, "not to be")


def test_a_database_server_without_space_is_said_to_be_full(postgres_place):
    store = postgres_place.open()
    put(store, "there")
    do(
        store,
        lambda tx: tx._connection.run_script(
            "create function fill() returns trigger language plpgsql as "
            "$$begin raise exception 'could not extend file' using errcode = 'disk_full'; end$$;"
            "create trigger fill before insert on event for each row execute function fill();"
        ),
    )
    with pytest.raises(StoreFull, match="no space left") as caught:
        put(store, "not to be")
    assert "free some space" in caught.value.hint
    assert ready(store) == ["there"]


def test_two_schemas_of_one_database_are_two_stores(postgres_place, postgres_url):
    other = f"{postgres_place.schema}_b"
    put(postgres_place.open(), "mine")
    with open_postgres(postgres_url, schema=other) as store:
        try:
            assert ready(store) == []
            put(store, "theirs")
            assert ready(postgres_place.open()) == ["mine"]
        finally:
            do(store, lambda tx: tx.run(f"drop schema {other} cascade"))


def test_the_place_of_a_store_is_told_without_passwords(postgres_place, sqlite_place):
    assert sqlite_place.open().location == sqlite_place.where
    assert postgres_place.open().location.endswith(f"(schema {postgres_place.schema})")
    assert open_sqlite(":memory:").location == ":memory:"


def test_reading_goes_on_past_a_lapsed_claim_that_cannot_be_given_back_now(place):
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    store = place.open(timeout=0.1)
    with store.write(by=Actor("ann")) as tx:
        tasks.add(tx, [NewTask(title="one")])
    with store.claim(by=Actor("bna-1", "agent"), now=long_ago) as tx:
        task_moves.claim_next(tx)
    with place.open().write(by=Actor("bob")), abandoned_work.read_current(store) as tx:
        assert [task.status for task in tasks.list_tasks(tx, TaskFilter(), limit=5)[0]] == ["in_progress"]
    with abandoned_work.read_current(store) as tx:
        assert [task.status for task in tasks.list_tasks(tx, TaskFilter(), limit=5)[0]] == ["pending"]
