"""Deletes tasks, with the rows that the database deletes together with them."""

from binnacle.errors import Referenced
from binnacle.store import claim_holders, tasks
from binnacle.store.comments import COMMENTS
from binnacle.store.done_requests import REPORTS
from binnacle.store.evidence import EVIDENCE
from binnacle.store.learnings import LEARNINGS
from binnacle.store.questions import QUESTIONS
from binnacle.store.review_remarks import REMARKS
from binnacle.store.reviews import REVIEWS, VERDICTS
from binnacle.store.tasks import DEPENDENCIES, TASKS
from binnacle.store.transaction import Writer
from binnacle.store.waivers import WAIVERS
from binnacle.store.work_starts import WORK_STARTS
from binnacle.work import steps
from binnacle.work.task import Task


def delete_task(tx: Writer, text: str, *, fence: int | None = None, force: bool = False) -> Task:
    """Deletes a task that no other task refers to, with its comments, and returns it."""
    task = tasks.get(tx, text)
    claim_holders.check_change(tx, task, fence=fence, force=force)
    rows = tx.rows(
        "select task_id from dependency where depends_on = ? union select id from task where parent = ?",
        task.id,
        task.id,
    )
    if rows:
        names = ", ".join(row[0] for row in rows[:5])
        raise Referenced(
            f"{task.id} is still referred to by {names}",
            hint=steps.cancel(task.id),
            details={"referrers": [row[0] for row in rows]},
        )
    remember_dependents(tx, task.id)
    TASKS.delete(tx, "id = ?", task.id)
    tx.record("task", task.id, "deleted", {"title": task.title, "status": task.status})
    return task


def remember_dependents(tx: Writer, task_id: str) -> None:
    """Remembers the rows that the database deletes together with a task, or detaches from it."""
    for table in (
        *(DEPENDENCIES, COMMENTS, REPORTS, QUESTIONS, LEARNINGS, EVIDENCE, WAIVERS, WORK_STARTS),
        *(REVIEWS, VERDICTS, REMARKS),
    ):
        table.remember(tx, "where task_id = ?", task_id)
