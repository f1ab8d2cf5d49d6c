"""`bn review accept` and `bn review reject`: what a person decides about a change."""

from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import CommandAnswer, arg, by_person
from binnacle.cli.commands.review import REVIEW, SUBJECT
from binnacle.cli.context import Context
from binnacle.cli.requested_done import prove_accepted
from binnacle.cli.screen import Screen
from binnacle.cli.task_batch import ChangedTaskAnswer, changed_task
from binnacle.errors import NextStep, Refused
from binnacle.store import review_decisions, review_remarks, reviews, task_moves
from binnacle.store.transaction import Reader
from binnacle.store.views.review_overview import ReviewSubject, find_subject, find_unseen, has_other_work
from binnacle.work import steps
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.ids import TaskId
from binnacle.work.review import REVIEW_PREFIX, Review
from binnacle.work.task import Brief, brief

if TYPE_CHECKING:
    from binnacle.store.review_decisions import ReviewResult

MESSAGE = arg("-m", "--message", metavar="TEXT", help="what you say about it; - reads it from stdin")


class ReviewDecisionAnswer(CommandAnswer):
    """What a person decided about a change, and what followed."""

    review: str
    status: str
    commit: str
    tree: str
    """Exactly what the decision is about."""

    task: Brief
    sent: int = 0
    """Comments that were sent to the next agent."""

    unblocked: tuple[TaskId, ...] = ()
    warnings: tuple[str, ...] = ()
    missing: str = ""
    """Why the task is not done, although its change was accepted."""


def _show_decision(answer: ReviewDecisionAnswer, screen: Screen) -> None:
    from binnacle.cli.views import show_changed

    commit = answer.commit[:SHORT_COMMIT_CHARACTERS]
    words = {"accepted": f"accepted: commit {commit}", "changes": f"changes are asked for: commit {commit}"}
    screen.line(words.get(answer.status, f"kept: you accept commit {commit}"))
    if answer.sent:
        screen.line(f"sent: {answer.sent} {'comment' if answer.sent == 1 else 'comments'}, for the next attempt")
    show_changed(answer.task, screen, unblocked=answer.unblocked, warnings=answer.warnings)
    if answer.missing:
        screen.block(answer.missing)


@REVIEW.command(
    "accept",
    "accept exactly the tree that was put up; its task is closed when everybody has who has to",
    "bn review accept 1f3 -m 'reads well'",
    SUBJECT,
    MESSAGE,
    view=_show_decision,
    needs=by_person("accept a change"),
)
def accept(context: Context, args: Namespace) -> ReviewDecisionAnswer:
    message = _read_message(context, args)
    with context.reading() as tx:
        subject = find_subject(tx, args.task)
        waits_for_proof = _is_accepted_only(subject)
        review = subject.review if waits_for_proof and subject.review else _get_open(subject)
        if not waits_for_proof and not args.task.strip().casefold().startswith(REVIEW_PREFIX):
            _check_is_known(tx, review, context.actor.name)
        is_shared = has_other_work(tx, review)
    if waits_for_proof:
        return _close_accepted(context, review)
    note = _check_is_there(context, review, is_shared=is_shared)
    with context.writing() as tx:
        result = review_decisions.accept(tx, reviews.get(tx, review.id), message=message)
        drafts = [one for one in review_remarks.list_remarks(tx, review.task_id) if one.state == "draft"]
        is_run_over = bool(result.review.run) and _is_over(tx, result.review)
    warnings = (*result.warnings, *([note] if note else []))
    if own := [one for one in drafts if one.author == context.actor.name]:
        warnings += (f"{len(own)} of your comments are still drafts: bn review comment {review.task_id} --list",)
    if result.review.run and result.review.status == "accepted" and result.task.status == "in_review":
        warnings += ("its run merges it" + (", when it is resumed: bn run --resume" if is_run_over else ""),)
    return _answer(context, result, warnings)


def _is_over(tx: Reader, review: Review) -> bool:
    from binnacle.store import runs

    return review.run is not None and runs.get(tx, review.run).status == "ended"


def _is_accepted_only(subject: ReviewSubject) -> bool:
    """Whether everybody accepted a change whose checks did not get to run after that, as when they were interrupted."""
    review = subject.review
    return subject.task.status == "in_review" and review is not None and review.status == "accepted" and not review.run


def _get_open(subject: ReviewSubject) -> Review:
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


def _check_is_there(context: Context, review: Review, *, is_shared: bool) -> str:
    """What is not accepted with a change. In a run, the merge queue looks at what follows.

    Raises:
        Refused: what is there is another change now.
    """
    if review.run is not None:
        return ""
    import asyncio

    from binnacle.app.review_acceptance import find_newer_work

    found = asyncio.run(find_newer_work(context.project.repo, review, is_shared=is_shared))
    if found.problem:
        hint = (
            NextStep("put up what is there now, and run its checks", f"task done {review.task_id}", for_person=True),
            NextStep("look at it again", f"review show {review.task_id}", for_person=True),
        )
        raise Refused(f"what was put up is not what is there: {found.problem}", hint=hint)
    return found.note


def _close_accepted(context: Context, review: Review) -> ReviewDecisionAnswer:
    """Closes a task whose change was accepted before."""
    from binnacle.store.review_decisions import ReviewResult

    with context.writing() as tx:
        move = task_moves.finish(tx, review.task_id, force=True)
        verdict = reviews.list_verdicts(tx, review.task_id, tree=review.tree)[-1]
        current = reviews.get(tx, review.id)
    result = ReviewResult(current, verdict, move.task, 0, move.warnings, move.unblocked, move.request)
    return _answer(context, result, move.warnings)


def _answer(context: Context, result: "ReviewResult", warnings: tuple[str, ...]) -> ReviewDecisionAnswer:
    """The answer to a decision, after the checks have run that still have to."""
    review = result.review
    made = ReviewDecisionAnswer(
        review=review.id,
        status=review.status,
        commit=review.commit_id,
        tree=review.tree,
        task=brief(result.task),
        sent=result.sent,
        unblocked=result.unblocked,
        warnings=warnings,
    )
    if result.request is None:
        return made
    from msgspec.structs import replace

    asked: ChangedTaskAnswer = changed_task(result.task, requested=result.request)
    closed = prove_accepted(context, asked, commit=review.commit_id, base=review.base)
    kept = tuple(one for one in warnings if one not in result.warnings)
    return replace(
        made,
        task=closed.task,
        unblocked=tuple(closed.unblocked or ()),
        warnings=(*kept, *(closed.warnings or ())),
        missing=closed.missing,
    )


@REVIEW.command(
    "reject",
    "ask for changes: your comments go to the next attempt, and the task is pending again",
    "bn review reject 1f3 -m 'the empty cart is not tested'",
    SUBJECT,
    MESSAGE,
    view=_show_decision,
    needs=by_person("ask for changes"),
)
def reject(context: Context, args: Namespace) -> ReviewDecisionAnswer:
    message = _read_message(context, args)
    with context.reading() as tx:
        subject = find_subject(tx, args.task)
        review = _get_open(subject)
        remarks = review_remarks.list_remarks(tx, subject.task.id)
    author = context.actor.name
    has_drafts = any(one.state == "draft" and (not one.is_by_person or one.author == author) for one in remarks)
    if not message.strip() and not has_drafts:
        from binnacle.project.person_only import is_at_terminal

        if is_at_terminal():
            return _reject_in_editor(context, review, subject.task.title)
    return _reject(context, review, message)


def _reject_in_editor(context: Context, review: Review, title: str) -> ReviewDecisionAnswer:
    from binnacle.app.review_comment import make_reason_template, read_written
    from binnacle.app.review_programs import edited_text

    with edited_text(make_reason_template(review, title)) as written:
        return _reject(context, review, read_written(written))


def _reject(context: Context, review: Review, message: str) -> ReviewDecisionAnswer:
    with context.writing() as tx:
        result = review_decisions.reject(tx, reviews.get(tx, review.id), message=message)
    return _answer(context, result, result.warnings)


def _read_message(context: Context, args: Namespace) -> str:
    return context.read_input("-") if args.message == "-" else args.message or ""
