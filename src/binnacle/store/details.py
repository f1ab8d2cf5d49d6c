"""A task with everything around it: what it waits for, what waits for it, its parts, its history, its questions."""

from msgspec import Struct

from binnacle.store import comments, dependencies, tasks
from binnacle.store.questions import of_task
from binnacle.store.store import Reader
from binnacle.work.ids import TaskId
from binnacle.work.journal import Comment
from binnacle.work.report import Question
from binnacle.work.status import Status
from binnacle.work.task import Task


class Related(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Another task, as far as a reader needs it here."""

    id: TaskId
    title: str
    status: Status
    reason: str = ""


class Details(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task and its surroundings."""

    task: Task
    depends_on: tuple[Related, ...] = ()
    dependents: tuple[Related, ...] = ()
    parts: tuple[Related, ...] = ()
    comments: tuple[Comment, ...] = ()
    questions: tuple[Question, ...] = ()


def details(tx: Reader, text: str) -> Details:
    """Everything about the task meant by `text`."""
    task = tasks.get(tx, text)
    around = dependencies.around(tx, task.id)
    waits = {known.depends_on: known.reason for known in around if known.task_id == task.id}
    waiting = {known.task_id: known.reason for known in around if known.depends_on == task.id}
    return Details(
        task=task,
        depends_on=_related(tx, waits),
        dependents=_related(tx, waiting),
        parts=tuple(Related(id=part.id, title=part.title, status=part.status) for part in tasks.children(tx, task.id)),
        comments=tuple(comments.listed(tx, task.id)),
        questions=tuple(of_task(tx, task.id)),
    )


def _related(tx: Reader, reasons: dict[TaskId, str]) -> tuple[Related, ...]:
    if not reasons:
        return ()
    found = tasks.get_many(tx, reasons)
    return tuple(
        Related(id=task_id, title=found[task_id].title, status=found[task_id].status, reason=reason)
        for task_id, reason in reasons.items()
    )
