"""Finds, adds, lists, changes and deletes tasks. `task_moves` changes their status."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from binnacle.errors import (
    Ambiguous,
    Cycle,
    InvalidInput,
    NotFound,
    Refused,
)
from binnacle.store import claim_holders, feature_names, queue_ranks, task_requirements
from binnacle.store.fresh_ids import fresh_ids
from binnacle.store.table import Table, escape_like, placeholders
from binnacle.store.task_titles import TitleTwin, WantedTitle, check_title, find_twins, raise_duplicate, title_columns
from binnacle.store.transaction import Reader, Writer, stamp
from binnacle.work import steps
from binnacle.work.actor import Actor
from binnacle.work.evidence import EvidenceLevel
from binnacle.work.ids import TaskId, near_misses, parse_task_id
from binnacle.work.status import Kind, Status, is_closed, parse_status
from binnacle.work.task import Dependency, NewTask, Task, find_changes, find_held, validate
from binnacle.work.text import clean_optional_line

TASKS = Table(
    "task",
    Task,
    json=("acceptance_criteria", "context_files", "output_artifacts", "tags", "covers", "checks"),
    times=("claim_expires_at", "created_at", "updated_at", "closed_at", "enriched_at", "evidence_at"),
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
    selected: tuple[str, ...] = ()
    """Only these tasks and their parts."""

    levels: tuple[EvidenceLevel, ...] = ()
    """Only tasks that are done, as far as this is known of them."""

    closed_too: bool = False

    def where(self) -> tuple[str, list[Any]]:
        """The condition in SQL, with its values."""
        parts: list[str] = []
        values: list[Any] = []
        if self.status:
            parts.append(f"status in {placeholders(self.status)}")
            values += self.status
        elif not self.closed_too and not self.levels:
            parts.append("status not in ('done', 'cancelled')")
        for name in ("feature", "discipline", "kind", "priority", "parent", "claimed_by"):
            if (value := getattr(self, name)) is not None:
                parts.append(f"{name} = ?")
                values.append(value)
        if self.levels:
            parts.append(f"evidence_level in {placeholders(self.levels)}")
            values += self.levels
        if self.selected:
            several = placeholders(self.selected)
            parts.append(f"(id in {several} or parent in {several})")
            values += [*self.selected, *self.selected]
        if self.tag is not None:
            parts.append("tags like ? escape '!'")
            values.append(f'%"{escape_like(self.tag.casefold())}"%')
        return " and ".join(parts) or "1 = 1", values

    def is_about(self, task: Task) -> bool:
        """Whether a task is of the feature and the selection, whatever its status."""
        is_selected = not self.selected or task.id in self.selected or task.parent in self.selected
        return is_selected and self.feature in (None, task.feature)


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
    """The next task for `by`: the one that an agent holds or its session is bound to, or else the first in the ready
    order, or None."""
    return find_held(list_held_by(tx, by.name), by=by) or _find_bound(tx, by) or find_next_ready(tx, which)


def _find_bound(tx: Reader, by: Actor) -> Task | None:
    """The task of a planned session, whose agent has the session's id as its name, until the task is closed."""
    return TASKS.first(tx, "where id = (select task_id from session where id = ?) and closed_at is null", by.name)


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
    """A page of the blocked tasks: waiting for others, blocked, partly done, or waiting for an answer or a review."""
    stopped = "'blocked', 'partial', 'needs_input', 'in_review'"
    where = f"(status = 'pending' and open_dependencies > 0) or status in ({stopped})"
    page = TASKS.select(tx, f"where {where} order by priority, number limit ?", limit)
    return page, len(page) if len(page) < limit else tx.count(f"select count(*) from task where {where}")


def list_parts(tx: Reader, task_id: str) -> list[Task]:
    """The parts that a task was split into, in the order they were made."""
    return TASKS.select(tx, "where parent = ? order by number", task_id)


class SkippedTask(Struct, frozen=True, kw_only=True):
    """A task that was not added, because an open task of the feature has its title."""

    title: str
    existing: TaskId
    existing_title: str


class AddedTasks(NamedTuple):
    """The tasks of a batch that were added, and the others."""

    tasks: list[Task]
    skipped: list[SkippedTask]


def add(tx: Writer, drafts: Sequence[NewTask]) -> list[Task]:
    """Creates tasks, all or none, and returns them in the given order.

    Raises:
        Duplicate: an open task of the feature has nearly the same title, or another task of the batch.
        NotFound: a feature, discipline, parent or dependency does not exist.
    """
    prepared = [_prepare(tx, draft) for draft in drafts]
    twins = _find_twins_of_new(tx, prepared)
    if twins:
        place, twin = next(iter(twins.items()))
        raise_duplicate(prepared[place]["title"], twin)
    return _insert(tx, drafts, prepared, {})


def add_new(tx: Writer, drafts: Sequence[NewTask]) -> AddedTasks:
    """Creates those tasks whose titles no open task of their features has. What depends on others waits for those.

    Raises:
        NotFound: a feature, discipline, parent or dependency does not exist.
    """
    prepared = [_prepare(tx, draft) for draft in drafts]
    twins = _find_twins_of_new(tx, prepared)
    titles = [fields["title"] for fields in prepared]
    made = _insert(tx, drafts, prepared, twins)
    new = iter(made)
    ids = [TaskId(twins[place].task_id) if place in twins else next(new).id for place in range(len(drafts))]
    skipped = [
        SkippedTask(
            title=titles[place],
            existing=ids[place] if twin.place is None else ids[twin.place],
            existing_title=twin.title,
        )
        for place, twin in twins.items()
    ]
    return AddedTasks(made, skipped)


def _find_twins_of_new(tx: Reader, prepared: Sequence[Mapping[str, Any]]) -> dict[int, TitleTwin]:
    """What has the titles of new tasks already, by their places in the batch. Titles of closed tasks repeat."""
    return find_twins(
        tx,
        [
            None
            if is_closed(fields["status"])
            else WantedTitle(fields["title"], fields["feature"], fields["title_sketch"])
            for fields in prepared
        ],
    )


def _insert(
    tx: Writer, drafts: Sequence[NewTask], prepared: Sequence[dict[str, Any]], twins: Mapping[int, TitleTwin]
) -> list[Task]:
    """Inserts tasks with their dependencies, except those at the places that have twins."""
    kept = [place for place in range(len(drafts)) if place not in twins]
    if not kept:
        return []
    for sort in feature_names.SORTS:
        if names := {prepared[place][sort] for place in kept if prepared[place][sort]}:
            feature_names.check_exist(tx, sort, names)
    ids = dict(zip(kept, map(TaskId, fresh_ids(tx, "task", "bn-", len(kept))), strict=True))
    for place, twin in twins.items():
        ids[place] = TaskId(twin.task_id) if twin.place is None else ids[twin.place]
    new = [prepared[place] | {"id": ids[place], "open_dependencies": 0} for place in kept]
    links = [(drafts[place], ids[place]) for place in kept]
    is_linked = any(draft.depends_on or draft.reason for draft, _ in links)
    waits = [_dependencies_of_new(tx, drafts[place], place, ids) for place in kept] if is_linked else [[] for _ in kept]
    if is_linked:
        _count_open(tx, new, waits)
    TASKS.insert(tx, new)
    if is_linked:
        _link_new(tx, links, waits)
    if parts := [fields["id"] for fields in new if fields["parent"]]:
        queue_ranks.refresh_ranks(tx, parts)
    made = _describe_new(tx, new)
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
    task_requirements.check_weaker(tx, task, fields)
    if whole := fields.get("parent"):
        task_requirements.check_adoption(tx, task, get(tx, whole), parts=list_parts(tx, whole))
    feature_names.check_exist(tx, "feature", {fields.get("feature")})
    feature_names.check_exist(tx, "discipline", {fields.get("discipline")})
    title = fields.get("title", task.title)
    if ("title" in fields or "feature" in fields) and not is_closed(task.status):
        check_title(tx, title, fields.get("feature", task.feature), but=task.id)
    keys = title_columns(title) if "title" in fields else {}
    TASKS.update(tx, {**fields, **keys, "updated_at": tx.now}, "id = ?", task.id)
    if "parent" in fields:
        queue_ranks.refresh_ranks(tx, [task.id])
    tx.record("task", task.id, "updated", {name: [getattr(task, name), new] for name, new in fields.items()})
    return get(tx, task.id)


def check_title_is_free(tx: Reader, task: Task) -> None:
    """Refuses to reopen a closed task whose title an open one of its feature has now."""
    if is_closed(task.status):
        check_title(tx, task.title, task.feature, but=task.id)


def _prepare(tx: Writer, draft: NewTask) -> dict[str, Any]:
    status = parse_status(draft.status)
    if status == "in_progress":
        raise InvalidInput("a new task cannot be in progress", hint=steps.start("ID", words="add it, then start it"))
    fields = validate(draft)
    if fields["parent"]:
        fields["parent"] = resolve(tx, fields["parent"])
    if status == "done":
        checked = {name: fields[name] for name in ("kind", "feature", "acceptance_criteria", "checks")}
        task_requirements.check_new(tx, msgspec.structs.replace(draft, **checked))
    closed_at = tx.now if is_closed(status) else None
    fields |= title_columns(fields["title"]) | {"status": status, "closed_at": closed_at}
    fields["evidence_level"] = "said" if status == "done" else ""
    return fields | {"created_at": tx.now, "updated_at": tx.now}


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
        del fields["title_key"], fields["title_sketch"]
        fields |= {"created_at": now, "updated_at": now, "closed_at": now if fields["closed_at"] else None}
        made.append(Task(number=numbers[fields["id"]], **fields))
    return made


def _dependencies_of_new(tx: Reader, draft: NewTask, place: int, ids: Mapping[int, TaskId]) -> list[TaskId]:
    """The dependencies of a new task. Of its batch only earlier ones can be named, so no cycle can arise."""
    found: dict[TaskId, None] = {}
    for text in draft.depends_on:
        if text.startswith("#"):
            number = int(text[1:]) if text[1:].isdecimal() else 0
            if not 1 <= number <= place:
                raise InvalidInput(
                    f"task {place + 1} of the batch depends on {text!r}",
                    hint="#1, #2, … name earlier tasks of the same batch",
                )
            found[ids[number - 1]] = None
        else:
            found[resolve(tx, text)] = None
    return list(found)


def _count_open(tx: Reader, prepared: Sequence[dict[str, Any]], waits: Sequence[Sequence[TaskId]]) -> None:
    """Notes how many of the tasks that each new one waits for are open."""
    statuses = {fields["id"]: fields["status"] for fields in prepared}
    others = {on for ons in waits for on in ons} - statuses.keys()
    statuses |= {task_id: task.status for task_id, task in get_many(tx, others).items()}
    for fields, ons in zip(prepared, waits, strict=True):
        check_not_above(tx, fields["parent"], ons)
        fields["open_dependencies"] = sum(not is_closed(statuses[on]) for on in ons)


def _link_new(tx: Writer, new: Sequence[tuple[NewTask, TaskId]], waits: Sequence[Sequence[TaskId]]) -> None:
    """Makes new tasks wait."""
    reasons = [clean_optional_line(draft.reason, what="reason", limit=500) for draft, _ in new]
    links = [
        {"task_id": task_id, "depends_on": on, "reason": reason, "created_at": tx.now}
        for reason, (_, task_id), ons in zip(reasons, new, waits, strict=True)
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
