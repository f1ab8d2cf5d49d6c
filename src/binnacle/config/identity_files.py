"""Records which project a place is: in the data directory, and in git's folder.

`config.identity` has the rules. The data directory is written first, so that the data can
be found even if the process is killed before the second write.
"""

import contextlib
import os

from binnacle.config.directories import Place
from binnacle.config.git_config import read_origin
from binnacle.config.identity import ProjectIdentity, id_file, inode_of, record_file
from binnacle.config.private_files import make_private_folder
from binnacle.config.project_record import ProjectRecord, create_record, read_record, write_record
from binnacle.errors import StoreError


def settle(place: Place, identity: ProjectIdentity) -> None:
    """Records which project `place` is, unless that is recorded already.

    Raises:
        StoreError: someone made it another project meanwhile.
    """
    if identity.is_written:
        return
    _keep_place(place, identity.id, kept="git" if place.git_dir else "path")
    if place.git_dir is None or identity.is_settled:
        return
    if not _keep_id(place.git_dir, _new_record(place, identity.id)):
        _keep_place(place, identity.id, kept="path")


def become(place: Place, project_id: str) -> None:
    """Makes `place` the project `project_id`, whatever it was.

    Raises:
        OSError: it cannot be recorded.
    """
    _keep_place(place, project_id, kept="git" if place.git_dir else "path")
    if place.git_dir is not None:
        write_record(id_file(place.git_dir), _new_record(place, project_id))


def read_kept(place: Place, project_id: str) -> ProjectRecord | None:
    """The record of the project: from git's folder, or else from its data directory."""
    return (read_record(id_file(place.git_dir)) if place.git_dir else None) or read_record(record_file(project_id))


def remember_root(place: Place, root: str) -> None:
    """Records the first commit with the id, so that git is asked for it only once."""
    known = read_record(id_file(place.git_dir)) if place.git_dir else None
    if place.git_dir and known and root:
        with contextlib.suppress(OSError):  # asked again next time
            write_record(id_file(place.git_dir), known._replace(root=root))


def _keep_id(git_dir: str, wanted: ProjectRecord) -> bool:
    """Writes the id into git's folder. Returns whether it is there."""
    file = id_file(git_dir)
    try:
        known = read_record(file)
        if known is None and create_record(file, wanted):
            return True
        known = known or read_record(file)
        if known and (known.id, known.place) == (wanted.id, wanted.place):
            return True
        if known and known.place == wanted.place:
            raise StoreError(
                f"{wanted.place} has become the project {known.id} meanwhile",
                hint="nothing was changed; run it again, and restart servers that run here",
            )
        is_moved = known is not None and known.id == wanted.id
        write_record(file, known._replace(place=wanted.place) if known and is_moved else wanted)
    except OSError:
        return False
    return True


def _keep_place(place: Place, project_id: str, *, kept: str) -> None:
    origin = read_origin(place.git_dir) if place.git_dir else ""
    file = record_file(project_id)
    news = {"place": place.repo, "kept": kept, "inode": inode_of(place.repo), "origin": origin}
    with contextlib.suppress(OSError):  # opening the store will report why it cannot be written
        make_private_folder(os.path.dirname(file))
        known = read_record(file)
        if known is None and create_record(file, _new_record(place, project_id)._replace(**news)):
            return
        known = known or read_record(file)
        if known and known._replace(**news) != known:
            write_record(file, known._replace(**news))


def _new_record(place: Place, project_id: str) -> ProjectRecord:
    return ProjectRecord(project_id, place.repo, mark=os.urandom(8).hex())
