"""Which project a place is: an id of its own, that its data directory is named after.

Theory of operation. A repository's id is kept in a file in git's common folder
(`info/binnacle`): all worktrees share it, it moves with the repository, and neither a
clone nor `git clean` touches it. The file also has the place where it was written, and
the data directory has a record (`project`) that leads back there. So, reading the file:

* its place is here: this is the project. One small file was read; that is every day.
* its place is elsewhere, and there is a repository with the same id: this is a copy,
  and gets an id of its own.
* its place is elsewhere, and nothing there has this id: the repository was moved. The id
  stays, and the new place is written down when the store is next opened.
* there is no file: the project is new, or its data is older than the file. The id is
  then made from the path, as directories always were named. So what is there is found,
  nothing has to be renamed while someone uses it, and two processes that come at
  once agree without talking. A directory that belongs to another place is passed over.

The place in the data directory's record is asked as well before a repository counts as
moved: a file that came with an archive, or with a clone in which a bare repository is hidden,
cannot take over the data of a living project, in git or not.

Nothing is written here. `config.settlement` writes, when a store is made or an existing
one is opened. Git's folder may be read-only: then the id
follows from the path, as it does outside of git.
"""

import os
from typing import NamedTuple

from binnacle.config.directories import STORE_FILE, Place, data_root, git_place, project_key
from binnacle.config.project_record import ProjectRecord, read_record
from binnacle.errors import StoreError

RECORD_FILE = "project"
"""In a data directory: which place the data belongs to."""

MAX_ATTEMPTS = 100
"""Names tried for a data directory before giving up; each was taken by another project at the same path."""


class ProjectIdentity(NamedTuple):
    """Which project a place is."""

    id: str
    """Name of its data directory."""

    is_settled: bool
    """Whether git's folder says so, in as many words."""

    copied_from: str = ""
    """The repository this one was copied from, until it has an id of its own."""

    @property
    def data_dir(self) -> str:
        return os.path.join(data_root(), self.id)

    @property
    def is_written(self) -> bool:
        """Whether both records are there, and nothing is left to settle."""
        return self.is_settled and os.path.exists(record_file(self.id))


def id_file(git_dir: str) -> str:
    """The file in git's common folder that has the id."""
    # Below `info`, where git keeps files of this kind: git takes a name like `.git/binnacle` for a branch.
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
    """Whether a folder outside of git has a store that is its own."""
    folder = os.path.join(data_root(), _own_id(place))
    return os.path.exists(os.path.join(folder, STORE_FILE)) or os.path.exists(os.path.join(folder, RECORD_FILE))


def carries(folder: str, project_id: str) -> bool:
    """Whether the project in `folder` is `project_id`, by what is written there."""
    if not os.path.isdir(folder):
        return False
    place = git_place(folder) or Place(folder, None, is_known=True)
    return _marked_id(place) == project_id or (not _marked_id(place) and _own_id(place) == project_id)


def _identify_unmarked(place: Place) -> ProjectIdentity:
    own = _own_id(place)
    # Between two looks another process may have settled it; what it wrote holds.
    known = read_record(id_file(place.git_dir)) if place.git_dir else None
    if known and known.place == place.repo:
        return ProjectIdentity(known.id, is_settled=True)
    return ProjectIdentity(own, is_settled=False)


def _own_id(place: Place) -> str:
    """The id that follows from the path: of the first data directory that no other place has."""
    for attempt in range(MAX_ATTEMPTS):
        key = project_key(place.repo, attempt=attempt)
        record = read_record(record_file(key))
        if record is None or _belongs_to(record, place):
            return key
    raise StoreError(
        f"no name is left for the data of {place.repo}", hint="remove what is not used any more: bn store prune"
    )


def _belongs_to(record: ProjectRecord, place: Place) -> bool:
    """Whether the data of a place that has no id is that of `record`.

    At the same path there may be another repository by now, the first one having moved.
    It is the same if it is the same folder, or a new clone of the same origin.
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
        return stored.place  # its id follows from its path: no file there has to say so
    for folder in (known.place, stored.place if stored else ""):
        there = git_place(folder) if folder not in ("", place.repo) else None
        if there and _marked_id(there) == known.id:
            return folder
    return ""


def _marked_id(place: Place) -> str:
    """The id in git's folder; empty where there is none."""
    known = read_record(id_file(place.git_dir)) if place.git_dir else None
    return known.id if known else ""


def is_same_repository(folder: str, git_dir: str) -> bool:
    """Whether the repository at `folder` is the one of `git_dir` under another path, as a mount makes it."""
    there = git_place(folder)
    if there is None or there.git_dir is None:
        return False
    try:
        return os.path.samefile(there.git_dir, git_dir)
    except OSError:
        return False


def inode_of(folder: str) -> str:
    """The number of the folder on its disk; empty if it is not there."""
    try:
        return str(os.stat(folder).st_ino)
    except OSError:
        return ""
