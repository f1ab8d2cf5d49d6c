"""What waits for a person in a run: permissions, questions, tasks that agents gave up, and runs that ended."""

import asyncio
import json
import os
import shlex
import sys

import pytest

from binnacle.config.trust import keep
from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.runner.desktop_notification import find_notifier
from binnacle.runner.hooks.hook_file import find_hooks, trust_item_of
from binnacle.store import attention, attention_answers, questions
from binnacle.work.run import Attention
from binnacle.work.task import NewTask
from runner.plays import PERSON, Play
from runner.running_commands import RunningCommand

pytestmark = pytest.mark.usefixtures("nothing_is_left")

ASKS = """
agent.keep("may", str(agent.may({"command": "make deploy"}, title="Deploy it")))
agent.done()
"""


def entries(play: Play) -> list[Attention]:
    """Everything that ever waited, oldest first."""
    with open_store(play.runs.project) as store, store.read() as tx:
        return attention.ATTENTIONS.select(tx, "order by number")


def begin(play: Play, script: str, **env: str) -> RunningCommand:
    words = ("--agent", play.agent(script), "--name", "words", "--approve", "ask", "--headless")
    return RunningCommand(play.runs, *words, **env)


class TestPermission:
    @pytest.mark.parametrize(("said", "may"), [("yes", True), ("n", False)])
    def test_it_is_answered_from_elsewhere(self, play, said, may):
        (task,) = play.add(NewTask(title="one"))
        with begin(play, ASKS) as run:
            waiting = run.until("attention", kind="permission")
            assert (waiting["title"], waiting["task"]) == ("Deploy it", task)
            (shown,) = run.bn("status")["attention"]
            assert shown["answer_with"] == f"bn session answer {waiting['id']} yes|no|always"
            assert "make deploy" in shown["body"]
            assert f"answer with: {shown['answer_with']}" in run.bn.human("status")
            assert run.bn.fails("session", "answer", waiting["id"], "perhaps")["code"] == "E_INVALID_PARAMS"
            answered = run.bn("session", "answer", waiting["id"], said)["attention"]
            assert run.until("permission")["by"] == "person"
            run.until("run_ended", why="unproven")
            assert run.bn("status")["attention"] == []
            again = run.bn.fails("session", "answer", waiting["id"], "no")
        assert again["message"] == f"{waiting['id']} was answered by ann: {answered['answer']}"
        assert play.kept("may") == [str(may)]

    def test_always_is_asked_once(self, play):
        play.add(NewTask(title="one"))
        with begin(play, ASKS.replace("agent.done()", "") + ASKS) as run:
            run.until("attention", kind="permission")
            run.bn("session", "answer", "words", "always")
            run.until("permission", by="person")
            run.until("permission", by="person, always")
            run.until("run_ended", why="unproven")
        assert play.kept("may") == ["True", "True"]
        assert len(entries(play)) == 1

    def test_what_nobody_answers_in_time_is_refused(self, play):
        play.add(NewTask(title="one"))
        ended = play.run(ASKS, approve="ask", permission_wait=0.05)
        assert ended.why == "unproven"
        assert play.kept("may") == ["False"]
        assert [one.by for one in play.runs.kinds(run_events.PermissionDecided)] == ["nobody"]
        ((entry),) = entries(play)
        assert (entry.kind, entry.answer, entry.answered_at is None) == ("permission", "", False)

    def test_an_answer_from_elsewhere_takes_the_question_at_the_terminal_back(self, play):
        play.add(NewTask(title="one"))
        taken_back = []

        async def person(request):
            try:
                await asyncio.Event().wait()
            finally:
                taken_back.append(request.title)

        def on(event, control):
            if isinstance(event, run_events.AttentionOpened):
                with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
                    attention_answers.answer(tx, attention.get(tx, event.id), "yes")

        assert play.run(ASKS, approve="ask", person=person, on=on).why == "unproven"
        assert (play.kept("may"), taken_back) == (["True"], ["Deploy it"])

    def test_an_answer_at_the_terminal_closes_the_entry(self, play):
        play.add(NewTask(title="one"))

        async def person(request):
            return "no"

        assert play.run(ASKS, approve="ask", person=person).why == "unproven"
        (entry,) = entries(play)
        assert (entry.answer, entry.answered_by) == ("no", "the terminal of the run")
        assert play.kept("may") == ["False"]

    def test_one_whose_run_was_killed_is_closed(self, play):
        play.add(NewTask(title="one"))
        with begin(play, ASKS) as run:
            waiting = run.until("attention", kind="permission")
            run.process.kill()
            run.process.wait(timeout=60)
            assert run.bn("status")["attention"] == []
            error = run.bn.fails("session", "answer", waiting["id"], "yes")
        assert error["message"].startswith(f"{waiting['id']} no longer waits for an answer")
        assert play.run(ASKS, approve="all").why == "unproven"

    def test_one_whose_run_is_stopped_is_closed(self, play):
        play.add(NewTask(title="one"))
        with begin(play, ASKS) as run:
            run.until("attention", kind="permission")
            assert run.bn("session", "stop", "words")["has_stopped"]
            assert run.until("run_ended")["why"] == "interrupted"
        assert [(one.kind, one.answer, one.answered_at is None) for one in entries(play)] == [("permission", "", False)]


class TestQuestions:
    def test_what_an_agent_lets_its_task_wait_for_is_asked(self, play):
        (task,) = play.add(NewTask(title="one"))
        script = """
agent.call("task-update", id=agent.task, status="needs_input", reason="How are totals rounded?")
agent.call("iteration-summary", summary="asked")
"""
        for text in ("How are totals rounded?", "How are totals rounded?\n(Asked again in iteration 2 of"):
            ended = play.run(script, is_resumed=play.attempts(task) != [])
            assert (ended.why, ended.said) == ("needs_input", "1 task waits for an answer")
            with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
                (asked,) = questions.list_blocking(tx, task)
                assert asked.text.startswith(text)
                (entry,) = [one for one in attention.list_open(tx) if one.question == asked.id]
                assert (entry.kind, entry.title, bool(entry.run)) == ("question", "How are totals rounded?", True)
                questions.answer(tx, asked.id, "To the cent.")
            assert play.status(task) == "pending"


class TestStuckAndEnded:
    def test_each_cause_has_one_entry_and_a_resumed_run_no_longer_waits(self, play):
        (task,) = play.add(NewTask(title="one"))
        assert play.run("pass", max_attempts=1).why == "needs_input"
        stuck, ended = entries(play)
        assert (stuck.kind, stuck.task_id, stuck.title) == ("stuck", task, "agents gave up: one")
        assert (ended.kind, ended.title) == ("ended", "the run words ended: needs input")
        assert [one.kind for one in play.runs.kinds(run_events.AttentionOpened)] == ["stuck", "ended"]
        assert play.run("pass", max_attempts=1).why == "needs_input"
        again = entries(play)
        assert [(one.kind, one.answered_at is None) for one in again] == [
            ("stuck", True),
            ("ended", False),
            ("ended", True),
        ]
        with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
            questions.answer(tx, stuck.question, "Leave the file empty")
        assert play.run("agent.done()").why == "unproven"
        assert all(one.answered_at for one in entries(play))

    def test_what_was_seen_no_longer_waits(self, play):
        play.add(NewTask(title="one"))
        with RunningCommand(play.runs, "--agent", play.agent("pass"), "--name", "words", "--attempts", "1") as run:
            run.until("run_ended")
            (shown,) = run.bn("status")["attention"]
            assert shown["answer_with"] == "bn run --resume --name words"
            run.bn("session", "answer", shown["id"])
            assert run.bn("status")["attention"] == []
            (asked,) = run.bn("status")["questions"]
            answered = run.bn("session", "answer", asked["id"], "Try", "again")["attention"]
            assert (answered["kind"], answered["answer"]) == ("stuck", "Try again")
            assert run.bn("ask", "show", asked["id"])["question"]["answer"] == "Try again"
            assert run.bn("status")["questions"] == []

    def test_nobody_is_bothered_about_a_run_that_was_stopped_or_that_nothing_can_prove(self, play):
        play.add(NewTask(title="one"))

        def stop(event, control):
            if isinstance(event, run_events.AgentPrompted):
                control.stop()

        assert play.run("agent.wait('go')", on=stop).why == "interrupted"
        play.flag("go")
        assert play.run("agent.done()").why == "unproven"
        assert entries(play) == []


class TestWhoHears:
    def test_hooks_run_for_each(self, play, tmp_path):
        repo = play.runs.repo
        told = tmp_path / "told.jsonl"
        code = "import os, sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')"
        command = json.dumps([sys.executable, "-c", code, str(told)])
        repo.commit("hooks", {".binnacle/hooks.yaml": f"on_attention: {command}\n"})
        keep(
            str(repo.path), [trust_item_of(one) for one in find_hooks(str(repo.path))], by="ann", at="", how="terminal"
        )
        (task,) = play.add(NewTask(title="one"))
        assert play.run("pass", max_attempts=1).why == "needs_input"
        stuck, ended = map(json.loads, told.read_text().splitlines())
        assert (stuck["attention_kind"], stuck["task_id"], stuck["task_title"]) == ("stuck", task, "one")
        assert (stuck["run"], stuck["hook"]) == ("words", "on_attention")
        assert ended["attention_kind"] == "ended"
        assert [stuck["attention_id"], ended["attention_id"]] == [one.id for one in entries(play)]

    def test_the_desktop_shows_it_as_a_text_and_nothing_more(self, play, tmp_path, monkeypatch):
        shown = tmp_path / "shown"
        program = tmp_path / "bin" / "notify-send"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {shlex.quote(str(shown))}\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        monkeypatch.setenv("DISPLAY", ":0")
        play.add(NewTask(title="$(touch hacked) <b>bold</b>"))
        assert play.run("pass", max_attempts=1, notifies=True).why == "needs_input"
        first, second = shown.read_text().split("--app-name=Binnacle\n--\n")[1:]
        assert first == "words: stuck\nagents gave up: $(touch hacked) &lt;b&gt;bold&lt;/b&gt;\n"
        assert second.startswith("words: ended\n")
        assert not (play.runs.repo.path / "hacked").exists()

    def test_a_machine_without_a_desktop_shows_nothing(self, tmp_path):
        for name in ("notify-send", "terminal-notifier", "osascript"):
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
        path = {"PATH": str(tmp_path)}
        assert find_notifier(path, "a", "b", platform="linux") == []
        assert find_notifier({"PATH": "/nowhere", "DISPLAY": ":0"}, "a", "b", platform="linux") == []
        assert find_notifier({**path, "WAYLAND_DISPLAY": "w"}, "a", "b", platform="linux")[-2:] == ["a", "b"]
        assert find_notifier(path, "a", "-b\n", platform="darwin") == [
            str(tmp_path / "terminal-notifier"), "-title", "a", "-message", "\u2009-b",
        ]  # fmt: skip
        (tmp_path / "terminal-notifier").unlink()
        assert find_notifier(path, "a", 'x" & (do evil)', platform="darwin")[-2:] == ["a", 'x" & (do evil)']
