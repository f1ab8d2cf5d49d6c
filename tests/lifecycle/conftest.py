"""Real processes to look at and to end."""

import os
import subprocess
from collections.abc import Callable, Iterator

import pytest

PATIENCE = 30

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes that say when they are ready. Leaving it ends those that are left, by their ids."""
    running: list[subprocess.Popen[str]] = []

    def started(*words: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(child)
        return child

    yield started
    for child in running:
        child.kill()
        child.communicate(timeout=PATIENCE)


@pytest.fixture
def bash(start) -> Callable[[str], subprocess.Popen[str]]:
    """A bash that has done what it was told first, said so, and waits for a line."""

    def ready(first: str = "") -> subprocess.Popen[str]:
        child = start("bash", "-c", f"{first}\necho ready\nread -r line\nexit 7")
        assert child.stdout.readline() == "ready\n"
        return child

    return ready


def wait_zombie(child: subprocess.Popen[str]) -> None:
    """Waits until a child has ended, and leaves its exit status where it is."""
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
