"""The state of a project in numbers."""

from itertools import groupby

from msgspec import Struct

from binnacle.store.transaction import Reader
from binnacle.work.closed_count import ClosedCount, count_closed
from binnacle.work.status import PRIORITIES, STATUSES


class ProjectOverview(Struct, frozen=True, kw_only=True):
    """The number of tasks, by state."""

    tasks: int
    ready: int
    waiting: int
    """Pending tasks with unfinished dependencies."""

    by_status: dict[str, int]
    queued: int
    proof: ClosedCount = ClosedCount()
    """The closed tasks, by how well it is known that they are done."""


class FeatureCount(Struct, frozen=True, kw_only=True):
    """The progress of one feature. Tasks without a feature count under an empty name."""

    feature: str
    open: int
    done: int
    proof: ClosedCount = ClosedCount()
    """Those that are closed, by how well it is known that they are done."""


class ProjectStats(Struct, frozen=True, kw_only=True):
    """The overview and further numbers."""

    overview: ProjectOverview
    open_by_priority: dict[str, int]
    by_kind: dict[str, int]
    features: list[FeatureCount]
    claims: dict[str, int]
    """Tasks in progress, by holder."""

    comments: int
    learnings: int
    notes: int
    events: int


def load_overview(tx: Reader) -> ProjectOverview:
    """The numbers that `bn` shows."""
    rows = tx.rows("select status, evidence_level, count(*) from task group by status, evidence_level")
    counts = dict.fromkeys(STATUSES, 0)
    for status, _, number in rows:
        counts[status] += number
    waiting = tx.count("select count(*) from task where status = 'pending' and open_dependencies > 0")
    return ProjectOverview(
        tasks=sum(counts.values()),
        ready=counts["pending"] - waiting,
        waiting=waiting,
        by_status={status: count for status, count in counts.items() if count},
        queued=tx.count("select count(*) from task where queue_position is not null"),
        proof=count_closed((row[0], row[1], row[2]) for row in rows),
    )


def load_stats(tx: Reader) -> ProjectStats:
    """All statistics."""
    still_open = "status not in ('done', 'cancelled')"
    priorities = tx.rows(f"select priority, count(*) from task where {still_open} group by priority order by priority")
    claims = tx.rows(
        "select claimed_by, count(*) from task where claimed_by is not null group by claimed_by order by claimed_by"
    )
    return ProjectStats(
        overview=load_overview(tx),
        open_by_priority={PRIORITIES[row[0]]: row[1] for row in priorities},
        by_kind={row[0]: row[1] for row in tx.rows("select kind, count(*) from task group by kind order by kind")},
        features=count_by_feature(tx),
        claims={row[0]: row[1] for row in claims},
        **{f"{name}s": tx.count(f"select count(*) from {name}") for name in ("comment", "learning", "note", "event")},
    )


def count_by_feature(tx: Reader, feature: str | None = None) -> list[FeatureCount]:
    """The progress of each feature that has tasks, or of one."""
    only, values = ("where feature = ? ", [feature]) if feature is not None else ("", [])
    rows = tx.rows(
        "select coalesce(feature, ''), status, evidence_level, count(*) from task "
        f"{only}group by feature, status, evidence_level order by 1",
        *values,
    )
    found: list[FeatureCount] = []
    for name, group in groupby(rows, key=lambda row: row[0]):
        counts = [(row[1], row[2], row[3]) for row in group]
        proof = count_closed(counts)
        still_open = sum(number for _, _, number in counts) - proof.total
        found.append(FeatureCount(feature=name, open=still_open, done=proof.done, proof=proof))
    return found
