"""Opens the files of a project, and never anything else: no link leads out of the repository.

A clone may hold a link at any place: a file, a folder, an absolute path, one with `..`. A link to another file of the
same repository is common and fine (`AGENTS.md` for `CLAUDE.md`). One that leads out would have us read or overwrite
what the person keeps elsewhere, and one that leads into git's own folder would have us read its credentials or write
its hooks. So both are refused.

How it is done: the path is walked from the root, one name at a time, each opened relative to the folder before it and
without following links (`O_NOFOLLOW`). Only if that meets a link is the path resolved; it must then lie in the root,
and the resolved names are walked in the same way. So nobody can exchange a folder for a link between the check and the
use. What is opened is a plain file of a bounded size: a pipe or a device would have us wait or read for ever.

Every refusal is an `OSError`, as a missing file is one. So whoever can do without the file is none the wiser, and
whoever cannot says why: `strerror` has the reason and `hint_of` the next step.

A path that leads through `.binnacle` or `.beans` is that of a project's file, whoever opens it (`root_of`), so code
that reads or writes files of both kinds cannot forget it (`read_file`). For all other files of a project the root is
given. Links among the files of the person's own configuration are the person's, and are followed.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

MAX_FILE_BYTES = 8 << 20
"""A file that people write and we read is far smaller."""

PROJECT_FOLDERS = (".binnacle", ".beans")
"""Where a project keeps files for us, in every repository. No folder of a person's own is called so."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""How systems say that a name is a link where none may be."""


class UnsafeFile(OSError):
    """A file of a project that is not opened: it lies elsewhere, is no plain file, or is too large."""

    def __init__(self, path: str, problem: str, *, hint: str) -> None:
        super().__init__(errno.EPERM, problem, path)
        self.hint = hint


def hint_of(error: Exception, otherwise: str = "check the file's permissions") -> str:
    """The next step for whoever needs the file."""
    return error.hint if isinstance(error, UnsafeFile) else otherwise


def root_of(path: str) -> str | None:
    """The repository whose file a path names by going through a folder of ours; None for any other path."""
    names = os.path.abspath(path).split(os.sep)
    for index in range(len(names) - 1, 0, -1):
        if names[index] in PROJECT_FOLDERS:
            return os.sep.join(names[:index]) or os.sep
    return None


def read_file(path: str, *, root: str | None = None) -> bytes:
    """The content of a file: of the project in `root`, of any project by its path, or of the person's own.

    Raises:
        FileNotFoundError: it is not there.
        UnsafeFile: it is a project's, and may not be opened.
        OSError: it cannot be read.
    """
    if (top := root or root_of(path)) is not None:
        return read_inside(top, os.path.abspath(path))
    with open(path, "rb") as file:
        return file.read()


def read_inside(root: str, path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """The content of a plain file of the repository.

    Raises:
        FileNotFoundError: it is not there.
        UnsafeFile: it is not one, leads out of the repository, or is larger than `limit`.
        OSError: it cannot be read.
    """
    with open(open_inside(root, path), "rb", buffering=0) as file:
        content = b"".join(_chunks(file.fileno(), limit + 1))
    if len(content) > limit:
        raise UnsafeFile(path, f"it is larger than {limit} bytes", hint="make it smaller, or take it away")
    return content


def open_inside(root: str, path: str) -> int:
    """A descriptor to read a plain file of the repository with. Raises as `read_inside` does."""
    with _folder_of(root, path) as (folder, name):
        handle = os.open(name, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _not_plain(path)
    return handle


def write_inside(root: str, path: str, content: bytes, *, mode: int | None = None, is_new: bool = False) -> None:
    """Puts `content` in the place of a file of the repository; a link to it inside of the repository stays one.

    Nobody sees half of it, and it outlives a crash of the machine. Folders on the way are made.

    Args:
        mode: of the file; where it is left out, that of the file before, or what is usual for a new one.
        is_new: there must be no such file.

    Raises:
        FileExistsError: there is one, and there must be none.
        UnsafeFile: it leads out of the repository, or is no plain file.
        OSError: it cannot be written.
    """
    with _folder_of(root, path, make=True) as (folder, name):
        there = _look(folder, name)
        if there is not None and is_new:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if there is not None and not stat.S_ISREG(there.st_mode):
            raise _not_plain(path)
        kept = stat.S_IMODE(there.st_mode) if there is not None else 0o644
        _replace(folder, name, content, mode=kept if mode is None else mode, is_new=is_new)


def remove_inside(root: str, path: str) -> None:
    """Takes a file of the repository away. Raises as `write_inside` does."""
    with _folder_of(root, path) as (folder, name):
        os.unlink(name, dir_fd=folder)


def list_inside(root: str, path: str) -> list[str]:
    """The names in a folder of the repository, sorted; none if there is no such folder.

    Raises:
        UnsafeFile: it leads out of the repository.
        OSError: it cannot be read.
    """
    try:
        handle = _open_folder(root, path)
    except FileNotFoundError:
        return []
    try:
        return sorted(os.listdir(handle))
    finally:
        os.close(handle)


def find_inside(root: str, path: str) -> os.stat_result | None:
    """What is there, where a link inside of the repository leads; None if nothing is, or it leads out."""
    with suppress(OSError), _folder_of(root, path) as (folder, name):
        return _look(folder, name)
    return None


def is_file_inside(root: str, path: str) -> bool:
    """Whether it is a plain file of the repository."""
    found = find_inside(root, path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder_inside(root: str, path: str) -> bool:
    """Whether it is a folder of the repository."""
    found = find_inside(root, path)
    return found is not None and stat.S_ISDIR(found.st_mode)


@contextmanager
def folder_inside(root: str, path: str) -> Iterator[int]:
    """A descriptor of the folder that a file of the repository is in, made if it is not there."""
    with _folder_of(root, path, make=True) as (folder, _):
        yield folder


def _chunks(handle: int, limit: int) -> Iterator[bytes]:
    while limit > 0 and (chunk := os.read(handle, min(limit, 1 << 20))):
        limit -= len(chunk)
        yield chunk


@contextmanager
def _folder_of(root: str, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder of a file and its name in there, which is no link at this moment."""
    names = _names(root, path)
    handle = -1
    if ".." not in names:
        with suppress(_MetLink):
            handle = _walk(root, names[:-1], make=make)
    if handle >= 0 and _is_link(handle, names[-1]):
        os.close(handle)
        handle = -1
    if handle < 0:
        names = _resolve(root, path)
        handle = _walk_resolved(root, names[:-1], path, make=make)
        if _is_link(handle, names[-1]):  # to itself
            os.close(handle)
            raise _leads_out(path)
    try:
        yield handle, names[-1]
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _leads_out(path) from error
        raise
    finally:
        os.close(handle)


def _open_folder(root: str, path: str) -> int:
    names = _names(root, path)
    if ".." not in names:
        with suppress(_MetLink):
            return _walk(root, names)
    return _walk_resolved(root, _resolve(root, path), path)


def _walk_resolved(root: str, names: list[str], path: str, *, make: bool = False) -> int:
    """The folder of names that were no links a moment ago."""
    try:
        return _walk(os.path.realpath(root), names, make=make)
    except _MetLink as error:
        if isinstance(error.__cause__, NotADirectoryError):
            raise error.__cause__ from None
        raise _leads_out(path) from error


class _MetLink(Exception):
    """A name on the way is a link, or no folder."""


def _walk(root: str, names: list[str], *, make: bool = False) -> int:
    """A descriptor of the folder below the root that has these names. No link is followed."""
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=here)
            below = os.open(name, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
    except OSError as error:
        os.close(here)
        if error.errno in _LINK_ERRORS:
            raise _MetLink from error
        raise
    return here


def _names(root: str, path: str) -> list[str]:
    """The names from the root to a path, as they are written. Whoever audits the process is told of it."""
    sys.audit("binnacle.inside", root, path)
    if os.path.isabs(path):
        above = root if is_below(root, path) else os.path.realpath(root)
        if not is_below(above, path):
            raise _leads_out(path)
        path = path[len(above.rstrip(os.sep)) + 1 :]
    names = [name for name in path.split(os.sep) if name not in ("", ".")]
    if not names:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    _check_not_git(path, names)
    return names


def _check_not_git(path: str, names: list[str]) -> None:
    """Git's folder has credentials and programs that git runs. Upper case is the same on some systems."""
    if any(name.lower() == ".git" for name in names):
        raise UnsafeFile(path, "it leads into git's own folder", hint="put a plain file in its place")


def _resolve(root: str, path: str) -> list[str]:
    """The names from the real root to where a path really leads.

    Raises:
        UnsafeFile: that is out of the root, or in git's own folder.
    """
    top = os.path.realpath(root)
    target = os.path.realpath(os.path.join(top, *_names(root, path)))
    if not is_below(top, target):
        raise _leads_out(path)
    names = target[len(top.rstrip(os.sep)) + 1 :].split(os.sep)
    _check_not_git(path, names)
    return names


def is_below(root: str, path: str) -> bool:
    """Whether a path names something below a folder, as far as its letters say."""
    return path.startswith(root.rstrip(os.sep) + os.sep)


def _look(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _is_link(folder: int, name: str) -> bool:
    found = _look(folder, name)
    return found is not None and stat.S_ISLNK(found.st_mode)


def _replace(folder: int, name: str, content: bytes, *, mode: int, is_new: bool) -> None:
    temporary = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(handle, mode)
            file.flush()
            os.fsync(handle)
        if is_new:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    os.unlink(temporary, dir_fd=folder)


def _leads_out(path: str) -> UnsafeFile:
    return UnsafeFile(path, "it leads out of the repository", hint="put a plain file in the place of the link")


def _not_plain(path: str) -> UnsafeFile:
    return UnsafeFile(path, "it is no plain file", hint="put a plain file in its place")
