"""Ids of the smaller things: comments, learnings, notes, sessions, agents."""

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

    # The highest number ever given, not a count: it is one step in the index.
    existing = tx.count(f"select coalesce(max(number), 0) from {table}")
    return new_ids(prefix, count, existing=existing, taken=taken)


def fresh_id(tx: Writer, table: str, prefix: str) -> str:
    """One such id."""
    return fresh_ids(tx, table, prefix, 1)[0]
