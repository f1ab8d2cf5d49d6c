"""Finds the place that a command is about."""

import os

from binnacle.config.directories import PROJECT_DIR, Place, git_place
from binnacle.config.identity import has_store
from binnacle.errors import InvalidInput


def find_repo(start: str | None = None) -> str:
    """The folder of the place around `start`."""
    return find_place(start).repo


def find_place(start: str | None = None) -> Place:
    """The repository around `start`; outside of git the nearest folder that is a project, or `start` itself.

    The answer is the same for all worktrees of a repository, so that they share one store.
    """
    origin = start or os.environ.get("BN_REPO") or os.getcwd()
    if not os.path.isdir(origin):
        raise InvalidInput(f"no such directory: {origin!r}", hint="give an existing directory with -C or BN_REPO")
    origin = os.path.realpath(origin)
    return _find_git_place(origin) or _find_plain_place(origin)


def _find_git_place(origin: str) -> Place | None:
    """The repository around a folder. A bare repository inside another counts as files of that one."""
    here, bare = origin, None
    while True:
        found = git_place(here)
        if found and found.git_dir != here:
            return found
        bare = bare or found
        parent = os.path.dirname(here)
        if parent == here:
            return bare
        here = parent


def _find_plain_place(origin: str) -> Place:
    """The nearest folder at or above `origin` that is a project.

    The home folder and the root are projects only for commands in them: a task added in
    the home folder must not make all folders below it one project.
    """
    here, tops = origin, (os.path.realpath(os.path.expanduser("~")), "/")
    while True:
        place = Place(here, None, is_known=True)
        if (here == origin or here not in tops) and (has_store(place) or _is_set_up(here, is_start=here == origin)):
            return place
        parent = os.path.dirname(here)
        if parent == here:
            return Place(origin, None, is_known=False)
        here = parent


def _is_set_up(folder: str, *, is_start: bool) -> bool:
    try:
        owner = os.stat(os.path.join(folder, PROJECT_DIR)).st_uid
    except OSError:
        return False
    # In a folder that everyone can write to, like /tmp, someone else may have put one, which must not count.
    return is_start or owner == os.geteuid()
