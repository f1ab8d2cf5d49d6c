"""`bn review show`: one change, or everything that a run did, with what is known of it."""

import sys
from argparse import Namespace
from io import StringIO
from typing import TYPE_CHECKING

from binnacle.cli.command import arg, reads
from binnacle.cli.commands.review import REVIEW, find_viewer, folder_inside
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import UsageError
from binnacle.store.views.review_overview import ReviewDetails, find_subject, load_details

if TYPE_CHECKING:
    from binnacle.app.review_change import DiffRequest
    from binnacle.cli.review_answer import ShownDiff, ShownReview, ShownRunChange


def _show_one(answer: "ShownReview | ShownRunChange", screen: Screen) -> None:
    from binnacle.cli.review_answer import ShownReview
    from binnacle.cli.review_view import show_review, show_run_change

    if isinstance(answer, ShownReview):
        show_review(answer, screen)
    else:
        show_run_change(answer, screen)


@REVIEW.command(
    "show",
    "a change: what judges it, what is proven, what reviewers said, and its code",
    "bn review show 1f3 --since review",
    arg("task", nargs="?", metavar="TASK", completes="task", help="the task, or the id of a review"),
    arg(
        "--since",
        default="base",
        metavar="WHAT",
        help="base: all of it (default); review: since the commit that was judged last; or any commit",
    ),
    arg("--run", metavar="RUN", help="everything that a run did; with a task, what the run put up for it"),
    arg(
        "--path",
        action="append",
        default=[],
        metavar="PATH",
        help="only this file or folder, unfolded; may be repeated",
    ),
    arg("--unfold", action="store_true", help="also generated and long files"),
    arg("--no-pager", action="store_true", help="do not use BN_PAGER, GIT_PAGER, PAGER or less"),
    arg("--tool", action="store_true", help="look at the code with git difftool"),
    view=_show_one,
    needs=reads("task_get"),
)
def show(context: Context, args: Namespace) -> "ShownReview | ShownRunChange | None":
    if args.task is None and args.run is None:
        raise UsageError("bn review show: a task is needed, or --run RUN", hint="bn review list names what waits")
    from binnacle.app.review_change import DiffRequest, name_paths

    asked = DiffRequest(args.since, name_paths(args.path, inside=folder_inside(context)), args.unfold)
    answer = _read_run(context, args.run, asked) if args.task is None else _read_review(context, args, asked)
    if args.tool:
        _use_tool(context, answer, asked)
        return None
    if not args.no_pager and context.human and _page(answer):
        return None
    return answer


def _read_run(context: Context, name: str, asked: "DiffRequest") -> "ShownRunChange":
    import asyncio

    from binnacle.app.review_change import find_run, read_run_change
    from binnacle.cli.review_answer import describe_run_change

    with context.reading() as tx:
        run, places = find_run(tx, name)
    return describe_run_change(asyncio.run(read_run_change(context.project, run, places, asked)))


def _read_review(context: Context, args: Namespace, asked: "DiffRequest") -> "ShownReview":
    import asyncio

    from binnacle.cli.review_answer import describe_details

    with context.reading() as tx:
        run = None
        if args.run is not None:
            from binnacle.app.review_change import find_run

            run = find_run(tx, args.run)[0]
        subject = find_subject(tx, args.task, run=run.id if run else None)
        if run is not None and subject.review is None:
            from binnacle.errors import NotFound

            hint = f"see all that it did: bn review show --run {run.name}"
            raise NotFound(f"run {run.name} put up no change of {subject.task.id}", hint=hint)
        details = load_details(tx, subject, viewer=find_viewer(context))
    return describe_details(details, asyncio.run(_read_diff(context, details, asked)))


async def _read_diff(context: Context, found: ReviewDetails, asked: "DiffRequest") -> "ShownDiff":
    from binnacle.app.review_change import compare, read_change
    from binnacle.cli.review_answer import describe_diff, describe_problem

    project = context.project
    compared = await compare(project, found.task, found.review, found.previous, found.evidence, asked.since)
    if isinstance(compared, str):
        return describe_problem(compared)
    return describe_diff(await read_change(project, compared, asked))


def _page(answer: "ShownReview | ShownRunChange") -> bool:
    """Shows an answer in the person's pager, if there is one and a person at the terminal."""
    from binnacle.app.review_programs import is_at_person, show_in_pager

    if not is_at_person(sys.stdout):
        return False
    text = TerminalText()
    _show_one(answer, Screen(text))
    return show_in_pager(text.getvalue())


class TerminalText(StringIO):
    """Text that will be shown on the terminal of stdout: as wide, and with its colours."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return sys.stdout.fileno()


def _use_tool(context: Context, answer: "ShownReview | ShownRunChange", asked: "DiffRequest") -> None:
    from binnacle.app.review_programs import is_at_person, run_difftool
    from binnacle.errors import GitError
    from binnacle.project.person_only import refuse

    if not is_at_person(sys.stdout):
        raise refuse("use a tool for differences", "it runs in the foreground of their terminal")
    if answer.diff.problem:
        raise GitError(answer.diff.problem, hint="see what else is known: leave out --tool")
    chosen = [path for one in answer.diff.files for path in (one.path, one.before) if path] if asked.paths else []
    context.exit_code = run_difftool(context.project.repo, answer.diff.before, answer.diff.commit, chosen)
