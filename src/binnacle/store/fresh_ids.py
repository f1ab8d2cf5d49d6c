"""New ids for tasks, comments, learnings, notes, sessions and agents."""

from collections.abc import Collection

from binnacle.store.table import placeholders
from binnacle.store.transaction import Writer
from binnacle.work.ids import new_ids


def fresh_ids(tx: Writer, table: str, prefix: str, count: int) -> list[str]:
    """`count` ids that are not in use in `table`."""

    def taken(candidates: Collection[str]) -> set[str]:
        some = list(candidates)
        return {
            row[0]
            for start in range(0, len(some), 500)
            for part in [some[start : start + 500]]
            for row in tx.rows(f"select id from {table} where id in {placeholders(part)}", *part)
        }

    # The highest number, not a count, because the index finds it in one step.
    existing = tx.count(f"select coalesce(max(number), 0) from {table}")
    return new_ids(prefix, count, existing=existing, taken=taken)


def fresh_id(tx: Writer, table: str, prefix: str) -> str:
    """One id that is not in use in `table`."""
    return fresh_ids(tx, table, prefix, 1)[0]
