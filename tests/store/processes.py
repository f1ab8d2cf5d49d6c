"""Runs `crowd.py` and ends it."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

from places import Place

SCRIPT = os.path.join(os.path.dirname(__file__), "crowd.py")
PATIENCE = 110
"""Seconds until a test gives up on its crowd; a little more than a crowd lives."""


@contextlib.contextmanager
def crowd(place: Place, count: int, command: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`count` processes at work. Leaving it kills those that are left."""
    process = subprocess.Popen(
        [sys.executable, SCRIPT, str(count), command, *place.arguments, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        # The group is still there when a child outlived its parent; its number is not given to another until then.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


def lines_of(place: Place, count: int, command: str, *arguments: str) -> list[list[str]]:
    """What `count` processes said until all of them ended well, as words."""
    with crowd(place, count, command, *arguments) as process:
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors[-3000:]
    return [line.split() for line in output.splitlines()]
