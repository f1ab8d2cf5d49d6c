"""Dependencies between tasks."""

from collections.abc import Collection, Mapping, Sequence

from binnacle.errors import Cycle, NotFound, Refused
from binnacle.store import claim_holders, tasks
from binnacle.store.table import placeholders
from binnacle.store.tasks import DEPENDENCIES
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.graph import find_cycle
from binnacle.work.ids import TaskId
from binnacle.work.status import is_closed
from binnacle.work.task import Dependency, Task
from binnacle.work.text import clean_optional_line

OLDEST_FIRST = "order by created_at, task_id, depends_on"


def dependencies_of(tx: Reader, ids: Collection[str]) -> dict[str, list[Dependency]]:
    """The dependencies of some tasks, by task id. Tasks without dependencies are left out."""
    return _group_by(tx, "task_id", ids)


def dependents_of(tx: Reader, ids: Collection[str]) -> dict[str, list[Dependency]]:
    """The dependencies on some tasks, by the id of the task that is waited for."""
    return _group_by(tx, "depends_on", ids)


def add(tx: Writer, text: str, on_text: str, *, reason: str = "", force: bool = False) -> Task:
    """Makes one task wait for another. If it does already, only the reason changes.

    Raises:
        Cycle: the error shows the cycle.
    """
    task, target = tasks.get(tx, text), tasks.get(tx, on_text)
    claim_holders.check_change(tx, task, fence=None, force=force)
    reason = clean_optional_line(reason, what="reason", limit=500)
    if task.id == target.id:
        raise Cycle(f"{task.id} cannot wait for itself", hint="name two different tasks")
    if any(known.depends_on == target.id for known in dependencies_of(tx, [task.id]).get(task.id, ())):
        DEPENDENCIES.update(tx, {"reason": reason}, DEPENDENCIES.where_key, task.id, target.id)
        tx.record("task", task.id, "waits", {"on": [target.id], "reason": reason})
        return task
    if is_closed(task.status):
        raise Refused(f"{task.id} is {task.status} and waits for nothing", hint=steps.reopen(task.id))
    tasks.check_not_above(tx, task.parent, {target.id})
    circle = find_cycle(task.id, target.id, lambda ids: targets_of(tx, ids))
    if circle:
        raise Cycle(f"that would close a cycle: {' → '.join(circle)}", hint="remove one of these dependencies first")
    link(tx, task.id, [target.id], reason=reason)
    return tasks.get(tx, task.id)


def link(tx: Writer, task_id: TaskId, targets: Sequence[TaskId], *, reason: str) -> None:
    """Writes new dependencies that are known to close no cycle."""
    made = [{"task_id": task_id, "depends_on": one, "reason": reason, "created_at": tx.now} for one in targets]
    DEPENDENCIES.insert(tx, made)
    recount(tx, [task_id])
    tx.record("task", task_id, "waits", {"on": list(targets), "reason": reason})


def replace(tx: Writer, text: str, on_texts: Sequence[str]) -> Task:
    """Makes a task wait for exactly these others."""
    task = tasks.get(tx, text)
    wanted = [tasks.resolve(tx, one) for one in on_texts]
    there = [known.depends_on for known in dependencies_of(tx, [task.id]).get(task.id, ())]
    for old in there:
        if old not in wanted:
            remove(tx, task.id, old)
    for new in wanted:
        if new not in there:
            add(tx, task.id, new)
    return tasks.get(tx, task.id)


def remove(tx: Writer, text: str, on_text: str, *, force: bool = False) -> Task:
    """Removes a dependency."""
    task, target = tasks.get(tx, text), tasks.resolve(tx, on_text)
    claim_holders.check_change(tx, task, fence=None, force=force)
    if not DEPENDENCIES.delete(tx, DEPENDENCIES.where_key, task.id, target):
        waits = ", ".join(known.depends_on for known in dependencies_of(tx, [task.id]).get(task.id, ()))
        raise NotFound(f"{task.id} does not depend on {target}", hint=f"it depends on: {waits or 'nothing'}")
    recount(tx, [task.id])
    tx.record("task", task.id, "waits no more", {"on": target})
    return tasks.get(tx, task.id)


def list_cancelled(tx: Reader, task_id: str) -> list[str]:
    """Dependencies that were cancelled: the task need not wait for them, but their results are missing."""
    rows = tx.rows(
        "select t.id from dependency d join task t on t.id = d.depends_on "
        "where d.task_id = ? and t.status = 'cancelled' order by t.number",
        task_id,
    )
    return [row[0] for row in rows]


def recount(tx: Writer, ids: Sequence[str]) -> None:
    """Counts the open dependencies of some tasks again."""
    for start in range(0, len(ids), tasks.IDS_PER_STATEMENT):
        part = ids[start : start + tasks.IDS_PER_STATEMENT]
        tx.run(
            "update task set open_dependencies = (select count(*) from dependency d join task t on t.id = d.depends_on "
            f"where d.task_id = task.id and t.status not in ('done', 'cancelled')) where id in {placeholders(part)}",
            *part,
        )


def targets_of(tx: Reader, ids: Collection[str]) -> Mapping[str, Sequence[str]]:
    """The ids of the tasks that each of some tasks waits for."""
    return {task_id: [known.depends_on for known in found] for task_id, found in dependencies_of(tx, ids).items()}


def _group_by(tx: Reader, key: str, ids: Collection[str]) -> dict[str, list[Dependency]]:
    wanted = list(ids)
    found: dict[str, list[Dependency]] = {}
    for start in range(0, len(wanted), tasks.IDS_PER_STATEMENT):
        part = wanted[start : start + tasks.IDS_PER_STATEMENT]
        for known in DEPENDENCIES.select(tx, f"where {key} in {placeholders(part)} {OLDEST_FIRST}", *part):
            found.setdefault(getattr(known, key), []).append(known)
    return found
