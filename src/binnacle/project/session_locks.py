"""Locks on sessions: a process that serves a session or waits for its client holds one, which ends with the process."""

import contextlib
import os
from collections.abc import Iterator

from binnacle.config.file_lock import try_lock, wait_for_lock
from binnacle.config.private_files import make_private_folder, private_opener
from binnacle.errors import Refused
from binnacle.lifecycle.agent_presence import has_server, is_present
from binnacle.project.project import Project
from binnacle.work.session import Agent, is_planned

LOCK_TIMEOUT_SECONDS = 5.0
"""How long to wait for a lock. A check whether a session is abandoned holds it for one system call."""


def _path(project: Project, session: str) -> str:
    return os.path.join(project.data_dir, "sessions", f"{session}.lock")


@contextlib.contextmanager
def hold_session_lock(project: Project, session: str) -> Iterator[None]:
    """Holds the lock of a process that works on a session. A killed process loses it too."""
    path = _path(project, session)
    make_private_folder(os.path.dirname(path))
    with open(path, "w", encoding="utf-8", opener=private_opener) as file:
        wait_for_lock(file.fileno(), timeout_seconds=LOCK_TIMEOUT_SECONDS, is_shared=True)
        yield


def _driver(project: Project, session: str) -> str:
    return os.path.join(project.data_dir, "sessions", f"{session}.run.lock")


def was_driven(project: Project, session: str) -> bool:
    """Whether a run on this machine ever drove a session."""
    return os.path.exists(_driver(project, session))


@contextlib.contextmanager
def hold_run_lock(project: Project, session: str) -> Iterator[None]:
    """Holds the lock of the run that drives a session. A killed process loses it too.

    Raises:
        Refused: another run holds it.
    """
    path = _driver(project, session)
    make_private_folder(os.path.dirname(path))
    with open(path, "a+", encoding="utf-8", opener=private_opener) as file:
        if not try_lock(file.fileno()):
            file.seek(0)
            who = file.read().strip()
            message = f"this run is already running{f', in process {who}' if who else ''}"
            raise Refused(message, hint="stop it there, or give this one another name with --name")
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def is_gone(project: Project, agent: Agent) -> bool:
    """Whether an agent is known to be gone: its process ended, or no process works on its planned session."""
    if is_planned(agent.id):
        # The process that began it may not hold its lock yet, so that process is checked too.
        return has_server(agent) is not True and is_abandoned(project, agent.id)
    return is_present(agent) is False


def is_abandoned(project: Project, session: str) -> bool:
    """Whether a process of this machine worked on a session, and none does now."""
    try:
        with open(_path(project, session), encoding="utf-8") as file:
            return try_lock(file.fileno())
    except OSError:
        return False  # no process ever worked on it here, or there are no locks
