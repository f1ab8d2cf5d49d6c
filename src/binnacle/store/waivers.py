"""Waivers: that a person closed a task without its checks, and why."""

from collections.abc import Sequence

from binnacle.errors import InvalidInput, NextStep, PersonNeeded
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work.evidence import Waiver
from binnacle.work.ids import TaskId
from binnacle.work.text import clean_text

WAIVERS = Table("waiver", Waiver, json=("checks",), times=("created_at",), key=("id",))

WAIVER_PREFIX = "bnw-"


def add(tx: Writer, task_id: TaskId, reason: str, *, checks: Sequence[str]) -> Waiver:
    """Notes that the actor, a person, waives the checks of a task.

    Raises:
        PersonNeeded: the actor is not a person.
        InvalidInput: there is no reason.
    """
    if tx.by.kind != "human":
        step = NextStep("waive them", f"task done {task_id} --waive '…'", for_person=True)
        raise PersonNeeded("only a person may waive the checks of a task", hint=step)
    why = clean_text(reason, what="reason", limit=2000)
    if not why:
        raise InvalidInput("a reason is needed to waive checks", hint="say why they need not pass")
    waiver = Waiver(
        id=fresh_id(tx, "waiver", WAIVER_PREFIX),
        task_id=task_id,
        waived_by=tx.by.name,
        reason=why,
        checks=tuple(checks),
        created_at=tx.now,
    )
    WAIVERS.insert(tx, [WAIVERS.row(waiver)])
    tx.record("task", task_id, "waived", {"reason": why, "checks": list(checks)})
    return waiver


def list_waivers(tx: Reader, task_id: str) -> list[Waiver]:
    """The waivers of a task, oldest first."""
    return WAIVERS.select(tx, "where task_id = ? order by number", task_id)
