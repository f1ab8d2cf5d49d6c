"""All stores in this machine's data directory: which place each belongs to, and how a project adopts one."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Literal

from msgspec import Struct

from binnacle.config.directories import STORE_FILE, data_root, show_path
from binnacle.config.identity import carries, is_same_repository, record_file
from binnacle.config.identity_files import become
from binnacle.config.project_record import read_record
from binnacle.errors import Ambiguous, ConfigError, NotFound, Refused, StoreReadOnly
from binnacle.project.project import Project, find_project
from binnacle.store.maintenance.checks import StoreFinding
from binnacle.store.maintenance.file_summary import summarise_file

Whereabouts = Literal["here", "there", "gone", "unknown"]
"""`here`: this project's; `there`: another place's; `gone`: its place no longer exists, or is another project now;
`unknown`: an older Binnacle made it, and no command has run in its place since."""

REMOVED_PREFIX = ".removed-"
"""Prefix of a data directory that is being removed: no id begins with a dot."""


class KnownStore(Struct, frozen=True, kw_only=True):
    """A store in the data directory."""

    id: str
    place: str
    """The folder that it belongs to; empty if unknown."""

    state: Whereabouts
    tasks: int | None
    """None if the file cannot be read."""

    bytes: int
    changed_at: datetime
    has_worktrees: bool = False
    """Whether it has worktrees of a run, with work that may exist nowhere else."""

    @property
    def is_empty(self) -> bool:
        return self.tasks == 0 and not self.has_worktrees


def list_stores(project: Project) -> list[KnownStore]:
    """Every store, the most recently changed first."""
    known = [_describe(name, project) for name in _store_names()]
    return sorted(known, key=lambda store: store.changed_at, reverse=True)


def list_places() -> dict[str, str]:
    """The places that have a store of their own on this machine and still exist, by the id of their project."""
    root = data_root()
    names = os.listdir(root) if os.path.isdir(root) else []
    records = [(name, read_record(record_file(name))) for name in sorted(names) if not name.startswith(".")]
    return {name: record.place for name, record in records if record and carries(record.place, name)}


def _store_names() -> list[str]:
    root = data_root()
    names = os.listdir(root) if os.path.isdir(root) else []
    return [n for n in names if not n.startswith(".") and os.path.exists(os.path.join(root, n, STORE_FILE))]


def _describe(name: str, project: Project) -> KnownStore:
    record = read_record(record_file(name))
    folder = os.path.join(data_root(), name)
    summary = summarise_file(os.path.join(folder, STORE_FILE))
    return KnownStore(
        id=name,
        place=project.repo if name == project.id else record.place if record else "",
        state=_find_whereabouts(name, record.place if record else "", project),
        tasks=summary.tasks,
        bytes=summary.bytes,
        changed_at=summary.changed_at,
        has_worktrees=_has_worktrees(os.path.join(folder, "worktrees")),
    )


def _find_whereabouts(name: str, place: str, project: Project) -> Whereabouts:
    if name == project.id:
        return "here"
    if not place:
        return "unknown"
    return "there" if carries(place, name) else "gone"


def find_lost(project: Project) -> list[KnownStore]:
    """Stores with tasks whose place is gone and had the same name as this one: it may have been this one."""
    called = os.path.basename(project.repo)
    records = [(name, read_record(record_file(name))) for name in _store_names() if name != project.id]
    similar = [name for name, record in records if record and os.path.basename(record.place) == called]
    stores = [_describe(name, project) for name in similar]
    return [store for store in stores if store.state == "gone" and store.tasks != 0]


def announce_new_store(project: Project) -> None:
    """Notes on stderr what a person should know before a new, empty store is used."""
    if original := project.identity.copied_from:
        _note(f"this is a copy of {original}, which keeps its tasks; this copy gets a new, empty store")
    for store in find_lost(project):
        _note(
            f"this project gets a new, empty store; {store.place} is gone and left {_count(store.tasks)} behind; "
            f"'bn store adopt {store.id}' takes them over"
        )


def examine_place(project: Project, *, tasks: int) -> list[StoreFinding]:
    """Problems with the place of the project and with its id."""
    found: list[StoreFinding] = []
    if original := project.identity.copied_from:
        found.append(StoreFinding(severity="info", check="place", message=f"this is a copy of {show_path(original)}"))
    record = read_record(record_file(project.id))
    if project.place.git_dir and record and record.kept == "path":
        message = f"the project's id cannot be kept in {show_path(project.place.git_dir)}"
        hint = "the id depends on the path, so moving the repository loses the tasks; make git's folder writable"
        found.append(StoreFinding(severity="info", check="place", message=message, hint=hint))
    if record and _is_shared(record.place, project):
        message = f"{show_path(record.place)} has the same id and shares this store"
        hint = "remove the file info/binnacle from git's folder in the copy"
        found.append(StoreFinding(severity="warning", check="place", message=message, hint=hint))
    for store in () if project.settings.text("store.url") else find_lost(project):
        message = f"{show_path(store.place)} is gone and left {_count(store.tasks)} in the store {store.id}"
        hint = f"if it was this project: bn store adopt {store.id}; if you do not need it: bn store prune {store.id}"
        severity: Literal["warning", "info"] = "info" if tasks else "warning"
        found.append(StoreFinding(severity=severity, check="lost store", message=message, hint=hint))
    return found


def _is_shared(recorded: str, project: Project) -> bool:
    """Whether another repository, not the same one under another path, has the id of this one."""
    if recorded == project.repo or not carries(recorded, project.id):
        return False
    return project.place.git_dir is None or not is_same_repository(recorded, project.place.git_dir)


def adopt(project: Project, key: str, *, force: bool = False) -> KnownStore:
    """Makes a store whose place is gone this project's store, and returns it.

    Raises:
        Refused: it is in use elsewhere, or this project already has tasks.
    """
    if project.settings.text("store.url"):
        raise ConfigError(
            "this project's tasks are in PostgreSQL, and a store on disk cannot be adopted",
            hint="name the project in the database with: bn config set store.project NAME",
        )
    stores = list_stores(project)
    wanted = find_store(stores, key)
    if wanted.state == "here":
        return wanted
    _check_adoptable(wanted, stores, force=force)
    try:
        if project.place.git_dir is None:
            _rename_to(project, wanted)
        else:
            become(project.place, wanted.id)
    except OSError as error:
        raise StoreReadOnly(f"cannot adopt {wanted.id}: {error.strerror}", hint="nothing was changed") from error

    now = find_project(project.repo)
    return find_store(list_stores(now), now.id)


def _check_adoptable(wanted: KnownStore, stores: Sequence[KnownStore], *, force: bool) -> None:
    if wanted.state == "there":
        raise Refused(
            f"{wanted.id} belongs to {show_path(wanted.place)}, which exists",
            hint=f"copy its tasks with: bn -C {show_path(wanted.place)} store export - | bn store import -",
        )
    if wanted.state == "unknown" and not force:
        raise Refused(
            f"{wanted.id} was made by an older Binnacle, and its place is unknown",
            hint="run any bn command in the repository it belongs to; --force adopts it if there is none",
        )
    for store in stores:
        if store.state == "here" and not store.is_empty:
            raise Refused(
                f"this project already has {_count(store.tasks)}",
                hint=f"keep them: bn store export keep.jsonl; bn store clear --yes; bn store adopt {wanted.id}; "
                "bn store import keep.jsonl",
            )


def _rename_to(project: Project, wanted: KnownStore) -> None:
    """Renames a store to the name derived from the path, as outside of git. The empty one there is removed."""
    become(project.place, wanted.id)
    if os.path.lexists(project.data_dir):
        os.rename(project.data_dir, _removed_name(project.id))
    os.rename(os.path.join(data_root(), wanted.id), project.data_dir)


def find_store(stores: Sequence[KnownStore], key: str) -> KnownStore:
    """The store with the id `key`, or the only one whose id begins with it."""
    found = [store for store in stores if store.id == key] or [store for store in stores if store.id.startswith(key)]
    if not found:
        raise NotFound(f"no store is called {key!r}", hint="list them with: bn store list")
    if len(found) > 1:
        raise Ambiguous(f"several stores begin with {key!r}", hint=", ".join(store.id for store in found[:5]))
    return found[0]


def _has_worktrees(folder: str) -> bool:
    """Whether a run has left anything where its workers work."""
    with suppress(FileNotFoundError, NotADirectoryError):
        runs = (os.path.join(folder, name, "trees") for name in os.listdir(folder))
        return any(os.path.isdir(trees) and os.listdir(trees) for trees in runs)
    return False


def choose_prunable(stores: Sequence[KnownStore], keys: Sequence[str], *, with_tasks: bool) -> list[KnownStore]:
    """The stores to remove: the named ones, or all whose place is gone and that are empty (or `with_tasks`)."""
    if not keys:
        gone = (store for store in stores if store.state == "gone" and not store.has_worktrees)
        return [store for store in gone if store.is_empty or with_tasks]
    chosen = [find_store(stores, key) for key in keys]
    for store in chosen:
        if store.state in ("here", "there"):
            raise Refused(
                f"{store.id} is in use by {show_path(store.place)}", hint="empty it with: bn store clear --yes"
            )
        if store.has_worktrees:
            place = os.path.join(data_root(), store.id, "worktrees")
            hint = f"save what you need from {show_path(place)}, and remove it yourself"
            raise Refused(f"{store.id} has working trees of runs, with work that may be nowhere else", hint=hint)
    return chosen


def remove(stores: Sequence[KnownStore]) -> None:
    """Removes the data of these stores, and what an earlier, killed removal left."""
    import shutil

    root = data_root()
    try:
        for store in stores:
            os.rename(os.path.join(root, store.id), _removed_name(store.id))
        for name in os.listdir(root) if os.path.isdir(root) else ():
            if name.startswith(REMOVED_PREFIX):
                shutil.rmtree(os.path.join(root, name))
    except OSError as error:
        message = f"cannot remove {error.filename}: {error.strerror}"
        raise StoreReadOnly(message, hint="check its permissions") from error


def _removed_name(project_id: str) -> str:
    return os.path.join(data_root(), f"{REMOVED_PREFIX}{project_id}-{os.urandom(4).hex()}")


def _count(tasks: int | None) -> str:
    return "a store that cannot be read" if tasks is None else f"{tasks} task{'s' if tasks != 1 else ''}"


def _note(text: str) -> None:
    shown = "".join(c if c.isprintable() else " " for c in show_path(text))
    sys.stderr.write(f"note: {shown}\n")
