"""Runs in a repository whose changes are reviewed, of agents that play a script."""

from collections.abc import Sequence
from typing import Any

from binnacle.project.store_opening import open_store
from binnacle.store import attention, review_decisions, review_remarks, reviews
from binnacle.work.review import Review, ReviewRemark
from binnacle.work.run import Attention
from runner.checked_plays import WORDS_CHECK, CheckedPlay
from runner.plays import PERSON, Play


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

    def waiting(self) -> Sequence[Attention]:
        """The reviews that wait for a person."""
        with open_store(self.play.runs.project) as store, store.read() as tx:
            return [one for one in attention.list_open(tx) if one.kind == "review"]
