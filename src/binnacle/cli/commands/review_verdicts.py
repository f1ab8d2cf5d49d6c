"""`bn review accept` and `bn review reject`: what a person decides about a change."""

from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import CommandAnswer, arg, by_person
from binnacle.cli.commands.review import REVIEW, SUBJECT
from binnacle.cli.context import Context
from binnacle.cli.requested_done import prove_accepted
from binnacle.cli.screen import Screen
from binnacle.cli.task_batch import ChangedTaskAnswer, changed_task
from binnacle.store import review_decisions, review_remarks, reviews
from binnacle.store.views.review_overview import find_subject
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.ids import TaskId
from binnacle.work.review import Review
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
    from binnacle.app import review_verdicts

    message = _read_message(context, args)
    with context.reading() as tx:
        found = review_verdicts.find_to_accept(tx, args.task, person=context.actor.name)
    if found.is_accepted:
        with context.writing() as tx:
            closed = review_verdicts.close_accepted(tx, found.review)
        return _answer(context, closed.result, closed.notes)
    import asyncio

    note = asyncio.run(review_verdicts.check_is_there(context.project, found.review, is_shared=found.is_shared))
    with context.writing() as tx:
        accepted = review_verdicts.accept(tx, found.review, message=message, note=note)
    return _answer(context, accepted.result, accepted.notes)


def _answer(context: Context, result: "ReviewResult", notes: tuple[str, ...] = ()) -> ReviewDecisionAnswer:
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
        warnings=tuple(dict.fromkeys((*result.warnings, *notes))),
    )
    if result.request is None:
        return made
    from msgspec.structs import replace

    asked: ChangedTaskAnswer = changed_task(result.task, requested=result.request)
    closed = prove_accepted(context, asked, commit=review.commit_id, base=review.base)
    return replace(
        made,
        task=closed.task,
        unblocked=tuple(closed.unblocked or ()),
        warnings=(*notes, *(closed.warnings or ())),
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
    from binnacle.app.review_verdicts import get_open

    message = _read_message(context, args)
    with context.reading() as tx:
        subject = find_subject(tx, args.task)
        review = get_open(subject)
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
    return _answer(context, result)


def _read_message(context: Context, args: Namespace) -> str:
    return context.read_input("-") if args.message == "-" else args.message or ""
