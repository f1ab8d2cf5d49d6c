"""`bn report`: a run as Markdown, as a page, or as JSON."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, CommandAnswer, CommandNeeds, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import InvalidInput, UsageError

if TYPE_CHECKING:
    from binnacle.app.run_report.values import RunReport

REPORT = Group("report")

STDOUT = "-"


class WrittenReport(CommandAnswer):
    """Where the page of a run was written."""

    run: str
    file: str


def _show(answer: "RunReport | WrittenReport", screen: Screen) -> None:
    if isinstance(answer, WrittenReport):
        screen.line(f"written: {answer.file}")
        return
    from binnacle.app.run_report.markdown import render_markdown

    screen.block(render_markdown(answer), indent=0)


def _needs(args: Namespace) -> CommandNeeds:
    return READS if args.html in (None, STDOUT) else by_person("write a report to a file")


@REPORT.command(
    "",
    "what a run was asked for, did, changed and spent, what failed, and what waits for you",
    "bn report auth > auth.md; bn report auth --html auth.html",
    arg("run", nargs="?", metavar="RUN", help="its name, its id or one of its sessions; by default the newest run"),
    arg("--html", nargs="?", const=STDOUT, metavar="FILE",
        help="as one page without anything from elsewhere, in this file or on stdout; Markdown otherwise"),
    view=_show, needs=_needs,
)  # fmt: skip
def report(context: Context, args: Namespace) -> "RunReport | WrittenReport | None":
    from binnacle.app.run_report.collection import collect_run_report

    if args.html not in (None, STDOUT) and not args.html.endswith((".html", ".htm")):
        hint = "name the run first and the file last: bn report RUN --html FILE.html"
        raise UsageError(f"bn report: not the name of a page: {args.html!r}", hint=hint)
    with context.reading() as tx:
        found = collect_run_report(tx, context.project, args.run)
    if args.html is None and context.asked == "json":
        return found
    if args.html is None:
        _show(found, Screen())
        return None
    from binnacle.app.run_report.html_page import render_page

    page = render_page(found)
    if args.html == STDOUT:
        sys.stdout.write(page)
        return None
    _write(args.html, page)
    return WrittenReport(run=found.id, file=args.html)


def _write(path: str, page: str) -> None:
    from binnacle.config.atomic_write import write_atomically

    try:
        write_atomically(path, page.encode())
    except OSError as error:
        raise InvalidInput(f"cannot write {path!r}: {error.strerror}", hint="name a file in another folder") from error
