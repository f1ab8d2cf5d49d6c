"""A task with everything around it: what it waits for, what waits for it, its parts, its history, its questions."""

from msgspec import Struct

from binnacle.store import comments, dependencies, tasks
from binnacle.store.questions import list_task_questions
from binnacle.store.transaction import Reader
from binnacle.work.ids import TaskId
from binnacle.work.journal import Comment
from binnacle.work.report import Question
from binnacle.work.status import Status
from binnacle.work.task import Task


class RelatedTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Another task, as far as a reader needs it here."""

    id: TaskId
    title: str
    status: Status
    reason: str = ""


class TaskDetails(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task and its surroundings."""

    task: Task
    depends_on: tuple[RelatedTask, ...] = ()
    dependents: tuple[RelatedTask, ...] = ()
    parts: tuple[RelatedTask, ...] = ()
    comments: tuple[Comment, ...] = ()
    questions: tuple[Question, ...] = ()


def load_details(tx: Reader, text: str) -> TaskDetails:
    """Everything about the task meant by `text`."""
    task = tasks.get(tx, text)
    around = dependencies.list_around(tx, task.id)
    waits = {known.depends_on: known.reason for known in around if known.task_id == task.id}
    waiting = {known.task_id: known.reason for known in around if known.depends_on == task.id}
    return TaskDetails(
        task=task,
        depends_on=_related(tx, waits),
        dependents=_related(tx, waiting),
        parts=tuple(
            RelatedTask(id=part.id, title=part.title, status=part.status) for part in tasks.list_parts(tx, task.id)
        ),
        comments=tuple(comments.list_comments(tx, task.id)),
        questions=tuple(list_task_questions(tx, task.id)),
    )


def _related(tx: Reader, reasons: dict[TaskId, str]) -> tuple[RelatedTask, ...]:
    if not reasons:
        return ()
    found = tasks.get_many(tx, reasons)
    return tuple(
        RelatedTask(id=task_id, title=found[task_id].title, status=found[task_id].status, reason=reason)
        for task_id, reason in reasons.items()
    )
