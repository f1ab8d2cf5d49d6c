"""The paths of git's folders, of our data directories and of the settings files.

Git's own files are read instead of running `git`: starting a process costs more
than everything else that a short command does. `config.place` finds the place around
a folder with this, and `config.identity` says which project a place is.
"""

import os
import zlib
from collections.abc import Mapping
from typing import NamedTuple

PROJECT_DIR = ".binnacle"
"""Directory in the repository for files that a team shares by git."""

STORE_FILE = "store.db"
"""The store in a project's data directory."""


MAX_GIT_FILE_CHARACTERS = 16 << 10
"""Maximum size of git's files with the path of its folder; they contain one path."""


class Place(NamedTuple):
    """The folder that a command is about."""

    repo: str
    """The main worktree of a repository, a bare repository, or a folder outside of git."""

    git_dir: str | None
    """Git's folder that all worktrees share; None outside of git."""

    is_known: bool
    """Whether it is a project: in git, or with its own store or `.binnacle` folder."""


def git_place(folder: str) -> Place | None:
    """The repository whose top is `folder`: a main or a linked worktree, a submodule, a bare repository."""
    marker = os.path.join(folder, ".git")
    if os.path.isdir(marker):
        return Place(folder, marker, is_known=True)
    if os.path.isfile(marker):
        return _follow_git_file(folder, marker)
    if os.path.isfile(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects")):
        return Place(_worktree_of(folder), folder, is_known=True)
    return None


def _follow_git_file(worktree: str, marker: str) -> Place:
    """The place of a linked worktree, which is its main one, or of a submodule, which is a separate repository."""
    git_dir = _read(marker).removeprefix("gitdir:").strip()
    git_dir = os.path.normpath(os.path.join(worktree, git_dir))
    common = _read(os.path.join(git_dir, "commondir")).strip()
    if not common:
        return Place(worktree, git_dir if os.path.isdir(git_dir) else None, is_known=True)
    common_dir = os.path.realpath(os.path.join(git_dir, common))
    return Place(_worktree_of(common_dir), common_dir, is_known=True)


def _worktree_of(git_dir: str) -> str:
    return os.path.dirname(git_dir) if os.path.basename(git_dir) == ".git" else git_dir


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(MAX_GIT_FILE_CHARACTERS)
    except OSError:
        return ""


def show_path(path: str) -> str:
    """A path as printable text: a byte that is not UTF-8 becomes `\\xNN`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def project_key(repo: str, *, attempt: int = 0) -> str:
    """A readable directory name for `repo`, distinct for every path; a later `attempt` gives another one."""
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in os.path.basename(repo)).strip(".-")[:40]
    # Two repositories share a key only if they have the same name and their paths
    # collide in 64 bits; zlib is already loaded, hashlib would cost 4 ms.
    path = os.fsencode(repo) + (b"\0%d" % attempt if attempt else b"")
    return f"{name or 'root'}-{zlib.crc32(path):08x}{zlib.adler32(path[::-1]):08x}"


def data_root() -> str:
    """The directory for the data of all projects: outside of the worktrees, so `git clean` does not remove it."""
    base = os.environ.get("BN_DATA_DIR")
    if not base:
        home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
        base = os.path.join(home, "binnacle")
    return os.path.abspath(base)


def data_dir(folder: str) -> str:
    """The directory for data that belongs to the path of `folder`, not to the project that is there now."""
    return os.path.join(data_root(), project_key(folder))


def clients_folder() -> str:
    """The folder for saved sessions of clients that start a server for every call."""
    return os.path.join(data_root(), ".clients")


def user_config_file(environ: Mapping[str, str] | None = None) -> str:
    """The person's own settings; as a process with other variables finds them, if these are given."""
    variables = os.environ if environ is None else environ
    home = variables.get("XDG_CONFIG_HOME") or os.path.join(variables.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(home, "binnacle", "config.toml")


def trust_file() -> str:
    """The file with what the person has trusted, for all projects."""
    return os.path.join(os.path.dirname(user_config_file()), "trust.json")


def cache_dir() -> str:
    """The directory for data that can be made again."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "binnacle")


def brings_settings(repo: str) -> bool:
    """Whether a repository has files for Binnacle: settings, servers, hooks, scripts."""
    return any(os.path.lexists(os.path.join(repo, name)) for name in (PROJECT_DIR, ".beans", ".iteratr.hooks.yml"))


def project_config_file(repo: str) -> str:
    """The settings that a team shares by git."""
    return os.path.join(repo, PROJECT_DIR, "config.toml")
