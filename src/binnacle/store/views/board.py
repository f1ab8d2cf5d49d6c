"""Tasks as cards of a board: a column for each status, in windows, with what a reader wants to see at a glance.

What is done and not proven has a column of its own, so that nobody takes it for what Binnacle saw.

Only the cards of a window are looked up, so that a board of ten thousand tasks costs as much as one of a hundred.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from binnacle.store import agents
from binnacle.store.table import escape_like, placeholders
from binnacle.store.tasks import TASKS, TaskFilter
from binnacle.store.transaction import Reader
from binnacle.work.evidence import PROVEN, EvidenceLevel
from binnacle.work.ids import TaskId
from binnacle.work.status import STATUSES, Kind, Status, is_closed
from binnacle.work.task import Task

MAX_SEARCH_WORDS = 8


_IS_PROVEN = f"evidence_level in ({', '.join(repr(level) for level in PROVEN)})"


class ColumnName(NamedTuple):
    """Which column a task belongs to."""

    status: Status
    is_unproven: bool = False
    """Whether its tasks are done and not proven."""

    def where(self) -> str:
        """The condition in SQL."""
        if self.status != "done":
            return f"status = '{self.status}'"
        return f"status = 'done' and {'not ' if self.is_unproven else ''}{_IS_PROVEN}"


COLUMN_NAMES = tuple(
    ColumnName(status, is_unproven)
    for status in STATUSES
    for is_unproven in ((False, True) if status == "done" else (False,))
)


class BoardFilter(Struct, frozen=True, kw_only=True):
    """Which tasks a board shows. What is empty does not restrict."""

    text: str = ""
    """Words that all are in the title or the id."""

    feature: str = ""
    discipline: str = ""
    agent: str = ""
    """Who holds it."""

    tag: str = ""
    level: EvidenceLevel = ""
    priority: int | None = None

    def where(self) -> tuple[str, list[Any]]:
        """The condition in SQL, with its values."""
        known = TaskFilter(
            feature=self.feature or None,
            discipline=self.discipline or None,
            tag=self.tag or None,
            priority=self.priority,
            closed_too=True,
        )
        condition, values = known.where()
        parts = [condition]
        if self.level:
            parts.append("evidence_level = ?")
            values.append(self.level)
        if self.agent:
            parts.append("(claimed_by = ? or claimed_by in (select id from agent where name = ?))")
            values += [self.agent, self.agent]
        for word in self.text.lower().split()[:MAX_SEARCH_WORDS]:
            parts.append("(lower(title) like ? escape '!' or id like ? escape '!')")
            values += [f"%{escape_like(word)}%"] * 2
        return " and ".join(parts), values


class BoardCard(Struct, frozen=True, kw_only=True):
    """A task on a board."""

    id: TaskId
    title: str
    status: Status
    kind: Kind
    priority: int
    feature: str
    tags: tuple[str, ...]
    holder: str
    """The name of who works on it; empty if nobody does."""

    holder_id: str
    cost: dict[str, float]
    """What its attempts cost so far, by currency."""

    tokens: int
    level: EvidenceLevel
    blocked_by: int
    """How many unfinished tasks it waits for."""

    questions: int
    """Open questions about it."""

    queue_position: int | None
    since: datetime
    """When it last changed; for a closed task, when it was closed."""


class BoardColumn(Struct, frozen=True, kw_only=True):
    """The tasks of one status: how many there are, and a window of them."""

    status: Status
    is_unproven: bool = False
    """Whether its tasks are done and not proven."""

    total: int
    offset: int
    cards: list[BoardCard]


def count_columns(tx: Reader, which: BoardFilter) -> dict[ColumnName, int]:
    """How many tasks each column has."""
    where, values = which.where()
    found = dict.fromkeys(COLUMN_NAMES, 0)
    is_unproven = f"case when status = 'done' and not {_IS_PROVEN} then 1 else 0 end"
    rows = tx.rows(f"select status, {is_unproven}, count(*) from task where {where} group by 1, 2", *values)
    found.update({ColumnName(row[0], bool(row[1])): row[2] for row in rows})
    return found


def load_column(
    tx: Reader, name: ColumnName, which: BoardFilter, *, offset: int, limit: int, total: int
) -> BoardColumn:
    """A window of a column: open tasks in the order in which they are taken, closed ones from the newest on."""
    where, values = which.where()
    order = "closed_at desc, number desc" if is_closed(name.status) else "queue_rank, priority, number"
    found = TASKS.select(
        tx, f"where {name.where()} and {where} order by {order} limit ? offset ?", *values, limit, offset
    )
    cards = describe_cards(tx, found)
    return BoardColumn(status=name.status, is_unproven=name.is_unproven, total=total, offset=offset, cards=cards)


def describe_cards(tx: Reader, tasks: Sequence[Task]) -> list[BoardCard]:
    """Tasks as cards, with one query for each kind of fact."""
    ids = [task.id for task in tasks]
    if not ids:
        return []
    names = agents.find_names(tx, {task.claimed_by for task in tasks if task.claimed_by})
    costs, tokens = _sum_costs(tx, ids)
    open_questions = "select task_id, count(*) from question where answered_at is null and task_id in"
    questions = {row[0]: row[1] for row in tx.rows(f"{open_questions} {placeholders(ids)} group by task_id", *ids)}
    return [
        BoardCard(
            id=task.id,
            title=task.title,
            status=task.status,
            kind=task.kind,
            priority=task.priority,
            feature=task.feature or "",
            tags=task.tags,
            holder=names.get(task.claimed_by or "", task.claimed_by or ""),
            holder_id=task.claimed_by or "",
            cost=costs.get(task.id, {}),
            tokens=tokens.get(task.id, 0),
            level=task.evidence_level,
            blocked_by=task.open_dependencies,
            questions=questions.get(task.id, 0),
            queue_position=task.queue_position,
            since=task.closed_at or task.updated_at,
        )
        for task in tasks
    ]


def _sum_costs(tx: Reader, ids: Sequence[str]) -> tuple[dict[str, dict[str, float]], dict[str, int]]:
    """What the attempts at tasks took: cost by currency, and tokens."""
    rows = tx.rows(
        "select task_started, currency, sum(cost), sum(tokens) from iteration "
        f"where task_started in {placeholders(ids)} group by task_started, currency",
        *ids,
    )
    costs: dict[str, dict[str, float]] = {}
    tokens: dict[str, int] = {}
    for task_id, currency, cost, used in rows:
        tokens[task_id] = tokens.get(task_id, 0) + int(used)
        if currency:
            costs.setdefault(task_id, {})[currency] = round(float(cost), 6)
    return costs, tokens


class WorkedTask(Struct, frozen=True, kw_only=True):
    """A task that somebody works on, and where their latest step is found."""

    task_id: TaskId
    session: str = ""
    """The newest session that is bound to it."""

    comment: str = ""
    """The newest comment on it by who holds it."""

    commented_at: str = ""


def list_working(tx: Reader, *, limit: int) -> list[WorkedTask]:
    """The tasks in progress, those that changed last first."""
    rows = tx.rows("select id from task where status = 'in_progress' order by updated_at desc, number limit ?", limit)
    ids = [TaskId(row[0]) for row in rows]
    if not ids:
        return []
    newest = (
        "select max(c.number) from comment c join task t on t.id = c.task_id and t.claimed_by = c.author "
        f"where c.task_id in {placeholders(ids)} group by c.task_id"
    )
    rows = tx.rows(f"select task_id, body, created_at from comment where number in ({newest})", *ids)
    comments = {row[0]: (row[1], row[2]) for row in rows}
    bound = (
        f"select task_id, id from session where status = 'active' and task_id in {placeholders(ids)} order by number"
    )
    sessions = {row[0]: row[1] for row in tx.rows(bound, *ids)}
    return [
        WorkedTask(task_id=one, session=sessions.get(one, ""), comment=said[0], commented_at=said[1])
        for one in ids
        for said in [comments.get(one, ("", ""))]
    ]


def list_holders(tx: Reader) -> list[str]:
    """The names of those who hold tasks."""
    rows = tx.rows(
        "select distinct coalesce(agent.name, task.claimed_by) from task left join agent on agent.id = task.claimed_by "
        "where task.claimed_by is not null order by 1"
    )
    return [row[0] for row in rows]


def list_tags(tx: Reader, *, limit: int) -> list[str]:
    """The tags of open tasks, the most frequent first."""
    rows = tx.rows("select tags, count(*) from task where tags <> '[]' and closed_at is null group by tags")
    counts: dict[str, int] = {}
    for text, number in rows:
        for tag in msgspec.json.decode(text):
            counts[tag] = counts.get(tag, 0) + int(number)
    return sorted(counts, key=lambda tag: (-counts[tag], tag))[:limit]
