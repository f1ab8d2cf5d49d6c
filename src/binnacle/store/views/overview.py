"""The state of a project in numbers."""

from msgspec import Struct

from binnacle.store.transaction import Reader
from binnacle.work.status import PRIORITIES, STATUSES


class ProjectOverview(Struct, frozen=True, kw_only=True):
    """The number of tasks, by state."""

    tasks: int
    ready: int
    waiting: int
    """Pending tasks with unfinished dependencies."""

    by_status: dict[str, int]
    queued: int


class FeatureCount(Struct, frozen=True, kw_only=True):
    """The progress of one feature. Tasks without a feature count under an empty name."""

    feature: str
    open: int
    done: int


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
    counts = dict.fromkeys(STATUSES, 0) | {
        r[0]: r[1] for r in tx.rows("select status, count(*) from task group by status")
    }
    waiting = tx.count("select count(*) from task where status = 'pending' and open_dependencies > 0")
    return ProjectOverview(
        tasks=sum(counts.values()),
        ready=counts["pending"] - waiting,
        waiting=waiting,
        by_status={status: count for status, count in counts.items() if count},
        queued=tx.count("select count(*) from task where queue_position is not null"),
    )


def load_stats(tx: Reader) -> ProjectStats:
    """All statistics."""
    still_open = "status not in ('done', 'cancelled')"
    priorities = tx.rows(f"select priority, count(*) from task where {still_open} group by priority order by priority")
    features = tx.rows(
        f"select coalesce(feature, ''), sum(case when {still_open} then 1 else 0 end), "
        "sum(case when status = 'done' then 1 else 0 end) from task group by feature order by 1"
    )
    claims = tx.rows(
        "select claimed_by, count(*) from task where claimed_by is not null group by claimed_by order by claimed_by"
    )
    return ProjectStats(
        overview=load_overview(tx),
        open_by_priority={PRIORITIES[row[0]]: row[1] for row in priorities},
        by_kind={row[0]: row[1] for row in tx.rows("select kind, count(*) from task group by kind order by kind")},
        features=[FeatureCount(feature=row[0], open=row[1], done=row[2]) for row in features],
        claims={row[0]: row[1] for row in claims},
        **{f"{name}s": tx.count(f"select count(*) from {name}") for name in ("comment", "learning", "note", "event")},
    )
