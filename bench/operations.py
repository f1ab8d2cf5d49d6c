"""What is done to a store, one turn each. `python -m bench.operations ENGINE PLACE` does all of it, to be watched."""

import sys
from collections.abc import Callable, Sequence

from bench.workload import BATCH, COMMON, PERSON, RARE, fill
from binnacle.store import task_moves, tasks
from binnacle.store.opening import open_postgres, open_sqlite
from binnacle.store.store import Store
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader
from binnacle.store.views import search
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask

Operation = Callable[[Store, int], object]


def open_store(engine: str, place: str) -> Store:
    """A store by its engine: a file's path, or a URL and a schema with a blank between them."""
    if engine == "sqlite":
        return open_sqlite(place)
    url, schema = place.split(" ")
    return open_postgres(url, schema=schema)


def _add(store: Store, turn: int) -> None:
    with store.write(by=PERSON) as tx:
        tasks.add(tx, [NewTask(title=f"one more, turn {turn}", description="What a person types in a hurry.")])


def _add_batch(store: Store, turn: int) -> None:
    fill(store, BATCH, prefix=f"turn {turn}: ")


def _claim(store: Store, turn: int) -> None:
    """The next task for an agent that holds none."""
    with store.claim(by=Actor(f"agent-{turn}", "agent")) as tx:
        assert task_moves.claim_next(tx, TaskFilter())


def _reading(query: Callable[[Reader], Sequence[object]]) -> Operation:
    """An operation that asks for something and has to find it."""

    def read(store: Store, _: int) -> None:
        with store.read() as tx:
            assert query(tx)

    return read


# As many tasks at once as `bn` shows.
OPERATIONS: dict[str, Operation] = {
    "task_add": _add,
    "ready": _reading(lambda tx: tasks.list_ready(tx, TaskFilter(), limit=20)[0]),
    "next --claim": _claim,
    "list": _reading(lambda tx: tasks.list_tasks(tx, TaskFilter(), limit=100)[0]),
    "search, a word in 10 tasks": _reading(lambda tx: search.find_text(tx, RARE)),
    "search, a word in every 10th": _reading(lambda tx: search.find_text(tx, COMMON)),
    # The last: it makes the smaller stores larger.
    "task_add, 1 000 at once": _add_batch,
}

if __name__ == "__main__":
    with open_store(*sys.argv[1:]) as opened:
        for operation in OPERATIONS.values():
            operation(opened, 1_000_000)
