"""Opens the store of a project: a SQLite file in its data directory, or a database that several machines share."""

import os
from collections.abc import Sequence

from binnacle.project.project import Project
from binnacle.store.store import Store
from binnacle.work.done_gate import TrustedCheck
from binnacle.work.review_policy import ReviewPolicy
from binnacle.work.session import Agent


def open_store(
    project: Project,
    *,
    workspace: str | None = None,
    create: bool = True,
    timeout: float | None = None,
    outage: float = 0.0,
) -> Store:
    """Opens the project's store; the caller closes it. Without `create`, a missing one reads as empty.

    The place of the store is recorded. `workspace` is the folder in which the caller works. `timeout` is how long to
    wait for a locked store, by default as the settings say; `outage` is how long to wait for a database that is down.
    """
    from datetime import timedelta
    from functools import partial

    from binnacle.store.transaction import StoreOutlook, no_heads

    settings = project.settings
    timeout = settings.number("store.timeout") if timeout is None else timeout
    lease = timedelta(minutes=settings.number("claim.minutes"))
    outlook = StoreOutlook(
        is_gone=partial(_is_gone, project),
        find_checks=partial(_find_checks, project),
        find_reviews=partial(_find_reviews, project),
        find_heads=partial(_find_heads, workspace) if workspace else no_heads,
        is_agent_above=_is_agent_above,
    )
    if settings.text("store.url"):
        from binnacle.project.shared_store import open_shared

        return open_shared(project, timeout=timeout, lease=lease, outlook=outlook, outage=outage)

    from binnacle.store.opening import open_sqlite

    if os.path.exists(project.store_file):
        _settle(project)
    elif create:
        from binnacle.project.machine_stores import announce_new_store

        _settle(project)
        announce_new_store(project)
    return open_sqlite(project.store_file, timeout=timeout, lease=lease, outlook=outlook, create=create)


def _is_gone(project: Project, agent: "Agent") -> bool:
    """Whether an agent is known to be gone. What looks at processes is loaded only if an agent holds something."""
    from binnacle.project.session_locks import is_gone

    return is_gone(project, agent)


def _is_agent_above() -> bool:
    """What looks at processes is loaded only where it matters whether a person acts."""
    from binnacle.lifecycle.agent_detection import find_agent_above

    return find_agent_above() is not None


def _find_heads(workspace: str) -> Sequence[str]:
    from binnacle.config.git_heads import read_heads

    return read_heads(workspace)


def _find_checks(project: Project) -> Sequence[TrustedCheck]:
    """The checks that tasks may need. What reads them is loaded only if a task is to be closed."""
    from binnacle.project.check_gate import find_gate_checks

    return find_gate_checks(project.repo)


def _find_reviews(project: Project) -> ReviewPolicy:
    """Who has to look at changes. What reads it is loaded only if a task is to be closed."""
    from binnacle.project.check_gate import find_gate_reviews

    return find_gate_reviews(project.repo)


def _settle(project: Project) -> None:
    if project.identity.is_written:
        return
    from binnacle.config.identity_files import settle

    settle(project.place, project.identity)
