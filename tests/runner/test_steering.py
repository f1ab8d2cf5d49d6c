"""A run is paused, resumed, stopped and spoken to from elsewhere: by `bn` in another process, through the store."""

import json
import os
import threading
import time

import pytest

from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.store import runs as store_runs
from binnacle.work.task import NewTask
from runner.plays import PERSON, Play
from runner.running_commands import RunningCommand

pytestmark = pytest.mark.usefixtures("nothing_is_left")

WAITS = """
agent.keep("pid", str(os.getpid()))
agent.wait("go")
agent.write(f"{agent.title}.txt", "x")
agent.done()
"""
"""An agent that works once the test lets it."""


def begin(play: Play, script: str, *words: str, **env: str) -> RunningCommand:
    return RunningCommand(
        play.runs, "--agent", play.agent(script), "--name", "words", *(words or ("--approve", "all")), **env
    )


def add(play: Play, *titles: str) -> list[str]:
    return play.add(*(NewTask(title=title) for title in titles))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class TestPause:
    def test_no_attempt_begins_until_it_is_resumed(self, play):
        first, second = add(play, "one", "two")
        with begin(play, WAITS) as run:
            run.until("iteration_started", task=first)
            said = run.bn("session", "pause", "words")
            assert said["done"] == "the run words pauses: attempts under way finish, and no other begins"
            run.until("steered", kind="pause", by="ann")
            play.flag("go")
            run.until("attempt_ended", task=first, outcome="done")
            assert run.bn("session", "pause", "words")["done"] == "the run words is paused already"
            assert run.bn("task", "show", second)["task"]["status"] == "pending"
            assert run.bn("session", "resume", said["run"])["done"] == "the run words goes on"
            run.until("steered", kind="resume", by="ann")
            assert run.kinds().count("iteration_started") == 1
            run.until("run_ended", why="unproven")

    def test_it_lasts_over_a_kill_and_the_next_process_says_so(self, play):
        add(play, "one")
        with begin(play, WAITS) as run:
            run.until("iteration_started")
            run.bn("session", "pause", "words")
            run.until("steered", kind="pause")
            run.process.kill()
        play.flag("go")
        with begin(play, WAITS) as run:
            waiting = run.until("waiting")
            assert waiting["why"] == "the run is paused; let it go on with: bn session resume words"
            run.bn("session", "resume", "words")
            run.until("run_ended", why="unproven")

    def test_a_pause_at_the_terminal_is_one_for_all_and_can_be_ended_from_elsewhere(self, play):
        add(play, "one", "two")
        resumed = []

        def resume_when_paused() -> None:
            with open_store(play.runs.project) as store:
                until = time.monotonic() + 60
                while time.monotonic() < until:
                    with store.read() as tx:
                        run = store_runs.find(tx, "words")
                    if run.is_paused:
                        with store.write(by=PERSON) as tx:
                            resumed.append(store_runs.set_paused(tx, run.id, is_paused=False))
                        return
                    time.sleep(0.05)

        beside = threading.Thread(target=resume_when_paused)

        def on(event, control):
            if isinstance(event, run_events.AgentStarted) and not beside.ident:
                control.pause()
                beside.start()

        play.flag("go")
        ended = play.run(WAITS, on=on)
        beside.join(60)
        assert (ended.why, resumed) == ("unproven", [True])
        assert [(one.kind, one.by) for one in play.runs.kinds(run_events.RunSteered)] == [("resume", "ann")]


class TestMessage:
    def test_the_agent_reads_it_after_its_turn(self, play):
        add(play, "one")
        with begin(play, WAITS) as run:
            run.until("prompted")
            said = run.bn("session", "message", "words", "Use tabs,", "not spaces")
            assert said["done"] == f"the agent of {said['sessions'][0]} will read it after this turn"
            run.until("steered", kind="message", text="Use tabs, not spaces")
            play.flag("go")
            run.until("run_ended", why="unproven")
        assert play.kept("prompt")[1] == "Use tabs, not spaces"

    def test_one_of_several_agents_is_spoken_to_by_its_session(self, play):
        add(play, "one", "two")
        with begin(play, WAITS, "--approve", "all", "--workers", "2") as run:
            run.until("prompted", worker=2)
            sessions = {one["name"]: one["id"] for one in run.bn("session", "list")["sessions"]}
            run.bn("session", "message", sessions["words/2"], "Only for you")
            assert run.until("steered", kind="message")["worker"] == 2
            play.flag("go")
            run.until("run_ended", why="unproven")
        assert [one for one in play.kept("prompt") if "Only for you" in one] == ["Only for you"]
        told = [one for one in run.told if one["event"] == "prompted" and one["text"] == "Only for you"]
        assert [one["worker"] for one in told] == [2]

    def test_without_a_session_every_agent_at_work_reads_it(self, play):
        add(play, "one", "two")
        with begin(play, WAITS, "--approve", "all", "--workers", "2") as run:
            run.until("prompted")
            run.until("prompted")
            assert len(run.bn("session", "message", "words", "For all")["sessions"]) == 2
            run.until("steered", kind="message")
            run.until("steered", kind="message")
            play.flag("go")
            run.until("run_ended", why="unproven")
        assert play.kept("prompt").count("For all") == 2


class TestStop:
    def test_it_returns_when_everything_of_the_run_has_ended(self, play):
        (task,) = add(play, "one")
        with begin(play, WAITS) as run:
            run.until("prompted")
            said = run.bn("session", "stop", "words")
            assert said["has_stopped"]
            assert not [pid for pid in play.kept("pid") if is_alive(int(pid))]
            assert run.until("run_ended")["why"] == "interrupted"
            assert run.process.wait(timeout=60) == 130
            error = run.bn.fails("session", "stop", "words")
        assert error["message"] == "the run words is not running"
        assert error["hint"] == "resume it: bn run --resume --name words"
        assert play.status(task) == "pending"
        play.flag("go")
        assert play.run(WAITS, is_resumed=True).why == "unproven"

    def test_it_says_so_when_the_run_has_not_stopped_yet(self, play):
        add(play, "one")
        with begin(play, WAITS) as run:
            run.until("prompted")
            done = run.bn.run("session", "stop", "words", "--wait", "0")
            assert done.code == 1
            assert not done.json["has_stopped"]
            assert done.json["still_running"][0].endswith(str(play.runs.repo.path))
            assert run.until("run_ended")["why"] == "interrupted"

    def test_a_stop_that_nobody_took_does_not_stop_the_next_run(self, play):
        add(play, "one")
        with begin(play, WAITS) as run:
            run.until("prompted")
            os.kill(run.process.pid, 19)  # SIGSTOP: it takes nothing any more
            done = run.bn.run("session", "stop", "words", "--wait", "0")
            assert not done.json["has_stopped"]
            run.process.kill()
        play.flag("go")
        assert play.run(WAITS).why == "unproven"


class TestWhoMay:
    @pytest.mark.parametrize("words", ["pause words", "resume words", "message words hi", "stop words", "answer words"])
    def test_a_run_that_is_not_running_is_named_with_how_to_resume_it(self, play, words):
        add(play, "one")
        play.flag("go")
        assert play.run("agent.done()").why == "unproven"
        bn = RunningCommand(play.runs, "--help").__enter__()
        with bn:
            error = bn.bn.fails("session", *words.split())
        if words.startswith("answer"):
            assert error["message"] == "nothing waits for you in 'words'"
        else:
            assert error["message"] == "the run words is not running"
            assert error["hint"] == "resume it: bn run --resume --name words"

    def test_agents_of_the_run_may_not(self, play):
        add(play, "one")
        script = """
import json, subprocess
for words in ("pause words", "resume words", "message words x", "stop words", "answer words yes"):
    bn = [os.environ["BN_PROGRAM"], "session", *words.split(), "--json"]
    done = subprocess.run(bn, capture_output=True, text=True, cwd=agent.cwd)
    agent.keep("refused", json.loads(done.stderr)["error"]["code"])
agent.done()
"""
        from forked_bn import BN

        os.environ["BN_PASS_ENV"], os.environ["BN_PROGRAM"] = "BN_PROGRAM", BN
        try:
            assert play.run(script).why == "unproven"
        finally:
            del os.environ["BN_PASS_ENV"], os.environ["BN_PROGRAM"]
        assert play.kept("refused") == ["E_PERSON_NEEDED"] * 5


def test_what_was_done_is_in_the_log(play):
    add(play, "one")
    with begin(play, WAITS) as run:
        run.until("prompted")
        run.bn("session", "pause", "words")
        run.bn("session", "message", "words", "hello")
        name = run.bn("session", "stop", "words")["run"]
        log = run.bn("log", "--of", name)["events"]
    assert [one["action"] for one in log if one["actor"] == "ann"] == ["paused", "sent message", "sent stop"]
    assert "hello" in json.dumps(log)
