"""The tasks that everything is measured on: the same for our stores and, in their formats, for the peers."""

import os
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from binnacle.store import tasks
from binnacle.store.opening import open_sqlite
from binnacle.store.store import Store
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask

BATCH = 1000
"""Tasks added in one transaction."""

RARE, COMMON = "quicksilver", "harbour"
"""A word in ten tasks, however many there are, and a word in every tenth task."""

PERSON = Actor("ann")

_PLACES = ("login form", "export job", "search page", "mail queue", "importer", "settings file", "report", "scheduler")
_TEXT = (
    "Users see the old state until they reload, because the {place} keeps what it read first. Look at how the others"
    " {word}do it, keep the public names, and add a test that fails today."
)


class Item(NamedTuple):
    """A task as any tracker can keep it."""

    number: int
    """From 1."""

    title: str
    description: str
    priority: int
    is_done: bool
    waits_for: int | None
    """Number of a task it depends on, which is not done."""


def items(size: int) -> Iterator[Item]:
    """Of every six tasks one is done, three are ready, and two wait for the one before them."""
    for index in range(size):
        place = _PLACES[index % len(_PLACES)]
        word = f"at the {COMMON} " if index % 10 == 0 else f"in {RARE} " if index % 10 == 1 and index < 100 else ""
        yield Item(
            number=index + 1,
            title=f"mend the {place} of part {index + 1}",
            description=_TEXT.format(place=place, word=word),
            priority=index % 5,
            is_done=index % 6 == 0,
            waits_for=index if index % 6 in (3, 5) and index % BATCH else None,
        )


def fill(store: Store, size: int, *, prefix: str = "") -> None:
    """Adds `size` tasks, a batch at a time. A prefix keeps the titles apart from those of earlier ones."""
    drafts = [
        NewTask(
            title=f"{prefix}{item.title}",
            description=item.description,
            priority=item.priority,
            status="done" if item.is_done else "pending",
            depends_on=(f"#{(item.waits_for - 1) % BATCH + 1}",) if item.waits_for else (),
        )
        for item in items(size)
    ]
    for start in range(0, size, BATCH):
        with store.write(by=PERSON) as tx:
            tasks.add(tx, drafts[start : start + BATCH])


def copy_sqlite(folder: str, size: int, path: str) -> str:
    """Puts a SQLite store of `size` tasks at `path`. It is filled once and copied from then on."""
    seed = os.path.join(folder, f"seed-{size}", "store.db")
    if not os.path.exists(seed):
        with open_sqlite(seed) as store:
            fill(store, size)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return shutil.copyfile(seed, path)
