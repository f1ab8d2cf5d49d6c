"""A `done` of a task with checks: the command runs them, and answers whether the task is done."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from binnacle.cli.context import Context
from binnacle.cli.screen import printable
from binnacle.cli.task_batch import BatchAnswer, ChangedTaskAnswer, EachChanged, changed_task

if TYPE_CHECKING:
    from binnacle.proving.work_range import WorkRange


def prove_requested(context: Context, answer: EachChanged) -> EachChanged:
    """The answer of a command after the checks of every task that it calls done. Exit code 1 if one is not done."""
    if isinstance(answer, BatchAnswer):
        return replace(answer, results=[_prove(context, one) for one in answer.results])
    return _prove(context, answer)


def prove_accepted(context: Context, answer: ChangedTaskAnswer, *, commit: str, base: str) -> ChangedTaskAnswer:
    """The same for one task whose change was accepted: the checks run on exactly that change."""
    from binnacle.proving.work_range import WorkRange

    return _prove(context, answer, WorkRange(context.project.repo, commit, base))


def _prove(context: Context, answer: ChangedTaskAnswer, change: "WorkRange | None" = None) -> ChangedTaskAnswer:
    if answer.requested is None:
        return answer
    import asyncio

    from binnacle.app.check_run import close_task
    from binnacle.cli.progress_bar import ProgressBar
    from binnacle.proving.task_closing import DoneAsker

    asker = DoneAsker(context.actor, context.session.id, context.workspace)
    with ProgressBar("check", 0) as bar:
        closed = asyncio.run(
            close_task(
                context.project,
                answer.requested,
                asker,
                change=change,
                tell=lambda name, what: bar.advance(0, printable(f"{name}: {what}")),
            )
        )
    made = changed_task(closed.move.task, unblocked=closed.move.unblocked, warnings=closed.move.warnings)
    if closed.is_done:
        return made
    context.exit_code = 1
    return replace(made, requested=answer.requested, missing=closed.missing)
