"""What a person decides about a change: whether they may accept what they name, and what is left to do after it.

An acceptance is of one tree, which the person has looked at. So it is refused if another change was put up meanwhile,
or if commits followed it that make it another one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from binnacle.app.review_acceptance import find_newer_work
from binnacle.errors import InvalidInput, NextStep, Refused
from binnacle.project.project import Project
from binnacle.store import review_decisions, review_remarks, reviews, runs, task_moves
from binnacle.store.review_decisions import ReviewResult
from binnacle.store.transaction import Reader, Writer
from binnacle.store.views.review_overview import ReviewSubject, find_subject, find_unseen, has_other_work
from binnacle.work import steps
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.review import REVIEW_PREFIX, Review, parse_place

MAX_KEPT_FILES = 100
"""Files that a message names."""


class ReviewToAccept(NamedTuple):
    """The review that a person means to accept."""

    review: Review
    is_accepted: bool
    """Whether everybody accepted it before, and only its checks are left."""

    is_shared: bool
    """Whether others work on other tasks, so that commits may follow it that are not its own."""


def find_to_accept(tx: Reader, text: str, *, person: str) -> ReviewToAccept:
    """The review that a person wants to accept, by its id or by its task.

    Raises:
        Refused: it is over, or another change was put up in place of the one that the person has seen.
    """
    subject = find_subject(tx, text)
    is_accepted = _is_accepted_only(subject)
    review = subject.review if is_accepted and subject.review else get_open(subject)
    if not is_accepted and not text.strip().casefold().startswith(REVIEW_PREFIX):
        _check_is_known(tx, review, person)
    return ReviewToAccept(review, is_accepted, has_other_work(tx, review))


def get_open(subject: ReviewSubject) -> Review:
    """The review that is to be decided.

    Raises:
        Refused: it is over, or nothing was put up.
    """
    task, review = subject
    if review is not None and review.status == "open":
        return review
    done = NextStep("put its commit up, and run its checks", f"task done {task.id}", for_person=True)
    if review is None and task.status == "in_review":
        raise Refused(f"{task.id} is in review, and no commit was put up for it", hint=done)
    if review is None:
        raise Refused(f"{task.id} waits for no review: it is {task.status}", hint=steps.LIST_REVIEWS)
    why = f"review {review.id} is over: {review.status}"
    hint = done if task.status == "in_review" else (steps.reopen(task.id), steps.LIST_REVIEWS)
    raise Refused(why, hint=hint)


def _is_accepted_only(subject: ReviewSubject) -> bool:
    """Whether everybody accepted a change whose checks did not get to run after that, as when they were interrupted."""
    review = subject.review
    return subject.task.status == "in_review" and review is not None and review.status == "accepted" and not review.run


def _check_is_known(tx: Reader, review: Review, person: str) -> None:
    """Refuses to take a task's newest change for the one that the person has looked at.

    Raises:
        Refused: another one was there before, and the person has not decided about it.
    """
    if (before := find_unseen(tx, review, person=person)) is None:
        return
    short = review.commit_id[:SHORT_COMMIT_CHARACTERS]
    hint = (
        NextStep("look at it", f"review show {review.task_id}", for_person=True),
        NextStep("accept exactly this one", f"review accept {review.id}", for_person=True),
    )
    was = before.commit_id[:SHORT_COMMIT_CHARACTERS]
    raise Refused(f"commit {short} ({review.id}) was put up in place of {was} ({before.id}): name which", hint=hint)


async def check_is_there(project: Project, review: Review, *, is_shared: bool) -> str:
    """What is not accepted with a change. In a run, the merge queue looks at what follows.

    Raises:
        Refused: what is there is another change now.
    """
    if review.run is not None:
        return ""
    found = await find_newer_work(project.repo, review, is_shared=is_shared)
    if found.problem:
        hint = (
            NextStep("put up what is there now, and run its checks", f"task done {review.task_id}", for_person=True),
            NextStep("look at it again", f"review show {review.task_id}", for_person=True),
        )
        raise Refused(f"what was put up is not what is there: {found.problem}", hint=hint)
    return found.note


class AcceptedReview(NamedTuple):
    """The acceptance of a person."""

    result: ReviewResult
    notes: tuple[str, ...] = ()
    """What the person should know in addition: what is left out of it, and who does the rest."""


def accept(tx: Writer, found: Review, *, message: str, note: str = "") -> AcceptedReview:
    """Keeps the acceptance of a person. `note` is what is not accepted with the change."""
    result = review_decisions.accept(tx, reviews.get(tx, found.id), message=message)
    notes = [note] if note else []
    drafts = [one for one in review_remarks.list_remarks(tx, found.task_id) if one.state == "draft"]
    if own := [one for one in drafts if one.author == tx.by.name]:
        notes.append(f"{len(own)} of your comments are still drafts: bn review comment {found.task_id} --list")
    if result.review.run and result.review.status == "accepted" and result.task.status == "in_review":
        is_over = runs.get(tx, result.review.run).status == "ended"
        notes.append("its run merges it" + (", when it is resumed: bn run --resume" if is_over else ""))
    return AcceptedReview(result, tuple(notes))


def reject(tx: Writer, found: Review, *, message: str, kept_files: Sequence[str] = ()) -> ReviewResult:
    """Keeps that a person asks for changes. `kept_files` are accepted as they are, and the next attempt is told so.

    Raises:
        InvalidInput: nothing says what has to change, or a file is not a path.
    """
    current = reviews.get(tx, found.id)
    if not kept_files:
        return review_decisions.reject(tx, current, message=message)
    for path in kept_files:
        parse_place(path)
    said = "\n".join(f"- {path}" for path in kept_files[:MAX_KEPT_FILES])
    more = f"\n- and {len(kept_files) - MAX_KEPT_FILES} more" if len(kept_files) > MAX_KEPT_FILES else ""
    drafts = [one for one in review_remarks.list_remarks(tx, found.task_id) if one.state == "draft"]
    if not message.strip() and not any(one.author == tx.by.name or not one.is_by_person for one in drafts):
        raise InvalidInput("a reason is needed to ask for changes", hint="say what has to be another way")
    words = f"{message.strip()}\n\n" if message.strip() else ""
    keep = f"{words}These files are right as they are. Leave them unchanged:\n{said}{more}"
    return review_decisions.reject(tx, current, message=keep)


def close_accepted(tx: Writer, found: Review) -> AcceptedReview:
    """Closes a task whose change was accepted before."""
    move = task_moves.finish(tx, found.task_id, force=True)
    verdict = reviews.list_verdicts(tx, found.task_id, tree=found.tree)[-1]
    current = reviews.get(tx, found.id)
    result = ReviewResult(current, verdict, move.task, 0, move.warnings, move.unblocked, move.request)
    return AcceptedReview(result, () if move.request else move.warnings)
