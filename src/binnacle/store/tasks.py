"""Finds, adds, lists, changes and deletes tasks. `task_moves` changes their status."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from binnacle.errors import (
    Ambiguous,
    Cycle,
    Duplicate,
    InvalidInput,
    NotFound,
    Refused,
)
from binnacle.store import claim_holders, feature_names, queue_ranks
from binnacle.store.fresh_ids import fresh_ids
from binnacle.store.table import Table, escape_like, placeholders
from binnacle.store.transaction import Reader, Writer, stamp
from binnacle.work import steps
from binnacle.work.actor import Actor
from binnacle.work.ids import TaskId, near_misses, parse_task_id
from binnacle.work.status import Kind, Status, is_closed, parse_status
from binnacle.work.task import Dependency, NewTask, Task, find_changes, find_held, validate
from binnacle.work.text import clean_optional_line, fold

TASKS = Table(
    "task",
    Task,
    json=("acceptance_criteria", "context_files", "output_artifacts", "tags"),
    times=("claim_expires_at", "created_at", "updated_at", "closed_at", "enriched_at"),
    key=("id",),
)
DEPENDENCIES = Table("dependency", Dependency, times=("created_at",), key=("task_id", "depends_on"))

IDS_PER_STATEMENT = 500
"""Ids in one statement."""


class TaskFilter(Struct, frozen=True, kw_only=True):
    """Which tasks to list. Fields that are not given do not restrict."""

    status: tuple[Status, ...] = ()
    """If empty, the tasks that are not closed."""

    feature: str | None = None
    discipline: str | None = None
    kind: Kind | None = None
    priority: int | None = None
    tag: str | None = None
    parent: TaskId | None = None
    claimed_by: str | None = None
    closed_too: bool = False

    def where(self) -> tuple[str, list[Any]]:
        """The condition in SQL, with its values."""
        parts: list[str] = []
        values: list[Any] = []
        if self.status:
            parts.append(f"status in {placeholders(self.status)}")
            values += self.status
        elif not self.closed_too:
            parts.append("status not in ('done', 'cancelled')")
        for name in ("feature", "discipline", "kind", "priority", "parent", "claimed_by"):
            if (value := getattr(self, name)) is not None:
                parts.append(f"{name} = ?")
                values.append(value)
        if self.tag is not None:
            parts.append("tags like ? escape '!'")
            values.append(f'%"{escape_like(self.tag.casefold())}"%')
        return " and ".join(parts) or "1 = 1", values


def resolve(tx: Reader, text: str) -> TaskId:
    """The id of the task that `text` means: a complete id, or the beginning of one.

    Raises:
        NotFound: the hint names the nearest existing id.
        Ambiguous: the hint names the ids that begin with it.
    """
    wanted = parse_task_id(text)
    # 'g' follows 'f', the last hex digit
    range_of_ids = "select id from task where id >= ? and id < ? order by id limit 6"
    found = [row[0] for row in tx.rows(range_of_ids, wanted, f"{wanted}g")]
    if wanted in found:
        return TaskId(wanted)
    if len(found) == 1:
        return TaskId(found[0])
    if found:
        raise Ambiguous(f"several tasks begin with {wanted!r}", hint=f"one of: {', '.join(found[:5])}")
    guesses = sorted(near_misses(wanted))
    near = tx.row(
        f"select id, title from task where id in {placeholders(guesses)} order by number desc limit 1", *guesses
    )
    hint = f"did you mean {near[0]} ({near[1][:60]})?" if near else steps.LIST_TASKS
    raise NotFound(f"no task {wanted!r}", hint=hint)


def list_beginning_with(tx: Reader, prefix: str, *, limit: int) -> list[tuple[str, str]]:
    """Ids that begin with `prefix`, and the titles of those tasks."""
    range_of_ids = "select id, title from task where id >= ? and id < ? order by id limit ?"
    return [(row[0], row[1]) for row in tx.rows(range_of_ids, prefix, f"{prefix}g", limit)]


def get(tx: Reader, text: str) -> Task:
    """The task that `text` means."""
    # A complete id, which programs pass, is found at once.
    task = TASKS.first(tx, "where id = ?", text) or TASKS.first(tx, "where id = ?", resolve(tx, text))
    assert task is not None
    return task


def get_many(tx: Reader, ids: Collection[str]) -> dict[str, Task]:
    """The tasks with these ids, by id."""
    wanted = list(ids)
    found: dict[str, Task] = {}
    for start in range(0, len(wanted), IDS_PER_STATEMENT):
        part = wanted[start : start + IDS_PER_STATEMENT]
        found.update((task.id, task) for task in TASKS.select(tx, f"where id in {placeholders(part)}", *part))
    return found


def list_tasks(tx: Reader, which: TaskFilter, *, limit: int, offset: int = 0) -> tuple[list[Task], int]:
    """A page of the matching tasks, most urgent first, and the total number."""
    where, values = which.where()
    page = TASKS.select(tx, f"where {where} order by priority, number limit ? offset ?", *values, limit, offset)
    total = (
        len(page) if len(page) < limit and not offset else tx.count(f"select count(*) from task where {where}", *values)
    )
    return page, total


def list_ready(tx: Reader, which: TaskFilter | None = None, *, limit: int) -> tuple[list[Task], int]:
    """A page of the ready tasks, in the ready order, and the total number."""
    where, values = ready_condition(which)
    page = TASKS.select(tx, f"where {where} order by queue_rank, priority, number limit ?", *values, limit)
    total = len(page) if len(page) < limit else tx.count(f"select count(*) from task where {where}", *values)
    return page, total


def find_next_ready(tx: Reader, which: TaskFilter | None = None) -> Task | None:
    """The first task in the ready order, or None."""
    where, values = ready_condition(which)
    return TASKS.first(tx, f"where {where} order by queue_rank, priority, number", *values)


def find_next_for(tx: Reader, by: Actor, which: TaskFilter | None = None) -> Task | None:
    """The next task for `by`: the one that an agent holds, or else the first in the ready order, or None."""
    return find_held(list_held_by(tx, by.name), by=by) or find_next_ready(tx, which)


def ready_condition(which: TaskFilter | None) -> tuple[str, list[Any]]:
    """The condition for ready tasks, worded like the index on them. Pending tasks are never claimed."""
    ready_now = "status = 'pending' and open_dependencies = 0"
    if which is None:
        return ready_now, []
    where, values = msgspec.structs.replace(which, status=(), closed_too=True).where()
    return f"{ready_now} and {where}", values


def list_held_by(tx: Reader, name: str) -> list[Task]:
    """The tasks that someone works on now."""
    return TASKS.select(tx, "where claimed_by = ? and status = 'in_progress' order by number", name)


def list_blocked(tx: Reader, *, limit: int) -> tuple[list[Task], int]:
    """A page of the blocked tasks: waiting for others, blocked, partly done, or waiting for an answer."""
    where = "(status = 'pending' and open_dependencies > 0) or status in ('blocked', 'partial', 'needs_input')"
    page = TASKS.select(tx, f"where {where} order by priority, number limit ?", limit)
    return page, len(page) if len(page) < limit else tx.count(f"select count(*) from task where {where}")


def list_parts(tx: Reader, task_id: str) -> list[Task]:
    """The parts that a task was split into, in the order they were made."""
    return TASKS.select(tx, "where parent = ? order by number", task_id)


def add(tx: Writer, drafts: Sequence[NewTask]) -> list[Task]:
    """Creates tasks, all or none, and returns them in the given order.

    Raises:
        Duplicate: a title exists already, or twice in the batch.
        NotFound: a feature, discipline, parent or dependency does not exist.
    """
    if not drafts:
        return []
    prepared = [_prepare(tx, draft) for draft in drafts]
    check_titles(tx, [fields["title_key"] for fields in prepared if fields["status"] != "cancelled"])
    for sort in feature_names.SORTS:
        if names := {fields[sort] for fields in prepared if fields[sort]}:
            feature_names.check_exist(tx, sort, names)
    ids = [TaskId(task_id) for task_id in fresh_ids(tx, "task", "bn-", len(prepared))]
    for fields, task_id in zip(prepared, ids, strict=True):
        fields |= {"id": task_id, "open_dependencies": 0}
    is_linked = any(draft.depends_on or draft.reason for draft in drafts)
    waits = _dependencies_of_new(tx, drafts, ids) if is_linked else [[] for _ in ids]
    if is_linked:
        _count_open(tx, prepared, waits)
    TASKS.insert(tx, prepared)
    if is_linked:
        _link_new(tx, drafts, ids, waits)
    if parts := [fields["id"] for fields in prepared if fields["parent"]]:
        queue_ranks.refresh_ranks(tx, parts)
    made = _describe_new(tx, prepared)
    for task, ons in zip(made, waits, strict=True):
        said = {"title": task.title, "status": task.status, "priority": task.priority}
        tx.record("task", task.id, "added", {**said, "depends_on": ons} if ons else said)
    return made


def update(tx: Writer, text: str, changes: Mapping[str, Any], *, fence: int | None = None, force: bool = False) -> Task:
    """Changes fields of a task. No change is not an error."""
    task = get(tx, text)
    claim_holders.check_change(tx, task, fence=fence, force=force)
    if changes.get("parent"):
        changes = {**changes, "parent": check_parent(tx, task, str(changes["parent"]))}
    fields = find_changes(task, changes)
    if not fields:
        return task
    if "title" in fields:
        fields["title_key"] = fold(fields["title"])
        if fields["title_key"] != fold(task.title) and task.status != "cancelled":
            check_titles(tx, [fields["title_key"]])
    feature_names.check_exist(tx, "feature", {fields.get("feature")})
    feature_names.check_exist(tx, "discipline", {fields.get("discipline")})
    TASKS.update(tx, {**fields, "updated_at": tx.now}, "id = ?", task.id)
    if "parent" in fields:
        queue_ranks.refresh_ranks(tx, [task.id])
    fields.pop("title_key", None)
    tx.record("task", task.id, "updated", {name: [getattr(task, name), new] for name, new in fields.items()})
    return get(tx, task.id)


def check_title_is_free(tx: Reader, task: Task) -> None:
    """Refuses to reopen a cancelled task whose title another task has now."""
    if task.status == "cancelled":
        check_titles(tx, [fold(task.title)])


def _prepare(tx: Writer, draft: NewTask) -> dict[str, Any]:
    status = parse_status(draft.status)
    if status == "in_progress":
        raise InvalidInput("a new task cannot be in progress", hint=steps.start("ID", words="add it, then start it"))
    fields = validate(draft)
    if fields["parent"]:
        fields["parent"] = resolve(tx, fields["parent"])
    closed_at = tx.now if is_closed(status) else None
    fields |= {"title_key": fold(fields["title"]), "status": status, "closed_at": closed_at}
    return fields | {"created_at": tx.now, "updated_at": tx.now}


def check_titles(tx: Reader, keys: Sequence[str]) -> None:
    """Refuses titles that exist already. Titles of cancelled tasks are free."""
    if len(set(keys)) < len(keys):
        repeated = next(key for key, times in Counter(keys).items() if times > 1)
        raise Duplicate(f"the same title twice in one batch: {repeated!r}", hint="give each task its own title")
    for start in range(0, len(keys), IDS_PER_STATEMENT):
        part = keys[start : start + IDS_PER_STATEMENT]
        found = tx.row(
            "select id, title, status from task "
            f"where title_key in {placeholders(part)} and status <> 'cancelled' limit 1",
            *part,
        )
        if found:
            task_id, title, status = found
            step = steps.reopen(task_id) if status == "done" else steps.show(task_id)
            raise Duplicate(
                f"a task with this title exists: {task_id} ({status}) {title!r}",
                hint=(step, "or give the new one another title"),
                details={"existing": task_id, "status": status},
            )


def _describe_new(tx: Reader, prepared: Sequence[dict[str, Any]]) -> list[Task]:
    """The tasks that were just inserted. Only their numbers are read, because everything else is known."""
    numbers: dict[str, int] = {}
    for start in range(0, len(prepared), IDS_PER_STATEMENT):
        part = [fields["id"] for fields in prepared[start : start + IDS_PER_STATEMENT]]
        numbers |= {
            row[0]: row[1] for row in tx.rows(f"select id, number from task where id in {placeholders(part)}", *part)
        }
    now = datetime.fromisoformat(stamp(tx.now))  # with the stored precision
    made = []
    for fields in prepared:
        del fields["title_key"]
        fields |= {"created_at": now, "updated_at": now, "closed_at": now if fields["closed_at"] else None}
        made.append(Task(number=numbers[fields["id"]], **fields))
    return made


def _dependencies_of_new(tx: Reader, drafts: Sequence[NewTask], ids: Sequence[TaskId]) -> list[list[TaskId]]:
    """The dependencies of each new task. Only earlier tasks can be named, so no cycle can arise."""
    found: list[list[TaskId]] = []
    for index, draft in enumerate(drafts):
        ons: dict[TaskId, None] = {}
        for text in draft.depends_on:
            if text.startswith("#"):
                place = int(text[1:]) if text[1:].isdecimal() else 0
                if not 1 <= place <= index:
                    raise InvalidInput(
                        f"task {index + 1} of the batch depends on {text!r}",
                        hint="#1, #2, … name earlier tasks of the same batch",
                    )
                ons[ids[place - 1]] = None
            else:
                ons[resolve(tx, text)] = None
        found.append(list(ons))
    return found


def _count_open(tx: Reader, prepared: Sequence[dict[str, Any]], waits: Sequence[Sequence[TaskId]]) -> None:
    """Notes how many of the tasks that each new one waits for are open."""
    statuses = {fields["id"]: fields["status"] for fields in prepared}
    others = {on for ons in waits for on in ons} - statuses.keys()
    statuses |= {task_id: task.status for task_id, task in get_many(tx, others).items()}
    for fields, ons in zip(prepared, waits, strict=True):
        check_not_above(tx, fields["parent"], ons)
        fields["open_dependencies"] = sum(not is_closed(statuses[on]) for on in ons)


def _link_new(tx: Writer, drafts: Sequence[NewTask], ids: Sequence[TaskId], waits: Sequence[Sequence[TaskId]]) -> None:
    """Makes new tasks wait."""
    reasons = [clean_optional_line(draft.reason, what="reason", limit=500) for draft in drafts]
    links = [
        {"task_id": task_id, "depends_on": on, "reason": reason, "created_at": tx.now}
        for reason, task_id, ons in zip(reasons, ids, waits, strict=True)
        for on in ons
    ]
    DEPENDENCIES.insert(tx, links)


def check_not_above(tx: Reader, parent: str | None, targets: Collection[str]) -> None:
    """Refuses a task that waits for a task it is a part of: neither could ever be finished."""
    for above in list_ancestors(tx, parent) if targets else ():
        if above in targets:
            raise Cycle(
                f"a part cannot wait for the whole: {above}", hint="the whole waits for its parts; leave it out"
            )


def list_ancestors(tx: Reader, parent: str | None) -> list[TaskId]:
    """A task's parent and further ancestors, the nearest first."""
    found: list[TaskId] = []
    while parent and parent not in found:
        found.append(TaskId(parent))
        row = tx.row("select parent from task where id = ?", parent)
        parent = row[0] if row else None
    return found


def check_parent(tx: Reader, task: Task, text: str) -> TaskId:
    """The id of a task's new parent. Refuses a parent that is a part of the task, or that the task waits for."""
    parent = resolve(tx, text)
    above = list_ancestors(tx, parent)
    if task.id in above:
        circle = [task.id, *above[: above.index(task.id) + 1]]
        raise Refused(f"{task.id} would be its own ancestor: {' → '.join(circle)}", hint="choose another parent")
    waits = tx.rows("select depends_on from dependency where task_id = ?", task.id)
    check_not_above(tx, parent, {row[0] for row in waits})
    return parent
