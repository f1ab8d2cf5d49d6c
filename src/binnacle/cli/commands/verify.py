"""`bn verify`: what still holds of the tasks that are done."""

from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import CommandNeeds, Group, arg, by_person, changes
from binnacle.cli.context import Context
from binnacle.cli.screen import printable
from binnacle.cli.verification_view import VerifyAnswer, describe_verification, key_of, show_verification

if TYPE_CHECKING:
    from binnacle.work.regression import Regression

VERIFY = Group("verify")


def _needs(args: Namespace) -> CommandNeeds:
    return by_person("reopen what no longer holds") if args.reopen else changes("check_run")


@VERIFY.command(
    "",
    "run what closed tasks were closed with again, and name what no longer holds and the commit that broke it; "
    "exit code 0 only if all that was proven still holds",
    "bn verify; bn verify auth --reopen",
    arg("names", nargs="*", metavar="TASK|RUN", completes="task",
        help="tasks, or a run: its name, its id or one of its sessions; default: every task that is done"),
    arg("--commit", metavar="REV", help="where to run it; default: HEAD, or the newest commit of the run"),
    arg("--reopen", action="store_true",
        help="reopen the tasks that no longer hold, with a comment that says what broke them; if a check of the "
        "project is broken, add one task for it"),
    view=show_verification, needs=_needs,
)  # fmt: skip
def verify(context: Context, args: Namespace) -> VerifyAnswer:
    import asyncio

    from binnacle.app.verification import verify_closed
    from binnacle.cli.progress_bar import ProgressBar

    done, total = 0, 0
    with ProgressBar("check", 0) as bar:

        def tell(progress: tuple[int, int] | None, what: str) -> None:
            nonlocal done, total
            done, total = progress or (done, total)
            bar.advance(done, printable(f"of {total}: {what}" if total else what))

        found = asyncio.run(
            verify_closed(
                context.project,
                folder=context.workspace,
                asked_by=context.actor.name,
                names=args.names,
                commit=args.commit or "",
                tell=tell,
            )
        )
    context.exit_code = 0 if found.holds else 1
    opened = _reopen(context, found.regressions) if args.reopen else {}
    return describe_verification(found, opened)


def _reopen(context: Context, found: "tuple[Regression, ...]") -> dict[str, tuple[str, str]]:
    """Opens a task for each regression; its id and how, by the evidence of the regression and its task."""
    from binnacle.store import regressions
    from binnacle.work.regression import group_by_task

    opened: dict[str, tuple[str, str]] = {}
    with context.writing() as tx:
        for several in group_by_task(found):
            move = regressions.reopen(tx, several)
            opened |= {key_of(one): (move.task.id, move.how) for one in several}
    return opened
