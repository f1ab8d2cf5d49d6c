"""Runs in a process of its own, where the trouble is: says what happens as JSON on its output.

python trouble.py full-disk DIRECTORY HOW
python trouble.py read-only PATH
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable

from binnacle.errors import BinnacleError
from binnacle.store import tasks
from binnacle.store.opening import open_sqlite
from binnacle.store.store import Store
from binnacle.store.views import search
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask
from store.verbs import contents


def code_of(work: Callable[[], object]) -> dict[str, object] | None:
    """The error that `work` ends in, if it does."""
    try:
        work()
    except BinnacleError as error:
        return error.to_dict()
    return None


def add(store: Store, title: str, size: int = 0) -> None:
    with store.write(by=Actor("ann")) as tx:
        tasks.add(tx, [NewTask(title=title, description="x" * size)])


def ready(store: Store) -> list[str]:
    with store.read() as tx:
        return [task.title for task in tasks.list_ready(tx, limit=100)[0]]


def small_disk(directory: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", directory], check=True)


def fill_up(ballast: str) -> None:
    """Writes the file `ballast` until there is no room left on its disk."""
    with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


def full_disk(directory: str, how: str) -> dict[str, object]:
    """Fills a disk to its end under a store, and frees it again."""
    ballast = os.path.join(directory, "ballast")
    if how == "mount":
        small_disk(directory)
    with open_sqlite(os.path.join(directory, "data", "store.db")) as store:
        add(store, "before")
        if how == "mount":
            fill_up(ballast)
        else:
            # No disk to fill here: the engine is told that the file may not grow, and reports the same.
            store._connection._db.execute("pragma max_page_count = 1")
        known = contents(store)
        errors = [code_of(lambda number=number: add(store, f"too much {number}", 40_000)) for number in range(3)]
        unchanged = contents(store) == known
        if how == "mount":
            os.unlink(ballast)
        else:
            store._connection._db.execute("pragma max_page_count = 1000000")
        add(store, "after", 40_000)
        sound = store._connection.query("pragma integrity_check")[0][0]
        with store.read() as tx:
            hits = [hit.title for hit in search.find_text(tx, "after")]
        return {"errors": errors, "unchanged": unchanged, "ready": ready(store), "sound": sound, "hits": hits}


def new_on_full_disk(directory: str) -> dict[str, object]:
    """Makes a store where there is no room for one, and again when there is."""
    small_disk(directory)
    path, ballast = os.path.join(directory, "data", "store.db"), os.path.join(directory, "ballast")
    fill_up(ballast)
    os.truncate(ballast, os.path.getsize(ballast) - 64 * 1024)
    error = code_of(lambda: open_sqlite(path).close())
    os.unlink(ballast)
    with open_sqlite(path) as store:
        add(store, "after")
        return {"error": error, "ready": ready(store)}


def known_on_full_disk(directory: str) -> dict[str, object]:
    """Opens a store that is there already, with less and less room for what it needs while it is open."""
    small_disk(directory)
    path, ballast = os.path.join(directory, "data", "store.db"), os.path.join(directory, "ballast")
    with open_sqlite(path) as store:
        add(store, "before")
    errors = []
    for left in (32, 16, 4, 0):
        fill_up(ballast)
        os.truncate(ballast, os.path.getsize(ballast) - left * 1024)
        errors.append(code_of(lambda: open_sqlite(path).close()))
        os.unlink(ballast)
    with open_sqlite(path) as store:
        add(store, "after")
        return {"errors": errors, "ready": ready(store)}


def read_only(path: str) -> dict[str, object]:
    """Reads and writes a store that cannot be written."""
    found: dict[str, object] = {"open": code_of(lambda: open_sqlite(path).close())}
    if found["open"] is None:
        with open_sqlite(path) as store:
            found["ready"] = ready(store)
            found["write"] = code_of(lambda: add(store, "not to be"))
            with store.read() as tx:
                found["hits"] = [hit.title for hit in search.find_text(tx, "there")]
    return found


COMMANDS = {
    "full-disk": full_disk,
    "new-on-full-disk": new_on_full_disk,
    "known-on-full-disk": known_on_full_disk,
    "read-only": read_only,
}

if __name__ == "__main__":
    print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
