"""A repository and how Binnacle is set up for it."""

import os
from typing import NamedTuple

from binnacle.config.directories import STORE_FILE, Place
from binnacle.config.identity import ProjectIdentity, identify
from binnacle.config.place import find_place
from binnacle.config.settings import Settings, load_settings
from binnacle.errors import NoProject


class Project(NamedTuple):
    """A repository and how Binnacle is set up for it."""

    repo: str
    data_dir: str
    settings: Settings
    place: Place
    identity: ProjectIdentity

    @property
    def id(self) -> str:
        """The id of the project, which stays when it is moved."""
        return self.identity.id

    @property
    def is_known(self) -> bool:
        """Whether the folder is a project at all: in git, or with a store or `.binnacle` at or above it."""
        return self.place.is_known

    @property
    def store_file(self) -> str:
        return os.path.join(self.data_dir, STORE_FILE)


def find_project(start: str | None = None) -> Project:
    """The project around `start`, or around the current directory; the folder itself if it is in no project."""
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
        raise NoProject(
            f"not a project: {project.repo!r}",
            hint="give a folder inside a project, or make this one with 'git init', or 'bn store init' without git",
        )
    return project


def current_person(project: Project) -> str:
    """The name of the person at the keyboard."""
    from binnacle.config.person import find_person

    return find_person(project.place.git_dir)
