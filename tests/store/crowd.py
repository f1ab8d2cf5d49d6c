"""Many processes at work on one store.

    python crowd.py COUNT COMMAND ENGINE WHERE SCHEMA [ARGUMENT …]

The processes are forked once everything is imported, wait for each other, and begin at the same moment. Each says
what it did on lines of their common output, one write a line. None lives longer than LIFE seconds.
"""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable

from binnacle.errors import Refused
from binnacle.store import comments, dependencies, notes, task_moves, tasks
from binnacle.store.opening import open_postgres, open_sqlite
from binnacle.store.store import Store
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask

LIFE = 100


def opened(engine: str, where: str, schema: str) -> Store:
    if engine == "sqlite":
        return open_sqlite(where, timeout=60)
    return open_postgres(where, schema=schema, timeout=60)


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def claim(store: Callable[[], Store], me: int, *_: str) -> None:
    """Takes tasks until there is nothing left to take."""
    agent = Actor(f"bna-{me:04x}", "agent")
    with store() as place:
        while True:
            with place.claim(by=agent) as tx:
                move = task_moves.claim_next(tx, force=True)
            if move is None:
                return
            say(move.task.id, move.task.fence, agent.name)


def enter(store: Callable[[], Store], me: int, *_: str) -> None:
    """Opens a store that may not be there yet, and leaves a task in it."""
    with store() as place, place.write(by=Actor("ann")) as tx:
        say(tasks.add(tx, [NewTask(title=f"from {me}")])[0].id)


def toil(store: Callable[[], Store], me: int, *_: str) -> None:
    """Changes the store until it is killed, and says what it did only after it was committed."""
    with store() as place:
        for number in range(1_000_000):
            with place.write(by=Actor(f"bna-{me:04x}", "agent")) as tx:
                first, second, third = tasks.add(
                    tx,
                    [
                        NewTask(title=f"{os.getpid()} {number} one"),
                        NewTask(title=f"{os.getpid()} {number} two", depends_on=("#1",)),
                        NewTask(title=f"{os.getpid()} {number} three", depends_on=("#1", "#2")),
                    ],
                )
                comments.add(tx, first.id, "begun")
            say("added", first.id, second.id, third.id)
            with place.write(by=Actor(f"bna-{me:04x}", "agent")) as tx:
                task_moves.start(tx, first.id, force=True)
                task_moves.finish(tx, first.id)
            say("finished", first.id)


def tie(store: Callable[[], Store], me: int, *ids: str) -> None:
    """Makes every task wait for its neighbours: half of the processes one way round, half the other."""
    with store() as place:
        for index, task_id in enumerate(ids):
            other = ids[(index + (1 if me % 2 else -1)) % len(ids)]
            try:
                with place.write(by=Actor("ann")) as tx:
                    dependencies.add(tx, task_id, other)
            except Refused as error:
                say("refused", error.code)
            else:
                say("tied", task_id, other)


def jot(store: Callable[[], Store], me: int, count: str) -> None:
    """Leaves notes, several in a transaction, some of them undone."""
    with store() as place:
        for number in range(int(count)):
            with contextlib.suppress(ZeroDivisionError), place.write(by=Actor(f"bna-{me:04x}", "agent")) as tx:
                notes.add(tx, [("tip", f"{me} {number} {part}") for part in "ab"])
                1 / (number % 5)  # every fifth comes to nothing


COMMANDS = {"claim": claim, "enter": enter, "toil": toil, "tie": tie, "jot": jot}


def main(count: str, command: str, engine: str, where: str, schema: str, *arguments: str) -> int:
    gate, gun = os.pipe()
    children = []
    for me in range(int(count)):
        child = os.fork()
        if child == 0:
            signal.alarm(LIFE)
            os.close(gun)
            os.read(gate, 1)  # ends when the last holder of the other end lets go of it
            try:
                COMMANDS[command](lambda: opened(engine, where, schema), me, *arguments)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)
        children.append(child)
    signal.alarm(LIFE)
    os.close(gate)
    os.close(gun)
    return sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
