"""`bn review comment`: comments of a person on a change, kept as drafts until changes are asked for."""

from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.app.review_details import ShownRemark, describe_remark_state
from binnacle.cli.command import CommandAnswer, CommandNeeds, arg, by_person, reads
from binnacle.cli.commands.review import REVIEW, SUBJECT, find_viewer, folder_inside
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import InvalidInput, Refused, UsageError
from binnacle.store import review_remarks
from binnacle.store.views.review_overview import find_subject
from binnacle.work import steps
from binnacle.work.review import Review

if TYPE_CHECKING:
    from binnacle.app.review_comment import CommentPlace


class RemarkAnswer(CommandAnswer):
    """A comment on a change."""

    task: str
    remark: ShownRemark
    removed: bool = False


class RemarkListAnswer(CommandAnswer):
    """The comments on the changes of a task."""

    task: str
    remarks: tuple[ShownRemark, ...]


def _show(answer: RemarkAnswer | RemarkListAnswer, screen: Screen) -> None:
    from binnacle.cli.review_view import show_remark

    if isinstance(answer, RemarkListAnswer):
        for one in answer.remarks:
            show_remark(one, screen)
        if not answer.remarks:
            screen.line(f"no comments on the change of {answer.task}")
        return
    if answer.removed:
        screen.line(f"removed {answer.remark.id}")
        return
    show_remark(answer.remark, screen)
    if answer.remark.state == "draft":
        screen.line(f"a draft; send all of them: bn review reject {answer.task}")


def _needs(args: Namespace) -> CommandNeeds:
    return reads("task_get") if args.list else by_person("comment on a change by this command")


@REVIEW.command(
    "comment",
    "comment on a line of a change, as a draft; all drafts are sent when changes are asked for",
    "bn review comment 1f3 src/cart.py:12 -m 'what if it is empty?'",
    SUBJECT,
    arg(
        "place", nargs="?", metavar="PATH[:LINE]", help="a file of the commit, and its line; default: the whole change"
    ),
    arg("-m", "--message", metavar="TEXT", help="- reads it from stdin; without it, VISUAL or EDITOR is opened"),
    arg("--list", action="store_true", help="the comments, with what became of them"),
    arg("--remove", metavar="ID", help="remove a draft"),
    arg("--addressed", metavar="ID", help="say of a comment that was sent that nothing is left to do"),
    view=_show,
    needs=_needs,
)
def comment(context: Context, args: Namespace) -> RemarkAnswer | RemarkListAnswer:
    chosen = [name for name in ("list", "remove", "addressed") if getattr(args, name)]
    if len(chosen) > 1 or (chosen and (args.place or args.message)):
        hint = "bn review comment TASK --list, or --remove ID, or PATH:LINE -m TEXT"
        raise UsageError("bn review comment: one thing at a time", hint=hint)
    if args.list:
        return _list(context, args.task)
    return _settle(context, args) if chosen else _add(context, args)


def _list(context: Context, text: str) -> RemarkListAnswer:
    with context.reading() as tx:
        task = find_subject(tx, text).task
        viewer = find_viewer(context)
        found = [
            one
            for one in review_remarks.list_remarks(tx, task.id)
            if one.state != "draft" or not one.is_by_person or one.author == viewer
        ]
    return RemarkListAnswer(task=task.id, remarks=tuple(map(describe_remark_state, found)))


def _settle(context: Context, args: Namespace) -> RemarkAnswer:
    """Removes a draft, or notes that nothing is left to do about a comment."""
    with context.writing() as tx:
        task = find_subject(tx, args.task).task
        found = review_remarks.get(tx, args.remove or args.addressed)
        if found.task_id != task.id:
            raise InvalidInput(f"{found.id} is a comment on {found.task_id}", hint=f"name that task: {found.task_id}")
        if args.remove:
            review_remarks.remove(tx, found)
            return RemarkAnswer(task=task.id, remark=describe_remark_state(found), removed=True)
        return RemarkAnswer(task=task.id, remark=describe_remark_state(review_remarks.settle_sent(tx, found)))


def _add(context: Context, args: Namespace) -> RemarkAnswer:
    import asyncio

    from binnacle.app.review_comment import CommentPlace, find_place

    with context.reading() as tx:
        subject = find_subject(tx, args.task)
    review = subject.review
    if review is None or review.status != "open":
        over = f"review {review.id} is over: {review.status}" if review else f"{subject.task.id} waits for no review"
        raise Refused(over, hint=(steps.comment(subject.task.id), steps.LIST_REVIEWS))
    place = CommentPlace()
    if args.place:
        place = asyncio.run(find_place(context.project, review, args.place, inside=folder_inside(context)))
    if args.message is not None:
        body = context.read_input("-") if args.message == "-" else args.message
        return _keep(context, review, place, body)
    from binnacle.project.person_only import is_at_terminal

    if not is_at_terminal():
        raise UsageError("bn review comment: a text is needed", hint="-m 'TEXT', or -m - to read it from stdin")
    from binnacle.app.review_comment import make_template, read_written
    from binnacle.app.review_programs import edited_text

    with edited_text(make_template(review, place)) as written:
        return _keep(context, review, place, read_written(written))


def _keep(context: Context, review: Review, place: "CommentPlace", body: str) -> RemarkAnswer:
    from binnacle.app.review_comment import keep_comment

    with context.writing() as tx:
        made = keep_comment(tx, review, place, body)
    return RemarkAnswer(task=review.task_id, remark=describe_remark_state(made))
