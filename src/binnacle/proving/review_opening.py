"""Puts changes up for review that are proven otherwise, and says what became of that.

Outside of runs, `task_closing` does it, and an acceptance closes the task. In a run, the runner does it for the commit
of an attempt (`put_up_attempt`): there, an acceptance is only kept, and the merge queue closes the task.
"""

from typing import NamedTuple

import msgspec

from binnacle.proving.change_prover import TaskProof
from binnacle.store import review_remarks, reviews, task_moves, tasks
from binnacle.store.transaction import Reader, Writer
from binnacle.work.done_gate import REVIEWER_WORDS
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.review import Acceptance, Review, ReviewRemark


class AttemptReview(NamedTuple):
    """How the review of an attempt stands."""

    review: Review
    acceptance: Acceptance
    """Who accepted exactly the tree of the attempt so far."""

    remarks: tuple[ReviewRemark, ...] = ()
    """What the next attempt has to do something about, oldest first."""

    @property
    def is_accepted(self) -> bool:
        """Whether everybody accepted it who has to."""
        return self.review.status == "accepted"

    @property
    def is_refused(self) -> bool:
        """Whether changes were asked for, so that another attempt follows."""
        return self.review.status == "changes"

    @property
    def waits(self) -> bool:
        return self.review.status == "open"

    @property
    def waits_for_agents(self) -> bool:
        """Whether agents have to look at it next."""
        is_theirs = self.review.need.needs_agents and not self.review.handed_over
        return self.waits and is_theirs and not self.acceptance.agents

    @property
    def waits_for_person(self) -> bool:
        """Whether a person has to look at it next. Where agents have to as well, they look first."""
        is_theirs = bool(self.review.need.needs_person or self.review.handed_over)
        return self.waits and is_theirs and not self.waits_for_agents and not self.acceptance.people


def open_proven(tx: Writer, found: TaskProof, *, session: str | None = None, run: str | None = None) -> Review:
    """Puts the change of a proof up for review by those who have to accept it."""
    proof = found.proof
    return reviews.open_review(
        tx,
        found.task.id,
        commit=proof.commit_id,
        tree=proof.tree,
        base=proof.base,
        need=found.review,
        evidence=proof.evidence,
        proof=msgspec.to_builtins(proof),
        run=run,
        session=session,
    )


def put_up_attempt(tx: Writer, found: TaskProof, *, run: str, session: str | None) -> Review:
    """Puts the change of an attempt up for review: its task waits for that, and nobody holds it.

    Call it when `found.waits_for_review`. `session` is that of the agent that did the work, who may not judge it.
    """
    review = open_proven(tx, found, session=session, run=run)
    if tasks.get(tx, found.task.id).status != "in_review":
        task_moves.set_status(tx, found.task.id, "in_review", force=True)
    return review


def read_attempt_review(tx: Reader, review_id: str) -> AttemptReview:
    """How the review of an attempt stands."""
    review = reviews.get(tx, review_id)
    acceptance = reviews.find_acceptance(tx, review.task_id, review.tree, reviewers=review.reviewers)
    return AttemptReview(review, acceptance, tuple(review_remarks.list_for_agent(tx, review.task_id)))


def list_for_agents(tx: Reader, run: str) -> list[Review]:
    """The reviews of a run that agents have to make, oldest first."""
    found = reviews.list_open_of_run(tx, run)
    return [one for one in found if read_attempt_review(tx, one.id).waits_for_agents]


def list_accepted(tx: Reader, run: str) -> list[Review]:
    """The accepted reviews of a run whose tasks are not closed yet: their commits can be merged."""
    return reviews.list_accepted_of_run(tx, run)


def describe_review(review: Review) -> str:
    """Who has to look at a change, and how."""
    who = REVIEWER_WORDS[review.require]
    why = f" ({'; '.join(review.reasons)})" if review.reasons else ""
    return (
        f"its checks pass, and {who} has to accept commit {review.commit_id[:SHORT_COMMIT_CHARACTERS]} first{why}; "
        f"it is in review ({review.id}), and done once it is accepted. A person looks at it with: "
        f"bn review show {review.task_id}"
    )
