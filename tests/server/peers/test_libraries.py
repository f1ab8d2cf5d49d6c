"""Programs on the MCP clients of LangChain and of OpenAI Agents: they claim, work and finish without a model."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from cli.conftest import BN, Bn, bn  # noqa: F401 - the fixture
from server.peers import installed

pytestmark = pytest.mark.peers

HERE = Path(__file__).parent
LIBRARIES = ("langchain_adapters", "openai_agents")
"""The first starts a server for every call, on the SDK's version 1; the second has one server, on version 2."""

WAIT_SECONDS = 120


class Program:
    """A program on one of the libraries. Leaving it kills its process."""

    def __init__(self, bn: Bn, library: str) -> None:  # noqa: F811
        packages = installed.python_packages(HERE / library / "requirements.txt")
        command = [sys.executable, str(HERE / library / "client.py"), BN]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        env = bn.env | {"PYTHONPATH": str(packages), "PATH": os.environ["PATH"]}
        self.process = subprocess.Popen(command, cwd=bn.repo, env=env, text=True, **streams)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=WAIT_SECONDS)

    def begin(self, *calls: tuple[str, dict[str, Any]]) -> None:
        """Has it make calls at once."""
        self.process.stdin.write(json.dumps(calls) + "\n")
        self.process.stdin.flush()

    def answers(self) -> list[Any]:
        """What the calls told, which must all have succeeded."""
        assert select.select([self.process.stdout], [], [], WAIT_SECONDS)[0], "the program does not answer"
        line = self.process.stdout.readline()
        assert line, "the program is gone"
        answers = json.loads(line)
        assert not [answer for answer in answers if answer["is_error"]], answers
        return [answer["told"]["data"] for answer in answers]

    def call(self, tool: str, /, **arguments: Any) -> Any:
        self.begin((tool, arguments))
        (told,) = self.answers()
        return told


@pytest.fixture(params=LIBRARIES)
def start(request, bn: Bn) -> Iterator[Callable[[], Program]]:  # noqa: F811
    """Starts programs on a library, and ends them with the test."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Program(bn, request.param))


def actors_of(bn: Bn, task: str) -> set[str]:  # noqa: F811
    """Who did something to a task, besides adding it."""
    events = bn("log", "--of", task)["events"]
    return {event["actor"] for event in events if event["actor"] != "ann"}


def test_a_task_is_claimed_worked_on_and_finished(bn, start):  # noqa: F811
    task = bn.add("Mend the login")
    program = start()
    claimed = program.call("task_claim")
    assert claimed["task"]["id"] == task
    agent = claimed["task"]["claimed_by"]
    assert program.call("task_next")["task"]["id"] == task, "it is told to go on with what it holds"
    program.call("comment_add", task_id=task, body="The cookie was never set")
    program.call("task_status", id=task, status="done", reason="The login works", fence=claimed["fence"])
    shown = bn("task", "show", task)
    assert (shown["task"]["status"], shown["task"]["closed_reason"]) == ("done", "The login works")
    assert actors_of(bn, task) == {agent}
    assert [one["id"] for one in bn("agent", "list")["agents"]] == [agent]


def test_commands_run_where_it_said_it_works(bn, start, tmp_path):  # noqa: F811
    other = tmp_path / "other"
    subprocess.run(["git", "init", "--quiet", str(other)], check=True, timeout=60)
    program = start()
    opened = program.call("binnacle-set_agent", path=str(other))
    ran = program.call("bn_run", args=["task", "add", "There"])
    assert ran["exit_code"] == 0, ran
    task = json.loads(ran["stdout"])["tasks"][0]["id"]
    claimed = program.call("task_claim")["task"]
    assert (claimed["id"], claimed["claimed_by"]) == (task, opened["agent_id"])
    done = program.call("bn_run", args=["task", "done", task, "-m", "by its command"])
    assert done["exit_code"] == 0, done
    assert bn("task", "show", task, cwd=other)["task"]["status"] == "done"
    assert bn("task", "list", "--all")["tasks"] == []


def test_two_programs_side_by_side_never_meet(bn, start):  # noqa: F811
    tasks = {bn.add("First"), bn.add("Second")}
    one, two = start(), start()
    for program in (one, two):
        program.begin(("task_claim", {}))
    held = [program.answers()[0]["task"] for program in (one, two)]
    assert {each["id"] for each in held} == tasks
    assert len({each["claimed_by"] for each in held}) == 2
    for program, each in zip((one, two), held, strict=True):
        program.call("task_status", id=each["id"], status="done")
        assert actors_of(bn, each["id"]) == {each["claimed_by"]}


def test_calls_at_once_that_pass_the_handle_are_of_one_agent(bn, start):  # noqa: F811
    task = bn.add("First")
    program = start()
    opened = program.call("binnacle-set_agent", path=str(bn.repo))
    handle = {"session": opened["session"]}
    program.call("task_claim", **handle)
    comments = [("comment_add", {"task_id": task, "body": f"Tried {number}", **handle}) for number in range(3)]
    program.begin(*comments, ("task_status", {"id": task, "status": "done", **handle}))
    program.answers()
    assert actors_of(bn, task) == {opened["agent_id"]}
    assert [one["id"] for one in bn("agent", "list")["agents"]] == [opened["agent_id"]]


def test_a_program_that_was_killed_holds_nothing(bn, start):  # noqa: F811
    task = bn.add("First")
    with start() as program:
        program.call("task_claim")
        assert bn("task", "show", task)["task"]["status"] == "in_progress"
    assert bn("task", "show", task)["task"]["status"] == "pending"
