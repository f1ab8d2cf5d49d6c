"""`bn review`: changes that wait for somebody to look at them."""

from argparse import Namespace

from binnacle.cli.command import CommandAnswer, Group, arg, reads
from binnacle.cli.context import Context
from binnacle.cli.paging import OFFSET, limit_arg, say_how_many_more
from binnacle.cli.screen import Screen
from binnacle.store.views.review_overview import MAX_WAITING, ReviewEntry, list_all, list_waiting

REVIEW = Group("review")

SUBJECT = arg("task", metavar="TASK", completes="task", help="the task, or the id of a review")
DEFAULT_LISTED = 50


class ReviewListAnswer(CommandAnswer):
    """Changes that wait for somebody, or all that were put up for review."""

    reviews: list[ReviewEntry]
    total: int


def _show_list(answer: ReviewListAnswer, screen: Screen) -> None:
    from binnacle.cli.views import ago
    from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, describe_proof

    if not answer.reviews:
        screen.line("no change waits for a review")
        return
    has_runs = any(one.run for one in answer.reviews)
    rows = [
        (
            one.task_id,
            " and ".join(one.waits_for) or one.state,
            describe_proof(one.level, one.commit)
            or (f"not proven at {one.commit[:SHORT_COMMIT_CHARACTERS]}" if one.commit else ""),
            one.title,
            f"round {one.round}" if one.round > 1 else "",
            *((one.run,) if has_runs else ()),
            ago(one.at),
        )
        for one in answer.reviews
    ]
    headings = ("TASK", "WAITS FOR", "EVIDENCE", "TITLE", "", *(("RUN",) if has_runs else ()), "")
    screen.table(rows, flexible=3, headings=headings)
    say_how_many_more(len(answer.reviews), answer.total, screen)
    if any(one.state == "open" for one in answer.reviews):
        screen.line(f"look at one: bn review show {next(one.task_id for one in answer.reviews if one.state == 'open')}")


def _list(context: Context, args: Namespace) -> ReviewListAnswer:
    with context.reading() as tx:
        if getattr(args, "all", False):
            found, total = list_all(tx, limit=args.limit, offset=args.offset)
            return ReviewListAnswer(reviews=found, total=total)
        offset, limit = getattr(args, "offset", 0), getattr(args, "limit", MAX_WAITING)
        found, total = list_waiting(tx, limit=limit, offset=offset)
    return ReviewListAnswer(reviews=found, total=total)


@REVIEW.command("", "what waits for somebody to look at it", "bn review", view=_show_list, needs=reads("task_list"))
def overview(context: Context, args: Namespace) -> ReviewListAnswer:
    return _list(context, args)


@REVIEW.command(
    "list",
    "what waits for somebody to look at it: who has to, for how long, and what is proven",
    "bn review list",
    arg("--all", action="store_true", help="also what is over, newest first"),
    limit_arg(DEFAULT_LISTED),
    OFFSET,
    view=_show_list,
    needs=reads("task_list"),
)
def list_reviews(context: Context, args: Namespace) -> ReviewListAnswer:
    return _list(context, args)


def folder_inside(context: Context) -> str:
    """The folder of the caller, from the top of the repository; empty at the top and outside."""
    import os

    inside = os.path.relpath(os.path.realpath(context.workspace), os.path.realpath(context.project.repo))
    return "" if inside == "." or inside.startswith("..") else inside


def find_viewer(context: Context) -> str:
    from binnacle.errors import BinnacleError

    try:
        return context.actor.name
    except BinnacleError:
        return ""  # who cannot be told from others has no drafts
