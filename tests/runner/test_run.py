"""A run from its specification to its end, with a real agent process on a real server."""

import asyncio
import shlex
import sys
import time
import urllib.request
from pathlib import Path

import msgspec
import pytest

from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.runner.agents.agent_process import AgentProcess
from binnacle.runner.budget import RunBudget
from binnacle.store import tasks
from binnacle.store.tasks import TaskFilter
from binnacle.work.actor import SYSTEM
from binnacle.work.task import NewTask
from demo_commands import MISBEHAVING_AGENT
from runner.repositories import Repository
from runner.runs import TWO, Runs, many, marked_processes

HERE = Path(__file__).parent


@pytest.fixture
def mark(tmp_path, monkeypatch) -> str:
    """A word in the environment of everything that a test starts."""
    word = f"BN_TEST_MARK={tmp_path}"
    monkeypatch.setenv("BN_TEST_MARK", str(tmp_path))
    return word


@pytest.fixture
def runs(tmp_path, monkeypatch, mark) -> Runs:
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("BN_AGENT_ID", raising=False)
    return Runs(Repository.new(tmp_path / "repo", {"readme.md": "words\n"}), tmp_path)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Agents that do not listen get less time than in earnest."""
    monkeypatch.setattr("binnacle.runner.agents.acp_session.CANCEL_TIMEOUT_SECONDS", 1.0)
    monkeypatch.setattr("binnacle.runner.attempt.BACKOFF_SECONDS", (0.1,))
    monkeypatch.setitem(AgentProcess.end.__kwdefaults__, "grace", 0.5)


@pytest.fixture(autouse=True)
def nothing_is_left(mark):
    """No process outlives a run."""
    yield
    until = time.monotonic() + 20
    while (left := marked_processes(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left


class TestToTheEnd:
    def test_a_specification_becomes_tasks_and_the_tasks_are_done(self, runs):
        ended = runs.run()
        assert (ended.why, ended.closed, ended.left, ended.iterations) == ("unproven", 2, 0, 2)
        assert runs.repo.read("one.py").strip() == 'WORD = "one"'
        assert runs.times("done") == {"Add the word one": 1, "Add the word two": 1}
        assert [number for number, _ in runs.iterations()] == [0, 1, 2]
        assert all(summary for _, summary in runs.iterations())
        assert runs.session_status() == "complete"

    def test_it_is_told_as_it_happens(self, runs):
        runs.run()
        assert [event.number for event in runs.kinds(run_events.IterationStarted)] == [0, 1, 2]
        assert runs.kinds(run_events.TasksProgressed)[-1] == run_events.TasksProgressed(closed=2, total=2)
        assert {event.title for event in runs.kinds(run_events.ToolCalled)} >= {"task-update", "iteration-summary"}
        assert isinstance(runs.told[0], run_events.RunStarted)
        assert isinstance(runs.told[-1], run_events.RunEnded)

    def test_each_iteration_is_a_commit_where_that_is_wanted(self, runs):
        runs.run(misbehave="slow=0", auto_commit=True)
        assert runs.repo.status == ""
        titles = runs.repo.git("log", "--format=%s").splitlines()
        assert titles[:2] == ["Add the word two", "Add the word one"]

    def test_the_lock_of_a_git_that_was_killed_does_not_keep_it_from_committing(self, runs):
        (runs.repo.path / ".git" / "index.lock").touch()
        assert runs.run(auto_commit=True).why == "unproven"
        assert runs.repo.status == ""

    def test_a_second_run_of_what_is_done_is_no_success(self, runs):
        runs.run()
        again = runs.run()
        assert again.why == "no_ready_task"
        assert "nothing was done" in again.said

    def test_without_a_specification_what_is_ready_is_done(self, runs):
        runs.run(budget=RunBudget(iterations=1))
        assert runs.statuses() == ["done", "pending"]
        ended = runs.run(spec="", name="rest")
        assert (ended.why, ended.closed) == ("unproven", 1)
        assert [number for number, _ in runs.iterations()] == [1]

    def test_a_run_of_that_name_goes_on_where_it_stopped(self, runs):
        first = runs.run(budget=RunBudget(iterations=1))
        assert (first.why, first.left) == ("budget", 1)
        ended = runs.run()
        assert (ended.why, ended.session, ended.closed) == ("unproven", first.session, 2)
        assert [number for number, _ in runs.iterations()] == [0, 1, 2]

    def test_a_reset_gives_up_what_was_open(self, runs):
        first = runs.run(budget=RunBudget(iterations=1))
        ended = runs.run(is_reset=True)
        assert (ended.session != first.session, ended.why) == (True, "unproven")
        with open_store(runs.project) as store, store.read() as tx:
            found, _ = tasks.list_tasks(tx, TaskFilter(closed_too=True), limit=10)
        assert sorted(one.status for one in found) == ["cancelled", "done", "done"], "what was done stays done"


class TestMisbehaviour:
    """Every one ends in a stated reason; nothing is held, nothing is lost."""

    def ends(self, runs: Runs, misbehave: str, why: str, **more):
        ended = runs.run(misbehave=misbehave, **more)
        assert ended.why == why, ended
        assert runs.holders() == set()
        return ended

    @pytest.mark.parametrize("word", ["junk", "stderr-flood:once", "rate-limit=2", "second-task", "re-exec"])
    def test_it_is_survived(self, runs, word):
        self.ends(runs, word, "unproven")
        assert runs.times("done") == {"Add the word one": 1, "Add the word two": 1}

    def test_a_crash_goes_on_with_the_same_iteration_and_task(self, runs):
        self.ends(runs, "crash@2", "unproven")
        assert [number for number, _ in runs.iterations()] == [0, 1, 2]
        assert [event.goes_on for event in runs.kinds(run_events.IterationStarted)] == [False, False, True, False]
        assert "ended with exit code 3" in runs.kinds(run_events.WarningReported)[0].message

    def test_an_agent_that_always_crashes_is_given_up(self, runs):
        ended = self.ends(runs, "crash", "agent_failing")
        assert "3 times in a row" in ended.said
        assert runs.statuses() == ["pending", "pending"]

    def test_an_agent_that_does_not_start_is_given_up(self, runs):
        self.ends(runs, "crash-start", "agent_failing")

    def test_an_agent_that_hangs_is_given_up(self, runs):
        self.ends(runs, "hang", "agent_failing", silence=1)

    def test_an_agent_that_hangs_once_is_started_again(self, runs):
        self.ends(runs, "hang@2", "unproven", silence=3)

    def test_an_agent_that_floods_is_ended(self, runs):
        self.ends(runs, "flood=line@2", "unproven")
        assert any("32 MiB" in event.message for event in runs.kinds(run_events.WarningReported))

    def test_tasks_of_which_nothing_comes_are_handed_to_a_person(self, runs):
        ended = self.ends(runs, ",".join(f"no-op@{turn}" for turn in range(2, 30)), "needs_input")
        assert ended.iterations == 6
        assert runs.statuses() == ["needs_input", "needs_input"]

    def test_one_that_never_summarises_is_summed_up(self, runs):
        self.ends(runs, "never-summarise", "unproven")
        assert all(summary for _, summary in runs.iterations())

    def test_a_question_ends_the_run_with_the_question(self, runs):
        ended = self.ends(runs, "ask", "needs_input")
        assert "bn ask" in ended.hint
        assert "needs_input" in runs.statuses()

    def test_a_child_in_a_session_of_its_own_does_not_outlive_it(self, runs):
        self.ends(runs, "orphan", "unproven")


class TestSteering:
    def test_a_stop_ends_the_run_and_leaves_nothing_held(self, runs):
        def on(event, control):
            if isinstance(event, run_events.ToolCalled) and event.title.startswith("Edit"):
                control.stop()

        ended = runs.run(misbehave="slow=0.2", on=on)
        assert ended.why == "interrupted"
        assert runs.holders() == set()
        assert runs.run().why == "unproven"
        assert runs.times("done") == {"Add the word one": 1, "Add the word two": 1}

    def test_a_stop_does_not_wait_for_an_agent_that_does_not_listen(self, runs):
        def on(event, control):
            if isinstance(event, run_events.TaskMoved) and event.status == "in_progress":
                control.stop()

        assert runs.run(misbehave="hang@2", on=on).why == "interrupted"
        assert runs.holders() == set()

    def test_a_stop_does_not_wait_for_an_agent_that_does_not_start(self, runs):
        def on(event, control):
            if isinstance(event, run_events.IterationStarted):
                asyncio.get_running_loop().call_later(0.5, control.stop)

        assert runs.run(misbehave="hang-start", on=on).why == "interrupted"
        assert runs.kinds(run_events.WarningReported) == [], "it was not waited for until its time was up"

    def test_a_second_stop_does_not_wait_for_an_agent_to_listen(self, runs, monkeypatch):
        monkeypatch.setattr("binnacle.runner.agents.acp_session.CANCEL_TIMEOUT_SECONDS", 600.0)

        def on(event, control):
            if isinstance(event, run_events.TaskMoved) and event.status == "in_progress":
                control.stop()
                asyncio.get_running_loop().call_later(0.5, control.stop)

        assert runs.run(misbehave="hang@2", on=on).why == "interrupted"
        assert runs.holders() == set()

    def test_a_pause_holds_back_the_next_iteration(self, runs):
        begun_before_it_goes_on = []

        def on(event, control):
            def go_on():
                begun_before_it_goes_on.extend(event.number for event in runs.kinds(run_events.IterationStarted))
                control.go_on()

            async def wait_to_go_on():
                if control.is_paused:
                    asyncio.get_running_loop().call_soon(go_on)
                await wait()

            if isinstance(event, run_events.IterationEnded) and event.number == 1:
                wait, control.wait_to_go_on = control.wait_to_go_on, wait_to_go_on
                control.pause()

        assert runs.run(on=on).why == "unproven"
        assert begun_before_it_goes_on == [0, 1]

    def test_a_message_reaches_the_agent_after_its_turn(self, runs):
        def on(event, control):
            if isinstance(event, run_events.IterationStarted) and event.number == 1:
                control.say("mind the gap")

        runs.run(on=on)
        assert "mind the gap" in [event.text for event in runs.kinds(run_events.AgentPrompted)]

    def test_nothing_may_be_done_where_nothing_is_approved(self, runs):
        ended = runs.run(approve="none")
        assert ended.why == "no_ready_task"
        assert runs.statuses() == ["blocked", "blocked"]
        assert not (runs.repo.path / "one.py").exists()


class TestWorkers:
    def test_two_workers_share_the_work_and_their_branches_are_merged(self, runs):
        ended = runs.run(many(6), workers=2, misbehave="slow=0.05")
        assert (ended.why, ended.closed, ended.kept) == ("unproven", 6, ())
        assert {event.worker for event in runs.kinds(run_events.IterationEnded)} == {1, 2}
        assert sorted(runs.repo.files()) == ["readme.md", *(f"w{number}.py" for number in range(1, 7))]
        assert set(runs.times("done").values()) == {1}
        assert runs.repo.status == ""

    def test_an_iteration_under_way_counts_so_that_workers_keep_to_the_budget_together(self, runs):
        with open_store(runs.project) as store, store.write(by=SYSTEM) as tx:
            tasks.add(tx, [NewTask(title=f"Run {word}", description="```sh\ntrue\n```") for word in ("a", "b", "c")])
        ended = runs.run(spec="", workers=2, budget=RunBudget(iterations=1), misbehave="slow=0.2")
        assert (ended.why, ended.iterations, ended.closed, ended.left) == ("budget", 1, 1, 2)
        assert len(runs.kinds(run_events.IterationStarted)) == 1

    def test_a_conflict_goes_back_to_the_worker_who_made_it(self, runs):
        runs.repo.commit("words", {"words.py": "import os\n"})
        item = "- Add the function {0}\n  ```python words.py\n  def {0}():\n      return {0!r}\n  ```\n"
        spec = "# Words\n\n## Tasks\n\n" + "".join(item.format(word) for word in ("one", "two"))
        ended = runs.run(spec, workers=2, misbehave="slow=0.2")
        assert (ended.why, ended.kept) == ("unproven", ())
        assert {"one", "two"} <= set(runs.repo.read("words.py").replace("()", " ").split())
        (conflict,) = [event for event in runs.kinds(run_events.BranchMerged) if event.conflicts]
        assert conflict.conflicts == ("words.py",)
        assert runs.statuses() == ["done"] * 2
        ended = [event for event in runs.kinds(run_events.AttemptEnded) if event.task == conflict.task]
        assert [event.outcome for event in ended] == ["conflict", "done"]
        assert {event.worker for event in ended} == {conflict.worker}

    def test_a_run_in_its_own_worktree_leaves_the_checkout_alone(self, runs):
        ended = runs.run(has_worktree=True)
        assert ended.why == "unproven"
        assert runs.repo.files() == ["readme.md"]
        (branch,) = ended.kept
        assert runs.repo.files(branch) == ["one.py", "readme.md", "two.py"]


class TestServer:
    """What an agent is given."""

    def look(self, runs, path, awaited="task-next", **more):
        agent = shlex.join([sys.executable, str(HERE / "looker.py"), str(path), awaited])
        with open_store(runs.project) as store, store.write(by=SYSTEM) as tx:
            tasks.add(tx, [NewTask(title="Look")])
        runs.run(spec="", agent=agent, budget=RunBudget(iterations=1), **more)
        return msgspec.json.decode(path.read_bytes())

    def test_the_eight_tools_at_an_address_of_its_own(self, runs, tmp_path):
        seen = self.look(runs, tmp_path / "seen")
        eight = "task-add task-update task-list task-next note-add note-list iteration-summary session-complete"
        assert seen["tools"] == eight.split()
        assert (tmp_path / "seen.last").exists(), "the server is there for as long as the agent"
        server = seen["server"]
        assert (server["type"], server["name"]) == ("http", "bns")
        assert server["url"].startswith("http://127.0.0.1:")
        assert [one["name"] for one in server["headers"]] == ["Authorization"]
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(server["url"], timeout=5)

    def test_tools_of_other_servers_and_of_the_debugger_join(self, runs, tmp_path):
        echo = f"echo={shlex.join([sys.executable, str(HERE.parent / 'upstream' / 'rogue.py')])}"
        seen = self.look(runs, tmp_path / "seen", "mcp_echo_echo", servers=(echo,), recipe="loop_debug")
        assert "mcp_echo_echo" in seen["tools"]
        assert "debug_start" in seen["tools"]

    def test_an_agent_that_waits_for_a_tool_is_not_silent(self, runs, tmp_path):
        echo = f"echo={shlex.join([sys.executable, str(HERE.parent / 'upstream' / 'rogue.py')])}"
        self.look(runs, tmp_path / "seen", "mcp_echo_hang", servers=(echo,), silence=4)
        assert runs.kinds(run_events.WarningReported) == []


def test_a_run_whose_output_nobody_reads_any_more_stops_and_holds_nothing(runs):
    """As in `bn run --json | head -1`."""
    runs.repo.write({"words.md": TWO})
    process = runs.command("words.md", "--agent", f"{shlex.join(MISBEHAVING_AGENT)} --misbehave slow=0.2")
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stderr:
        with process.stdout:
            assert any(b'"task":"bn-' in line for line in process.stdout)  # an attempt has begun
        errors = process.stderr.read()
    process.wait(timeout=60)
    assert b"E_INTERNAL" not in errors, errors
    assert runs.holders() == set()
    assert runs.run(TWO, name="words").why == "unproven"
