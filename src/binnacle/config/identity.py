"""Which project a place is: its id, which is also the name of its data directory.

Theory of operation. A repository's id is in a file in git's common folder
(`info/binnacle`): all worktrees share it, it moves with the repository, and neither a
clone nor `git clean` touches it. The file also has the place where it was written, and
the data directory has a record (`project`) with the same place. These cases exist:

* The place in the file is here: this is the project. This is the usual case, and reads
  only one small file.
* The place is elsewhere, and there is a repository with the same id: this is a copy,
  and gets a new id.
* The place is elsewhere, and nothing there has this id: the repository was moved. The id
  stays, and the new place is recorded when the store is next opened.
* There is no file: the project is new, or its data is older than the file. The id is
  then made from the path, as older versions named directories. So existing data is
  found, nothing has to be renamed while in use, and two simultaneous processes choose
  the same id. A directory that belongs to another place is skipped.

The place in the data directory's record is checked too before a repository counts as
moved: a file from an archive, or from a clone in which a bare repository is hidden,
cannot take over the data of an existing project, in git or not.

Nothing is written here. `config.identity_files` writes, when a store is created or an
existing one is opened. If git's folder is read-only, the id is derived from the path, as
it is outside of git.
"""

import os
from typing import NamedTuple

from binnacle.config.directories import STORE_FILE, Place, data_root, git_place, project_key
from binnacle.config.project_record import ProjectRecord, read_record
from binnacle.errors import StoreError

RECORD_FILE = "project"
"""File in a data directory that says which place the data belongs to."""

MAX_ATTEMPTS = 100
"""Names tried for a data directory; each may be taken by another project that was at the same path."""


class ProjectIdentity(NamedTuple):
    """Which project a place is."""

    id: str
    """Name of its data directory."""

    is_settled: bool
    """Whether git's folder has this id and this place."""

    copied_from: str = ""
    """The repository that this one was copied from, until it has its own id."""

    @property
    def data_dir(self) -> str:
        return os.path.join(data_root(), self.id)

    @property
    def is_written(self) -> bool:
        """Whether both records exist, so that nothing is left to write."""
        return self.is_settled and os.path.exists(record_file(self.id))


def id_file(git_dir: str) -> str:
    """The file in git's common folder that has the id."""
    # Below `info`, where git keeps files of this kind: git would treat `.git/binnacle` as a branch.
    return os.path.join(git_dir, "info", "binnacle")


def record_file(project_id: str) -> str:
    """The file that says which place a data directory belongs to."""
    return os.path.join(data_root(), project_id, RECORD_FILE)


def identify(place: Place) -> ProjectIdentity:
    """Which project `place` is. Writes nothing."""
    if place.git_dir is None:
        return ProjectIdentity(_own_id(place), is_settled=False)
    known = read_record(id_file(place.git_dir))
    if known is None:
        return _identify_unmarked(place)
    if known.place == place.repo or is_same_repository(known.place, place.git_dir):
        return ProjectIdentity(known.id, is_settled=True)
    if original := _find_original(place, known):
        return _identify_unmarked(place)._replace(copied_from=original)
    return ProjectIdentity(known.id, is_settled=False)


def has_store(place: Place) -> bool:
    """Whether a folder outside of git has its own store."""
    folder = os.path.join(data_root(), _own_id(place))
    return os.path.exists(os.path.join(folder, STORE_FILE)) or os.path.exists(os.path.join(folder, RECORD_FILE))


def carries(folder: str, project_id: str) -> bool:
    """Whether the project in `folder` is `project_id`, according to its files."""
    if not os.path.isdir(folder):
        return False
    place = git_place(folder) or Place(folder, None, is_known=True)
    return _marked_id(place) == project_id or (not _marked_id(place) and _own_id(place) == project_id)


def _identify_unmarked(place: Place) -> ProjectIdentity:
    own = _own_id(place)
    # Another process may have written the id meanwhile; then that id counts.
    known = read_record(id_file(place.git_dir)) if place.git_dir else None
    if known and known.place == place.repo:
        return ProjectIdentity(known.id, is_settled=True)
    return ProjectIdentity(own, is_settled=False)


def _own_id(place: Place) -> str:
    """The id derived from the path: that of the first data directory that belongs to no other place."""
    for attempt in range(MAX_ATTEMPTS):
        key = project_key(place.repo, attempt=attempt)
        record = read_record(record_file(key))
        if record is None or _belongs_to(record, place):
            return key
    raise StoreError(f"no name is left for the data of {place.repo}", hint="remove unused stores: bn store prune")


def _belongs_to(record: ProjectRecord, place: Place) -> bool:
    """Whether `record` describes the data of a place that has no id.

    Another repository may be at the same path by now, if the first one was moved. It is
    the same one if it is the same folder, or a new clone of the same origin.
    """
    if record.place != place.repo:
        return False
    if record.kept == "path" or place.git_dir is None or record.inode == inode_of(place.repo):
        return True
    from binnacle.config.git_config import read_origin

    return bool(record.origin) and record.origin == read_origin(place.git_dir)


def _find_original(place: Place, known: ProjectRecord) -> str:
    """The repository that `place` is a copy of: another one that has the same id."""
    stored = read_record(record_file(known.id))
    if stored and stored.kept == "path" and stored.place != place.repo and carries(stored.place, known.id):
        return stored.place  # its id is derived from its path, so no file there has it
    for folder in (known.place, stored.place if stored else ""):
        there = git_place(folder) if folder not in ("", place.repo) else None
        if there and _marked_id(there) == known.id:
            return folder
    return ""


def _marked_id(place: Place) -> str:
    """The id in git's folder; empty if there is none."""
    known = read_record(id_file(place.git_dir)) if place.git_dir else None
    return known.id if known else ""


def is_same_repository(folder: str, git_dir: str) -> bool:
    """Whether the repository at `folder` is the one of `git_dir` under another path, for example by a mount."""
    there = git_place(folder)
    if there is None or there.git_dir is None:
        return False
    try:
        return os.path.samefile(there.git_dir, git_dir)
    except OSError:
        return False


def inode_of(folder: str) -> str:
    """The inode of a folder; empty if it does not exist."""
    try:
        return str(os.stat(folder).st_ino)
    except OSError:
        return ""
