"""Attempts at tasks: what an agent is told, how often it may try, what it costs, and what waits for a person."""

import subprocess

import pytest

from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.runner.budget import RunBudget
from binnacle.store import attempts, comments, features, leases, questions
from binnacle.store import runs as store_runs
from binnacle.work.task import NewTask
from runner.plays import PERSON, FastControl

pytestmark = pytest.mark.usefixtures("nothing_is_left")


class TestPrompt:
    """The one who must meet the criteria gets to see them."""

    def test_it_has_what_decides(self, play):
        with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
            features.add(tx, "carts", {"description": "Carts hold what people buy."}, force=True)
        (first,) = play.add(NewTask(title="Write the base", feature="carts"))
        (second,) = play.add(
            NewTask(
                title="Add totals",
                description="Sum the prices.",
                acceptance_criteria=("an empty cart is 0",),
                hints="prices are in cents",
                context_files=("readme.md",),
                depends_on=(first,),
                feature="carts",
            )
        )
        with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
            comments.add(tx, second, "please keep it small")
        script = """
if agent.times("turn") == 1:
    agent.write("base.py", "BASE = 1\\n")
    agent.call("task-update", id=agent.task, status="done", reason="the base is in base.py")
    agent.call("iteration-summary", summary="wrote the base")
else:
    agent.write("total.py", "TOTAL = 1\\n")
    agent.done()
"""
        ended = play.run(script, auto_commit=True)
        assert (ended.why, ended.closed) == ("unproven", 2)
        prompt = play.kept("prompt")[1]
        for wanted in (
            "Add totals", "Sum the prices.", "an empty cart is 0", "prices are in cents", "readme.md",
            "please keep it small", "Carts hold what people buy.", "the base is in base.py",
        ):  # fmt: skip
            assert wanted in prompt, wanted
        commit = play.runs.repo.git("log", "--format=%h", "-1", "--", "base.py").strip()
        assert commit[:7] in prompt

    def test_task_next_is_the_task_of_the_attempt(self, play):
        one, _ = play.add(NewTask(title="First", priority=1), NewTask(title="Second", priority=0))
        script = """
agent.keep("next", agent.text("task-next"))
agent.keep("other", agent.text("task-update", id=OTHER, status="done"))
agent.write(f"{agent.task}.txt", "done")
agent.done()
""".replace("OTHER", repr(one))
        assert play.run(script).why == "unproven"
        first, second = play.kept("next")
        assert "Second" in first
        assert "First" in second
        assert "not the task of this attempt" in play.kept("other")[0]

    def test_an_earlier_attempt_is_told_with_why_it_failed(self, play):
        play.add(NewTask(title="Hard"))
        script = """
if agent.times("turn") == 1:
    agent.call("task-update", id=agent.task, status="partial", reason="the parser is missing")
    agent.call("iteration-summary", summary="half of it")
else:
    agent.done()
"""
        assert play.run(script).why == "unproven"
        assert "the parser is missing" in play.kept("prompt")[1]

    @pytest.mark.parametrize("approve", ["edits", "all", "none"])
    def test_it_says_what_the_policy_allows(self, play, approve):
        play.add(NewTask(title="Something"))
        play.run("agent.done()", approve=approve)
        (prompt,) = play.kept("prompt")
        refused = {"edits": "Shell commands are refused", "all": "run commands", "none": "only the tools"}[approve]
        assert refused in prompt


class TestRecipes:
    def test_the_agent_reports_on_its_task(self, play):
        (task,) = play.add(NewTask(title="Report it"))
        script = """
agent.write("a.txt", "a")
agent.call("done" if "done" in agent.tools() else "report_done", summary="it is there")
"""
        ended = play.run(script, recipe="task_intents")
        assert (ended.why, play.status(task)) == ("unproven", "done")

    def test_what_is_reported_as_partial_is_tried_again(self, play):
        (task,) = play.add(NewTask(title="Report it"))
        script = """
if agent.times("turn") == 1:
    agent.call("partial" if "partial" in agent.tools() else "report_partial", summary="half", remaining="the rest")
else:
    agent.call("done" if "done" in agent.tools() else "report_done", summary="it is there")
"""
        ended = play.run(script, recipe="task_intents")
        assert (ended.why, ended.iterations) == ("unproven", 2)
        assert play.attempts(task)[0] == ("partial", "the rest")

    def test_the_agent_moves_its_own_task(self, play):
        (task,) = play.add(NewTask(title="Execute it"))
        script = 'agent.call("set_task_status", id=agent.task, status="done", reason="it works")'
        ended = play.run(script, recipe="task_execution")
        assert (ended.why, play.status(task)) == ("unproven", "done")


class TestLimits:
    @pytest.mark.parametrize(
        "what",
        [
            'agent.call("note-add", notes=[{"type": "stuck", "content": f"stuck {agent.times(\'n\')}"}])',
            'agent.call("task-update", id=agent.task, status="pending")',
            'agent.call("task-update", id=agent.task, status="partial")',
            "pass",
        ],
        ids=["notes", "toggles", "partial", "nothing"],
    )
    def test_a_task_is_handed_to_a_person_after_three_attempts(self, play, what):
        (task,) = play.add(NewTask(title="Impossible"))
        ended = play.run(f'{what}\nagent.call("iteration-summary", summary="tried")')
        assert (ended.why, ended.iterations, play.status(task)) == ("needs_input", 3, "needs_input")
        with open_store(play.runs.project) as store, store.read() as tx:
            (question,) = questions.list_task_questions(tx, task)
        assert "3 attempts did not finish" in question.text

    def test_an_answer_gives_it_attempts_again_and_is_told(self, play):
        (task,) = play.add(NewTask(title="Impossible"))
        script = 'agent.call("iteration-summary", summary="tried")'
        play.run(script)
        with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
            (question,) = questions.list_task_questions(tx, task)
            questions.answer(tx, question.id, "leave the parser out")
        ended = play.run(f"agent.keep('told', str('leave the parser out' in agent.prompt))\n{script}")
        assert (ended.why, ended.iterations) == ("needs_input", 3)
        assert play.kept("told")[0] == "True"
        assert len(play.attempts(task)) == 6

    def test_other_tasks_are_done_meanwhile(self, play):
        bad, *good = play.add(NewTask(title="Impossible", priority=0), NewTask(title="A"), NewTask(title="B"))
        script = f"""
if agent.task == {bad!r}:
    agent.call("iteration-summary", summary="tried")
else:
    agent.write(agent.task, "x")
    agent.done()
"""
        ended = play.run(script)
        assert (ended.why, ended.iterations, ended.closed) == ("needs_input", 5, 2)
        assert [play.status(one) for one in good] == ["done", "done"]

    def test_one_task_at_which_the_agent_always_fails_does_not_end_the_others(self, play):
        first, bad, last = play.add(
            NewTask(title="A", priority=0), NewTask(title="Poison", priority=1), NewTask(title="B", priority=2)
        )
        script = f"""
if agent.task == {bad!r}:
    os._exit(3)
agent.write(agent.task, "x")
agent.done()
"""
        ended = play.run(script, control=FastControl())
        assert (ended.why, ended.closed) == ("needs_input", 2)
        assert [play.status(one) for one in (first, bad, last)] == ["done", "needs_input", "done"]
        assert [outcome for outcome, _ in play.attempts(bad)] == ["failed"] * 3

    def test_a_tree_that_somebody_removed_is_no_failure_of_the_agent(self, play):
        play.add(NewTask(title="A"))
        script = """
import shutil
if agent.times("turn") == 1:
    shutil.rmtree(agent.cwd)
else:
    agent.write("a", "x")
agent.done()
"""
        ended = play.run(script, workers=2)
        assert (ended.why, ended.iterations, ended.closed) == ("unproven", 2, 1)

    def test_a_tree_that_cannot_be_made_ends_the_run_with_what_git_said(self, play):
        (task,) = play.add(NewTask(title="A"))
        repo = play.runs.repo
        repo.commit("large files", {".gitattributes": "*.bin filter=large", "a.bin": "x"})
        repo.git("config", "filter.large.smudge", "no-such-program")
        repo.git("config", "filter.large.required", "true")
        ended = play.run("agent.done()", workers=2)
        assert (ended.why, play.status(task)) == ("error", "pending")
        assert "smudge filter large failed" in ended.said

    def test_iterations_are_as_many_as_tasks(self, play):
        play.add(*(NewTask(title=f"Task {word}") for word in ("one", "two", "three")))
        ended = play.run("agent.write(agent.task, 'x')\nagent.done()", auto_commit=True)
        assert (ended.why, ended.iterations) == ("unproven", 3)

    def test_a_task_costs_no_more_than_it_may(self, play):
        (task,) = play.add(NewTask(title="Dear"))
        script = "agent.cost(3.0)\nimport time\ntime.sleep(0.3)\nagent.cost(4.0)"
        ended = play.run(script, task_budget=RunBudget(cost=5.0), max_attempts=2)
        assert ended.why == "needs_input"
        assert [outcome for outcome, _ in play.attempts(task)] == ["unfinished", "limit"]

    def test_what_was_spent_counts_when_the_run_goes_on(self, play):
        play.add(*(NewTask(title=f"Task {word}") for word in ("one", "two", "three")))
        script = "agent.write(agent.task, 'x')\nagent.done()\nagent.cost(2.0)"
        first = play.run(script, budget=RunBudget(iterations=1))
        assert (first.why, first.cost) == ("budget", 2.0)
        again = play.run(script, budget=RunBudget(cost=4.0))
        assert (again.why, again.cost, again.closed) == ("budget", 4.0, 1), "the attempt that reaches it is interrupted"
        with open_store(play.runs.project) as store, store.read() as tx:
            run = store_runs.find(tx, "words")
            assert attempts.spent_in_run(tx, run.id).cost == 4.0

    REPEATING = """
import time
until = time.monotonic() + 90
while not agent.cancelled.wait(0.01) and time.monotonic() < until:
    agent.tool("make test", given={"command": "make test"}, status="failed")
"""

    def test_an_agent_that_repeats_itself_is_told_once_and_then_ended(self, play):
        (task,) = play.add(NewTask(title="Loop"))
        ended = play.run(self.REPEATING, max_attempts=1)
        assert ended.why == "needs_input"
        ((outcome, _),) = play.attempts(task)
        assert outcome == "repeating"
        assert "the same again and again" in play.kept("prompt")[1]
        assert len(play.kept("prompt")) == 2

    def test_one_that_cannot_be_told_is_ended_at_once(self, play, monkeypatch):
        monkeypatch.setattr("binnacle.runner.agents.acp_session.CANCEL_TIMEOUT_SECONDS", 0.1)
        (task,) = play.add(NewTask(title="Loop"))
        ended = play.run(self.REPEATING.replace("agent.cancelled.wait(0.01)", "time.sleep(0.01)"), max_attempts=1)
        assert ended.why == "needs_input"
        ((outcome, _),) = play.attempts(task)
        assert outcome == "repeating"
        assert len(play.kept("prompt")) == 1


class TestOutages:
    SCRIPT = """
if agent.times("turn") <= {times}:
    agent.fail("API Error: 503 Service Unavailable")
agent.write(agent.task, "x")
agent.done()
"""

    def test_one_is_waited_out(self, play):
        play.add(NewTask(title="Wait"))
        control = FastControl()
        ended = play.run(self.SCRIPT.format(times=8), control=control)
        assert (ended.why, ended.iterations) == ("unproven", 1)
        assert control.waited > 15 * 60

    def test_one_that_lasts_too_long_ends_the_run_which_goes_on_later(self, play):
        (task,) = play.add(NewTask(title="Wait"))
        ended = play.run(self.SCRIPT.format(times=8), control=FastControl(), max_outage=60.0)
        assert (ended.why, play.status(task)) == ("agent_failing", "pending")
        assert "takes no requests now" in ended.said
        assert play.run(self.SCRIPT.format(times=8), control=FastControl()).why == "unproven"
        assert not [one for one in play.runs.kinds(run_events.AttemptEnded) if one.outcome == "failed"]


class TestIntegration:
    def test_a_task_starts_with_the_files_of_what_it_depends_on(self, play):
        """The merge of the first is held up by a hook until all workers had their chance to start the second."""
        first, *_ = play.add(NewTask(title="Base"), NewTask(title="Side"))
        play.add(*(NewTask(title=f"Use it {word}", depends_on=(first,)) for word in ("once", "twice")))
        play.runs.repo.write({".git/hooks/pre-commit": "#!/bin/sh\nsleep 1\n"})
        (play.runs.repo.path / ".git/hooks/pre-commit").chmod(0o755)
        script = """
if agent.title.startswith("Use it"):
    agent.keep("seen", str((agent.cwd / "base.py").exists()))
agent.write("base.py" if agent.title == "Base" else f"{agent.task}.py", "WORD = 1\\n")
agent.done()
"""
        ended = play.run(script, workers=3)
        assert (ended.why, ended.closed, ended.iterations) == ("unproven", 4, 4)
        assert play.kept("seen") == ["True", "True"]

    def test_one_ready_task_starts_one_worker(self, play):
        (first,) = play.add(NewTask(title="Base"))
        play.add(NewTask(title="Next", depends_on=(first,)))
        ended = play.run("agent.write(agent.task, 'x')\nagent.done()", workers=3)
        assert (ended.why, ended.iterations) == ("unproven", 2)
        assert len(play.runs.kinds(run_events.AgentStarted)) == 2
        assert {event.worker for event in play.runs.kinds(run_events.AgentStarted)} == {1}


class TestPersonBranch:
    """A person who has changes in their folder is told where the work is."""

    def test_a_branch_that_could_not_follow_is_named_at_the_end(self, play):
        play.add(NewTask(title="Write it"))
        play.runs.repo.write({"readme.md": "mine\n"})
        ended = play.run('agent.write("new.py", "")\nagent.done()', workers=2)
        assert ended.why == "unproven"
        assert "uncommitted changes in readme.md" in ended.behind
        assert f"git -C {play.runs.repo.path} merge bn/words/run" in ended.behind
        assert (play.runs.repo.path / "readme.md").read_text() == "mine\n"
        play.runs.repo.git("merge", "--quiet", "bn/words/run")
        assert (play.runs.repo.path / "new.py").exists()

    def test_what_a_person_had_changed_in_their_folder_is_not_committed(self, play):
        """Staged, not staged, new and deleted; also after a resume. What an agent changes too is committed."""
        repo = play.runs.repo
        repo.commit("more", {"staged.md": "a\n", "gone.md": "a\n", "both.md": "a\n"})
        repo.write({"readme.md": "mine\n", "staged.md": "mine\n", "new.md": "mine\n", "both.md": "mine\n"})
        repo.git("add", "staged.md")
        (repo.path / "gone.md").unlink()
        before = repo.status
        play.add(NewTask(title="One"), NewTask(title="Two"))
        script = """
agent.write(f"{agent.title}.py", "")
if agent.title == "Two":
    agent.write("both.md", "ours\\n")
agent.done()
"""
        assert play.run(script, auto_commit=True, budget=RunBudget(iterations=1)).why == "budget"
        assert repo.status == before
        ended = play.run(script, auto_commit=True, is_resumed=True, budget=RunBudget(iterations=9))
        assert (ended.why, ended.closed) == ("unproven", 2)
        assert [line.strip() for line in repo.status.splitlines()] == [
            line.strip() for line in before.splitlines() if "both" not in line
        ]
        assert repo.git("show", "--format=", "--name-only", "HEAD").split() == ["Two.py", "both.md"]


class TestTurnOfAnotherMachine:
    """A machine that merges may take long, and a person does not want to wait for it."""

    def test_a_stop_does_not_wait_for_it_and_the_next_run_does_the_rest(self, play):
        play.add(NewTask(title="Write it"))
        repo, place = play.runs.repo, play.folder / "shared.git"
        subprocess.run(["git", "init", "--quiet", "--bare", str(place)], check=True)
        repo.git("remote", "add", "origin", str(place))

        def stop(event, control) -> None:
            if isinstance(event, run_events.ChangesCommitted):
                control.stop()
            if isinstance(event, run_events.AgentStarted):
                self.hold(play, 3600)

        script = 'agent.write("new.py", "")\nagent.done()'
        assert play.run(script, remote="origin", on=stop).why == "interrupted"
        assert not (repo.path / "new.py").exists()
        self.hold(play, 0)
        ended = play.run(script, remote="origin", is_resumed=True)
        assert (ended.why, ended.closed) == ("unproven", 1)
        assert play.runs.times("done") == {"Write it": 1}
        assert (repo.path / "new.py").exists()

    def hold(self, play, seconds: float) -> None:
        with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
            run = store_runs.list_runs(tx, limit=1)[0]
            assert leases.take(tx, f"merge {run.id}", "another machine", seconds)
