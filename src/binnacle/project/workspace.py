"""Finds the workspace: the folder in which programs are debugged."""

import os

from binnacle.config.place import find_repo
from binnacle.project.project import Project


def workspace_of(project: Project, start: str | None = None) -> str:
    """The worktree around `start`, if it belongs to the project; otherwise the repository."""
    origin = here = os.path.realpath(start or os.getcwd())
    while not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return project.repo
        here = parent
    return here if find_repo(origin) == project.repo else project.repo
