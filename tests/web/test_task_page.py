"""A task's page: what it shows, edits by two people, comments, dependencies, deletion, and the task as a file."""

import re

from binnacle.store import evidence, waivers
from binnacle.work.evidence import Evidence


def add(page, title="Take orders", **fields):
    return page("add_task", title=title, **fields)["id"]


def test_a_new_task_has_what_was_given(page):
    task = add(page, description="over the phone", tags=["api"], priority=1, acceptance_criteria=["it rings"])
    shown = page("task", id=task)["details"]["task"]
    assert (shown["title"], shown["priority"], shown["tags"]) == ("Take orders", 1, ["api"])
    assert shown["acceptance_criteria"] == ["it rings"]


def test_a_task_is_shown_with_both_directions_of_its_dependencies(page):
    first, second, third = (add(page, title) for title in ("First", "Second", "Third"))
    page("add_dependency", id=second, on=first, reason="needs the table")
    page("add_dependency", id=third, on=second)
    details = page("task", id=second)["details"]
    assert [(one["id"], one["reason"]) for one in details["depends_on"]] == [(first, "needs the table")]
    assert [one["id"] for one in details["dependents"]] == [third]
    page("remove_dependency", id=second, on=first)
    assert "depends_on" not in page("task", id=second)["details"]


def test_every_criterion_is_shown_with_what_shows_it(page):
    task = add(page, acceptance_criteria=["it rings", "it is fast [check: speed]", "it is red"])
    found = page("task", id=task)["criteria"]
    assert [(one["text"], one.get("check", "")) for one in found] == [
        ("it rings", ""),
        ("it is fast", "speed"),
        ("it is red", ""),
    ]
    assert found[1]["reason"] == "the check has not run"


class TestEdits:
    def test_every_kind_of_field_is_changed(self, page):
        task = add(page)
        seen = page("task", id=task)["seen"]
        changes = {"title": "Take all orders", "priority": 0, "tags": ["api", "web"], "estimated_turns": 3}
        made = page("edit_task", id=task, changes=changes, seen=seen)
        assert made["seen"] > seen
        shown = page("task", id=task)["details"]["task"]
        assert {name: shown[name] for name in changes} == changes
        page("edit_task", id=task, changes={"estimated_turns": None, "tags": []}, seen=made["seen"])
        assert "tags" not in page("task", id=task)["details"]["task"]

    def test_the_second_of_two_people_is_told_who_changed_what_and_nothing_is_written(self, page):
        task = add(page)
        seen = page("task", id=task)["seen"]
        page("edit_task", id=task, changes={"title": "Take orders by mail"}, seen=seen)
        refused = page.fails("edit_task", id=task, changes={"title": "Take orders by phone"}, seen=seen)
        assert refused.code == "E_CHANGED"
        assert "ann" in refused.message
        assert "Take orders by mail" in refused.message
        assert page("task", id=task)["details"]["task"]["title"] == "Take orders by mail"

    def test_changes_of_other_fields_do_not_get_in_the_way(self, page):
        task = add(page)
        seen = page("task", id=task)["seen"]
        page("edit_task", id=task, changes={"priority": 0}, seen=seen)
        page("move_task", id=task, status="in_progress")
        assert page("edit_task", id=task, changes={"description": "by phone"}, seen=seen)["status"] == "in_progress"

    def test_a_field_that_does_not_exist_is_refused(self, page):
        assert page.fails("edit_task", id=add(page), changes={"tilte": "x"}, seen=10**9).code == "E_INVALID_PARAMS"


def test_a_comment_is_shown_with_its_author(page):
    task = add(page)
    page("add_comment", id=task, body="ask the shop first")
    assert [(c["author"], c["body"]) for c in page("task", id=task)["details"]["comments"]] == [
        ("ann", "ask the shop first")
    ]


def test_a_deleted_task_is_gone_and_one_that_others_wait_for_stays(page):
    first, second = add(page, "First"), add(page, "Second")
    page("add_dependency", id=second, on=first)
    assert page.fails("delete_task", id=first).code == "E_REFERENCED"
    assert page("delete_task", id=second)["title"] == "Second"
    assert page.fails("task", id=second).code == "E_NOT_FOUND"


class TestLogs:
    def keep(self, page, task, path):
        return page.write(
            lambda tx: evidence.add(
                tx,
                Evidence(
                    id="", check_name="tests", definition="d", commit_id="c" * 40, tree="t" * 40, verdict="fail",
                    log=str(path), log_bytes=1, machine="here", task_id=task, created_at=tx.now,
                ),
            )
        ).id  # fmt: skip

    def test_the_end_of_a_long_log_is_shown(self, page, tmp_path):
        folder = tmp_path / page.project.project.data_dir
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "check.log").write_text("x" * (256 << 10) + "the end")
        found = page("evidence_log", id=self.keep(page, add(page), folder / "check.log"))
        assert found["text"].endswith("xthe end")
        assert found["left_out"] == len("the end")

    def test_no_other_file_is_read_whatever_the_store_says(self, page, tmp_path):
        (tmp_path / "secret").write_text("token")
        refused = page.fails("evidence_log", id=self.keep(page, add(page), tmp_path / "secret"))
        assert refused.code == "E_NOT_FOUND"
        assert "here" in refused.hint


class TestFile:
    def test_it_has_everything_about_the_task(self, page):
        task = add(page, description="over the phone", acceptance_criteria=["it rings"])
        page("add_comment", id=task, body="ask the shop first")
        page.write(lambda tx: waivers.add(tx, task, "no time", checks=("tests",)))
        found = page("task_file", id=task)
        assert found["name"] == f"{task}.html"
        for text in ("Take orders", "over the phone", "it rings", "ask the shop first", "waived by ann: no time"):
            assert text in found["html"]

    def test_hostile_text_is_text_and_nothing_is_fetched(self, page):
        task = add(page, '<script>alert(1)</script>"', description='<img src="https://example.org/x.png">')
        html = page("task_file", id=task)["html"]
        assert not re.search(r"<(script|img|iframe|link|a)\b", html)
        assert "default-src 'none'" in html
