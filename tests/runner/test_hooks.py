"""The hooks of a project: what may stand in their file, who may let them run, and how they run."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from binnacle.config.trust import is_trusted, keep
from binnacle.errors import ConfigError, NotFound
from binnacle.processes.keeper import Keeper
from binnacle.runner.hooks.hook_file import HOOK_EVENTS, Hook, find_hooks, select_hooks, trust_item_of
from binnacle.runner.hooks.hook_runner import OUTPUT_TAIL_BYTES, HookInput, HookRunner, output_for_agent, run_hook


@pytest.fixture
def project(tmp_path) -> Path:
    (tmp_path / "repo" / ".binnacle").mkdir(parents=True)
    return tmp_path / "repo"


def write(project: Path, text: str) -> str:
    (project / ".binnacle" / "hooks.yaml").write_text(text)
    return str(project)


TWO = "on_error: [{command: make a}, {command: make b}]\n"


def trust(hook: Hook, repo: str) -> None:
    keep(repo, [trust_item_of(hook)], by="ann", at="", how="terminal")


def a_hook(*command: str, **fields) -> Hook:
    return Hook(**{"event": "pre_iteration", "number": 1, "command": command, **fields})


def run(hook: Hook, cwd: Path, **about):
    async def once():
        async with Keeper() as keeper:
            return await run_hook(keeper, hook, HookInput(**about), cwd=str(cwd))

    return asyncio.run(asyncio.wait_for(once(), 60))


class TestFile:
    def test_no_file_is_no_hooks(self, project):
        assert find_hooks(str(project)) == []
        assert find_hooks(write(project, "")) == []

    def test_every_way_to_write_one(self, project):
        hooks = find_hooks(
            write(
                project,
                """\
pre_iteration: git fetch 'a b'
on_error: ["sh", "-c", "make lint | tail"]
post_iteration:
  - command: [make, test]
    timeout: 120
    pipe_output: true
  - command: ["sh", "-c", "make lint | tail"]
    required: true
session_end:
  command: notify-send done
""",
            )
        )
        assert [(one.name, one.command) for one in hooks] == [
            ("pre_iteration.1", ("git", "fetch", "a b")),
            ("post_iteration.1", ("make", "test")),
            ("post_iteration.2", ("sh", "-c", "make lint | tail")),
            ("on_error.1", ("sh", "-c", "make lint | tail")),
            ("session_end.1", ("notify-send", "done")),
        ]
        assert (hooks[1].timeout, hooks[1].pipe_output, hooks[1].required) == (120, True, False)
        assert (hooks[2].timeout, hooks[2].pipe_output, hooks[2].required) == (30, False, True)
        assert hooks[2].place.endswith("hooks.yaml:7")

    def test_the_file_of_an_older_system_is_read_where_there_is_no_other(self, project):
        old = project / ".iteratr.hooks.yml"
        old.write_text("version: 1\nhooks:\n  session_start:\n    - command: make setup\n")
        assert [one.command for one in find_hooks(str(project))] == [("make", "setup")]
        write(project, "session_end: make clean\n")
        assert [one.event for one in find_hooks(str(project))] == ["session_end"]

    @pytest.mark.parametrize(
        ("text", "line", "words", "hint"),
        [
            ("pre_iteraton: make\n", 1, "pre_iteraton", "did you mean 'pre_iteration'?"),
            ("\non_error:\n  - comand: make\n", 3, "comand", "did you mean 'command'?"),
            ("on_error:\n  command: make\n  timeout: soon\n", 3, "timeout", ""),
            ("on_error:\n  command: make\n  timeout: 0\n", 3, "timeout", ""),
            ("on_error: {timeout: 3}\n", 1, "command", ""),
            ("version: 2\n", 1, "version", ""),
            ("on_error: []\nsession_end: ''\n", 2, "no command", ""),
            ("session_end: [[]]\n", 1, "session_end", ""),
            ("session_end: 'say \"hello'\n", 1, "quotation", "close the quotes"),
            ("session_end: make lint | tail\n", 1, "'|'", '["sh","-c","make lint | tail"]'),
            ("session_end: echo $HOME\n", 1, "'$'", "sh"),
            ("session_end: a && b\n", 1, "'&&'", "sh"),
            ("session_end: echo {{task_content}}\n", 1, "not put into commands", "BN_TASK_TITLE"),
            ("session_end: ['sh', '-c', 'echo {{error}}']\n", 1, "not put into commands", "BN_"),
            ("session_end:\n  - make\n  - command: make\n", 1, "some are commands", "command: make test"),
            ("session_end: {command: ['sh', '-c', 'echo {{error}}']}\n", 1, "not put into commands", "BN_"),
            ("on_error: make\nhooks:\n  session_end: make\n", 1, "under 'hooks'", "one place"),
        ],
    )
    def test_what_is_wrong_is_said_by_line(self, project, text, line, words, hint):
        with pytest.raises(ConfigError) as refused:
            find_hooks(write(project, text))
        assert f"hooks.yaml:{line}: " in refused.value.message
        assert words in refused.value.message
        assert hint in refused.value.hint

    @pytest.mark.parametrize("text", ["grep '|' a.txt", "echo '$HOME'", "python -c 'print(1); print(2)'"])
    def test_what_is_quoted_is_no_affair_of_a_shell(self, project, text):
        assert len(find_hooks(write(project, json.dumps({"on_error": text})))) == 1

    def test_they_are_found_by_event_or_number(self, project):
        hooks = find_hooks(write(project, TWO + "session_end: make c\n"))
        assert [one.name for one in select_hooks(hooks, ["on_error"])] == ["on_error.1", "on_error.2"]
        assert [one.name for one in select_hooks(hooks, ["session_end.1", "on_error.2"])] == [
            "session_end.1",
            "on_error.2",
        ]
        with pytest.raises(NotFound) as refused:
            select_hooks(hooks, ["on_eror"])
        assert refused.value.hint == "did you mean 'on_error'?"


class TestTrust:
    def test_it_holds_for_exactly_the_hook(self, project):
        repo = write(project, TWO)
        first, second = find_hooks(repo)
        trust(first, repo)
        assert [is_trusted(repo, trust_item_of(one)) for one in (first, second)] == [True, False]
        assert not is_trusted(f"{repo}/.binnacle", trust_item_of(first)), "in this project only"
        repo = write(project, TWO.replace("make a", "make worse"))
        assert not is_trusted(repo, trust_item_of(find_hooks(repo)[0]))

    def test_a_file_that_cannot_be_read_trusts_nothing(self, project, tmp_path):
        trust(a_hook("make"), str(project))
        assert is_trusted(str(project), trust_item_of(a_hook("make")))
        (tmp_path / "config" / "binnacle" / "trust.json").write_text("{")
        assert not is_trusted(str(project), trust_item_of(a_hook("make")))


SHOW = 'echo "$BN_HOOK|$BN_RUN_NAME|$BN_RUN_SESSION|$BN_ITERATION|$BN_TASK_ID|$BN_TASK_TITLE|$BN_ERROR"; cat'


class TestRun:
    def test_values_come_by_environment_and_standard_input(self, project):
        title = "a '; rm -rf ~ #\n$(id) `id` | & \\ ü"
        about = {"run": "blue", "session": "bns-1", "iteration": 3, "task_id": "bn-1f3a", "task_title": title}
        found = run(a_hook("sh", "-c", SHOW), project, **about, error="no")
        assert found.is_ok, found.description
        said, _, given = found.output.rpartition("\n")
        assert said == f"pre_iteration|blue|bns-1|3|bn-1f3a|{title}|no"
        assert json.loads(given) == {"hook": "pre_iteration", **about, "error": "no"}

    def test_a_value_that_no_environment_takes_reaches_standard_input_whole(self, project):
        error = "\0" + "x" * 300_000
        found = run(a_hook("sh", "-c", 'printf "%s" "$BN_ERROR" | wc -c; wc -c'), project, error=error)
        assert found.is_ok, found.description
        shown, given = map(int, found.output.split())
        assert shown < 20_000
        assert given > 300_000

    def test_it_runs_where_it_is_told_to_with_the_variables_that_the_person_passes_on(self, project, monkeypatch):
        for name, value in {"COLOUR": "blue", "SHADE": "dark", "BN_PASS_ENV": "SIZE, COLOUR"}.items():
            monkeypatch.setenv(name, value)
        found = run(a_hook("sh", "-c", "pwd; echo $COLOUR $SHADE"), project)
        assert found.output.split() == [str(project.resolve()), "blue"]

    def test_a_failure_is_reported(self, project):
        found = run(a_hook("sh", "-c", "echo out; echo err >&2; exit 3"), project)
        assert (found.code, found.output, found.is_ok, found.stops) == (3, "out\nerr\n", False, False)
        assert found.description.endswith(": exit code 3")
        assert run(a_hook("false", required=True), project).stops
        assert not run(a_hook("true", required=True), project).stops
        assert run(a_hook("sh", "-c", "kill -9 $$"), project).description.endswith("signal 9")

    def test_a_program_that_is_not_there_is_said(self, project):
        found = run(a_hook("no-such-program"), project)
        assert found.code is None
        assert "cannot be started" in found.fault
        assert "no-such-program" in found.fault

    def test_one_that_takes_too_long_is_ended_with_all_it_started(self, project):
        words = "echo begun; sleep 600 & echo $! > child; trap '' TERM; wait"
        found = run(a_hook("sh", "-c", words, timeout=1.5), project)
        assert found.code is None
        assert "longer than 1.5 s" in found.fault
        assert found.output == "begun\n"
        assert not is_running(int((project / "child").read_text()))

    def test_what_it_leaves_behind_is_ended_too(self, project):
        found = run(a_hook("sh", "-c", "sleep 600 & echo $! > child"), project)
        assert found.is_ok
        assert not is_running(int((project / "child").read_text()))

    def test_of_a_flood_the_end_is_kept(self, project):
        found = run(a_hook("sh", "-c", "yes | head -c 3000000; echo last"), project)
        assert found.output.endswith("last\n")
        assert len(found.output) <= OUTPUT_TAIL_BYTES + 2
        assert found.output.startswith("…")

    def test_a_cancelled_run_leaves_nothing(self, project):
        os.mkfifo(project / "pid")

        async def cancelled():
            async with Keeper() as keeper:
                hook = a_hook("sh", "-c", "echo $$ > pid; exec sleep 600")
                task = asyncio.create_task(run_hook(keeper, hook, HookInput(), cwd=str(project)))
                pid = int(await asyncio.wait_for(asyncio.to_thread((project / "pid").read_text), 30))
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled()
                return pid

        assert not is_running(asyncio.run(cancelled()))


class TestHooks:
    def run(self, project: Path, hooks: list[Hook], event: str = "on_error", *, trusted: bool = True):
        for one in hooks if trusted else ():
            trust(one, str(project))

        async def once():
            async with Keeper() as keeper:
                running = HookRunner(keeper, hooks, repo=str(project))
                return await running.run(event, HookInput(), cwd=str(project))

        return asyncio.run(asyncio.wait_for(once(), 60))

    def test_only_those_of_the_event_run_and_in_order(self, project):
        hooks = find_hooks(
            write(
                project, "on_error: [{command: echo a}, {command: 'false'}, {command: echo b}]\nsession_end: echo c\n"
            )
        )
        assert [one.output for one in self.run(project, hooks)] == ["a\n", "", "b\n"]

    def test_what_nobody_trusted_does_not_run(self, project):
        hooks = find_hooks(write(project, "on_error: touch ran\n"))
        (found,) = self.run(project, hooks, trusted=False)
        assert "bn trust hook:on_error.1" in found.fault
        assert not (project / "ran").exists()
        assert not found.stops

    def test_after_one_that_stops_the_run_no_other_runs(self, project):
        hooks = find_hooks(write(project, "on_error: [{command: 'false', required: true}, {command: touch ran}]\n"))
        (found,) = self.run(project, hooks)
        assert found.stops
        assert not (project / "ran").exists()

    def test_the_agent_is_told_what_it_is_meant_to(self, project):
        text = """\
on_error:
  - {command: echo secret}
  - {command: echo told, pipe_output: true}
  - {command: 'true', pipe_output: true}
  - {command: 'false', pipe_output: true}
"""
        told = output_for_agent(self.run(project, find_hooks(write(project, text))))
        assert told == "$ echo told\ntold\n\n$ false\n(it wrote nothing)\n[on_error.4 (false): exit code 1]"

    def test_every_event_has_its_hooks(self, project):
        hooks = find_hooks(write(project, "".join(f"{event}: echo {event}\n" for event in HOOK_EVENTS)))
        for event in HOOK_EVENTS:
            assert [one.output for one in self.run(project, hooks, event)] == [f"{event}\n"]


def is_running(pid: int) -> bool:
    try:
        about = Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return False
    return ") Z " not in about and os.path.exists(f"/proc/{pid}")
