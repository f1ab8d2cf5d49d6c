"""Runs in a repository whose changes are reviewed, of agents that play a script."""

import time
from collections.abc import Sequence
from typing import Any

from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.runner.agents.agent_commands import resolve_agent
from binnacle.store import attention, review_decisions, review_remarks, reviews
from binnacle.work.review import Review, ReviewRemark, ReviewVerdict
from binnacle.work.run import Attention
from runner.checked_plays import WORDS_CHECK, CheckedPlay
from runner.plays import PERSON, Play, player_command


class ReviewedPlay(CheckedPlay):
    """A run's repository with a check, and rules for who looks at changes."""

    def __init__(self, play: Play, require: str, *, checks: str = WORDS_CHECK, more: str = "", **options: Any) -> None:
        """`more` are further lines of the rules."""
        super().__init__(play, checks=f"{checks}review:\n  default: {require}\n{more}", **options)

    def _write(self, change: Any) -> Any:
        with open_store(self.play.runs.project) as store, store.write(by=PERSON) as tx:
            return change(tx)

    def accept(self, task_id: str, message: str = "") -> Review:
        """A person accepts what waits."""
        return self._write(
            lambda tx: review_decisions.accept(tx, reviews.get_open(tx, task_id), message=message).review
        )

    def reject(self, task_id: str, message: str, *, path: str = "", line: int = 0, code: str = "") -> Review:
        """A person asks for changes, with a comment at a line."""

        def reject(tx: Any) -> Review:
            found = reviews.get_open(tx, task_id)
            if path:
                review_remarks.add(tx, found, f"about {path}", path=path, line=line, code=code)
            return review_decisions.reject(tx, found, message=message).review

        return self._write(reject)

    def reviews(self, task_id: str) -> list[Review]:
        """The reviews of a task, the oldest first."""
        with open_store(self.play.runs.project) as store, store.read() as tx:
            return reviews.list_of_task(tx, task_id)[::-1]

    def remarks(self, task_id: str) -> list[ReviewRemark]:
        with open_store(self.play.runs.project) as store, store.read() as tx:
            return review_remarks.list_remarks(tx, task_id)

    def verdicts(self, task_id: str) -> list[ReviewVerdict]:
        with open_store(self.play.runs.project) as store, store.read() as tx:
            return reviews.list_verdicts(tx, task_id)

    def waiting(self) -> Sequence[Attention]:
        """The reviews that wait for a person."""
        with open_store(self.play.runs.project) as store, store.read() as tx:
            return [one for one in attention.list_open(tx) if one.kind == "review"]


READ = """
import re

review = re.search(r"bnv-[0-9a-f]+", agent.text("review_get")).group()

def accept(place="work.txt:1", message="it is good", **more):
    shown = [{"criterion": 1, "met": True, "place": place}]
    given = {"review": review, "decision": "accept", "criteria": shown, "message": message}
    return agent.text("review_verdict", **{**given, **more})

def refuse(message="make it better", **more):
    return agent.text("review_verdict", review=review, decision="changes", message=message, **more)
"""
"""What every script of a reviewer begins with."""


class AgentReviewedPlay(ReviewedPlay):
    """A run's repository whose changes agents review, which play scripts of their own."""

    def __init__(self, play: Play, require: str = "agent", *, reviewers: int = 1, rounds: int = 3) -> None:
        super().__init__(play, require, more=f"  reviewers: {reviewers}\n  rounds: {rounds}\n")
        self.folder = play.folder / "reviewer"

    def reviewer(self, script: str) -> str:
        """The command of a reviewer."""
        return player_command(READ + script, self.folder)

    def run_with(self, work: str, review: str, **more: Any) -> run_events.RunEnded:
        """A run in which agents work by one script and review by another."""
        agents = (("review", resolve_agent(self.reviewer(review)), ""),)
        return self.run(work, agents=agents, **more)

    def wait_for(self, task_id: str, status: str) -> None:
        """Waits until the newest review of a task has a status."""
        until = time.monotonic() + 60
        while self.reviews(task_id)[-1].status != status:
            assert time.monotonic() < until, self.reviews(task_id)
            time.sleep(0.05)

    def kept(self, word: str) -> list[str]:
        """What reviewers wrote down."""
        return Play(self.play.runs, self.folder).kept(word)
