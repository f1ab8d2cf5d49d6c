"""Finds the files of clients on this machine, and which clients are installed."""

import os
import shutil

from binnacle.config.clients.known_clients import ClientFolder, KnownClient, Scope
from binnacle.config.place import find_repo


def find_worktree(start: str | None = None) -> str:
    """The directory of the checkout around `start`, or `start` itself outside of git.

    Not the main worktree, which the store belongs to: clients read this one, and commits are made here.
    """
    find_repo(start)  # refuses a directory that does not exist
    origin = os.path.realpath(start or os.environ.get("BN_REPO") or os.getcwd())
    here = origin
    while not os.path.exists(os.path.join(here, ".git")):
        parent = os.path.dirname(here)
        if parent == here:
            return origin
        here = parent
    return here


def find_file(client: KnownClient, *, worktree: str, scope: Scope | None = None) -> str:
    """The file to write for a client, in `scope` if the client has it, otherwise in its default scope."""
    is_project = is_in_project(client, scope)
    folder = worktree if is_project else locate(client.folder)
    paths = [os.path.join(folder, name) for name in (client.project if is_project else client.user)]
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def is_in_project(client: KnownClient, scope: Scope | None) -> bool:
    """Whether the file to write for a client is in the project."""
    return (scope or client.default) == "project" and bool(client.project)


def is_found(client: KnownClient) -> bool:
    """Whether a client is on this machine: its directory exists, or its program is on PATH."""
    folder = locate(client.folder)
    has_run = any(os.path.exists(os.path.join(folder, sign)) for sign in client.signs)
    return has_run or any(shutil.which(program) for program in client.programs)


def locate(folder: ClientFolder) -> str:
    """The path of a client's directory, whether it exists or not."""
    moved = os.environ.get(folder.variable) if folder.variable else None
    if moved:
        return os.path.join(moved, folder.below)
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return os.path.expanduser(folder.path.replace("$CONFIG", config))
