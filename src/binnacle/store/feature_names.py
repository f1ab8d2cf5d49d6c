"""The names by which tasks and features refer to features and disciplines.

Apart from `features`, so that what only reads tasks does not load what features and disciplines are made of.
"""

from collections.abc import Collection
from typing import Literal, NoReturn, get_args

from binnacle.errors import NotFound, did_you_mean
from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader
from binnacle.work import steps

Sort = Literal["feature", "discipline"]
SORTS: tuple[Sort, ...] = get_args(Sort)


def check_exist(tx: Reader, sort: Sort, names: Collection[str | None]) -> None:
    """Refuses names of features or disciplines that do not exist."""
    wanted = sorted(name for name in names if name)
    if not wanted:
        return
    found = {row[0] for row in tx.rows(f"select name from {sort} where name in {placeholders(wanted)}", *wanted)}
    for name in wanted:
        if name not in found:
            raise_missing(tx, sort, name)


def list_names(tx: Reader, sort: Sort) -> list[str]:
    """All names of one sort."""
    return [row[0] for row in tx.rows(f"select name from {sort} order by name")]


def raise_missing(tx: Reader, sort: Sort, name: str) -> NoReturn:
    """Says that there is no feature or discipline of a name, and which one may be meant."""
    names = list_names(tx, sort)
    near = did_you_mean(name, names) if names else ""
    raise NotFound(f"no {sort} {name!r}", hint=(near, steps.add_named(sort, name)))
