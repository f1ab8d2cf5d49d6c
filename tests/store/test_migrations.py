"""A store of every earlier version is brought up to date with all that is in it, or not at all."""

import os

import pytest

from binnacle.errors import BinnacleError, Duplicate
from binnacle.store import comments, features, learnings, notes, questions, reports, schema_migration, sessions, tasks
from binnacle.store.schema_migration import LATEST_SCHEMA, TITLE_SKETCH_SCHEMA, load_migration, migrate
from binnacle.store.task_deletion import delete_task
from binnacle.store.views import overview, search
from binnacle.work.titles import sketch_title
from store.verbs import TABLES, contents, do, put, ready, rows, see

STAMP = "2026-01-01T00:00:00.000Z"


def old_connection(place, version):
    """A store as a program that knew only `version` left it."""
    if place.engine == "sqlite":
        from binnacle.store.engines.sqlite import SqliteConnection

        connection = SqliteConnection(place.where, timeout=10)
    else:
        from binnacle.store.engines.postgres import PostgresConnection

        connection = PostgresConnection(place.where, schema=place.schema, timeout=10)
        connection.prepare()
    migrate(connection, to=version)
    return connection


def fill(connection):
    """A row in every table, in the SQL of the first version."""
    rows_of = {
        "feature": {"name": "login", "title": "Login", "acronym": "LOGI", "description": "", "architecture": ""}
        | {"boundaries": "", "knowledge_paths": "[]", "context_files": '["a.py"]', "dependencies": "[]"}
        | {"created_at": STAMP, "updated_at": STAMP},
        "discipline": {"name": "backend", "title": "Backend", "acronym": "BACK", "icon": "", "colour": ""}
        | {"system_prompt": "", "skills": "[]", "conventions": "", "upstreams": "{}", "denied_tools": "[]"}
        | {"created_at": STAMP, "updated_at": STAMP},
        "task": {"id": "bn-0001", "title": "the sextant", "title_key": "the sextant", "description": "measures angles"}
        | {"kind": "bug", "status": "pending", "priority": 0, "feature": "login", "discipline": "backend"}
        | {"acceptance_criteria": '["it works"]', "context_files": "[]", "hints": "look up", "pseudocode": ""}
        | {
            "output_artifacts": "[]",
            "tags": '["sky"]',
            "provenance": "human",
            "created_at": STAMP,
            "updated_at": STAMP,
        },
        "comment": {"id": "bnc-0001", "task_id": "bn-0001", "author": "ann", "body": "the horizon is hazy"}
        | {"created_at": STAMP, "updated_at": STAMP},
        "learning": {"id": "bnl-0001", "feature": "login", "text": "stars move", "reason": "earth turns"}
        | {"source": "human", "hit_count": 3, "reviewed": 1, "created_at": STAMP, "updated_at": STAMP},
        "note": {"id": "bnn-0001", "type": "tip", "content": "wait for dusk", "author": "ann", "created_at": STAMP},
        "progress": {"text": "half way", "author": "ann", "created_at": STAMP},
        "session": {"id": "bns-0001", "name": "night", "recipe": "loop", "status": "active", "reason": ""}
        | {"created_at": STAMP},
        "iteration": {"session": "bns-0001", "number": 0, "summary": "looked", "started_at": STAMP},
        "agent": {"id": "bna-0001", "name": "worker", "type": "worker", "registered": "mcp"}
        | {"created_at": STAMP, "active_at": STAMP},
        "event": {"at": STAMP, "actor": "ann", "entity": "task", "entity_id": "bn-0001", "action": "added"}
        | {"changes": "{}"},
    }
    connection.begin("write")
    for table, row in rows_of.items():
        marks = ", ".join("?" * len(row))
        connection.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", list(row.values()))
    connection.commit(announce=False)


def names_of_tables(connection):
    if connection.dialect.name == "sqlite":
        return {row[0] for row in connection.query("select name from sqlite_master")}
    return {
        row[0]
        for row in connection.query("select relname from pg_class where relnamespace = current_schema::regnamespace")
    }


@pytest.mark.parametrize("version", range(1, LATEST_SCHEMA))
def test_all_that_an_earlier_version_kept_is_there_and_found(place, version):
    connection = old_connection(place, version)
    fill(connection)
    if version >= TITLE_SKETCH_SCHEMA:  # which that version filled itself
        connection.begin("write")
        connection.execute("update task set title_sketch = ?", [sketch_title("the sextant")])
        connection.commit(announce=False)
    connection.close()
    store = place.open()
    task = see(store, tasks.get, "bn-0001")
    assert (task.title, task.priority, task.tags, task.acceptance_criteria) == (
        "the sextant",
        0,
        ("sky",),
        ("it works",),
    )
    assert see(store, features.get, "login").context_files == ("a.py",)
    assert see(store, features.get_discipline, "backend").acronym == "BACK"
    assert [comment.body for comment in see(store, comments.list_comments, "bn-0001")] == ["the horizon is hazy"]
    assert [(known.text, known.hit_count, known.reviewed) for known in see(store, learnings.list_learnings)] == [
        ("stars move", 3, True)
    ]
    assert [note.content for note in see(store, notes.list_notes)[0]] == ["wait for dusk"]
    assert [entry.text for entry in see(store, notes.list_progress)[0]] == ["half way"]
    assert [known.summary for known in see(store, sessions.list_iterations, "bns-0001")] == ["looked"]
    assert see(store, overview.load_stats).events == 1
    for word, entity in (
        ("angle", "task"),
        ("sky", "task"),
        ("hazy", "comment"),
        ("dusk", "note"),
        ("turn", "learning"),
    ):
        assert [hit.entity for hit in see(store, search.find_text, word)] == [entity]
    assert ready(store) == ["the sextant"]
    with pytest.raises(Duplicate, match="bn-0001"):
        put(store, "Sextants", feature="login")
    asked = do(store, questions.ask, "bn-0001", "which star?", blocking=True)
    assert see(store, questions.list_task_questions, "bn-0001") == [asked]
    assert see(store, reports.load_outcomes, "bn-0001").tried == ()
    do(store, notes.delete, "bnn-0001")
    do(store, comments.delete, "bnc-0001")
    do(store, learnings.delete, "bnl-0001")
    do(store, delete_task, "bn-0001")
    assert rows(store, "select id from search") == []


@pytest.mark.parametrize("version", range(LATEST_SCHEMA))
def test_an_old_store_has_the_same_shape_as_a_new_one(place, version, tmp_path):
    old_connection(place, version).close()
    connection = place.open()._connection
    fresh = old_connection(place, LATEST_SCHEMA)
    assert connection.schema_version() == fresh.schema_version() == LATEST_SCHEMA
    assert names_of_tables(connection) == names_of_tables(fresh)
    fresh.close()


def test_applying_what_is_applied_changes_nothing(place):
    store = place.open()
    put(store, "there")
    before = contents(store)
    connection = store._connection
    assert migrate(connection) == LATEST_SCHEMA
    for version in range(1, LATEST_SCHEMA + 1):
        schema_migration._apply(connection, version)
    assert connection.schema_version() == LATEST_SCHEMA
    assert contents(store) == before


OBSTACLES = {
    "sqlite": ["create trigger learning_unindexed after delete on learning begin select 1; end"],
    "postgres": [
        "create function obstacle() returns trigger language plpgsql as 'begin return new; end'",
        "create trigger learning_indexed after insert on learning for each row execute function obstacle()",
    ],
}
"""What stands in the way of the last statements of the second migration."""


def test_a_migration_that_fails_leaves_version_and_tables_as_they_were(place):
    connection = old_connection(place, 1)
    fill(connection)
    for statement in OBSTACLES[place.engine]:
        connection.execute(statement)
    tables = names_of_tables(connection)
    assert "search" not in tables
    with pytest.raises(BinnacleError, match="already exists"):
        place.open()
    assert connection.schema_version() == 1
    assert names_of_tables(connection) == tables
    assert [tuple(row) for row in connection.query("select id, title from task")] == [("bn-0001", "the sextant")]
    connection.execute(
        "drop trigger learning_unindexed" if place.engine == "sqlite" else "drop function obstacle cascade"
    )
    connection.close()
    assert [hit.title for hit in see(place.open(), search.find_text, "sextant")] == ["the sextant"]


def test_migrations_are_numbered_without_a_gap_for_both_engines():
    for engine in ("sqlite", "postgres"):
        for version in range(1, LATEST_SCHEMA + 1):
            assert load_migration(version, engine)
    numbers = {int(name[:4]) for name in os.listdir(schema_migration.MIGRATIONS_FOLDER) if name.endswith(".sql")}
    assert numbers == set(range(1, LATEST_SCHEMA + 1))


def test_both_engines_have_the_same_tables_and_columns(sqlite_place, postgres_place):
    sqlite, postgres = sqlite_place.open(), postgres_place.open()
    for table in TABLES:
        ours = {row[0] for row in rows(sqlite, "select name from pragma_table_info(?)", table)}
        theirs = {
            row[0]
            for row in rows(
                postgres,
                "select column_name from information_schema.columns where table_schema = ? and table_name = ?",
                postgres_place.schema,
                table,
            )
        }
        assert ours
        assert ours == theirs - {"words"}


def test_text_sorts_by_code_point_on_both_engines(place):
    store = place.open()
    for title in ("b", "B 2", "a", "Z", "é", "z 2", "_"):
        put(store, title)
    found = rows(store, "select title from task order by title")
    assert [title for (title,) in found] == ["B 2", "Z", "_", "a", "b", "z 2", "é"]
