"""Attempts of runs whose changes are reviewed: put up, and then closed as accepted, or given back for another attempt.

An acceptance in a run is only kept (`review_decisions`). What follows from it is here, and happens once the merge queue
has the commit, or knows that it cannot have it. The attempt that was put up gets the outcome.
"""

from typing import NamedTuple

import msgspec

from binnacle.errors import Refused
from binnacle.store import attempts, attention, comments, done_requests, events, reviews, task_moves, tasks
from binnacle.store.sessions import ITERATIONS
from binnacle.store.transaction import Reader, Writer, stamp
from binnacle.work.done_gate import DoneProof
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.report import MAX_WORDS_CHARACTERS
from binnacle.work.review import Review
from binnacle.work.run import AttemptOutcome
from binnacle.work.session import Iteration
from binnacle.work.task import Task


class SettledReview(NamedTuple):
    """What became of an accepted change."""

    task: Task
    outcome: AttemptOutcome
    reason: str = ""
    attempt: Iteration | None = None
    """The attempt that was put up, as it was before."""


def ask_person(tx: Writer, found: Review, *, why: str = "") -> None:
    """Shows a person that a review of a run waits for them. `why`, if that is not the project's rules."""
    task = tasks.get(tx, found.task_id)
    said = why or "; ".join(found.reasons)
    attention.open_entry(
        tx,
        "review",
        task.title,
        body=f"commit {found.commit_id[:SHORT_COMMIT_CHARACTERS]}{f': {said}' if said else ''}",
        run=found.run,
        session=found.session,
        task_id=task.id,
    )


def find_refused(tx: Reader, task_id: str, tree: str) -> Review | None:
    """The newest review of a task, if somebody asked for changes of exactly this tree, and no person looked since."""
    newest = next(iter(reviews.list_of_task(tx, task_id, limit=1)), None)
    if newest is None or newest.status != "changes" or newest.tree != tree or newest.ended_at is None:
        return None
    return newest if events.find_last_look(tx, task_id) <= stamp(newest.ended_at) else None


def close_accepted(tx: Writer, found: Review, proof: DoneProof, *, max_attempts: int) -> SettledReview:
    """Closes the task of an accepted change that is integrated, or gives it back if that does not prove it."""
    task = tasks.get(tx, found.task_id)
    if not is_waiting(tx, found):
        return SettledReview(task, "stopped", f"{task.id} is {task.status}")
    acceptance = reviews.find_acceptance(tx, task.id, found.tree)
    said = done_requests.find_words(tx, task.id)
    accepted = f"accepted by {acceptance.describe()}"
    reason = f"{said[:1500]} ({accepted})" if said else accepted
    try:
        moved = task_moves.finish(tx, task.id, reason=reason, proof=proof, force=True, may_request=False)
    except Refused as error:
        return give_back(tx, found, "unproven", error.message, max_attempts=max_attempts)
    attempt = _find_attempt(tx, found)
    if attempt is not None:
        attempts.finish(tx, attempt, outcome="done", reason=reason)
    return SettledReview(moved.task, "done", reason, attempt)


def give_back(tx: Writer, found: Review, outcome: AttemptOutcome, reason: str, *, max_attempts: int) -> SettledReview:
    """Gives the task of an accepted change that cannot be merged back for another attempt."""
    task = tasks.get(tx, found.task_id)
    if not is_waiting(tx, found):
        return SettledReview(task, "stopped", f"{task.id} is {task.status}")
    attempt = _find_attempt(tx, found)
    if attempt is not None:
        attempts.finish(tx, attempt, outcome=outcome, reason=reason)
    else:
        comments.add(tx, task.id, f"The change was accepted, and is not merged: {reason}"[:MAX_WORDS_CHARACTERS])
    task = task_moves.reopen(tx, task.id, force=True).task
    task = attempts.hand_over_after(tx, task, outcome, max_attempts)
    return SettledReview(task, outcome, reason, attempt)


def is_waiting(tx: Reader, found: Review) -> bool:
    """Whether the task of an accepted review still waits to be closed, and nothing newer is reviewed."""
    newest = reviews.list_of_task(tx, found.task_id, limit=1)
    return tasks.get(tx, found.task_id).status == "in_review" and newest == [reviews.get(tx, found.id)]


def find_proof(found: Review) -> DoneProof | None:
    """What is proven of the change of a review."""
    return msgspec.convert(found.proof, DoneProof) if found.proof else None


def _find_attempt(tx: Reader, found: Review) -> Iteration | None:
    """The attempt that was put up."""
    where = "where task_started = ? and session = ? and outcome = 'review' order by number desc"
    return ITERATIONS.first(tx, where, found.task_id, found.session) if found.session else None
