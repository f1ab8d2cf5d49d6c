"""Finds the repository a command is about and the directory its data lives in.

Git's own files are read instead of running `git`: starting a process costs more
than everything else a short command does.
"""

import os
import zlib

from binnacle.errors import InvalidInput

PROJECT_DIR = ".binnacle"
"""Directory in the repository for what a team shares by git."""


def find_repo(start: str | None = None) -> str:
    """The main worktree of the repository around `start`, or `start` itself outside of git.

    All worktrees of one repository give the same answer, so that they share one store.
    """
    origin = start or os.environ.get("BN_REPO") or os.getcwd()
    if not os.path.isdir(origin):
        raise InvalidInput(
            f"no such directory: {origin!r}",
            hint="give an existing directory with -C or BN_REPO",
        )
    origin = os.path.realpath(origin)
    here = origin
    while True:
        marker = os.path.join(here, ".git")
        if os.path.isdir(marker):
            return here
        if os.path.isfile(marker):
            return _main_worktree(here, marker)
        parent = os.path.dirname(here)
        if parent == here:
            return origin
        here = parent


def _main_worktree(worktree: str, marker: str) -> str:
    """Follows a `.git` file: a linked worktree leads to its main one, a submodule is its own repository."""
    git_dir = _read(marker).removeprefix("gitdir:").strip()
    git_dir = os.path.normpath(os.path.join(worktree, git_dir))
    common = _read(os.path.join(git_dir, "commondir")).strip()
    if not common:
        return worktree
    common_dir = os.path.realpath(os.path.join(git_dir, common))
    return os.path.dirname(common_dir) if os.path.basename(common_dir) == ".git" else common_dir


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def project_key(repo: str) -> str:
    """A readable directory name for `repo`, distinct for every path."""
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in os.path.basename(repo)).strip(".-")[:40]
    # Two repositories share a key only if they have the same name and their paths
    # collide in 64 bits; zlib is already loaded, hashlib would cost 4 ms.
    path = os.fsencode(repo)
    return f"{name or 'root'}-{zlib.crc32(path):08x}{zlib.adler32(path[::-1]):08x}"


def data_dir(repo: str) -> str:
    """Where the store and the sessions of `repo` are kept: outside the work tree, out of `git clean`'s reach."""
    base = os.environ.get("BN_DATA_DIR")
    if not base:
        home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
        base = os.path.join(home, "binnacle")
    return os.path.join(os.path.abspath(base), project_key(repo))


def user_config_file() -> str:
    """The person's own settings."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "binnacle", "config.toml")


def cache_dir() -> str:
    """Where what can be made again is kept."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "binnacle")


def project_config_file(repo: str) -> str:
    """The settings a team shares by git."""
    return os.path.join(repo, PROJECT_DIR, "config.toml")
