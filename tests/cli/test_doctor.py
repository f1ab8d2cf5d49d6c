"""The doctor finds what cannot be right, mends it, and saves what can be read of a damaged file."""

import sqlite3
from pathlib import Path

import pytest

TABLE_LEAF = 0x0D
"""First byte of a page that holds rows of a table."""


def database(bn) -> Path:
    return Path(bn("store", "show")["location"])


def change(bn, *statements: str) -> None:
    """Breaks the store behind the program's back."""
    with sqlite3.connect(database(bn)) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def test_all_is_well_at_first(bn):
    bn.add("One")
    assert bn("doctor") == {"healthy": True, "findings": [], "location": str(database(bn))}
    assert bn.human("doctor") == "all is well\n"


@pytest.mark.parametrize(
    ("check", "statement"),
    [
        ("dependency counts", "update task set open_dependencies = 7"),
        ("claims", "update task set status = 'in_progress'"),
        ("claims", "update task set claimed_by = 'x'"),
        ("queue", "update task set queue_rank = 3"),
        ("search index", "delete from search"),
        ("search index", "delete from search where entity = 'note'"),
    ],
)
def test_what_follows_from_the_rest_is_mended(bn, check, statement):
    one = bn.add("One zebra")
    bn.add("Two", "--after", one)
    bn("note", "add", "a zebra note")
    bn("task", "comment", one, "a zebra comment")
    bn("learning", "add", "Zebras drift")
    change(bn, statement)

    found = bn.run("doctor")
    assert found.code == 1
    assert {finding["check"] for finding in found.json["findings"]} == {check}
    assert all(finding["fixable"] for finding in found.json["findings"])
    mended = bn("doctor", "--fix")
    assert mended["healthy"] is True
    assert all(finding["fixed"] for finding in mended["findings"])
    assert bn("doctor")["findings"] == []
    assert len(bn("search", "zebra")["hits"]) == 4


def test_a_circle_is_spelled_out(bn):
    one = bn.add("One")
    two = bn.add("Two", "--after", one)
    change(
        bn,
        f"insert into dependency values ('{one}', '{two}', '', '2026-01-01T00:00:00.000Z')",
        f"update task set open_dependencies = 1 where id = '{one}'",
    )
    (finding,) = bn.run("doctor", "--fix").json["findings"]
    assert finding["check"] == "circles"
    assert "→" in finding["message"]
    assert "bn task dep rm" in finding["hint"]


def test_a_damaged_file_is_said_to_be_damaged(bn):
    bn.add("One")
    database(bn).write_bytes(b"this is no database" * 500)
    error = bn.fails("ready")
    assert error["code"] == "E_STORE_CORRUPT"
    assert "bn doctor --fix" in error["hint"]


def test_what_can_be_read_of_a_damaged_file_is_saved(bn):
    bn("task", "add", "--from", "-", stdin=str([{"title": f"task {i}"} for i in range(400)]).replace("'", '"'))
    path = database(bn)
    content = bytearray(path.read_bytes())
    # A page of the task table in the middle of the file: what stands on the other pages must survive.
    pages = range(len(content) // 4096)
    page = next(
        n for n in pages if content[n * 4096] == TABLE_LEAF and b"task 200taskpending" in content[n * 4096 :][:4096]
    )
    content[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    path.write_bytes(content)

    assert bn.run("doctor").code == 1
    done = bn.run("doctor", "--fix")
    mended = done.json
    saved = mended["salvaged"]["rows"]["task"]
    assert 300 < saved < 400
    assert (done.code, mended["healthy"]) == (1, False)
    assert f"{400 - saved} of 400 tasks" in mended["findings"][1]["message"]
    assert Path(mended["salvaged"]["kept"]).read_bytes() == bytes(content)
    assert bn("task", "list", "-n", "1000")["total"] == mended["salvaged"]["rows"]["task"]
    assert bn("doctor")["healthy"] is True
    bn.add("life goes on")


def test_a_file_of_which_nothing_can_be_read_is_kept_and_a_new_one_begun(bn):
    bn.add("One")
    database(bn).write_bytes(b"this is no database" * 500)
    done = bn.run("doctor", "--fix")
    mended = done.json
    assert (done.code, mended["healthy"]) == (1, False)
    assert mended["salvaged"]["rows"] == {}
    (lost,) = [finding for finding in mended["findings"] if finding["check"] == "salvage"]
    assert lost["message"] == "nothing could be read: everything in the file is lost"
    assert "bn store import FILE" in lost["hint"]
    assert mended["salvaged"]["kept"] in lost["hint"]
    assert Path(mended["salvaged"]["kept"]).read_bytes().startswith(b"this is no database")
    assert bn("ready")["total"] == 0


def test_a_damaged_file_of_which_everything_is_saved_is_healthy_again(bn):
    bn("task", "add", "--from", "-", stdin=str([{"title": f"task {i}"} for i in range(40)]).replace("'", '"'))
    change(bn, "pragma writable_schema = on", "update sqlite_master set rootpage = 3 where name = 'task_ready'")
    assert bn.run("doctor").code == 1
    mended = bn("doctor", "--fix")
    assert mended["healthy"] is True
    assert mended["salvaged"]["rows"]["task"] == 40
    assert mended["salvaged"]["lost"] == {}


def test_a_person_reads_what_was_lost(bn):
    bn.add("One")
    database(bn).write_bytes(b"this is no database" * 500)
    shown = bn.run("doctor", "--fix", "-H").out
    assert "error: salvage: nothing could be read" in shown
    assert "not all is well" in shown
