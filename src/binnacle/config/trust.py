"""What a person has trusted in each project: a file in the person's own configuration, never in a project.

Opening a repository must not run, reach or change anything. So everything in it that names a command, a place or a
server, or gives more rights, is a `TrustItem`: it has no effect until a person has seen and trusted its exact content,
and none again after the content changes. The person's own files and the command line need no trust.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Literal

import msgspec
from msgspec import Struct

from binnacle.config.atomic_write import write_atomically
from binnacle.config.clients.foreign_files import locked, read
from binnacle.config.directories import trust_file
from binnacle.errors import ConfigError

Kind = Literal["setting", "server", "hook", "check", "script", "template", "recipe"]
State = Literal["trusted", "changed", "new"]
How = Literal["terminal", "yes", "written", "page"]
"""A person was asked on a terminal or on the page, passed `--yes`, or wrote it into the project with a `bn` command."""

MAX_KEPT_CHARACTERS = 200_000
"""Characters of a content that are stored to show what changed. For a longer one, only the digest is stored."""


class TrustItem(Struct, frozen=True, kw_only=True):
    """Something in a project that has an effect only once a person has trusted it."""

    kind: Kind
    name: str
    """Unique among the items of its kind in the project."""

    place: str
    """The file, with the line if known."""

    does: str
    """What it would run, reach or change, as the end of a sentence that begins with `it would`."""

    content: str
    """Its complete content: a person sees exactly the text that is trusted."""

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def sha256(self) -> str:
        from hashlib import sha256

        return sha256(self.content.encode("utf-8", "surrogatepass")).hexdigest()


class TrustedItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The record that a person trusted an item."""

    sha256: str
    content: str = ""
    """Its content then, to show what changed; empty if it was too long."""

    by: str = ""
    at: str = ""
    how: How = "terminal"


class _File(Struct):
    projects: dict[str, dict[str, TrustedItem]] = {}


def find_trusted(repo: str) -> dict[str, TrustedItem]:
    """What was trusted in a project, by item key, even if the item has changed since.

    Raises:
        ConfigError: the file cannot be read.
    """
    return _read(trust_file()).projects.get(_project(repo), {})


def is_trusted(repo: str, item: TrustItem) -> bool:
    """Whether a person has trusted an item exactly as it is. If the file cannot be read, nothing is trusted."""
    with suppress(ConfigError):
        return state_of(item, find_trusted(repo)) == "trusted"
    return False


def state_of(item: TrustItem, known: dict[str, TrustedItem]) -> State:
    """Whether an item is trusted, changed since, or new."""
    before = known.get(item.key)
    if before is None:
        return "new"
    return "trusted" if before.sha256 == item.sha256 else "changed"


def keep(repo: str, items: Iterable[TrustItem], *, by: str, at: str, how: How) -> None:
    """Trusts items as they are, all or none.

    Raises:
        ConfigError: the file cannot be read or written.
    """
    path = trust_file()
    with locked(path):
        kept = _read(path)
        known = kept.projects.setdefault(_project(repo), {})
        for item in items:
            content = item.content if len(item.content) <= MAX_KEPT_CHARACTERS else ""
            known[item.key] = TrustedItem(sha256=item.sha256, content=content, by=by, at=at, how=how)
        _write(path, kept)


def forget(repo: str, keys: Collection[str] | None = None) -> list[str]:
    """Revokes trust, by default all of a project's. Returns the keys that were trusted.

    Raises:
        ConfigError: the file cannot be read or written.
    """
    path = trust_file()
    if not os.path.exists(path):
        return []
    with locked(path):
        kept = _read(path)
        known = kept.projects.get(_project(repo), {})
        gone = [key for key in known if keys is None or key in keys]
        if gone:
            for key in gone:
                del known[key]
            kept.projects = {project: names for project, names in kept.projects.items() if names}
            _write(path, kept)
    return gone


def differences(item: TrustItem, before: TrustedItem) -> Sequence[str]:
    """What changed in an item since it was trusted, as the lines of a diff."""
    from difflib import unified_diff

    if not before.content:
        return ["it was too long to be stored; the complete new content:", *item.content.split("\n")]
    # Split only at line feeds, so that a change of line endings shows.
    old, new = before.content.split("\n"), item.content.split("\n")
    return list(unified_diff(old, new, "trusted before", "now", lineterm=""))


def _project(repo: str) -> str:
    return os.path.realpath(repo)


def _read(path: str) -> _File:
    try:
        return msgspec.json.decode(read(path) or "{}", type=_File)
    except msgspec.DecodeError as error:
        hint = "fix or remove the file; everything then has to be trusted again"
        raise ConfigError(f"{path}: not what bn trust writes: {error}", hint=hint, details={"file": path}) from error


def _write(path: str, kept: _File) -> None:
    """Replaces the file by a private one, whatever its mode was."""
    content = msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n"
    try:
        write_atomically(path, content, is_lasting=True)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", hint="check permissions and free space") from error
