"""Where the data is, and how it moves: export, import, clear."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def filled(bn):
    """A project with something of everything."""
    bn("feature", "add", "auth", "-d", "Login")
    bn("discipline", "add", "testing")
    one = bn.add("One", "-f", "auth", "--discipline", "testing", "-d", "zebra", "-t", "x")
    two = bn.add("Two", "--after", one, "-q")
    bn("task", "update", one, "--parent", two)
    bn("task", "comment", two, "hello")
    bn("learning", "add", "Clocks drift", "-f", "auth", "--task", one)
    bn("note", "add", "a note")
    bn("progress", "add", "some progress")
    agent = bn.agent("bob")
    bn("task", "start", one, env=agent)
    asked = json.dumps({"question": "Which one?", "blocking": False, "options": ["this", "that"]})
    bn("tool", "report_question", asked, env=agent)
    return bn


def everything(bn, **options):
    """The lines of an export that are about work: neither the manifest, nor the checksums, nor events.

    Numbers say in which order things were made in a store, and are never used twice in it; the order is compared.
    """
    lines = [json.loads(line) for line in bn.run("store", "export", "-", **options).out.splitlines()]
    entities = [(kind, fields) for line in lines[1:-1] for kind, fields in line.items() if kind != "event"]
    return [(kind, {name: value for name, value in fields.items() if name != "number"}) for kind, fields in entities]


def other(bn, tmp_path, **env):
    """The same machine with another, empty store."""
    from cli.conftest import Bn

    return Bn(bn.repo, bn.env | {"BN_DATA_DIR": str(tmp_path / "other")} | env)


def test_show_and_path_say_where_the_store_is(filled, tmp_path):
    shown = filled("store", "show")
    assert shown["engine"] == "sqlite"
    assert shown["location"].startswith(str(tmp_path / "data"))
    assert shown["counts"]["task"] == 2
    assert shown["location"].startswith(filled("store", "path")["path"])
    assert "task 2" in filled.human("store", "show")


def test_an_export_brings_everything_into_an_empty_store(filled, tmp_path):
    dump = filled.run("store", "export", "-").out
    target = other(filled, tmp_path)
    report = target("store", "import", "-", stdin=dump)
    assert report["added"]["task"] == 2
    assert (report["remapped"], report["renamed"], report["skipped"], report["dropped"]) == ({}, {}, {}, [])
    assert everything(target) == everything(filled)
    assert target("search", "zebra")["hits"][0]["title"] == "One"
    assert target("doctor")["healthy"] is True
    assert len(target("log", "-n", "1000")["events"]) == len(filled("log", "-n", "1000")["events"]) + 1


def test_an_export_of_a_program_that_knew_neither_reports_nor_questions_is_read(filled, tmp_path):
    manifest, *lines, last = (json.loads(line) for line in filled.run("store", "export", "-").out.splitlines())
    for known in (manifest["counts"], last["checksums"]):
        del known["report"], known["question"], known["attention"]
    kept = [line for line in lines if not line.keys() & {"report", "question", "attention"}]
    old = [manifest | {"schema": 2}, *kept, last]
    target = other(filled, tmp_path)
    dump = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in old)
    assert target("store", "import", "-", stdin=dump)["added"]["task"] == 2
    assert target("ask", "list")["total"] == 0


def test_questions_and_reports_follow_a_task_that_got_a_new_id(filled, tmp_path):
    target = other(filled, tmp_path)
    dump = filled.run("store", "export", "-").out
    target("store", "import", "-", stdin=dump)
    (question,) = target("ask", "list")["questions"]
    assert target("store", "import", "-", stdin=dump)["skipped"]["question"] == 1
    # The same ids, made at another moment, are other things.
    moved = target("store", "import", "-", stdin=_made_later(dump))
    (old, new) = sorted(target("ask", "list")["questions"], key=lambda one: one["id"] != question["id"])
    assert (new["id"], new["task_id"]) == (moved["remapped"][old["id"]], moved["remapped"][old["task_id"]])
    assert target("doctor")["healthy"] is True


def _made_later(dump: str) -> str:
    """The same export, with every task, report and question made a year later."""
    from hashlib import sha256

    manifest, *lines, last = (json.loads(line) for line in dump.splitlines())
    for line in lines:
        for kind in line.keys() & {"task", "report", "question"}:
            line[kind]["created_at"] = line[kind]["created_at"].replace("20", "21", 1)
    texts = [json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in lines]
    for name in last["checksums"]:
        some = (f"{text}\n" for text, line in zip(texts, lines, strict=True) if name in line)
        last["checksums"][name] = sha256("".join(some).encode()).hexdigest()
    return "\n".join([json.dumps(manifest), *texts, json.dumps(last)])


def test_a_store_moves_to_postgresql_and_back(filled, tmp_path, postgres_place):
    remote = other(filled, tmp_path, BN_STORE_URL=postgres_place.where, BN_STORE_SCHEMA=postgres_place.schema)
    remote("store", "import", "-", stdin=filled.run("store", "export", "-").out)
    assert everything(remote) == everything(filled)
    assert remote("store", "show")["engine"] == "postgres"
    assert remote("search", "zebra")["hits"][0]["title"] == "One"
    assert remote("doctor")["healthy"] is True
    back = other(filled, tmp_path)
    back("store", "import", "-", stdin=remote.run("store", "export", "-").out)
    assert everything(back) == everything(filled)


def test_importing_twice_adds_nothing(filled, tmp_path):
    dump = filled.run("store", "export", "-").out
    target = other(filled, tmp_path)
    target("store", "import", "-", stdin=dump)
    before = everything(target)
    assert target("store", "import", "-", stdin=dump)["added"] == {}
    assert everything(target) == before


def test_what_collides_gets_a_new_id_and_title_and_keeps_its_relations(filled, tmp_path):
    target = other(filled, tmp_path)
    target.add("TWO")
    lines = filled.run("store", "export", "-").out.splitlines()
    ours = target("task", "list")["tasks"][0]["id"]
    theirs = next(json.loads(line)["task"]["id"] for line in lines if '"title":"Two"' in line)
    dump = _renamed(filled, theirs, ours)
    report = target("store", "import", "-", stdin=dump)
    new_id = report["remapped"][ours]
    assert report["renamed"] == {new_id: "Two (2)"}
    shown = target("task", "show", new_id)
    assert shown["task"]["title"] == "Two (2)"
    assert shown["depends_on"][0]["title"] == "One"
    assert [comment["body"] for comment in shown["comments"]] == ["hello"]
    assert target("task", "show", ours)["task"]["title"] == "TWO"
    assert target("doctor")["healthy"] is True


def _renamed(bn, old: str, new: str) -> str:
    """An export in which a task has another id, with checksums that fit."""
    import hashlib

    lines = bn.run("store", "export", "-").out.replace(old, new).splitlines(keepends=True)
    digests: dict[str, object] = {}
    for line in lines[1:-1]:
        name = next(iter(json.loads(line)))
        digests.setdefault(name, hashlib.sha256()).update(line.encode())
    known = json.loads(lines[-1])["checksums"]
    sums = {name: digests[name].hexdigest() if name in digests else known[name] for name in known}
    return "".join(lines[:-1]) + json.dumps({"checksums": sums}) + "\n"


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda dump: dump.replace("zebra", "horse"), "task lines"),
        (lambda dump: "\n".join(dump.splitlines()[:-1]), "ends too early"),
        (lambda dump: "\n".join(dump.splitlines()[:1] + dump.splitlines()[2:]), "not what was exported"),
        (lambda dump: dump.replace('"priority":2', '"priority":"2"'), "line"),
        (lambda dump: dump + "{}\n", "follows"),
        (lambda _: "hello\n", "line 1"),
        (lambda _: "", "too early"),
        (lambda dump: dump.replace('"schema":', '"schema":99'), "does not support"),
        (lambda dump: dump.replace('{"comment":', '{"komment":'), "line"),
    ],
)
def test_a_damaged_export_is_refused_and_changes_nothing(filled, tmp_path, damage, word):
    dump = filled.run("store", "export", "-").out
    target = other(filled, tmp_path)
    target.add("kept")
    before = everything(target)
    error = target.fails("store", "import", "-", stdin=damage(dump))
    assert word in error["message"]
    assert everything(target) == before


def test_an_export_to_a_file_is_whole_or_not_there(filled, tmp_path):
    file = tmp_path / "backup.jsonl"
    assert filled("store", "export", str(file))["lines"] == len(file.read_text().splitlines())
    assert filled.fails("store", "export", str(tmp_path / "nowhere" / "x.jsonl"))["code"] == "E_INVALID_PARAMS"
    assert sorted(entry.name for entry in tmp_path.iterdir() if "jsonl" in entry.name) == ["backup.jsonl"]


def test_clear_keeps_a_backup_that_brings_everything_back(filled):
    before = everything(filled)
    cleared = filled("store", "clear", "--yes")
    assert cleared["removed"]["task"] == 2
    assert everything(filled) == []
    assert [event["action"] for event in filled("log")["events"]] == ["cleared"]
    filled("store", "import", cleared["backup"])
    assert everything(filled) == before


def test_replace_puts_an_export_in_place_of_what_is_there(filled, tmp_path):
    target = other(filled, tmp_path)
    target.add("gone")
    report = target("store", "import", "-", "--replace", stdin=filled.run("store", "export", "-").out)
    assert everything(target) == everything(filled)
    assert "gone" in Path(report["backup"]).read_text()
