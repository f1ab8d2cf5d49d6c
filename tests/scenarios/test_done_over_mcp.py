"""An agent says `done` over MCP, and its checks take longer than a call: what it is told, and what is left of them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.repositories import Repository
from scenarios.agents import Agent, HttpAgent, StdioAgent
from server.clients import cancelled, request, stateless, text_of, wait_for

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
EXTENSION = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
SOON = {"BN_CHECKS_ANSWER_SECONDS": "0"}
"""A call waits for nothing."""


class SlowCheck:
    """A check that goes on until it is let go, and then passes if the work is good."""

    def __init__(self, place: Path) -> None:
        self.begun = place / "begun"
        self._gate = place / "gate"
        os.mkfifo(self._gate)
        self._held = os.open(self._gate, os.O_RDWR)  # keeps the pipe open, so that the check can wait for a line

    def close(self) -> None:
        os.close(self._held)

    @property
    def command(self) -> str:
        return f"sh -c 'echo $$ >> {self.begun}; read line < {self._gate}; grep -q good work.txt'"

    def let_go(self) -> None:
        os.write(self._held, b"go\n")

    @property
    def processes(self) -> list[int]:
        """The processes that ran it so far."""
        return [int(line) for line in self.begun.read_text().split()] if self.begun.exists() else []

    @property
    def running(self) -> list[int]:
        return [one for one in self.processes if Path(f"/proc/{one}").exists()]

    def wait_begun(self, times: int = 1) -> None:
        wait_for(lambda: len(self.processes) >= times, "the check does not begin")

    def wait_ended(self) -> None:
        wait_for(lambda: not self.running, "the check goes on")


@pytest.fixture
def check(bn, tmp_path) -> Iterator[SlowCheck]:
    """A project whose tasks need the check."""
    made = SlowCheck(tmp_path)
    folder = bn.repo / ".binnacle"
    folder.mkdir(exist_ok=True)
    (folder / "checks.yaml").write_text(f"checks:\n  - name: tests\n    command: {made.command}\n    timeout: 100\n")
    Repository(bn.repo).commit(
        "first", {"work.txt": "bad\n", ".binnacle/checks.yaml": (folder / "checks.yaml").read_text()}
    )
    bn("trust", "check", "--yes")
    yield made
    made.close()


@pytest.fixture
def repo(bn, check) -> Repository:
    return Repository(bn.repo)


@pytest.fixture
def begin(bn, repo) -> Callable[[Agent], str]:
    """A task that an agent has taken and worked on."""

    def begin(agent: Agent) -> str:
        task = bn.add("the work")
        agent("task_status", id=task, status="in_progress")
        repo.commit("the work", {"work.txt": "good\n"})
        return task

    return begin


def status_of(bn, task: str) -> str:
    return bn("task", "show", task)["task"]["status"]


def ask_done(agent: Agent, task: str, **more: Any) -> Any:
    return agent("task_status", id=task, status="done", **more)


def modern(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A request of a client that takes tasks of the protocol."""
    return request(number, method, stateless(params, **{CAPABILITIES: EXTENSION}))


def test_a_call_that_waited_long_enough_says_so_and_the_same_call_gets_the_end(bn, connect, check, begin):
    agent = connect(**SOON)
    task = begin(agent)
    assert "done once these pass on your commit: tests" in agent.text("task_get", id=task)
    assert ask_done(agent, task)["running"]
    assert "waits for its checks" in agent.text("task_get", id=task)
    assert status_of(bn, task) == "in_progress"
    assert "make the same call again" in agent.text("task_status", id=task, status="done")
    check.wait_begun()
    check.let_go()
    wait_for(lambda: status_of(bn, task) == "done", "the task is not closed")
    assert ask_done(agent, task)["task"]["level"] == "checked"
    assert ask_done(agent, task)["task"]["status"] == "done"  # and again
    assert len(check.processes) == 1


def test_a_refusal_that_nobody_waited_for_is_told_by_the_next_call(bn, connect, check, begin, repo):
    agent = connect(**SOON)
    task = begin(agent)
    repo.commit("worse", {"work.txt": "bad again\n"})
    assert ask_done(agent, task)["running"]
    for run in (1, 2):  # what fails is run once more
        check.wait_begun(run)
        check.let_go()
    wait_for(lambda: agent("task_get", id=task)["request"]["state"] == "refused", "it is not refused")
    assert "refused at commit" in agent.text("task_get", id=task)
    answer = ask_done(agent, task)
    assert "the check 'tests' did not pass" in answer["missing"]
    assert status_of(bn, task) == "in_progress"


def test_a_later_commit_begins_the_checks_anew(bn, connect, check, begin, repo):
    agent = connect(**SOON)
    task = begin(agent)
    assert ask_done(agent, task)["running"]
    check.wait_begun()
    commit = repo.commit("more", {"more.txt": "more\n"})
    assert ask_done(agent, task)["running"]
    check.wait_begun(2)
    check.let_go()
    wait_for(lambda: status_of(bn, task) == "done", "the task is not closed")
    assert bn("task", "show", task)["task"]["evidence_commit"] == commit
    check.wait_ended()


def test_a_client_that_takes_tasks_gets_one_and_its_result(bn, check, begin):
    with StdioAgent(bn, env={}) as agent:
        task = begin(agent)
        params = {"name": "task_status", "arguments": {"id": task, "status": "done"}}
        made = agent.server.ask(modern(1, "tools/call", params))["result"]
        assert (made["resultType"], made["status"]) == ("task", "working")
        check.wait_begun()
        get = modern(2, "tasks/get", {"taskId": made["taskId"]})
        assert agent.server.ask(get)["result"]["statusMessage"].startswith("tests: ")
        check.let_go()
        wait_for(lambda: agent.server.ask(get)["result"]["status"] != "working", "the task does not end")
        result = agent.server.ask(get)["result"]["result"]
        assert result["structuredContent"]["data"]["task"]["level"] == "checked"
        assert status_of(bn, task) == "done"


def test_a_client_of_2025_11_25_asks_for_a_task(bn, check, begin):
    with StdioAgent(bn, env={}) as agent:
        listed = agent.tools()
        assert listed["task_status"]["execution"] == {"taskSupport": "optional"}
        assert "execution" not in listed["task_get"]
        task = begin(agent)
        params = {"name": "task_status", "arguments": {"id": task, "status": "done"}, "task": {}}
        made = agent.ask("tools/call", params)["task"]
        check.wait_begun()
        check.let_go()
        result = agent.ask("tasks/result", {"taskId": made["taskId"]})
        assert result["structuredContent"]["data"]["task"]["status"] == "done"


def test_a_cancelled_task_ends_its_checks_and_the_next_call_begins_anew(bn, check, begin):
    with StdioAgent(bn, env={}) as agent:
        task = begin(agent)
        params = {"name": "task_status", "arguments": {"id": task, "status": "done"}}
        made = agent.server.ask(modern(1, "tools/call", params))["result"]
        check.wait_begun()
        agent.server.ask(modern(2, "tasks/cancel", {"taskId": made["taskId"]}))
        assert check.running == []
        assert agent.server.ask(modern(3, "tasks/get", {"taskId": made["taskId"]}))["result"]["status"] == "cancelled"
        assert status_of(bn, task) == "in_progress"
        again = agent.server.ask(modern(4, "tools/call", params))["result"]
        check.wait_begun(2)
        check.let_go()
        get = modern(5, "tasks/get", {"taskId": again["taskId"]})
        wait_for(lambda: agent.server.ask(get)["result"]["status"] == "completed", "the task does not end")
        assert status_of(bn, task) == "done"


def test_a_call_reports_progress_and_a_cancelled_one_ends_its_checks(bn, check, begin):
    with StdioAgent(bn, env={}) as agent:
        task = begin(agent)
        arguments = {"id": task, "status": "done"}
        params = {"name": "task_status", "arguments": arguments, "_meta": {"progressToken": "p"}}
        agent.server.send(request("done", "tools/call", params))
        check.wait_begun()
        agent.ask("ping")
        told = [one["params"] for one in agent.server.seen if one["method"] == "notifications/progress"]
        assert told
        assert {one["progressToken"] for one in told} == {"p"}
        agent.server.send(cancelled("done"))
        check.wait_ended()
        assert status_of(bn, task) == "in_progress"


@pytest.mark.parametrize("how", ["end of input", "signal"])
def test_a_server_that_ends_leaves_no_check_behind(bn, check, begin, how: str):
    with StdioAgent(bn, env=SOON) as agent:
        task = begin(agent)
        assert ask_done(agent, task)["running"]
        check.wait_begun()
        if how == "signal":
            agent.server.terminate()
            agent.server.wait()
        else:
            agent.leave()
        assert check.running == []
    assert status_of(bn, task) != "done"


def test_a_connection_that_is_lost_ends_the_checks_of_its_call(bn, check, begin):
    with HttpAgent(bn, env={}) as agent:
        task = begin(agent)
        params = {"name": "task_status", "arguments": {"id": task, "status": "done"}, "_meta": {"progressToken": "p"}}
        headers = {**agent._headers, "authorization": agent.server.client.headers["authorization"]}
        with agent.server.stream(request(9, "tools/call", params), headers) as events:
            next(events)
            check.wait_begun()
        check.wait_ended()
        assert status_of(bn, task) == "in_progress"


def test_after_a_kill_the_check_ends_and_the_next_call_goes_on_with_the_request(bn, check, begin, store):
    with StdioAgent(bn, env=SOON) as agent:
        task = begin(agent)
        ask_done(agent, task, reason="built")
        check.wait_begun()
        agent.kill()
        check.wait_ended()
    assert status_of(bn, task) != "done"
    with StdioAgent(bn, env={}) as agent:
        agent("task_status", id=task, status="in_progress")
        params = {"name": "task_status", "arguments": {"id": task, "status": "done"}}
        agent.server.send(request("done", "tools/call", params))
        check.wait_begun(2)
        check.let_go()
        assert "Done:" in text_of(agent.server.answer("done"))
    assert status_of(bn, task) == "done"
