"""Restores rows from their images, as far as the rules of the work model still allow it."""

from collections.abc import Iterable, Sequence
from typing import Any

from binnacle.errors import Cycle, NotFound, Referenced, Refused
from binnacle.store import claim_holders, dependencies, feature_names, queue_ranks, tasks
from binnacle.store.comments import COMMENTS
from binnacle.store.done_requests import REPORTS
from binnacle.store.evidence import EVIDENCE
from binnacle.store.learnings import LEARNINGS
from binnacle.store.notes import NOTES
from binnacle.store.questions import QUESTIONS
from binnacle.store.review_remarks import REMARKS
from binnacle.store.reviews import REVIEWS, VERDICTS
from binnacle.store.row_images import RowImage
from binnacle.store.table import Table
from binnacle.store.task_deletion import remember_dependents
from binnacle.store.task_titles import check_title, title_columns
from binnacle.store.tasks import DEPENDENCIES, TASKS
from binnacle.store.transaction import Cells, Reader, Writer, stamp
from binnacle.store.waivers import WAIVERS
from binnacle.store.work_starts import WORK_STARTS
from binnacle.work import steps
from binnacle.work.graph import find_cycle
from binnacle.work.status import is_closed
from binnacle.work.task import may_change

TABLES: dict[str, Table[Any]] = {
    table.name: table
    for table in (
        TASKS,
        DEPENDENCIES,
        COMMENTS,
        REPORTS,
        QUESTIONS,
        LEARNINGS,
        NOTES,
        EVIDENCE,
        WAIVERS,
        WORK_STARTS,
        REVIEWS,
        VERDICTS,
        REMARKS,
    )
}
"""The tables that are restored, each after those it refers to."""

FREED = {"status": "pending", "claimed_by": None, "claim_expires_at": None}


def restore(tx: Writer, images: Sequence[RowImage]) -> list[str]:
    """Restores rows and derived data. Returns warnings.

    Raises:
        BinnacleError: a rule no longer allows it.
    """
    warnings: list[str] = []
    order = list(TABLES)
    in_order = sorted(images, key=lambda image: order.index(image.table))
    _remove(tx, in_order[::-1])
    for image in in_order:
        if image.before is not None:
            restore_one = _insert if image.after is None else _change
            warnings += restore_one(tx, image, image.before)
    for image in in_order:
        if image.table == "task" and image.before is not None and image.before.get("parent"):
            _set_parent(tx, image.key[0], image.before["parent"])
    _settle(tx, list_task_ids(images))
    return warnings


def list_task_ids(images: Iterable[RowImage]) -> list[str]:
    """The tasks that images are about, each once."""
    found: dict[str, None] = {}
    for image in images:
        if image.table in ("task", "dependency"):
            found[image.key[0]] = None
        else:
            cells = {**(image.after or {}), **(image.before or {})}
            found |= {cells["task_id"]: None} if cells.get("task_id") else {}
    return list(found)


def _remove(tx: Writer, images: Sequence[RowImage]) -> None:
    """Removes the rows that did not exist before, each before those it refers to."""
    added = [image for image in images if image.before is None]
    own = {f"{image.table} {image.key[0]}" for image in images}
    for image in added:
        if image.table == "task":
            TASKS.update(tx, {"parent": None}, TASKS.where_key, *image.key)
    for image in added:
        if image.table == "task":
            _check_unused(tx, image.key[0], own)
            remember_dependents(tx, image.key[0])
        table = TABLES[image.table]
        table.delete(tx, table.where_key, *image.key)


def _check_unused(tx: Reader, task_id: str, own: set[str]) -> None:
    """Refuses to remove a task that is referred to or commented on by now; `own` entries are restored too."""
    used = [f"{row[0]} {row[1]}" for row in tx.rows(_USES, *[task_id] * _USES.count("?"))]
    used = [one for one in used if one.startswith("task ") or one not in own]
    if used:
        raise Referenced(f"{task_id} is used by now: {', '.join(used[:5])}", hint=steps.cancel(task_id))


_USES = " union all ".join(
    (
        "select 'task', task_id from dependency where depends_on = ?",
        "select 'task', depends_on from dependency where task_id = ?",
        "select 'task', id from task where parent = ?",
        *(
            f"select '{name}', id from {name} where task_id = ?"
            for name in ("comment", "report", "question", "learning", "evidence", "waiver", "review")
        ),
    )
)


def _change(tx: Writer, image: RowImage, before: Cells) -> list[str]:
    table = TABLES[image.table]
    cells = dict(before)
    if image.table != "task":
        table.update(tx, cells, table.where_key, *image.key)
        return []
    there = table.find(tx, image.key)
    assert there is not None
    warnings = _prepare_task(tx, image.key[0], cells, there)
    table.update(tx, {**cells, "updated_at": tx.now}, table.where_key, *image.key)
    return warnings


def _insert(tx: Writer, image: RowImage, before: Cells) -> list[str]:
    cells = dict(before)
    warnings: list[str] = []
    if image.table == "task":
        warnings = _prepare_task(tx, image.key[0], cells, {})
        cells["open_dependencies"] = 0
    elif image.table == "dependency":
        _check_dependency(tx, *image.key)
    elif cells.get("task_id") is not None:
        tasks.get(tx, cells["task_id"])
    TABLES[image.table].insert(tx, [cells])
    return warnings


def _prepare_task(tx: Writer, task_id: str, cells: Cells, there: Cells) -> list[str]:
    """Checks the restored cells of a task, and adds derived ones. Parents are set later, when all tasks exist."""
    if cells.get("parent"):
        del cells["parent"]
    wanted = {**there, **cells}
    if there and not may_change(tasks.get(tx, task_id), by=tx.by, now=tx.now):
        raise Refused(f"{task_id} is held by {there['claimed_by']}", hint="ask them to release it first")
    feature_names.check_exist(tx, "feature", {cells.get("feature")})
    feature_names.check_exist(tx, "discipline", {cells.get("discipline")})
    is_titled_again = not there or not cells.keys().isdisjoint(("title", "feature")) or is_closed(there["status"])
    if is_titled_again and not is_closed(wanted["status"]):
        check_title(tx, wanted["title"], wanted["feature"], but=task_id)
    if "title" in cells:
        cells.update(title_columns(cells["title"]))
    holder = cells.get("claimed_by")
    if holder is not None and not _may_have_back(tx, holder, wanted["claim_expires_at"]):
        cells.update(FREED)
        return [f"{task_id} is pending: the claim of {holder} on it has ended"]
    return []


def _may_have_back(tx: Reader, holder: str, expires_at: str | None) -> bool:
    """Whether a holder may get a claim back: a person always, an agent if it is alive and holds no other task."""
    if expires_at is None:
        return True
    agent = claim_holders.AGENTS.first(tx, "where id = ? and ended_at is null", holder)
    is_there = agent is not None and not tx.outlook.is_gone(agent)
    return is_there and expires_at > stamp(tx.now) and not tasks.list_held_by(tx, holder)


def _check_dependency(tx: Reader, task_id: str, target: str) -> None:
    for one in (task_id, target):
        if TASKS.find(tx, [one]) is None:
            raise NotFound(f"no task {one!r}", hint=steps.LIST_TASKS)
    circle = find_cycle(task_id, target, lambda ids: dependencies.targets_of(tx, ids))
    if circle:
        raise Cycle(f"that would close a cycle: {' → '.join(circle)}", hint="remove one of these dependencies first")


def _set_parent(tx: Writer, task_id: str, parent: str) -> None:
    task = tasks.get(tx, task_id)
    TASKS.update(tx, {"parent": tasks.check_parent(tx, task, parent)}, "id = ?", task_id)


def _settle(tx: Writer, ids: Sequence[str]) -> None:
    """Computes derived data of the restored rows."""
    waiting = [known.task_id for several in dependencies.dependents_of(tx, ids).values() for known in several]
    dependencies.recount(tx, list(dict.fromkeys([*ids, *waiting])))
    queue_ranks.refresh_ranks(tx, ids)
