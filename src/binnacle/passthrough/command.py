"""The command that is run, by name: nothing here imports it."""

import os
import sys
from typing import NamedTuple

from binnacle import DISTRIBUTION


class PassthroughCommand(NamedTuple):
    """A program that can be called as a function in a fork, or started as a new process."""

    name: str
    """Its name on a command line; its `argv[0]`."""

    function: str
    """`module:function`. Called with the list of arguments, returns the exit code as `sys.exit` would take it."""

    preload: tuple[str, ...] = ()
    """Modules that the fork server imports. Each call that needs others imports them itself."""

    argv: tuple[str, ...] = ()
    """How to start it without the fork server. Empty: `name`, next to the interpreter or on the PATH."""

    distribution: str = ""
    """The name of its distribution. Empty: that of its package."""

    @property
    def package(self) -> str:
        """Its top-level package; the fork server is replaced when its files change."""
        return self.function.partition(":")[0].partition(".")[0]

    def find_argv(self) -> tuple[str, ...] | None:
        """The beginning of the command line of a new process; empty if there is no such program."""
        if self.argv:
            return self.argv
        beside = os.path.join(os.path.dirname(sys.executable), self.name)
        if os.access(beside, os.X_OK):
            return (beside,)
        from shutil import which

        found = which(self.name)
        return (found,) if found else None


PRELOADED_MODULES = (
    *("argparse", "locale", "msgspec.json", "sqlite3", "unicodedata", "binnacle.project.store_opening"),
    *(f"binnacle.cli.{name}" for name in ("context", "help", "parser", "screen", "views")),
    *(
        f"binnacle.cli.commands.{name}"
        for name in (
            *("dependencies", "learning", "log", "note", "queue"),
            *("ready", "search", "status", "task", "task_moves"),
        )
    ),
    *(
        "binnacle.store.views.task_details",
        "binnacle.store.events",
        "binnacle.store.task_moves",
        "binnacle.store.learnings",
    ),
    *(
        "binnacle.store.notes",
        "binnacle.store.views.overview",
        "binnacle.store.views.search",
        "binnacle.store.engines.sqlite",
    ),
)
"""What daily commands load. Kept small: the cost of a fork grows with the size of the process."""

BN = PassthroughCommand(
    name="bn", function="binnacle.cli.main:main", preload=PRELOADED_MODULES, distribution=DISTRIBUTION
)
