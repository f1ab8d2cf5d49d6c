"""The runs view on real runs of an agent that plays a script, whose processes are beside the page."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binnacle.store import runs as store_runs
from binnacle.store import tasks
from binnacle.work.task import NewTask
from runner.plays import Play
from runner.repositories import Repository
from runner.running_commands import RunningCommand
from runner.runs import Runs
from web.conftest import OpenPage

SAYS = """
agent.say("I look at the folder")
agent.tool("Write words", given={"path": "words.txt"}, diff={"path": "words.txt", "oldText": "", "newText": "one"})
agent.wait("go")
agent.write(f"{agent.title}.txt", "x")
agent.cost(0.25)
agent.done("wrote it")
"""

ASKS = """
agent.keep("may", str(agent.may({"command": "make release"}, title="make release")))
agent.done()
"""

WITHIN_SECONDS = 60


@pytest.fixture
def play(page: OpenPage, tmp_path: Path) -> Play:
    """Runs in the repository of the page."""
    return Play(Runs(Repository(page.repo), tmp_path), tmp_path / "play")


def begin(play: Play, script: str, *words: str) -> RunningCommand:
    return RunningCommand(play.runs, "--agent", play.agent(script), "--name", "words", *words)


def add(page: OpenPage, *titles: str) -> list[str]:
    return page.write(lambda tx: [task.id for task in tasks.add(tx, [NewTask(title=one) for one in titles])])


def until(page: OpenPage, is_so: Callable[[Any], bool], endpoint: str = "run", **asked: Any) -> Any:
    """What an endpoint answers once that is so."""
    end = time.monotonic() + WITHIN_SECONDS
    asked = asked or {"run": "words"}
    while not is_so(found := page(endpoint, **asked)):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found


def read_kinds(page: OpenPage, session: str) -> list[str]:
    return [one["entry"]["kind"] for one in page("transcript", session=session, start=0)["entries"]]


class TestLive:
    def test_what_an_agent_says_and_calls_arrives_while_it_works(self, page, play):
        (task,) = add(page, "one")
        with begin(play, SAYS, "--approve", "all", "--iterations", "3", "--budget", "cost=2") as run:
            run.until("tool", status="completed")
            found = page("run", run="words")["details"]
            (worker,) = found["workers"]
            assert (found["listed"]["state"], worker["stage"], worker["title"]) == ("working", "working", "one")
            assert found["listed"]["working_on"] == ["one"]
            assert page("run", run="words")["here"] == [worker["session"]]
            session = worker["session"]
            window = until(
                page,
                lambda one: any(each["entry"].get("diff") for each in one["entries"]),
                "transcript", session=session, start=0,
            )  # fmt: skip
            assert [one["entry"]["kind"] for one in window["entries"]][:3] == ["iteration", "prompt", "message"]
            assert "+one" in next(one["entry"]["diff"] for one in window["entries"] if one["entry"].get("diff"))
            assert page("transcript", session=session, start=window["end"])["entries"] == []
            play.flag("go")
            after = until(page, lambda one: one["entries"], "transcript", session=session, start=window["end"])
            assert after["start"] == window["end"]
            run.until("run_ended")
        ended = page("run", run="words")["details"]
        assert (ended["listed"]["state"], ended["listed"]["run"]["why"]) == ("ended", "unproven")
        assert ended["attempts"][0]["iteration"]["outcome"] == "done"
        assert (ended["attempts"][0]["title"], ended["attempts"][0]["iteration"]["task_started"]) == ("one", task)
        assert {one["kind"]: (one["limit"], one["used"]) for one in ended["budget"]} == {
            "iterations": (3, 1),
            "cost": (2, 0.25),
        }
        assert page("runs")["runs"][0]["spent"]["cost"] == {"USD": 0.25}
        events = page("run_events", run="words")["entries"]
        assert [one["action"] for one in events if one["entity"] == "run"][::-1][0] == "started"
        assert any(one["entity"] == "task" and one["action"] == "done" and one["task"] == task for one in events)
        report = page("run_report", run="words")
        assert report["file"] == f"words-{ended['listed']['run']['id']}.html"
        assert (report["html"].lower().startswith("<!doctype html>"), task in report["html"]) == (True, True)

    def test_the_processes_of_a_killed_run_leave_it_interrupted(self, page, play):
        add(page, "one")
        with begin(play, SAYS, "--approve", "all") as run:
            run.until("iteration_started")
            run.process.kill()
            run.process.wait(60)
            found = until(page, lambda one: one["details"]["listed"]["state"] != "working")
            assert found["details"]["listed"]["state"] == "interrupted"
            assert run.bn("session", "list")["runs"] == {found["details"]["listed"]["run"]["id"]: "interrupted"}
        play.flag("go")
        with begin(play, SAYS, "--approve", "all") as run:
            run.until("run_ended")
        assert page("run", run="words")["details"]["listed"]["state"] == "ended"


class TestSteering:
    def test_a_run_is_paused_spoken_to_and_resumed(self, page, play):
        add(page, "one")
        with begin(play, SAYS, "--approve", "all") as run:
            run.until("prompted")
            assert page("pause_run", run="words")["said"].startswith("the run words pauses")
            run.until("steered", kind="pause", by="ann")
            assert page("run", run="words")["details"]["listed"]["state"] == "paused"
            page("message_run", run="words", text="Use tabs")
            run.until("steered", kind="message", text="Use tabs")
            page("resume_run", run="words")
            run.until("steered", kind="resume")
            play.flag("go")
            run.until("run_ended")
        assert play.kept("prompt")[1] == "Use tabs"

    def test_a_stopped_run_ends_and_can_not_be_steered(self, page, play):
        add(page, "one")
        with begin(play, SAYS, "--approve", "all") as run:
            run.until("prompted")
            page("stop_run", run="words")
            run.until("run_ended", why="interrupted")
        refused = page.fails("pause_run", run="words")
        assert (refused.message, "bn run --resume" in refused.hint) == ("the run words is not running", True)

    def test_a_permission_is_answered(self, page, play):
        add(page, "one")
        with begin(play, ASKS, "--approve", "ask") as run:
            run.until("attention", kind="permission")
            (waits,) = page("run", run="words")["details"]["waiting"]
            assert "make release" in waits["title"] + waits["body"]
            refused = page.fails("answer_cause", id=waits["id"], answer="perhaps")
            assert refused.code == "E_INVALID_PARAMS"
            assert page("answer_cause", id=waits["id"], answer="yes")["answer"] == "yes"
            run.until("run_ended")
        assert play.kept("may") == ["True"]
        assert page("run", run="words")["details"]["waiting"] == []


class TestTranscript:
    def test_long_results_are_cut_and_can_be_read_whole(self, sqlite_page, tmp_path):
        play = Play(Runs(Repository(sqlite_page.repo), tmp_path), tmp_path / "play")
        add(sqlite_page, "one")
        script = 'agent.tool("Read", given={"text": "x" * 9000})\nagent.done()'
        with begin(play, script, "--approve", "all") as run:
            run.until("run_ended")
        session = sqlite_page("run", run="words")["here"][0]
        window = sqlite_page("transcript", session=session)
        (long,) = [one for one in window["entries"] if one["cut"]]
        assert (len(long["entry"]["input"]), long["cut"]["input"] > 9000) == (6000, True)
        whole = sqlite_page("transcript_entry", session=session, offset=long["offset"])
        assert len(whole["entry"]["input"]) == long["cut"]["input"]
        marks = sqlite_page("transcript_marks", session=session)["marks"]
        assert [one["kind"] for one in marks] == ["iteration", "end"]
        assert sqlite_page("transcript", session=session, start=marks[0]["offset"])["entries"][0]["entry"][
            "kind"
        ] == "iteration"  # fmt: skip
        last = sqlite_page("transcript", session=session, before=window["entries"][2]["offset"])
        assert [one["offset"] for one in last["entries"]] == [one["offset"] for one in window["entries"][:2]]

    @pytest.mark.parametrize("session", ["../../etc", "bns-", "bns-12/../x", ""])
    def test_only_ids_of_sessions_are_read(self, sqlite_page, session):
        assert sqlite_page.fails("transcript", session=session, start=0).code == "E_INVALID_PARAMS"

    def test_a_session_without_a_transcript_has_no_entries(self, sqlite_page):
        window = sqlite_page("transcript", session="bns-1f3a", start=70)
        assert (window["entries"], window["size"]) == ([], 0)


def test_runs_are_listed_page_by_page(page):
    def start(tx) -> None:
        for number in range(5):
            store_runs.start(tx, f"run{number}", feature=None, asked="all of it", asked_file="a.md")

    page.write(start)
    first = page("runs", limit=2)
    assert ([one["run"]["name"] for one in first["runs"]], first["has_more"]) == (["run4", "run3"], True)
    rest = page("runs", before=first["runs"][-1]["run"]["id"])
    assert ([one["run"]["name"] for one in rest["runs"]], rest["has_more"]) == (["run2", "run1", "run0"], False)
    assert {one["state"] for one in rest["runs"]} == {"interrupted"}
    assert page("run_specification", run="run0")["text"] == "all of it"
