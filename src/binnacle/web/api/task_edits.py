"""Changing a task: its fields, comments and dependencies; adding and deleting one."""

from collections.abc import Callable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from binnacle.store import comments, dependencies, task_deletion, tasks
from binnacle.store.transaction import Writer
from binnacle.store.views.changed_since import check_unchanged, newest_about
from binnacle.web.endpoints import acts
from binnacle.web.page_project import PageProject
from binnacle.work.ids import TaskId
from binnacle.work.journal import MAX_BODY_CHARACTERS
from binnacle.work.status import Kind, Status
from binnacle.work.task import NewTask, Task


class AddTask(Struct, frozen=True, kw_only=True):
    """A task to add."""

    title: str
    description: str = ""
    kind: Kind = "task"
    priority: Annotated[int, Meta(ge=0, le=4)] = 2
    status: Literal["draft", "pending"] = "pending"
    feature: str = ""
    discipline: str = ""
    tags: tuple[str, ...] = ()
    acceptance_criteria: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()


class EditTask(Struct, frozen=True, kw_only=True):
    """New values of some fields of a task."""

    id: str
    changes: dict[str, str | int | list[str] | None]
    seen: int
    """The newest change that was known when editing began."""


class TaskComment(Struct, frozen=True, kw_only=True):
    """A comment to add."""

    id: str
    body: Annotated[str, Meta(max_length=MAX_BODY_CHARACTERS)]


class TaskDependency(Struct, frozen=True, kw_only=True):
    """That a task waits for another one, or no longer does."""

    id: str
    on: str
    reason: Annotated[str, Meta(max_length=500)] = ""


class DeleteTask(Struct, frozen=True, kw_only=True):
    """A task to delete."""

    id: str


class EditedTask(Struct, frozen=True, kw_only=True):
    """A task after a change."""

    id: TaskId
    title: str
    status: Status
    seen: int
    """The number of the change."""


@acts("add_task")
async def add_task(project: PageProject, asked: AddTask) -> EditedTask:
    draft = NewTask(
        title=asked.title,
        description=asked.description,
        kind=asked.kind,
        priority=asked.priority,
        status=asked.status,
        feature=asked.feature or None,
        discipline=asked.discipline or None,
        tags=asked.tags,
        acceptance_criteria=asked.acceptance_criteria,
        depends_on=asked.depends_on,
    )
    return await _change(project, lambda tx: tasks.add(tx, [draft])[0])


@acts("edit_task")
async def edit_task(project: PageProject, asked: EditTask) -> EditedTask:
    """Changes fields of a task, unless somebody else changed one of them meanwhile."""

    def change(tx: Writer) -> Task:
        task = tasks.get(tx, asked.id)
        check_unchanged(tx, task, asked.seen, asked.changes)
        return tasks.update(tx, task.id, asked.changes)

    return await _change(project, change)


@acts("add_comment")
async def add_comment(project: PageProject, asked: TaskComment) -> EditedTask:
    return await _change(project, lambda tx: tasks.get(tx, comments.add(tx, asked.id, asked.body).task_id))


@acts("add_dependency")
async def add_dependency(project: PageProject, asked: TaskDependency) -> EditedTask:
    """Makes a task wait for another one."""
    return await _change(project, lambda tx: dependencies.add(tx, asked.id, asked.on, reason=asked.reason))


@acts("remove_dependency")
async def remove_dependency(project: PageProject, asked: TaskDependency) -> EditedTask:
    return await _change(project, lambda tx: dependencies.remove(tx, asked.id, asked.on))


@acts("delete_task")
async def delete_task(project: PageProject, asked: DeleteTask) -> EditedTask:
    """Deletes a task that no other refers to. `bn undo` brings it back."""
    return await _change(project, lambda tx: task_deletion.delete_task(tx, asked.id))


async def _change(project: PageProject, change: Callable[[Writer], Task]) -> EditedTask:
    """Makes a change, and answers with its number: events get theirs when a transaction ends."""
    task = await project.write(change)
    seen = await project.read(lambda tx: newest_about(tx, task.id))
    return EditedTask(id=task.id, title=task.title, status=task.status, seen=seen)
