"""A check: a command of the project that shows whether work is right. This is its definition; nothing here runs it."""

from typing import Literal

from msgspec import Struct

CheckTier = Literal["fast", "full"]
"""When a check has to pass: `fast` before a task is called done, `full` before its change is merged."""

CHECK_TIMEOUT_SECONDS = 600.0
"""Seconds that a check may take if its definition does not say."""


class Check(Struct, frozen=True, kw_only=True):
    """The definition of a check, as a file of the project has it."""

    name: str
    """Unique in the project."""

    command: str
    """As a person would type it, in one line. No shell reads it, unless it names one itself."""

    words: tuple[str, ...]
    """The program and its arguments."""

    setup: tuple[str, ...] = ()
    """The words of a command that prepares a fresh checkout for it; empty if none is needed."""

    cache: tuple[str, ...] = ()
    """The lock files on which the result of `setup` depends, and on nothing else of the repository; then it is kept."""

    timeout: float = CHECK_TIMEOUT_SECONDS
    """Seconds."""

    paths: tuple[str, ...] = ()
    """Patterns of the files that it is about; empty if it is about all of them."""

    tier: CheckTier = "fast"
    needs: tuple[str, ...] = ()
    """Programs without which it cannot run."""

    exclusive: str = ""
    """Checks with the same word here never run at once on a machine; empty if it can run beside all others."""

    report: str = ""
    """A pattern of the files with JUnit XML that the command writes into the checkout; empty if it writes none."""

    memory: int = 0
    """MiB that each of its processes may have; 0 for most of what the machine has."""

    definition_hash: str = ""
    """A hash of all that decides what runs. Evidence of another definition does not count for this one."""

    place: str = ""
    """`file:line` where it is written."""
