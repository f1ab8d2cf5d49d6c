"""The ready order that follows from the queue: a queued task counts for its parts as well.

`queue_position` is where a person put a task, `queue_rank` what follows from it for the ready order.
"""

from collections.abc import Sequence

from binnacle.store.transaction import Writer

UNQUEUED_RANK = 1_000_000_000
"""Rank of what is not queued: behind everything that is."""

MAX_PARENT_LEVELS = 100
"""Levels of parents that are looked at. Parents cannot form a circle; this bounds a damaged store."""


def refresh_ranks(tx: Writer, roots: Sequence[str]) -> None:
    """Works out the ranks of `roots` and of everything beneath them."""
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
