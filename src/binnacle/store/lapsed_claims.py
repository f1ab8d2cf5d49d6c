"""Lapsed claims: their lease has ended, or the agent that held the task is gone."""

from typing import Any

from binnacle.store import claim_holders
from binnacle.store.table import placeholders
from binnacle.store.tasks import TASKS
from binnacle.store.transaction import Reader, Writer, stamp
from binnacle.work.actor import SYSTEM
from binnacle.work.ids import TaskId

UNCLAIMED: dict[str, Any] = {"claimed_by": None, "claim_expires_at": None}
"""The columns of a claim when no one holds the task."""


def has_lapsed(tx: Reader) -> bool:
    """Whether any claim has lapsed, so that `release_lapsed` has something to do."""
    row = tx.row("select 1 from task where claim_expires_at <= ? limit 1", stamp(tx.now))
    return row is not None or bool(claim_holders.list_gone(tx))


def release_lapsed(tx: Writer) -> list[TaskId]:
    """Gives back the tasks whose claims have lapsed, and returns their ids."""
    is_gone = {agent.id for agent in claim_holders.list_gone(tx)}
    lapsed = "claim_expires_at <= ?" + (f" or claimed_by in {placeholders(list(is_gone))}" if is_gone else "")
    where = f"where ({lapsed}) and status = 'in_progress' order by number{tx.dialect.skip_locked}"
    found = TASKS.select(tx, where, stamp(tx.now), *is_gone)
    with tx.acting_as(SYSTEM, session=tx.session):
        for task in found:
            TASKS.update(tx, {"status": "pending", **UNCLAIMED, "updated_at": tx.now}, "id = ?", task.id)
            why = {"reason": "its process is gone"} if task.claimed_by in is_gone else {}
            tx.record("task", task.id, "lapsed", {"claimed_by": task.claimed_by, **why})
    return [task.id for task in found]
