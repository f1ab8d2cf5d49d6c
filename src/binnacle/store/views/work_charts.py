"""How the work goes over time: what was added and closed on each day, and how long tasks are in each status.

Days are counted from tasks as they are now: one that was reopened was not closed. The time in a status comes from the
newest events of the log, at most `MAX_EVENTS` of them.
"""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from statistics import median

import msgspec
from msgspec import Struct

from binnacle.store.events import last_number
from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader, stamp
from binnacle.work.evidence import PROVEN
from binnacle.work.status import CLOSED, STATUSES

MAX_EVENTS = 20_000


class WorkDay(Struct, frozen=True, kw_only=True):
    """What happened on one day (UTC)."""

    day: str
    added: int = 0
    done: int = 0
    proven: int = 0
    """Those done of which more than words is known: checked, merged, waived or accepted."""

    cancelled: int = 0
    open: int = 0
    """Tasks that were open at its end."""


class StatusTime(Struct, frozen=True, kw_only=True):
    """How long tasks were in a status."""

    status: str
    times: int
    """How often a task was in it."""

    seconds: float
    """Added up."""

    median_seconds: float
    longest_seconds: float


class TimeInStatus(Struct, frozen=True, kw_only=True):
    """How long tasks were in each status, and from when on that is known."""

    statuses: list[StatusTime]
    since: datetime | None
    is_complete: bool
    """Whether all events of the time asked for were counted."""


def list_days(tx: Reader, *, days: int) -> list[WorkDay]:
    """The last days, oldest first, also those on which nothing happened."""
    first = tx.now.date() - timedelta(days=days - 1)
    since = first.isoformat()
    added = _count_by_day(tx, "created_at", since)
    closed = tx.rows(
        "select substr(closed_at, 1, 10), status, count(*), sum(case when evidence_level in "
        f"{placeholders(PROVEN)} then 1 else 0 end) from task where closed_at >= ? group by 1, 2",
        *PROVEN,
        since,
    )
    counts = {(row[0], row[1]): (int(row[2]), int(row[3] or 0)) for row in closed}
    is_open = tx.count(
        "select count(*) from task where created_at < ? and (closed_at is null or closed_at >= ?)", since, since
    )
    found: list[WorkDay] = []
    for day in _days(first, days):
        done, proven = counts.get((day, "done"), (0, 0))
        cancelled = counts.get((day, "cancelled"), (0, 0))[0]
        is_open += added.get(day, 0) - done - cancelled
        one = WorkDay(day=day, added=added.get(day, 0), done=done, proven=proven, cancelled=cancelled, open=is_open)
        found.append(one)
    return found


def _count_by_day(tx: Reader, column: str, since: str) -> dict[str, int]:
    rows = tx.rows(f"select substr({column}, 1, 10), count(*) from task where {column} >= ? group by 1", since)
    return {row[0]: int(row[1]) for row in rows}


def _days(first: date, number: int) -> list[str]:
    return [(first + timedelta(days=one)).isoformat() for one in range(number)]


def measure_statuses(tx: Reader, *, days: int) -> TimeInStatus:
    """How long tasks were in each status that is not closed, during the last days."""
    since = tx.now - timedelta(days=days)
    rows = tx.rows(
        "select at, entity_id, action, changes from event where seq >= ? and entity = 'task' and "
        "(action in ('started', 'lapsed', 'deleted') or changes like '%\"status\"%') order by seq desc limit ?",
        _find_first(tx, stamp(since)),
        MAX_EVENTS,
    )
    moves = [(row[1], row[0], _status_after(row[2], row[3])) for row in reversed(rows)]
    spans = _measure(moves, tx.now)
    return TimeInStatus(
        statuses=[
            StatusTime(
                status=status,
                times=len(spans[status]),
                seconds=round(sum(spans[status]), 1),
                median_seconds=round(median(spans[status]), 1),
                longest_seconds=round(max(spans[status]), 1),
            )
            for status in STATUSES
            if spans.get(status)
        ],
        since=datetime.fromisoformat(moves[0][1]) if moves else None,
        is_complete=len(rows) < MAX_EVENTS,
    )


def _find_first(tx: Reader, since: str) -> int:
    """The number of the first event since then. Events are in the order of their times, which have no index."""
    low, high = 0, last_number(tx)
    while low < high:
        middle = (low + high) // 2
        row = tx.row("select at from event where seq >= ? order by seq limit 1", middle)
        if row is not None and row[0] < since:
            low = middle + 1
        else:
            high = middle
    return low


def _status_after(action: str, changes: str) -> str:
    """The status of a task after an event about it; empty if it does not say."""
    match action:
        case "started":
            return "in_progress"
        case "lapsed":
            return "pending"
        case "deleted":
            return "cancelled"
    said = msgspec.json.decode(changes).get("status", "")
    return str(said[-1]) if isinstance(said, list) and said else str(said)


def _measure(moves: Iterable[tuple[str, str, str]], now: datetime) -> dict[str, list[float]]:
    """The seconds of every stay in a status, by status, from moves of tasks in their order."""
    spans: dict[str, list[float]] = {}
    current: dict[str, tuple[str, datetime]] = {}
    for task_id, at, status in moves:
        moment = datetime.fromisoformat(at)
        before = current.get(task_id)
        if not status or (before is not None and before[0] == status):
            continue
        if before is not None and before[0] not in CLOSED:
            spans.setdefault(before[0], []).append((moment - before[1]).total_seconds())
        current[task_id] = (status, moment)
    for status, since in current.values():
        if status not in CLOSED:
            spans.setdefault(status, []).append(max(0.0, (now - since).total_seconds()))
    return spans
