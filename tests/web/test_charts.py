"""The numbers behind the charts, against work whose times are known."""

import itertools
import json
from datetime import UTC, datetime, timedelta

from binnacle.project.project import Project
from binnacle.sessions.planning import session_folder
from binnacle.store import attempts, sessions, task_moves, tasks
from binnacle.store.attempts import Spending
from binnacle.store.task_deletion import delete_task
from binnacle.work.task import NewTask

from .conftest import OpenPage
from .served_gui import ServedGui, add_task, bn

NOW = datetime.now(UTC)


MOVE_ADDED = "update task set created_at = ? where id = ?"


def add(page: OpenPage, *titles: str) -> list[str]:
    return page.write(lambda tx: [task.id for task in tasks.add(tx, [NewTask(title=one) for one in titles])])


def at(days: float) -> str:
    """The time so many days ago, as stored."""
    return (NOW - timedelta(days=days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def backdate(page: OpenPage, task: str, *, added: float, closed: float | None = None) -> None:
    """Moves a task and its events to days before now."""

    def change(tx) -> None:
        closing = None if closed is None else at(closed)
        tx.run("update task set created_at = ?, closed_at = ? where id = ?", at(added), closing, task)

    page.write(change)


def test_days_say_what_was_added_done_proven_and_left_open(page):
    one, two, three, four = add(page, "one", "two", "three", "four")
    page.write(lambda tx: [task_moves.finish(tx, task) for task in (one, two)])
    page.write(lambda tx: task_moves.skip(tx, three, reason="no"))
    page.write(lambda tx: tx.run("update task set evidence_level = 'checked' where id = ?", one))
    backdate(page, one, added=9, closed=1)
    backdate(page, two, added=2, closed=1)
    backdate(page, three, added=9, closed=8)
    days = page("charts", days=4)["days"]
    assert [day["day"] for day in days] == sorted(day["day"] for day in days)
    assert [(day["added"], day["done"], day["proven"], day["cancelled"], day["open"]) for day in days] == [
        (0, 0, 0, 0, 1),
        (1, 0, 0, 0, 2),
        (0, 2, 1, 0, 0),
        (1, 0, 0, 0, 1),
    ]
    assert four
    assert len(page("charts", days=366)["days"]) == 366


def test_the_last_day_agrees_with_the_store_after_tasks_were_reopened_and_deleted(page):
    ids = add(page, *(f"task {number}" for number in range(6)))
    page.write(lambda tx: [task_moves.finish(tx, task) for task in ids[:4]])
    page.write(lambda tx: task_moves.reopen(tx, ids[0]))
    page.write(lambda tx: task_moves.skip(tx, ids[4], reason="no"))
    page.write(lambda tx: delete_task(tx, ids[1]))
    for task, added in zip(ids, (5, 5, 3, 3, 3, 3), strict=True):
        if task != ids[1]:
            page.write(lambda tx, task=task, added=added: tx.run(MOVE_ADDED, at(added), task))
    days = page("charts", days=4)["days"]
    for before, after in itertools.pairwise(days):
        assert after["open"] == before["open"] + after["added"] - after["done"] - after["cancelled"]
    counted = page.read(lambda tx: dict(tx.rows("select status, count(*) from task group by status")))
    assert counted == {"pending": 2, "done": 2, "cancelled": 1}
    assert (days[-1]["open"], days[-1]["done"], days[-1]["cancelled"]) == (2, 2, 1)
    assert [day["open"] for day in days[:-1]] == [5, 5, 5]


def test_time_in_status_comes_from_the_moves_of_tasks(page):
    (task,) = add(page, "one")
    page.write(lambda tx: task_moves.start(tx, task))
    page.write(lambda tx: task_moves.finish(tx, task))

    def spread(tx) -> None:
        rows = tx.rows("select seq, action from event where entity = 'task' order by seq")
        for (seq, _), moment in zip(rows, (at(2), at(1), at(0.5)), strict=True):
            tx.run("update event set at = ? where seq = ?", moment, seq)

    page.write(spread)
    found = page("charts", days=5)["statuses"]
    assert found["is_complete"]
    assert {one["status"]: (one["times"], round(one["seconds"])) for one in found["statuses"]} == {
        "pending": (1, 86400),
        "in_progress": (1, 43200),
    }
    later = page("charts", days=1)["statuses"]["statuses"]  # the move a day ago is the first that counts
    assert [one["status"] for one in later] in ([], ["in_progress"])


def test_spending_is_shown_by_agent_model_and_recipe(page):
    def spend(tx) -> None:
        session = sessions.start(tx, name="words", recipe="loop")
        sessions.join_run(tx, session.id, "run-1", "here")
        sessions.begin_iteration(tx, session.id, first=1)
        attempts.note_agent(tx, session.id, 1, "goose", "small")
        attempts.note_spending(tx, session.id, 1, Spending(seconds=60, tokens=1000, cost=0.5, currency="USD"))

    page.write(spend)
    found = page("charts")
    assert [found[by][0]["key"] for by in ("by_agent", "by_model", "by_recipe")] == ["goose", "small", "loop"]
    assert (found["total"]["cost"], found["by_day"][0]["tokens"]) == ({"USD": 0.5}, 1000)


def test_cost_is_counted_by_currency_and_what_was_not_reported_is_not_0(page):
    spent = (
        ("goose", "small", Spending(seconds=60, tokens=1000, cost=0.5, currency="USD")),
        ("goose", "large", Spending(seconds=30, tokens=500, cost=2.0, currency="EUR")),
        ("claude", "large", Spending(seconds=10)),
    )

    def spend(tx) -> None:
        for number, (agent, model, spending) in enumerate(spent):
            session = sessions.start(tx, name=f"work {number}", recipe="loop")
            sessions.join_run(tx, session.id, "run-1", "here")
            sessions.begin_iteration(tx, session.id, first=1)
            attempts.note_agent(tx, session.id, 1, agent, model)
            attempts.note_spending(tx, session.id, 1, spending)
            tx.run("update iteration set started_at = ? where session = ?", at(number), session.id)

    page.write(spend)
    found = page("charts", days=3)
    by_agent = {line["key"]: line for line in found["by_agent"]}
    assert by_agent["goose"]["cost"] == {"USD": 0.5, "EUR": 2.0}
    assert (by_agent["goose"]["seconds"], by_agent["goose"]["tokens"]) == (90, 1500)
    assert "cost" not in by_agent["claude"]
    assert "tokens" not in by_agent["claude"]
    assert {line["key"]: line["iterations"] for line in found["by_model"]} == {"small": 1, "large": 2}
    assert [line["key"] for line in found["by_day"]] == [at(days)[:10] for days in (2, 1, 0)]
    total = found["total"]
    assert (total["iterations"], total["iterations_with_cost"], total["seconds"]) == (3, 2, 100)
    for by in ("by_day", "by_agent", "by_model", "by_recipe"):
        assert sum(line["iterations"] for line in found[by]) == 3
        assert sum(line.get("cost", {}).get("EUR", 0) for line in found[by]) == total["cost"]["EUR"]
    assert page("charts", days=1)["total"]["iterations"] == 1  # only what was spent today


def write_transcript(project: Project, session: str, lines: list[dict[str, object]]) -> None:
    from pathlib import Path

    folder = Path(session_folder(project, session))
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines)
    (folder / "transcript.jsonl").write_text(text + "not a line\n")


def test_tool_times_come_from_the_transcripts_of_this_machine(sqlite_page):
    def begin(tx) -> list[str]:
        found = [sessions.start(tx, name=name) for name in ("here", "elsewhere")]
        for one in found:
            sessions.begin_iteration(tx, one.id, first=1)
        return [one.id for one in found]

    here, _ = sqlite_page.write(begin)
    call = {"iteration": 1, "kind": "tool"}
    write_transcript(
        sqlite_page.project.project,
        here,
        [
            {"at": "2026-11-19T08:00:00.000+00:00", **call, "id": "a", "title": "Run", "tool": "execute"},
            {"at": "2026-11-19T08:00:02.500+00:00", **call, "id": "a", "status": "failed"},
            {"at": "2026-11-19T08:00:03.000+00:00", **call, "id": "b", "tool": "read", "status": "in_progress"},
            {"at": "2026-11-19T08:00:03.100+00:00", **call, "id": "b", "status": "completed"},
            {"at": "2026-11-19T08:00:04.000+00:00", **call, "id": "c", "tool": "read"},
            {"at": "2026-11-19T08:00:05.000+00:00", **call, "id": "d", "tool": "read"},
            {"at": "2026-11-19T08:00:05.500+00:00", **call, "id": "d", "status": "completed"},
        ],
    )
    found = sqlite_page("tool_times", days=30)
    assert (found["sessions"], found["is_complete"]) == (1, True)
    assert [(one["kind"], one["calls"], one["failed"], one["median_seconds"]) for one in found["tools"]] == [
        ("read", 2, 0, 0.3),
        ("execute", 1, 1, 2.5),
    ]


def test_the_charts_of_a_served_page_count_what_commands_did(served: ServedGui):
    one, two, _ = (add_task(served.repo, title) for title in ("one", "two", "three"))
    bn(served.repo, "task", "done", one)
    bn(served.repo, "task", "skip", two, "--reason", "not needed")
    with served.browser() as person:
        charts = person.get(f"/api/{served.project}/charts?days=1").json()
        assert [
            (day["added"], day["done"], day["proven"], day["cancelled"], day["open"]) for day in charts["days"]
        ] == [(3, 1, 0, 1, 1)]
        assert {one["status"]: one["times"] for one in charts["statuses"]["statuses"]} == {"pending": 3}
        assert charts["total"]["iterations"] == 0
        for days in ("0", "367", "many"):
            refused = person.get(f"/api/{served.project}/charts?days={days}")
            assert (refused.status_code, "days" in refused.json()["message"]) == (400, True)
