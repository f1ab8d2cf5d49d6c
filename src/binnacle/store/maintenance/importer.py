"""Imports an export into a store: existing entries stay, and colliding ones get a new id or title, as reported."""

from typing import Any

import msgspec
from msgspec import Struct

from binnacle.store import dependencies, queue_ranks
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.maintenance.export_format import TABLES, Advance, ExportContent
from binnacle.store.table import Table
from binnacle.store.task_titles import title_columns
from binnacle.store.tasks import IDS_PER_STATEMENT, TASKS
from binnacle.store.transaction import Writer
from binnacle.store.waivers import WAIVER_PREFIX
from binnacle.work.evidence import EVIDENCE_PREFIX
from binnacle.work.feature import derive_acronym
from binnacle.work.graph import find_cycle
from binnacle.work.journal import Event
from binnacle.work.review import REMARK_PREFIX, REVIEW_PREFIX, VERDICT_PREFIX
from binnacle.work.status import is_closed
from binnacle.work.task import Dependency, Task
from binnacle.work.text import fold

_PREFIXES = {
    "task": "bn-",
    "comment": "bnc-",
    "learning": "bnl-",
    "note": "bnn-",
    "run": "run-",
    "session": "bns-",
    "report": "bnr-",
    "question": "bnq-",
    "attention": "bnp-",
    "agent": "bna-",
    "evidence": EVIDENCE_PREFIX,
    "waiver": WAIVER_PREFIX,
    "review": REVIEW_PREFIX,
    "review_verdict": VERDICT_PREFIX,
    "review_remark": REMARK_PREFIX,
}

_REFERENCES = {
    "task": {"parent": "task"},
    "comment": {"task_id": "task"},
    "learning": {"task_id": "task"},
    "note": {"session": "session"},
    "progress": {"session": "session"},
    "session": {"task_id": "task", "run": "run"},
    "iteration": {"session": "session", "task_started": "task"},
    "dependency": {"task_id": "task", "depends_on": "task"},
    "report": {"session": "session", "task_id": "task"},
    "question": {"session": "session", "task_id": "task"},
    "attention": {"run": "run", "session": "session", "task_id": "task", "question": "question"},
    "evidence": {"run": "run", "session": "session", "task_id": "task"},
    "waiver": {"task_id": "task"},
    "work_start": {"task_id": "task"},
    "review": {"task_id": "task", "run": "run", "session": "session"},
    "review_verdict": {"review": "review", "task_id": "task", "session": "session"},
    "review_remark": {"review": "review", "task_id": "task"},
}
"""The fields of each table that refer to another table, so that references get the new ids."""


class ImportReport(Struct, frozen=True, kw_only=True):
    """The result of an import."""

    added: dict[str, int]
    skipped: dict[str, int]
    """Entries that existed already."""

    remapped: dict[str, str]
    """Old id → new id, for ids that were in use."""

    renamed: dict[str, str]
    """Task id → new title, for titles that were in use."""

    dropped: list[str]
    """Dependencies that would have closed a cycle."""


class StoreImport:
    """One import, within one transaction."""

    def __init__(self, tx: Writer, content: ExportContent, *, advance: Advance = lambda _: None) -> None:
        self._tx = tx
        self._content = content
        self._advance = advance
        self._ids: dict[str, dict[str, str]] = {name: {} for name in TABLES}
        self._known: dict[str, set[str]] = {name: set() for name in TABLES}
        self._report = ImportReport(added={}, skipped={}, remapped={}, renamed={}, dropped=[])
        self._parents: list[tuple[str, str]] = []
        self._handled = 0

    def run(self) -> ImportReport:
        """Imports everything and returns the result."""
        for name, (table, _) in TABLES.items():
            values = self._content.entities[name]
            if name in ("feature", "discipline"):
                fresh = self._select_new_by_name(name, values)
            elif name in _PREFIXES:
                fresh = self._select_new_by_id(name, table, values)
            else:
                fresh = self._select_new_by_key(name, table, values)
            self._insert(name, table, fresh)
            self._count(name, len(fresh), len(values) - len(fresh))
        self._settle()
        summary = {"added": self._report.added, "remapped": len(self._report.remapped)}
        self._tx.record("store", "store", "imported", summary)
        return self._report

    def _select_new_by_name(self, name: str, values: list[Any]) -> list[Any]:
        """The features or disciplines with new names."""
        there = {row[0]: row[1] for row in self._tx.rows(f"select name, acronym from {name}")}
        acronyms = set(there.values())
        fresh = []
        for value in values:
            if value.name in there:
                continue
            if value.acronym in acronyms:
                value = msgspec.structs.replace(value, acronym=derive_acronym(value.name, acronyms))  # noqa: PLW2901
            acronyms.add(value.acronym)
            fresh.append(value)
        return fresh

    def _select_new_by_id(self, name: str, table: Table[Any], values: list[Any]) -> list[Any]:
        """The entities that are new: those that exist have the same id and the same time of creation."""
        there = {row[0]: row[1] for row in self._tx.rows(f"select id, created_at from {name}")}
        titles = self._list_titles() if name == "task" else set()
        fresh = []
        for value in values:
            row = table.row(value)
            if there.get(value.id) == row["created_at"]:
                self._known[name].add(value.id)
                continue
            if value.id in there:
                new_id = fresh_id(self._tx, name, _PREFIXES[name])
                self._ids[name][value.id] = self._report.remapped[value.id] = new_id
            fresh.append(self._retitle(value, titles) if name == "task" else value)
        return [self._replace_ids(name, value) for value in fresh]

    def _select_new_by_key(self, name: str, table: Table[Any], values: list[Any]) -> list[Any]:
        """The entries without an id that are new, compared by content."""
        keys = {
            "dependency": ("task_id", "depends_on"),
            "iteration": ("session", "number"),
            "progress": ("created_at", "author", "text"),
            "event": ("at", "actor", "entity_id", "action"),
            "quarantine": ("check_name", "test_id"),
            "work_start": ("task_id",),
        }[name]
        columns = ", ".join(keys)
        there = {tuple(row) for row in self._tx.rows(f"select {columns} from {name}")}
        moved = [self._replace_ids(name, value) for value in values]
        fresh = [value for value in moved if tuple(table.row(value)[key] for key in keys) not in there]
        return self._drop_cycles(fresh) if name == "dependency" else fresh

    def _list_titles(self) -> set[tuple[str | None, str]]:
        """The features and the folded titles of open tasks, which have to differ."""
        rows = self._tx.rows("select feature, title_key from task where status not in ('done', 'cancelled')")
        return {(row[0], row[1]) for row in rows}

    def _retitle(self, task: Task, titles: set[tuple[str | None, str]]) -> Task:
        if is_closed(task.status):
            return task
        title, number = task.title, 2
        while (task.feature, fold(title)) in titles:
            title, number = f"{task.title[:280]} ({number})", number + 1
        titles.add((task.feature, fold(title)))
        if title == task.title:
            return task
        self._report.renamed[self._ids["task"].get(task.id, task.id)] = title
        return msgspec.structs.replace(task, title=title)

    def _replace_ids(self, name: str, value: Any) -> Any:
        changes = {}
        for field, target in _REFERENCES.get(name, {}).items():
            if (new_id := self._ids[target].get(getattr(value, field) or "")) is not None:
                changes[field] = new_id
        if name in _PREFIXES and value.id in self._ids[name]:
            changes["id"] = self._ids[name][value.id]
        if isinstance(value, Event) and value.entity in self._ids and value.entity_id in self._ids[value.entity]:
            changes["entity_id"] = self._ids[value.entity][value.entity_id]
        return msgspec.structs.replace(value, **changes) if changes else value

    def _drop_cycles(self, edges: list[Dependency]) -> list[Dependency]:
        """The dependencies that close no cycle. Only those of tasks that existed before can close one."""
        kept: list[Dependency] = []
        new: dict[str, list[str]] = {}

        def targets(ids: Any) -> dict[str, list[str]]:
            known = dependencies.dependencies_of(self._tx, ids)
            return {one: [d.depends_on for d in known.get(one, ())] + new.get(one, []) for one in ids}

        for edge in sorted(edges, key=lambda edge: edge.task_id in self._known["task"]):
            if edge.task_id in self._known["task"] and find_cycle(edge.task_id, edge.depends_on, targets):
                self._report.dropped.append(f"{edge.task_id} → {edge.depends_on}")
                continue
            new.setdefault(edge.task_id, []).append(edge.depends_on)
            kept.append(edge)
        return kept

    def _insert(self, name: str, table: Table[Any], values: list[Any]) -> None:
        offset = self._queue_offset() if name == "task" else 0
        for start in range(0, len(values), IDS_PER_STATEMENT):
            part = [table.row(value) for value in values[start : start + IDS_PER_STATEMENT]]
            for row in part:
                if name != "iteration":
                    row.pop("number", None)
                row.pop("seq", None)
                if name == "task":
                    self._prepare_task(row, offset)
            table.insert(self._tx, part)
            self._handled += len(part)
            self._advance(self._handled)

    def _prepare_task(self, row: dict[str, Any], offset: int) -> None:
        row |= title_columns(row["title"]) | {"open_dependencies": 0}
        if row["status"] == "done" and not row["evidence_level"]:
            row["evidence_level"] = "said"  # an older program kept no levels
        if row["queue_position"] is not None:
            row["queue_position"] += offset
        if row["parent"]:
            # Set at the end: the parent of a task may come later in the file.
            self._parents.append((row["parent"], row["id"]))
            row["parent"] = None

    def _queue_offset(self) -> int:
        highest = self._tx.count("select coalesce(max(queue_position), 0) from task")
        lowest = min((task.queue_position or 0 for task in self._content.entities["task"]), default=0)
        return highest - min(lowest, 0) if highest else 0

    def _settle(self) -> None:
        """Sets parents and computes derived data."""
        self._tx.run_many("update task set parent = ? where id = ?", self._parents)
        ids = [self._ids["task"].get(task.id, task.id) for task in self._content.entities["task"]]
        dependencies.recount(self._tx, ids)
        queued = self._tx.rows("select id from task where queue_position is not null")
        queue_ranks.refresh_ranks(self._tx, [row[0] for row in queued])

    def _count(self, name: str, added: int, skipped: int) -> None:
        if added:
            self._report.added[name] = added
        if skipped:
            self._report.skipped[name] = skipped


def import_content(tx: Writer, content: ExportContent, *, advance: Advance = lambda _: None) -> ImportReport:
    """Merges an export into the store, all or nothing."""
    return StoreImport(tx, content, advance=advance).run()


def clear(tx: Writer) -> dict[str, int]:
    """Deletes everything, including the event log. Returns the number of deleted rows by table."""
    TASKS.update(tx, {"parent": None}, "parent is not null")
    counts = {name: tx.run(f"delete from {name}") for name in reversed(TABLES)}
    tx.run("delete from undo")
    tx.record("store", "store", "cleared", {"counts": counts})
    return {name: count for name, count in counts.items() if count}
