"""A task with its dependencies, dependents, parts, comments and questions."""

from collections.abc import Sequence

from msgspec import Struct

from binnacle.errors import ConfigError
from binnacle.store import comments, observations, tasks
from binnacle.store.done_requests import find_state
from binnacle.store.evidence import list_of_commit, list_of_task
from binnacle.store.questions import list_task_questions
from binnacle.store.review_remarks import list_for_agent
from binnacle.store.reviews import find_open
from binnacle.store.task_requirements import find_requirements
from binnacle.store.transaction import Reader
from binnacle.store.waivers import list_waivers
from binnacle.work.criterion_proof import CriterionProof, judge_criteria
from binnacle.work.done_gate import RequestState
from binnacle.work.evidence import Evidence, Waiver
from binnacle.work.ids import TaskId
from binnacle.work.journal import Comment
from binnacle.work.observation import ObservedCommand
from binnacle.work.report import Question
from binnacle.work.review import Review, ReviewRemark
from binnacle.work.status import Status, is_closed
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

    criteria: tuple[CriterionProof, ...] = ()
    """The acceptance criteria that name a check or a test, and whether it shows them."""

    observed: tuple[ObservedCommand, ...] = ()
    """The tests that the agent of its last attempt ran by itself, and how they ended."""

    waivers: tuple[Waiver, ...] = ()
    review: Review | None = None
    """The review that it waits for."""

    remarks: tuple[ReviewRemark, ...] = ()
    """What reviewers asked for and nobody has done yet, oldest first."""

    needs: tuple[str, ...] = ()
    """What has to be proven before it is done: checks and tests, by name."""

    request: RequestState | None = None
    """What became of the last time that it was called done."""


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
    newest = list_of_task(tx, task.id, limit=MAX_SHOWN_EVIDENCE)
    return TaskDetails(
        task=task,
        depends_on=tuple(around["depends_on"]),
        dependents=tuple(around["dependents"]),
        parts=tuple(around["parts"]),
        comments=tuple(comments.list_comments(tx, task.id)),
        questions=tuple(list_task_questions(tx, task.id)),
        evidence=tuple(newest),
        criteria=_judge_criteria(tx, task, newest),
        observed=observations.find(tx, task),
        waivers=tuple(list_waivers(tx, task.id)),
        review=find_open(tx, task.id),
        remarks=tuple(list_for_agent(tx, task.id)),
        needs=_list_needs(tx, task),
        request=find_state(tx, task.id),
    )


def _list_needs(tx: Reader, task: Task) -> tuple[str, ...]:
    if is_closed(task.status):
        return ()
    try:
        needs = find_requirements(tx, task, parts=tasks.list_parts(tx, task.id))
    except ConfigError as error:  # a task can be read although the file of checks cannot
        return (error.message,)
    return (
        tuple(f"{one.name}: {one.problem}" if one.problem else one.name for one in needs.checks)
        + needs.names[len(needs.checks) :]
    )


def _judge_criteria(tx: Reader, task: Task, newest: Sequence[Evidence]) -> tuple[CriterionProof, ...]:
    """What is known of the criteria at the commit that was proven, or else at the last that was checked.

    A result may have been made for another task with the same commit.
    """
    if not task.acceptance_criteria:
        return ()
    commit = task.evidence_commit or (newest[0].commit_id if newest else "")
    return judge_criteria(task.acceptance_criteria, list_of_commit(tx, commit) if commit else ())
