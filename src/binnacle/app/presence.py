"""Who is at work on a session: whoever serves it or waits for its client holds a lock, which ends with the process."""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from binnacle.app import Project


def _path(project: Project, session: str) -> str:
    return os.path.join(project.data_dir, "sessions", f"{session}.lock")


@contextlib.contextmanager
def present(project: Project, session: str) -> Iterator[None]:
    """Is at work on a session until it is left, or killed."""
    path = _path(project, session)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def is_abandoned(project: Project, session: str) -> bool:
    """Whether someone was at work on a session on this machine, and nobody is any more."""
    try:
        with open(_path(project, session), encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # nobody ever was here, or someone is
    return True
