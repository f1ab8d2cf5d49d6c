"""`bn ready`, `bn next`, `bn blocked`: what to do now, and what cannot be done yet."""

from argparse import Namespace
from typing import Any

from binnacle.cli.command import CommandNeeds, Group, arg, call, calls, reads
from binnacle.cli.context import Context
from binnacle.cli.paging import limit_arg
from binnacle.cli.screen import Screen
from binnacle.store import tasks
from binnacle.store.tasks import TaskFilter
from binnacle.work.status import parse_kind, parse_priority
from binnacle.work.task import brief

READY, NEXT, BLOCKED = Group("ready"), Group("next"), Group("blocked")

LIMIT = limit_arg(20)
FILTERS = (
    arg("-f", "--feature", completes="feature", help="only of this feature"),
    arg("--discipline", completes="discipline", help="only of this discipline"),
    arg("-k", "--kind", completes="kind", help="only tasks, bugs or ideas"),
    arg("-p", "--priority", completes="priority", help="only of this priority, 0 to 4 or its name"),
    arg("-t", "--tag", help="only with this tag"),
)


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


def _show(answer: Any, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    task_table(answer["tasks"], answer["total"], screen, empty="nothing is ready; see: bn blocked, bn task list")


def _show_blocked(answer: Any, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    task_table(answer["tasks"], answer["total"], screen, empty="nothing is blocked")
    for task_id, waits in answer["waits_for"].items():
        screen.line(f"{task_id} waits for {', '.join(waits)}")


def _show_next(answer: Any, screen: Screen) -> None:
    if answer["task"] is None:
        screen.line("nothing is ready; see: bn blocked")
        return
    from binnacle.cli.views import show_changed

    show_changed(answer, screen)
    if answer.get("held"):
        screen.line(screen.styled("you already work on this task; --claim --force takes another", "dim"))
    elif not answer["claimed"]:
        screen.line(screen.styled(f"take it with: bn next --claim, or bn task start {answer['task'].id}", "dim"))


@READY.command(
    "",
    "tasks that can be taken now, in the order to take them",
    "bn ready -n 5",
    LIMIT,
    *FILTERS,
    view=_show,
    needs=reads("task_list", "task_next"),
)
def ready(context: Context, args: Namespace) -> Any:
    with context.reading() as tx:
        page, total = tasks.list_ready(tx, filter_of(args), limit=args.limit)
    return {"tasks": [brief(task) for task in page], "total": total}


@BLOCKED.command(
    "",
    "tasks that cannot go on, and what they wait for",
    "bn blocked",
    LIMIT,
    view=_show_blocked,
    needs=reads("task_list"),
)
def blocked(context: Context, args: Namespace) -> Any:
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
    return {
        "tasks": [brief(task) for task in page],
        "total": total,
        "waits_for": {task_id: found for task_id, found in waits.items() if found},
    }


@NEXT.command(
    "",
    "the task to take next, or the one an agent already works on; --claim takes it",
    "bn next --claim",
    arg("--claim", action="store_true", help="take it: no one else gets it"),
    arg("--force", action="store_true", help="take another although you already work on one"),
    *FILTERS,
    view=_show_next,
    needs=_needs,
)
def next_task(context: Context, args: Namespace) -> Any:
    if not args.claim:
        actor = context.actor
        with context.reading() as tx:
            task = tasks.find_next_for(tx, actor, filter_of(args))
        is_held = task is not None and task.status == "in_progress"
        return {"task": brief(task) if task else None, "claimed": is_held} | ({"held": True} if is_held else {})
    from binnacle.store import task_moves

    rights = context.rights
    which = filter_of(args, feature=rights.feature if rights else None)
    with context.writing(claim=True) as writer:
        move = task_moves.claim_next(writer, which, force=args.force)
    if move is None:
        return {"task": None, "claimed": False}
    answer = {"task": brief(move.task), "claimed": True, "fence": move.task.fence, "warnings": list(move.warnings)}
    return answer | {"expires_at": move.task.claim_expires_at} | ({"held": True} if move.was_held else {})
