"""What runs spent: time, tokens and cost of their iterations, by run, task, agent, model, recipe or day.

An iteration counts for the run that drives its session, over all machines and resumes. Agents need not report tokens or
cost, so it is counted how many iterations have them: no cost is not the same as a cost of 0.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, get_args

from msgspec import Struct

from binnacle.store.attempts import spent_in_run
from binnacle.store.engines.connection import Row
from binnacle.store.table import placeholders
from binnacle.store.tasks import get_many
from binnacle.store.transaction import Reader, stamp
from binnacle.work.run import RunRecord

SpendingKey = Literal["run", "task", "agent", "model", "recipe", "day"]
SPENDING_KEYS: tuple[SpendingKey, ...] = get_args(SpendingKey)

PLANNING = "planning"
"""The key of iterations that have no task: they plan."""

UNNAMED = "(not named)"
"""The key of an agent or a model that did not say its name."""

_COLUMNS: dict[SpendingKey, str] = {
    "run": "session.run",
    "task": "coalesce(iteration.task_started, case when session.name like 'review bnv-%' then session.task_id end)",
    "agent": "iteration.agent",
    "model": "iteration.model",
    "recipe": "session.recipe",
    "day": "substr(iteration.started_at, 1, 10)",
}


class SpendingLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the iterations with one key took."""

    key: str
    """The id of a run or a task, the name of an agent, a model or a recipe, or a day (UTC)."""

    title: str = ""
    """The name of the run, or the title of the task."""

    iterations: int
    seconds: float
    """The time of the agents; those that work at the same time all count."""

    tokens: int | None = None
    """None if no agent reported any."""

    cost: dict[str, float] = {}
    """By currency; empty if no agent reported any."""

    iterations_with_tokens: int = 0
    iterations_with_cost: int = 0


class BudgetUse(Struct, frozen=True, kw_only=True):
    """A limit of a run, and how much of it is used."""

    kind: str
    limit: float
    used: float

    @property
    def share(self) -> float:
        """The part that is used: 1 for all of it."""
        return self.used / self.limit if self.limit else 1.0


def list_spending(
    tx: Reader,
    by: SpendingKey,
    *,
    run_id: str | None = None,
    run_ids: Sequence[str] = (),
    since: datetime | None = None,
) -> list[SpendingLine]:
    """What was spent, with one line for each key, in the order in which they began; days in their own order."""
    ids = (run_id,) if run_id is not None else tuple(run_ids)
    rows = _select(tx, f"coalesce({_COLUMNS[by]}, '')", run_ids=ids, since=since)
    keys = dict.fromkeys(row[0] for row in rows)
    titles = _find_titles(tx, by, list(keys))
    nameless = PLANNING if by == "task" else UNNAMED
    return [
        _line(key or nameless, titles.get(key, ""), [row for row in rows if row[0] == key])
        for key in (sorted(keys) if by == "day" else keys)
    ]


def total_spending(tx: Reader, *, run_id: str | None = None, since: datetime | None = None) -> SpendingLine:
    """What was spent altogether."""
    return _line("total", "", _select(tx, "''", run_ids=() if run_id is None else (run_id,), since=since))


def list_budget_use(tx: Reader, run: RunRecord) -> list[BudgetUse]:
    """The limits of a run, and what it took of them."""
    spent = spent_in_run(tx, run.id)
    used = {"iterations": spent.iterations, "minutes": run.seconds / 60, "tokens": spent.tokens, "cost": spent.cost}
    return [
        BudgetUse(kind=kind, limit=limit, used=round(float(used.get(kind, 0)), 6)) for kind, limit in run.budget.items()
    ]


def _select(tx: Reader, key: str, *, run_ids: Sequence[str], since: datetime | None) -> Sequence[Row]:
    """Rows of key, currency and sums, ordered by the first iteration of the key; without ids, of all runs."""
    where, values = ["session.run is not null"], list[str]()
    if run_ids:
        where.append(f"session.run in {placeholders(run_ids)}")
        values += run_ids
    if since is not None:
        where.append("iteration.started_at >= ?")
        values.append(stamp(since))
    return tx.rows(
        f"select {key}, iteration.currency, count(*), sum(iteration.seconds), sum(iteration.tokens), "
        "sum(iteration.cost), sum(case when iteration.tokens > 0 then 1 else 0 end), min(iteration.started_at) "
        f"from iteration join session on session.id = iteration.session where {' and '.join(where)} "
        "group by 1, 2 order by 8, 1, 2",
        *values,
    )


def _line(key: str, title: str, rows: Sequence[Row]) -> SpendingLine:
    with_tokens = sum(int(row[6]) for row in rows)
    return SpendingLine(
        key=key,
        title=title,
        iterations=sum(int(row[2]) for row in rows),
        seconds=round(sum(float(row[3]) for row in rows), 3),
        tokens=sum(int(row[4]) for row in rows) if with_tokens else None,
        cost={row[1]: round(float(row[5]), 6) for row in sorted(rows, key=lambda row: str(row[1])) if row[1]},
        iterations_with_tokens=with_tokens,
        iterations_with_cost=sum(int(row[2]) for row in rows if row[1]),
    )


def _find_titles(tx: Reader, by: SpendingKey, keys: Sequence[str]) -> dict[str, str]:
    match by:
        case "run":
            return {row[0]: row[1] for row in tx.rows("select id, name from run")}
        case "task":
            return {task_id: task.title for task_id, task in get_many(tx, [key for key in keys if key]).items()}
    return {}
