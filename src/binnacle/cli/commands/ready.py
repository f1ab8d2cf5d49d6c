"""`bn ready`, `bn next`, `bn blocked`: what to do now, and what cannot be done yet."""

from argparse import Namespace
from datetime import datetime

from msgspec import UNSET, UnsetType

from binnacle.cli.command import CommandAnswer, CommandNeeds, Group, arg, call, calls, reads
from binnacle.cli.context import Context
from binnacle.cli.paging import limit_arg
from binnacle.cli.screen import Screen
from binnacle.store import tasks
from binnacle.store.tasks import TaskFilter
from binnacle.work.ids import TaskId
from binnacle.work.status import parse_kind, parse_priority
from binnacle.work.task import Brief, brief

READY, NEXT, BLOCKED = Group("ready"), Group("next"), Group("blocked")

LIMIT = limit_arg(20)
FILTERS = (
    arg("-f", "--feature", completes="feature", help="only of this feature"),
    arg("--discipline", completes="discipline", help="only of this discipline"),
    arg("-k", "--kind", completes="kind", help="only tasks, bugs or ideas"),
    arg("-p", "--priority", completes="priority", help="only of this priority, 0 to 4 or its name"),
    arg("-t", "--tag", help="only with this tag"),
)


class TaskPageAnswer(CommandAnswer):
    """A page of a list of tasks."""

    tasks: list[Brief]
    total: int
    offset: int = 0


class BlockedTasksAnswer(CommandAnswer):
    """Tasks that cannot go on, and the open tasks that each waits for."""

    tasks: list[Brief]
    total: int
    waits_for: dict[str, list[TaskId]]


class NextTaskAnswer(CommandAnswer):
    """The task to take, and the claim if it was taken."""

    task: Brief | None
    claimed: bool
    fence: int | None = None
    warnings: list[str] | None = None
    expires_at: datetime | UnsetType | None = UNSET
    """When the claim ends by itself; None where a person holds it."""

    held: bool = False
    """Whether the caller worked on it before."""


def filter_of(args: Namespace, *, feature: str | None = None) -> TaskFilter:
    """The filter that the options ask for, with `feature` if none is named; the tasks' own conditions come on top."""
    return TaskFilter(
        feature=args.feature or feature,
        discipline=args.discipline,
        kind=parse_kind(args.kind) if args.kind else None,
        priority=parse_priority(args.priority) if args.priority else None,
        tag=args.tag,
    )


def _needs(args: Namespace) -> CommandNeeds:
    if not args.claim:
        return reads("task_next", "task_list")
    which = {"feature": args.feature, "discipline": args.discipline, "kind": args.kind, "force": args.force}
    return calls(call("task_claim", **which, priority=args.priority, tag=args.tag))


def _show(answer: TaskPageAnswer, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    task_table(answer.tasks, answer.total, screen, empty="nothing is ready; see: bn blocked, bn task list")


def _show_blocked(answer: BlockedTasksAnswer, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    task_table(answer.tasks, answer.total, screen, empty="nothing is blocked")
    for task_id, waits in answer.waits_for.items():
        screen.line(f"{task_id} waits for {', '.join(waits)}")


def _show_next(answer: NextTaskAnswer, screen: Screen) -> None:
    if answer.task is None:
        screen.line("nothing is ready; see: bn blocked")
        return
    from binnacle.cli.views import show_changed

    show_changed(answer.task, screen, warnings=answer.warnings)
    if answer.held:
        screen.line(screen.styled("you already work on this task; --claim --force takes another", "dim"))
    elif not answer.claimed:
        screen.line(screen.styled(f"take it with: bn next --claim, or bn task start {answer.task.id}", "dim"))


@READY.command(
    "",
    "tasks that can be taken now, in the order to take them",
    "bn ready -n 5",
    LIMIT,
    *FILTERS,
    view=_show,
    needs=reads("task_list", "task_next"),
)
def ready(context: Context, args: Namespace) -> TaskPageAnswer:
    with context.reading() as tx:
        page, total = tasks.list_ready(tx, filter_of(args), limit=args.limit)
    return TaskPageAnswer(tasks=[brief(task) for task in page], total=total)


@BLOCKED.command(
    "",
    "blocked tasks, and what they wait for",
    "bn blocked",
    LIMIT,
    view=_show_blocked,
    needs=reads("task_list"),
)
def blocked(context: Context, args: Namespace) -> BlockedTasksAnswer:
    from binnacle.store import dependencies

    with context.reading() as tx:
        page, total = tasks.list_blocked(tx, limit=args.limit)
        known = dependencies.dependencies_of(tx, [task.id for task in page])
        ids = {one.depends_on for several in known.values() for one in several}
        still_open = {task.id for task in tasks.get_many(tx, ids).values() if task.closed_at is None}
    waits = {
        task_id: [one.depends_on for one in several if one.depends_on in still_open]
        for task_id, several in known.items()
    }
    return BlockedTasksAnswer(
        tasks=[brief(task) for task in page],
        total=total,
        waits_for={task_id: found for task_id, found in waits.items() if found},
    )


@NEXT.command(
    "",
    "the task to take next, or the one an agent already works on; --claim takes it",
    "bn next --claim",
    arg("--claim", action="store_true", help="take it, so that no one else gets it"),
    arg("--force", action="store_true", help="take another even if you already work on one"),
    *FILTERS,
    view=_show_next,
    needs=_needs,
)
def next_task(context: Context, args: Namespace) -> NextTaskAnswer:
    if not args.claim:
        actor = context.actor
        with context.reading() as tx:
            task = tasks.find_next_for(tx, actor, filter_of(args))
        is_held = task is not None and task.status == "in_progress"
        return NextTaskAnswer(task=brief(task) if task else None, claimed=is_held, held=is_held)
    from binnacle.store import task_moves

    rights = context.rights
    which = filter_of(args, feature=rights.feature if rights else None)
    with context.writing(claim=True) as writer:
        move = task_moves.claim_next(writer, which, force=args.force)
    if move is None:
        return NextTaskAnswer(task=None, claimed=False)
    return NextTaskAnswer(
        task=brief(move.task),
        claimed=True,
        fence=move.task.fence,
        warnings=list(move.warnings),
        expires_at=move.task.claim_expires_at,
        held=move.was_held,
    )
