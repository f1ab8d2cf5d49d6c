"""The only place that constructs: finds the project, reads its settings, opens its store."""

import os
from typing import TYPE_CHECKING, NamedTuple

from binnacle.config.directories import STORE_FILE, Place
from binnacle.config.identity import Identity, identify
from binnacle.config.place import find_place
from binnacle.config.settings import Settings, load_settings

if TYPE_CHECKING:
    from binnacle.store.store import Store


class Project(NamedTuple):
    """A repository and how Binnacle is set up for it."""

    repo: str
    data_dir: str
    settings: Settings
    place: Place
    identity: Identity

    @property
    def id(self) -> str:
        """What the project is known by, wherever it is moved."""
        return self.identity.id

    @property
    def is_known(self) -> bool:
        """Whether the folder is a project at all: in git, or with a store or `.binnacle` at or above it."""
        return self.place.is_known

    @property
    def store_file(self) -> str:
        return os.path.join(self.data_dir, STORE_FILE)


def find_project(start: str | None = None) -> Project:
    """The project around `start`, or around the current directory; a folder that is none stands for itself."""
    place = find_place(start)
    identity = identify(place)
    return Project(place.repo, identity.data_dir, load_settings(place.repo), place, identity)


def require_project(path: str | None = None) -> Project:
    """The project around `path`.

    Raises:
        NoProject: there is none.
        InvalidInput: it is not a directory.
    """
    project = find_project(path)
    if not project.is_known:
        from binnacle.errors import NoProject

        raise NoProject(
            f"not a project: {project.repo!r}",
            hint="give a folder inside a project, or make this one with 'git init', or 'bn store init' without git",
        )
    return project


def open_store(project: Project, *, create: bool = True, timeout: float | None = None, outage: float = 0.0) -> "Store":
    """Opens the project's store; the caller closes it. Without `create`, a missing one reads as empty.

    A store that is made or found has its place written down. `timeout` is how long to wait for a
    locked store, if not as long as the settings say; `outage` is how long to wait for a database that is away.
    """
    from datetime import timedelta
    from functools import partial

    from binnacle.app.presence import is_gone

    settings = project.settings
    timeout = settings.number("store.timeout") if timeout is None else timeout
    lease = timedelta(minutes=settings.number("claim.minutes"))
    gone = partial(is_gone, project)
    if settings.text("store.url"):
        from binnacle.app.shared_store import open_shared

        return open_shared(project, timeout=timeout, lease=lease, is_gone=gone, outage=outage)

    from binnacle.store.opening import open_sqlite

    if os.path.exists(project.store_file):
        _settle(project)
    elif create:
        from binnacle.app.stores import announce_new_store

        _settle(project)
        announce_new_store(project)
    return open_sqlite(project.store_file, timeout=timeout, lease=lease, is_gone=gone, create=create)


def _settle(project: Project) -> None:
    if project.identity.is_written:
        return
    from binnacle.config.identity_files import settle

    settle(project.place, project.identity)


def current_person(project: Project) -> str:
    """The name of the person at the keyboard."""
    from binnacle.config.person import find_person

    return find_person(project.place.git_dir)
