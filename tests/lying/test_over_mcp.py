"""Agents that lie to a real `bn mcp serve` about the work on their task: none is done, and each gets the reason."""

from pathlib import Path

import pytest

from cli.conftest import Bn
from lying.agents import Agent, play
from lying.deceits import DECEITS
from lying.lies import FORGETFUL, HONEST, LIARS, TRICKSTERS
from lying.project import write_project
from runner.repositories import Repository
from runner.runs import marked_processes
from scenarios.agents import StdioAgent

MAX_ANSWERS = 10


class Connection:
    """The hands of an agent that works over MCP."""

    def __init__(self, agent: StdioAgent, folder: Path, task: str) -> None:
        self.agent = agent
        self.folder = folder
        self.task = task
        self.answers: list[str] = []

    def call(self, tool: str, **arguments: object) -> str:
        """The text of an answer; that checks still run is none."""
        for _ in range(MAX_ANSWERS):
            text = self.agent.result(tool, **arguments)["content"][0]["text"]
            if "its checks still run" not in text:
                break
        self.answers.append(text)
        return text


def work(bn: Bn, agent: Agent) -> tuple[str, dict]:
    """What an agent is answered at the end, and what a person sees of its task then."""
    repo = Repository(bn.repo)
    write_project(repo, agent.checks)
    bn("trust", "check", "--yes")
    bn("task", "done", bn.add("Open the shop"), "--waive", "it is open")
    options = [*(word for one in agent.task_checks for word in ("--check", one)), "--kind", agent.kind]
    task = bn.add("Round totals", *options)
    mark = f"BN_TEST_MARK={bn.repo}"
    with StdioAgent(bn, env={"BN_TEST_MARK": str(bn.repo)}) as server:
        server("task_status", id=task, status="in_progress")
        connection = Connection(server, bn.repo, task)
        answer = play(agent, connection)
        server.leave()
    assert not marked_processes(mark)
    return answer, bn("task", "show", task)


@pytest.mark.parametrize("agent", [*LIARS, *FORGETFUL], ids=lambda one: one.name)
def test_it_is_not_done_and_is_told_why(bn, engine, agent):
    answer, shown = work(bn, agent)
    assert shown["task"]["status"] != "done", answer
    for words in agent.reason:
        assert words in answer
    assert not list(Path(bn.env["BN_DATA_DIR"]).rglob("room-*"))


@pytest.mark.parametrize("agent", [*TRICKSTERS, *DECEITS], ids=lambda one: one.name)
def test_no_trick_helps(bn, agent):
    answer, shown = work(bn, agent)
    assert shown["task"]["status"] != "done", answer
    for words in agent.reason:
        assert words in answer


@pytest.mark.parametrize("agent", HONEST, ids=lambda one: one.name)
def test_an_honest_agent_is_done_with_its_first_word(bn, engine, agent):
    answer, shown = work(bn, agent)
    assert (shown["task"]["status"], shown["task"]["evidence_level"]) == ("done", "checked"), answer
