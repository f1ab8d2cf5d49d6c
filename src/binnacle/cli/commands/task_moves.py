"""`bn task start`, `done`, `block` …: how tasks move."""

from argparse import Namespace
from collections.abc import Callable

from binnacle.cli.command import CommandAnswer, CommandNeeds, arg, by_person, call, calls
from binnacle.cli.commands.task import FENCE, FORCE, ID, TASK
from binnacle.cli.context import Context
from binnacle.cli.requested_done import prove_requested
from binnacle.cli.screen import Screen
from binnacle.cli.task_batch import (
    IDS,
    ChangedTaskAnswer,
    EachChanged,
    change_each,
    changed_task,
    needs_of_each,
    show_changed_task,
    view_each,
)
from binnacle.store import task_moves
from binnacle.store.task_moves import TaskMove
from binnacle.work.task import Brief, NewTask, brief


class SplitTaskAnswer(CommandAnswer):
    """A task and the parts it was split into."""

    task: Brief
    parts: list[Brief]


def _show_split(answer: SplitTaskAnswer, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    task_table([answer.task, *answer.parts], 0, screen, empty="")


def _answer(move: TaskMove) -> ChangedTaskAnswer:
    return changed_task(move.task, unblocked=move.unblocked, warnings=move.warnings, requested=move.request)


def _move_each(context: Context, args: Namespace, move: Callable[..., TaskMove], *options: str) -> EachChanged:
    """Moves every task that is named, with the options that this move takes."""
    given = {name: getattr(args, name) for name in options}
    return change_each(context, args, lambda tx, one: _answer(move(tx, one, **given)))


def needs_of_move(status: str, tool: str = "") -> Callable[[Namespace], CommandNeeds]:
    """What it takes to bring a task to a status: the `tool` for just that, or one for all of them."""

    def needs(args: Namespace) -> CommandNeeds:
        given = {name: getattr(args, name, None) or None for name in ("id", "reason", "fence", "force")}
        own = [call(tool, **given)] if tool else []
        return calls(*own, call("task_status", status=status, **given), call("task_update", status=status, **given))

    return needs


def _needs_of_done(args: Namespace) -> CommandNeeds:
    return by_person("waive the checks of a task") if args.waive else needs_of_each(needs_of_move("done"))(args)


def _needs_of_block(args: Namespace) -> CommandNeeds:
    if args.on is None:
        return needs_of_move("blocked", "task_block")(args)
    given = {"id": args.id, "reason": args.reason, "fence": args.fence, "force": args.force}
    return calls(call("task_block", on=args.on, **given))


def _needs_of_split(args: Namespace) -> CommandNeeds:
    parts = [{"title": title} for title in args.titles]
    return calls(call("task_split", id=args.id, parts=parts, chain=args.chain, force=args.force))


_show_each = view_each(show_changed_task)

REASON = arg("-m", "--reason", default="", help="the result, or the reason")


@TASK.command(
    "start",
    "take tasks to work on them",
    "bn task start 1f3",
    IDS,
    FORCE,
    view=_show_each,
    needs=needs_of_each(needs_of_move("in_progress")),
)
def start(context: Context, args: Namespace) -> EachChanged:
    return _move_each(context, args, task_moves.start, "force")


@TASK.command(
    "release",
    "release a task so that others can take it",
    "bn task release 1f3",
    IDS,
    FENCE,
    FORCE,
    view=_show_each,
    needs=needs_of_each(needs_of_move("pending", "task_release")),
)
def release(context: Context, args: Namespace) -> EachChanged:
    return _move_each(context, args, task_moves.release, "fence", "force")


@TASK.command(
    "done",
    "finish a task, or several; runs the checks that it needs",
    "bn task done 1f3 2a4 -m 'merged, tests green'",
    IDS,
    REASON,
    arg("--waive", default="", metavar="REASON", help="without its checks, for this reason; it is kept and shown"),
    FENCE,
    FORCE,
    view=_show_each,
    needs=_needs_of_done,
)
def done(context: Context, args: Namespace) -> EachChanged:
    return prove_requested(context, _move_each(context, args, task_moves.finish, "reason", "waive", "fence", "force"))


@TASK.command(
    "block",
    "mark a task as blocked, with the reason",
    "bn task block 1f3 --reason 'the API returns no user' --on 2a4",
    IDS,
    arg("-m", "--reason", required=True, help="what blocks it"),
    arg(
        "--on",
        metavar="ID",
        completes="task",
        help="the task that must be done first; then this one is ready again",
    ),
    FENCE,
    FORCE,
    view=_show_each,
    needs=needs_of_each(_needs_of_block),
)
def block(context: Context, args: Namespace) -> EachChanged:
    return _move_each(context, args, task_moves.block, "reason", "on", "fence", "force")


@TASK.command(
    "skip",
    "cancel a task",
    "bn task skip 1f3 --reason 'replaced by 2a4'",
    IDS,
    arg("-m", "--reason", required=True, help="why it will not be done"),
    FENCE,
    FORCE,
    view=_show_each,
    needs=needs_of_each(needs_of_move("cancelled", "task_skip")),
)
def skip(context: Context, args: Namespace) -> EachChanged:
    return _move_each(context, args, task_moves.skip, "reason", "fence", "force")


@TASK.command(
    "reopen",
    "make a task pending again, whatever its status",
    "bn task reopen 1f3",
    IDS,
    FENCE,
    FORCE,
    view=_show_each,
    needs=needs_of_each(needs_of_move("pending")),
)
def reopen(context: Context, args: Namespace) -> EachChanged:
    return _move_each(context, args, task_moves.reopen, "fence", "force")


@TASK.command(
    "split",
    "split a task into parts that it then waits for",
    "bn task split 1f3 'Design the table' 'Write the migration' --chain",
    ID,
    arg("titles", nargs="+", metavar="TITLE", help="the parts, at least two"),
    arg("--chain", action="store_true", help="each part waits for the one before"),
    FORCE,
    view=_show_split,
    needs=_needs_of_split,
)
def split(context: Context, args: Namespace) -> SplitTaskAnswer:
    with context.writing() as tx:
        wanted = [NewTask(title=title) for title in args.titles]
        whole, parts = task_moves.split(tx, args.id, wanted, chain=args.chain, force=args.force)
    return SplitTaskAnswer(task=brief(whole), parts=[brief(part) for part in parts])
