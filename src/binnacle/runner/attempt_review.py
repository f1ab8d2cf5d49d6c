"""Puts the commit of an attempt up for review, and settles the attempt with that.

Both happen in one transaction: a kill leaves either an attempt whose commit is there and is proven again, or a review.
"""

from binnacle.proving.change_prover import TaskProof
from binnacle.proving.review_opening import describe_review, put_up_attempt, read_attempt_review
from binnacle.store import attempts, done_requests, reviewed_attempts
from binnacle.store.transaction import Writer
from binnacle.work.review import Review
from binnacle.work.task import Task


def put_up(tx: Writer, found: TaskProof, *, run: str, session: str, number: int) -> tuple[Review, Task | None]:
    """Puts the change of an attempt up, and settles the attempt. Its task waits, and nobody holds it."""
    review = put_up_attempt(tx, found, run=run, session=session)
    done_requests.note_in_review(tx, found.task.id, describe_review(review))
    if read_attempt_review(tx, review.id).waits_for_person:
        reviewed_attempts.ask_person(tx, review)
    task = attempts.settle(tx, session, number, "review", describe_review(review), max_attempts=0)
    return review, task
