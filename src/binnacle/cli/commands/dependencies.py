"""`bn task dep …`: what waits for what."""

from argparse import Namespace

from binnacle.cli.command import CommandAnswer, CommandNeeds, arg, call, calls, reads
from binnacle.cli.commands.task import FORCE, ID, TASK
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.cli.task_batch import ChangedTaskAnswer, changed_task, show_changed_task
from binnacle.store import dependencies, tasks
from binnacle.work.ids import TaskId
from binnacle.work.task import Brief

ON = arg("on", metavar="ON", completes="task", help="the task it waits for")


def _needs(args: Namespace) -> CommandNeeds:
    return calls(call("task_update", id=args.id, depends_on=[args.on], force=args.force))


class DependencyTreeAnswer(CommandAnswer):
    """A task with all that it waits for."""

    root: TaskId
    nodes: list[Brief]
    edges: list[tuple[str, str]]
    cut: bool


def _show_tree(answer: DependencyTreeAnswer, screen: Screen) -> None:
    from binnacle.cli.graph_drawing import print_tree

    print_tree(answer.nodes, answer.edges, [answer.root], screen)


@TASK.command(
    "dep add",
    "make a task wait for another",
    "bn task dep add 1f3 2a4 --reason 'needs its endpoint'",
    ID,
    ON,
    arg("--reason", default="", help="why"),
    FORCE,
    view=show_changed_task,
    needs=_needs,
)
def add(context: Context, args: Namespace) -> ChangedTaskAnswer:
    with context.writing() as tx:
        return changed_task(dependencies.add(tx, args.id, args.on, reason=args.reason, force=args.force))


@TASK.command(
    "dep rm",
    "stop a task from waiting for another",
    "bn task dep rm 1f3 2a4",
    ID,
    ON,
    FORCE,
    view=show_changed_task,
    needs=_needs,
)
def remove(context: Context, args: Namespace) -> ChangedTaskAnswer:
    with context.writing() as tx:
        return changed_task(dependencies.remove(tx, args.id, args.on, force=args.force))


@TASK.command(
    "dep tree",
    "what a task waits for, and what that waits for",
    "bn task dep tree 1f3",
    ID,
    view=_show_tree,
    needs=reads("task_dependencies", "task_get"),
)
def tree(context: Context, args: Namespace) -> DependencyTreeAnswer:
    from binnacle.store.views.dependency_graph import load_reachable

    with context.reading() as tx:
        root = tasks.resolve(tx, args.id)
        graph = load_reachable(tx, [root])
    return DependencyTreeAnswer(root=root, nodes=graph.nodes, edges=graph.edges, cut=graph.cut)
