"""Commands that take several tasks: all of them are changed, or none is.

One id answers with one object. Several answer with `{"results": [...]}`, in which each is what one id would have
answered, in the order of the ids; an id that is named twice counts once.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Generic

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from binnacle.cli.command import AnswerT, CommandAnswer, CommandNeeds, View, arg
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import BinnacleError, UsageError
from binnacle.store import tasks
from binnacle.store.transaction import Reader, Writer
from binnacle.work.done_gate import DoneRequest
from binnacle.work.ids import TaskId
from binnacle.work.task import Brief, Task, brief

IDS = arg("ids", nargs="+", metavar="ID", completes="task", help="the task, or several; three digits of an id suffice")


class ChangedTaskAnswer(CommandAnswer):
    """A task after a change, and what the change brought about."""

    task: Brief
    fence: int | None = None
    """The number of the claim, where somebody holds the task."""

    expires_at: datetime | UnsetType | None = UNSET
    """When the claim ends by itself; None where a person holds it."""

    unblocked: list[TaskId] | None = None
    warnings: list[str] | None = None
    requested: DoneRequest | None = None
    """What has to pass before the task is done."""

    missing: str = ""
    """Why the task is not done, although it was called done."""

    undo: str = ""
    """The command that takes it back, where the caller may use it."""


class BatchAnswer(CommandAnswer, Generic[AnswerT]):
    """What a command answers for each of several tasks."""

    results: list[AnswerT]
    undo: str = ""
    """The command that takes all of it back, where the caller may use it."""


EachChanged = ChangedTaskAnswer | BatchAnswer[ChangedTaskAnswer]
"""What a change of one task or of several answers."""


def changed_task(
    task: Task,
    *,
    unblocked: Sequence[TaskId] = (),
    warnings: Sequence[str] = (),
    requested: DoneRequest | None = None,
) -> ChangedTaskAnswer:
    """The answer of a change: the task and whatever there is to add."""
    return ChangedTaskAnswer(
        task=brief(task),
        fence=task.fence if task.claimed_by else None,
        expires_at=task.claim_expires_at if task.claimed_by else UNSET,
        unblocked=list(unblocked) or None,
        warnings=list(warnings) or None,
        requested=requested,
    )


def show_changed_task(answer: ChangedTaskAnswer, screen: Screen) -> None:
    """Shows a task after a change."""
    from binnacle.cli.views import show_changed

    show_changed(answer.task, screen, unblocked=answer.unblocked, warnings=answer.warnings)
    if answer.missing:
        screen.block(answer.missing)
        screen.line(f"or close it without its checks: bn task done {answer.task.id} --waive REASON")


def needs_of_each(needs: Callable[[Namespace], CommandNeeds]) -> Callable[[Namespace], CommandNeeds]:
    """What it takes to do with every task what `needs` says of one, named `id`."""

    def needs_of_all(args: Namespace) -> CommandNeeds:
        found = [needs(Namespace(**vars(args), id=one)) for one in args.ids]
        return CommandNeeds(tuple(step for one in found for step in one.steps), is_reading=found[0].is_reading)

    return needs_of_all


def change_each(context: Context, args: Namespace, change: Callable[[Writer, str], ChangedTaskAnswer]) -> EachChanged:
    """Makes the same change to every task that is named, in one transaction."""
    if len(args.ids) > 1 and getattr(args, "fence", None) is not None:
        raise UsageError("--fence is the number of one claim, on one task", hint="name one task, or leave it out")
    with context.writing() as tx:
        if len(args.ids) == 1:
            return change(tx, args.ids[0])
        chosen = _resolve(tx, args.ids)
        found = [_change_one(tx, task_id, change) for task_id in chosen]
    return BatchAnswer(results=[_leave_out(answer, chosen) for answer in found])


def _leave_out(answer: ChangedTaskAnswer, changed: Sequence[TaskId]) -> ChangedTaskAnswer:
    """The answer without tasks that the same command has changed: what it has closed is not ready."""
    if answer.unblocked is None:
        return answer
    return replace(answer, unblocked=[one for one in answer.unblocked if one not in changed])


def read_each(
    context: Context, args: Namespace, read: Callable[[Reader, str], AnswerT]
) -> AnswerT | BatchAnswer[AnswerT]:
    """Reads every task that is named, at one moment."""
    with context.reading() as tx:
        if len(args.ids) == 1:
            return read(tx, args.ids[0])
        return BatchAnswer(results=[read(tx, task_id) for task_id in _resolve(tx, args.ids)])


def view_each(view: View[AnswerT], *, between: str | None = None) -> View[AnswerT | BatchAnswer[AnswerT]]:
    """Shows one answer, or several one after the other, with a line `between` them if given."""

    def show(answer: AnswerT | BatchAnswer[AnswerT], screen: Screen) -> None:
        found = answer.results if isinstance(answer, BatchAnswer) else [answer]
        for number, one in enumerate(found):
            if number and between is not None:
                screen.line(between)
            view(one, screen)

    return show


def _resolve(tx: Reader, texts: list[str]) -> list[TaskId]:
    """The tasks, each once. All are looked up before the first is touched, so that a wrong id is what is reported."""
    return list(dict.fromkeys(tasks.resolve(tx, text) for text in texts))


def _change_one(tx: Writer, task_id: TaskId, change: Callable[[Writer, str], ChangedTaskAnswer]) -> ChangedTaskAnswer:
    try:
        return change(tx, task_id)
    except BinnacleError as error:
        named = error.message if task_id in error.message else f"{task_id}: {error.message}"
        hint = (*error.next_steps, "none of the tasks was changed")
        raise type(error)(named, hint=hint, details={**error.details, "id": task_id}) from error
