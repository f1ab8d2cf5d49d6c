"""What is done to a store, one turn each. `python -m bench.operations ENGINE PLACE` does all of it, to be watched."""

import sys
from collections.abc import Callable

from bench.workload import COMMON, PERSON, RARE
from binnacle.store import flow, search, tasks
from binnacle.store.opening import open_postgres, open_sqlite
from binnacle.store.store import Store
from binnacle.store.tasks import TaskFilter
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask

PAGE = 50
"""Tasks shown at once."""

Operation = Callable[[Store, int], object]


def add(store: Store, turn: int) -> None:
    """One task in a transaction of its own."""
    with store.write(by=PERSON) as tx:
        tasks.add(tx, [NewTask(title=f"one more, turn {turn}", description="What a person types in a hurry.")])


def ready(store: Store, _: int) -> None:
    with store.read() as tx:
        assert tasks.ready(tx, limit=PAGE)[0]


def claim(store: Store, turn: int) -> None:
    """The next task for an agent that holds none."""
    with store.claim(by=Actor(f"agent-{turn}", "agent")) as tx:
        assert flow.claim_next(tx)


def listed(store: Store, _: int) -> None:
    with store.read() as tx:
        assert tasks.listed(tx, TaskFilter(), limit=PAGE)[0]


def search_rare(store: Store, _: int) -> None:
    with store.read() as tx:
        assert len(search.find(tx, RARE)) == 10


def search_common(store: Store, _: int) -> None:
    with store.read() as tx:
        assert search.find(tx, COMMON)


OPERATIONS: dict[str, Operation] = {
    "task_add": add,
    "ready": ready,
    "next --claim": claim,
    "list": listed,
    "search, a word in 10 tasks": search_rare,
    "search, a word in every 10th": search_common,
}


def open_store(engine: str, place: str) -> Store:
    """A store by its engine: a file's path, or a URL and a schema with a blank between them."""
    if engine == "sqlite":
        return open_sqlite(place)
    url, schema = place.split(" ")
    return open_postgres(url, schema=schema)


def do_everything(engine: str, place: str) -> None:
    """One turn of every operation."""
    with open_store(engine, place) as store:
        for operation in OPERATIONS.values():
            operation(store, 1_000_000)


if __name__ == "__main__":
    do_everything(*sys.argv[1:])
