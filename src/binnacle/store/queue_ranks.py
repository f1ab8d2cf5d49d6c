"""Ranks of tasks in the ready order, derived from the queue: parts of a queued task are queued with it.

`queue_position` is where a person put a task; `queue_rank` is the resulting rank in the ready order.
"""

from collections.abc import Sequence

from binnacle.store.transaction import Writer

UNQUEUED_RANK = 1_000_000_000
"""Rank of tasks that are not queued: after all queued ones."""

MAX_PARENT_LEVELS = 100
"""Levels of parents that are followed. Parents cannot form a cycle; the limit is for a damaged store."""


def refresh_ranks(tx: Writer, roots: Sequence[str]) -> None:
    """Computes the ranks of `roots` and of all their parts."""
    for root in roots:
        tx.run(
            f"""
            with recursive
            up (id, parent, queue_position, level) as (
                select id, parent, queue_position, 0 from task where id = ?
                union all
                select t.id, t.parent, t.queue_position, up.level + 1 from task t
                join up on t.id = up.parent where up.level < {MAX_PARENT_LEVELS}
            ),
            inherited (value) as (
                select coalesce((select queue_position from up where queue_position is not null order by level limit 1),
                                {UNQUEUED_RANK})
            ),
            down (id, value, level) as (
                select id, (select value from inherited), 0 from task where id = ?
                union all
                select t.id, coalesce(t.queue_position, down.value), down.level + 1 from task t
                join down on t.parent = down.id where down.level < {MAX_PARENT_LEVELS}
            )
            update task set queue_rank = (select min(value) from down where down.id = task.id)
            where id in (select id from down)
            """,
            root,
            root,
        )
