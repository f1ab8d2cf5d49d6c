"""What a person has approved, for all projects: a file among the person's own configuration, never in a project."""

import os

import msgspec
from msgspec import Struct

from binnacle.config.clients.files import locked, read
from binnacle.config.location import user_config_file
from binnacle.config.whole import write_whole
from binnacle.errors import ConfigError


class Approval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That a person let a project start a command, or connect to a server."""

    sha256: str
    """Of exactly what was approved."""

    command: tuple[str, ...] = ()
    """As it was shown."""

    cwd: str = ""
    env: tuple[str, ...] = ()
    url: str = ""
    headers: tuple[str, ...] = ()
    file: str = ""
    by: str = ""
    at: str = ""


class _File(Struct):
    projects: dict[str, dict[str, Approval]] = {}


def approvals_file() -> str:
    """The file, unless another one is named."""
    return os.path.join(os.path.dirname(user_config_file()), "approvals.json")


def find(path: str, repo: str, name: str) -> Approval | None:
    """What was approved for a project under a name, whether it still holds or not.

    Raises:
        ConfigError: the approvals cannot be read.
    """
    return _read(path).projects.get(_project(repo), {}).get(name)


def keep(path: str, repo: str, name: str, approval: Approval) -> None:
    """Keeps an approval in the place of an earlier one.

    Raises:
        ConfigError: the approvals cannot be read or written.
    """
    with locked(path):
        kept = _read(path)
        kept.projects.setdefault(_project(repo), {})[name] = approval
        _write(path, kept)


def forget(path: str, repo: str, name: str) -> None:
    """Takes an approval back, if there is one."""
    if not os.path.exists(path):
        return
    with locked(path):
        kept = _read(path)
        if kept.projects.get(_project(repo), {}).pop(name, None):
            kept.projects = {project: names for project, names in kept.projects.items() if names}
            _write(path, kept)


def _project(repo: str) -> str:
    return os.path.realpath(repo)


def _read(path: str) -> _File:
    try:
        return msgspec.json.decode(read(path) or "{}", type=_File)
    except msgspec.DecodeError as error:
        hint = "mend or remove the file; commands then have to be approved again"
        raise ConfigError(f"{path}: not a file of approvals: {error}", hint=hint, details={"file": path}) from error


def _write(path: str, kept: _File) -> None:
    """Replaces the file; nobody else may ever read or change it, whatever its mode was."""
    content = msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n"
    try:
        write_whole(path, content, is_lasting=True)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", hint="check permissions and free space") from error
