"""Where the work on a task began, so that what was changed since can be named. Runs know it from their branches."""

from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work.evidence import WorkStart
from binnacle.work.ids import TaskId

WORK_STARTS = Table("work_start", WorkStart, json=("commits",), times=("created_at",), key=("task_id",))


def note(tx: Writer, task_id: TaskId) -> None:
    """Notes where the caller's working tree stands, unless the work on the task has begun before."""
    if find(tx, task_id) is not None:
        return
    if commits := tuple(tx.outlook.find_heads()):
        start = WorkStart(task_id=task_id, commits=commits, created_at=tx.now)
        WORK_STARTS.insert(tx, [WORK_STARTS.row(start)])


def find(tx: Reader, task_id: str) -> WorkStart | None:
    """Where the work on a task began; None if that is not known."""
    return WORK_STARTS.first(tx, "where task_id = ?", task_id)


def forget(tx: Writer, task_id: str) -> None:
    """Forgets the beginning of work that is over: a task that is opened again begins from what is there then."""
    WORK_STARTS.delete(tx, "task_id = ?", task_id)
