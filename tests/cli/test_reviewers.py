"""Agents that review, started by a person with `bn plan launch`, and by others who may not."""

import shutil
from pathlib import Path

import pytest

from binnacle.store import reviews, task_moves, tasks
from binnacle.store.opening import open_sqlite
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.review_policy import ReviewNeed
from cli.conftest import BN
from cli.test_launch import Launch, launch
from runner.repositories import Repository
from server.clients import Stdio, call

__all__ = ["launch"]

WORKER = Actor("bna-0001", "agent")


@pytest.fixture
def waiting(bn) -> tuple[str, str]:
    """A task whose change waits for an agent, and the id of the review."""
    repo = Repository(bn.repo)
    base = repo.commit("first", {"cart.py": "total = 0\n"})
    commit = repo.commit("a change", {"cart.py": "total = 0\ntotal += 1\n"})
    task = bn("task", "add", "Compute the total", "--accept", "it adds prices")["tasks"][0]["id"]
    with open_sqlite(str(Path(bn("store", "path")["path"], "store.db"))) as store:
        with store.write(by=WORKER) as tx:
            task_moves.start(tx, task)
        with store.write(by=SYSTEM) as tx:
            task_moves.set_status(tx, task, "in_review", force=True)
            need = ReviewNeed(require="agent", reasons=("it is important",))
            tree = repo.git("rev-parse", f"{commit}^{{tree}}")
            made = reviews.open_review(tx, tasks.get(tx, task).id, commit=commit, tree=tree, base=base, need=need)
    return task, made.id


def verdict(review: str) -> dict[str, object]:
    shown = [{"criterion": 1, "met": True, "place": "cart.py:2"}]
    return {"review": review, "decision": "accept", "criteria": shown}


def test_a_person_starts_a_reviewer_that_reads_the_change_and_whose_verdict_counts(bn, launch: Launch, waiting):
    task, review = waiting
    (launch.tools / "git").symlink_to(str(shutil.which("git")))
    calls = [
        ["review_get", {}],
        ["review_file", {"path": "cart.py"}],
        ["task_status", {"id": task, "status": "done"}],
        ["review_verdict", verdict(review)],
    ]
    met = launch("claude", "--recipe", "code_review", "--task", task, part={"calls": calls})
    assert met["tools"] == ["review_get", "review_file", "review_verdict"]
    assert "It is commit" in met["files"]["prompt.md"]
    read, file, refused, judged = met["results"]
    assert "     2 +total += 1" in read["content"][0]["text"]
    assert "     2 total += 1" in file["content"][0]["text"]
    assert refused["structuredContent"]["error"]["code"] == "E_TOOL_DISABLED"
    assert "review_verdict" in refused["structuredContent"]["error"]["hint"]
    assert judged["structuredContent"]["data"]["status"] == "accepted"
    assert bn("task", "show", task)["task"]["status"] == "done"


def test_an_agent_starts_no_reviewer_of_its_own(bn, waiting):
    task, review = waiting
    command = [BN, "mcp", "serve", "--recipe", "code_review", "--task", task]
    with Stdio(command=command, cwd=bn.repo, env=bn.env) as server:
        server.initialize()
        answer = server.ask(call(1, "review_verdict", **verdict(review)))["result"]
        assert answer["structuredContent"]["error"]["code"] == "E_REFUSED"
        assert "was not opened to review" in answer["content"][0]["text"]
    assert bn("task", "show", task)["task"]["status"] == "in_review"
