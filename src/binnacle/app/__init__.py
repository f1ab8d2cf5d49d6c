"""The only place that constructs: finds the project, reads its settings, opens its store."""

import os
from typing import TYPE_CHECKING, NamedTuple

from binnacle.config.location import data_dir, find_repo
from binnacle.config.settings import Settings, load_settings
from binnacle.work.actor import Actor

if TYPE_CHECKING:
    from binnacle.store.store import Store

STORE_FILE = "store.db"


class Project(NamedTuple):
    """A repository and how Binnacle is set up for it."""

    repo: str
    data_dir: str
    settings: Settings

    @property
    def store_file(self) -> str:
        return os.path.join(self.data_dir, STORE_FILE)


def find_project(start: str | None = None) -> Project:
    """The project around `start`, or around the current directory."""
    repo = find_repo(start)
    return Project(repo, data_dir(repo), load_settings(repo))


def open_store(project: Project, *, create: bool = True, timeout: float | None = None) -> "Store":
    """Opens the project's store; the caller closes it. Without `create`, a missing one reads as empty.

    `timeout` is how long to wait for a locked store, if not as long as the settings say.
    """
    from datetime import timedelta

    from binnacle.store.opening import open_postgres, open_sqlite

    settings = project.settings
    timeout = settings.number("store.timeout") if timeout is None else timeout
    lease = timedelta(minutes=settings.number("claim.minutes"))
    if url := settings.text("store.url"):
        return open_postgres(url, schema=settings.text("store.schema"), timeout=timeout, lease=lease)
    return open_sqlite(project.store_file, timeout=timeout, lease=lease, create=create)


def current_actor() -> Actor:
    """In whose name this process acts: the agent that started it, or the person at the keyboard."""
    agent = os.environ.get("BN_AGENT_ID", "").strip()
    if agent:
        return Actor(agent, "agent")
    return Actor(os.environ.get("BN_USER") or os.environ.get("USER") or os.environ.get("LOGNAME") or "human")
