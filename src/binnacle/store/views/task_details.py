"""A task with its dependencies, dependents, parts, comments and questions."""

from msgspec import Struct

from binnacle.store import comments, tasks
from binnacle.store.evidence import list_of_task
from binnacle.store.questions import list_task_questions
from binnacle.store.review_remarks import list_for_agent
from binnacle.store.reviews import find_open
from binnacle.store.transaction import Reader
from binnacle.store.waivers import list_waivers
from binnacle.work.evidence import Evidence, Waiver
from binnacle.work.ids import TaskId
from binnacle.work.journal import Comment
from binnacle.work.report import Question
from binnacle.work.review import Review, ReviewRemark
from binnacle.work.status import Status
from binnacle.work.task import Task

MAX_SHOWN_EVIDENCE = 10
"""Results that are shown with a task."""


class RelatedTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a reader needs to know about a related task."""

    id: TaskId
    title: str
    status: Status
    reason: str = ""


class TaskDetails(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task and everything related to it."""

    task: Task
    depends_on: tuple[RelatedTask, ...] = ()
    dependents: tuple[RelatedTask, ...] = ()
    parts: tuple[RelatedTask, ...] = ()
    comments: tuple[Comment, ...] = ()
    questions: tuple[Question, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    """The newest results of checks about it, newest first."""

    waivers: tuple[Waiver, ...] = ()
    review: Review | None = None
    """The review that it waits for."""

    remarks: tuple[ReviewRemark, ...] = ()
    """What reviewers asked for and nobody has done yet, oldest first."""


_AROUND = """
    select 'depends_on', id, title, status, reason, link.created_at as since, 0 as place
    from dependency link join task on task.id = link.depends_on where link.task_id = ?
    union all
    select 'dependents', id, title, status, reason, link.created_at, 0
    from dependency link join task on task.id = link.task_id where link.depends_on = ?
    union all
    select 'parts', id, title, status, '', '', number from task where parent = ?
    order by since, place, id
"""
"""The related tasks, each with the field that it belongs to: dependencies oldest first, parts as they were made."""


def load_details(tx: Reader, text: str) -> TaskDetails:
    """Everything about the task that `text` means."""
    task = tasks.get(tx, text)
    around: dict[str, list[RelatedTask]] = {"depends_on": [], "dependents": [], "parts": []}
    for field, task_id, title, status, reason, *_ in tx.rows(_AROUND, task.id, task.id, task.id):
        around[field].append(RelatedTask(id=task_id, title=title, status=status, reason=reason))
    return TaskDetails(
        task=task,
        depends_on=tuple(around["depends_on"]),
        dependents=tuple(around["dependents"]),
        parts=tuple(around["parts"]),
        comments=tuple(comments.list_comments(tx, task.id)),
        questions=tuple(list_task_questions(tx, task.id)),
        evidence=tuple(list_of_task(tx, task.id, limit=MAX_SHOWN_EVIDENCE)),
        waivers=tuple(list_waivers(tx, task.id)),
        review=find_open(tx, task.id),
        remarks=tuple(list_for_agent(tx, task.id)),
    )
