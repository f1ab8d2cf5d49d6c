"""The board: columns in windows, filters, what cards say, moves, the queue."""

from binnacle.sessions.planning import session_folder
from binnacle.store import comments, questions, sessions, task_moves, tasks
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask


def add(page, *titles, **fields):
    return [task.id for task in page.write(lambda tx: tasks.add(tx, [NewTask(title=t, **fields) for t in titles]))]


def columns(page, **asked):
    return {one["status"]: one for one in page("board", **asked)["columns"]}


def titles(column):
    return [card["title"] for card in column["cards"]]


class TestColumns:
    def test_every_status_has_one_with_its_count_and_its_first_cards(self, page):
        add(page, *(f"Task number {n}" for n in range(7)))
        add(page, "A sketch", status="draft")
        found = page("board", limit=5)
        assert [one["status"] for one in found["columns"]][:3] == ["draft", "pending", "in_progress"]
        assert found["total"] == 8
        pending = columns(page, limit=5)["pending"]
        assert (pending["total"], len(pending["cards"])) == (7, 5)

    def test_further_cards_are_read_by_offset_in_the_same_order(self, page):
        add(page, *(f"Task number {n}" for n in range(7)))
        first = page("board_column", status="pending", limit=4)
        rest = page("board_column", status="pending", limit=4, offset=4)
        assert titles(first) + titles(rest) == [f"Task number {n}" for n in range(7)]
        assert (rest["offset"], rest["total"]) == (4, 7)

    def test_open_tasks_are_in_the_order_of_the_queue_and_closed_ones_from_the_newest_on(self, page):
        low, _ = add(page, "Low", "Medium")
        page.write(lambda tx: tasks.update(tx, low, {"priority": 3}))
        page("queue_task", id=low, place="first")
        assert titles(columns(page)["pending"]) == ["Low", "Medium"]
        for title in ("First closed", "Last closed"):
            [closed] = add(page, title)
            page("move_task", id=closed, status="cancelled", reason="not needed")
        assert titles(columns(page)["cancelled"]) == ["Last closed", "First closed"]

    def test_what_is_done_and_only_said_has_one_of_its_own(self, page):
        said, proven = add(page, "Only said", "Checked")
        for task in (said, proven):
            page("move_task", id=task, status="done")
        page.write(lambda tx: tasks.TASKS.update(tx, {"evidence_level": "checked"}, "id = ?", proven))
        found = [one for one in page("board")["columns"] if one["status"] == "done"]
        assert [(one["is_unproven"], titles(one)) for one in found] == [(False, ["Checked"]), (True, ["Only said"])]
        assert titles(page("board_column", status="done", is_unproven=True)) == ["Only said"]


class TestFilters:
    def test_each_restricts_counts_and_cards(self, page):
        [wanted] = add(page, "Take orders", tags=("api",), priority=0)
        add(page, "Ship parcels", tags=("ui",))
        for asked in ({"text": "ORDERS take"}, {"tag": "api"}, {"priority": 0}, {"text": wanted[3:]}):
            found = page("board", **asked)
            assert found["total"] == 1
            assert titles(columns(page, **asked)["pending"]) == ["Take orders"]

    def test_by_who_holds_it_and_by_how_well_it_is_known(self, page):
        held, done = add(page, "Held", "Said to be done")
        page("move_task", id=held, status="in_progress")
        page("move_task", id=done, status="done")
        assert titles(columns(page, agent="ann")["in_progress"]) == ["Held"]
        assert page("board", level="said")["total"] == 1
        assert page("board_choices")["agents"] == ["ann"]

    def test_a_wildcard_in_the_text_means_itself(self, page):
        add(page, "Take orders", "100% of orders")
        assert page("board", text="%")["total"] == 1

    def test_the_tags_of_open_tasks_are_offered_the_most_frequent_first(self, page):
        add(page, "One", "Two", tags=("api",))
        add(page, "Three", tags=("ui",))
        assert page("board_choices")["tags"] == ["api", "ui"]


class TestCards:
    def test_a_card_says_who_holds_it_what_it_waits_for_and_what_is_asked(self, page):
        first, second = add(page, "First", "Second")
        page("add_dependency", id=second, on=first)
        page("move_task", id=first, status="in_progress")
        page.write(lambda tx: questions.ask(tx, first, "Which colour?", blocking=False))
        card = columns(page)["in_progress"]["cards"][0]
        assert (card["holder"], card["questions"], card["cost"]) == ("ann", 1, {})
        assert columns(page)["pending"]["cards"][0]["blocked_by"] == 1

    def test_the_latest_step_is_the_last_comment_of_a_task_in_progress(self, page):
        working, other = add(page, "Working", "Other")
        page("move_task", id=working, status="in_progress")
        page.write(lambda tx: [comments.add(tx, one, "began\nwith the table") for one in (other, working)])
        assert [(one["task_id"], one["text"]) for one in page("latest_steps")["steps"]] == [
            (working, "began with the table")
        ]

    def test_the_latest_step_of_an_agent_in_a_session_is_what_its_transcript_ends_with(self, sqlite_page, tmp_path):
        page = sqlite_page
        [working] = add(page, "Working")
        session = page.write(lambda tx: sessions.start(tx, name="work", task_id=working))
        with_agent = Actor(session.id, "agent")

        def start(tx):
            with tx.acting_as(with_agent, session=session.id):
                task_moves.start(tx, working)

        page.write(start)
        folder = tmp_path / session_folder(page.project.project, session.id)
        folder.mkdir(parents=True)
        lines = (
            '{"at":"2026-01-01T10:00:00Z","iteration":1,"kind":"message","text":"I read the code"}\n'
            '{"at":"2026-01-01T10:00:05Z","iteration":1,"kind":"tool","tool":"edit","title":"shop.py"}\n'
            '{"at":"2026-01-01T10:00:06Z","iteration":1,"kind":"usage","used":3}\n'
        )
        (folder / "transcript.jsonl").write_text(lines)
        assert page("latest_steps")["steps"] == [
            {"task_id": working, "text": "edit: shop.py", "at": "2026-01-01T10:00:05Z"}
        ]


class TestMoves:
    def test_each_status_is_reached_by_its_move(self, page):
        [task] = add(page, "Task")
        for status in ("in_progress", "pending", "draft", "needs_input", "partial", "pending"):
            assert page("move_task", id=task, status=status)["status"] == status
        assert page("move_task", id=task, status="blocked", reason="no key")["status"] == "blocked"
        assert page("move_task", id=task, status="cancelled", reason="no need")["status"] == "cancelled"

    def test_a_move_without_the_reason_that_it_needs_is_refused(self, page):
        [task] = add(page, "Task")
        assert "reason" in page.fails("move_task", id=task, status="cancelled").message

    def test_done_tells_what_is_ready_now(self, page):
        first, second = add(page, "First", "Second")
        page("add_dependency", id=second, on=first)
        assert page("move_task", id=first, status="done")["unblocked"] == [second]

    def test_who_has_not_seen_the_newest_move_is_told_about_it(self, page):
        [task] = add(page, "Task")
        seen = page("task", id=task)["seen"]
        page("move_task", id=task, status="in_progress")
        refused = page.fails("move_task", id=task, status="draft", seen=seen)
        assert refused.code == "E_CHANGED"
        assert "ann started" in refused.message


class TestQueue:
    def order(self, page):
        return titles(columns(page)["pending"])

    def test_a_task_is_put_before_another_one_at_an_end_and_taken_out(self, page):
        a, b, c = add(page, "a1", "b1", "c1")
        page("queue_task", id=c)
        page("queue_task", id=a)
        assert self.order(page) == ["c1", "a1", "b1"]
        assert page("queue_task", id=b, place=a)["ids"] == [c, b, a]
        assert self.order(page) == ["c1", "b1", "a1"]
        page("queue_task", id=a, place="first")
        assert self.order(page) == ["a1", "c1", "b1"]
        assert page("queue_task", id=c, place="none")["ids"] == [a, b]

    def test_before_a_task_that_is_not_in_the_queue_is_at_its_end(self, page):
        a, b, c = add(page, "a1", "b1", "c1")
        page("queue_task", id=a)
        assert page("queue_task", id=c, place=b)["ids"] == [a, c]
