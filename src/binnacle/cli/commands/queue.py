"""`bn queue`: what goes before everything else."""

from argparse import Namespace

from binnacle.cli.command import READS, CommandAnswer, Group, arg, changes
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.store import queue
from binnacle.work.task import Brief, Task, brief

QUEUE = Group("queue")

IDS = arg("ids", nargs="+", metavar="ID", completes="task", help="the tasks, in order")


class QueueAnswer(CommandAnswer):
    """The tasks of the queue, in order."""

    tasks: list[Brief]


def _show(answer: QueueAnswer, screen: Screen) -> None:
    from binnacle.cli.views import task_table

    task_table(answer.tasks, len(answer.tasks), screen, empty="the queue is empty; fill it with: bn queue add ID")


def _answer(found: list[Task]) -> QueueAnswer:
    return QueueAnswer(tasks=[brief(task) for task in found])


@QUEUE.command("", "the queue in order", "bn queue", view=_show, needs=READS)
def show(context: Context, args: Namespace) -> QueueAnswer:  # noqa: ARG001
    with context.reading() as tx:
        return _answer(queue.list_queue(tx))


@QUEUE.command(
    "add",
    "put tasks at the end of the queue; their parts come with them",
    "bn queue add 1f3 2a4 --first",
    IDS,
    arg("--first", action="store_true", help="at the beginning"),
    view=_show,
    needs=changes("queue_add"),
)
def add(context: Context, args: Namespace) -> QueueAnswer:
    with context.writing() as tx:
        return _answer(queue.add(tx, args.ids, first=args.first))


@QUEUE.command("rm", "take tasks out of the queue", "bn queue rm 1f3", IDS, view=_show, needs=changes("queue_remove"))
def remove(context: Context, args: Namespace) -> QueueAnswer:
    with context.writing() as tx:
        return _answer(queue.remove(tx, args.ids))
