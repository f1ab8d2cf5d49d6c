"""Moving a task to another status, and in the queue."""

from typing import Annotated

from msgspec import Meta, Struct

from binnacle.errors import InvalidInput
from binnacle.store import queue, task_moves, tasks
from binnacle.store.task_moves import TaskMove
from binnacle.store.transaction import Writer
from binnacle.store.views.changed_since import check_unchanged
from binnacle.web.endpoints import acts
from binnacle.web.page_project import PageProject
from binnacle.work.done_gate import DoneRequest
from binnacle.work.ids import TaskId
from binnacle.work.status import Status


class MoveTask(Struct, frozen=True, kw_only=True):
    """Moves a task to a status."""

    id: str
    status: Status
    reason: Annotated[str, Meta(max_length=2000)] = ""
    """Needed to block and to cancel."""

    blocked_on: str = ""
    """The task that must be done first, for `blocked`."""

    waive: Annotated[str, Meta(max_length=2000)] = ""
    """Why its checks are skipped, for `done`."""

    force: bool = False
    """Although somebody holds it, or it waits for others."""

    seen: int | None = None
    """The newest event about it that the page has."""


class MovedTask(Struct, frozen=True, kw_only=True):
    """A task after a move."""

    id: TaskId
    status: Status
    unblocked: list[TaskId]
    """Tasks that no longer wait for anything."""

    warnings: list[str]
    checks: list[str]
    """What has to pass before it is done: it is not done yet, and `prove_task` runs them."""


class QueueTask(Struct, frozen=True, kw_only=True):
    """Puts a task into the queue, or takes it out."""

    id: str
    place: str = "last"
    """`first`, `last`, `none`, or the id of the task before which it goes."""


class QueuedTasks(Struct, frozen=True, kw_only=True):
    """The queue in order."""

    ids: list[TaskId]


@acts("move_task")
async def move_task(project: PageProject, asked: MoveTask) -> MovedTask:
    """Moves a task as `bn task` does. If it needs checks to be done, it stays as it is, and the answer names them."""

    def change(tx: Writer) -> TaskMove:
        task = tasks.get(tx, asked.id)
        if asked.seen is not None:
            check_unchanged(tx, task, asked.seen, {"status"})
        return _move(tx, task.id, asked)

    return _describe(await project.write(change))


def _move(tx: Writer, task_id: TaskId, asked: MoveTask) -> TaskMove:
    if asked.waive and asked.status != "done":
        raise InvalidInput("only checks of a task that is done can be waived", hint="leave out the reason to waive")
    if asked.status == "done":
        return task_moves.finish(tx, task_id, reason=asked.reason, waive=asked.waive, force=asked.force)
    if asked.status == "blocked":
        return task_moves.block(tx, task_id, reason=asked.reason, on=asked.blocked_on or None, force=asked.force)
    if asked.status == "pending" and tasks.get(tx, task_id).status == "in_progress":
        return task_moves.release(tx, task_id, force=asked.force)
    return task_moves.set_status(tx, task_id, asked.status, reason=asked.reason, force=asked.force)


def _describe(move: TaskMove) -> MovedTask:
    return MovedTask(
        id=move.task.id,
        status=move.task.status,
        unblocked=list(move.unblocked),
        warnings=list(move.warnings),
        checks=_names(move.request) if move.request else [],
    )


def _names(request: DoneRequest) -> list[str]:
    return [*request.checks, *(f"test {name}" for name in request.tests)]


@acts("queue_task")
async def queue_task(project: PageProject, asked: QueueTask) -> QueuedTasks:
    def change(tx: Writer) -> QueuedTasks:
        match asked.place:
            case "none":
                found = queue.remove(tx, [asked.id])
            case "first" | "last":
                found = queue.add(tx, [asked.id], first=asked.place == "first")
            case _:
                found = queue.insert(tx, asked.id, before=asked.place)
        return QueuedTasks(ids=[task.id for task in found])

    return await project.write(change)
