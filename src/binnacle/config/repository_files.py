"""Opens the files of a project, and never anything else: no link leads out of the repository.

A clone may contain links anywhere: to a file, to a folder, with an absolute path, with `..`. A link to another file of
the same repository is common and fine (`AGENTS.md` for `CLAUDE.md`). A link that leads out could make us read or
overwrite the person's other files, and a link into git's own folder could make us read its credentials or write its
hooks. So both are refused.

How it works: the path is walked from the root, one name at a time, each opened relative to the folder before it and
without following links (`O_NOFOLLOW`). Only if there is a link, the path is resolved; the result must be inside the
root, and the resolved names are walked in the same way. So no one can replace a folder by a link between the check and
the use. Only regular files of a limited size are opened: a pipe or a device could block us or never end.

Every refusal is an `OSError`, like a missing file. So code that does not need the file treats it as missing, and code
that needs it reports why: `strerror` has the reason and `hint_of` the next step.

A path through `.binnacle` or `.beans` always counts as a project's file (`root_of`), so code that reads or writes both
kinds of files cannot forget it (`read_file`). For all other files of a project the root is given. Links among the
person's own configuration files are followed.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

MAX_FILE_BYTES = 8 << 20
"""Files that people write for us are far smaller."""

PROJECT_FOLDERS = (".binnacle", ".beans")
"""Folders of a repository with files for us. The person's own folders never have these names."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""The errors of different systems for a link where none is allowed."""


class UnsafeFile(OSError):
    """A file of a project that must not be opened: it is elsewhere, is not a regular file, or is too large."""

    def __init__(self, path: str, problem: str, *, hint: str) -> None:
        super().__init__(errno.EPERM, problem, path)
        self.hint = hint


def hint_of(error: Exception, otherwise: str = "check the file's permissions") -> str:
    """The hint for an error that needs the file."""
    return error.hint if isinstance(error, UnsafeFile) else otherwise


def root_of(path: str) -> str | None:
    """The repository of a path through one of `PROJECT_FOLDERS`; None for any other path."""
    names = os.path.abspath(path).split(os.sep)
    for index in range(len(names) - 1, 0, -1):
        if names[index] in PROJECT_FOLDERS:
            return os.sep.join(names[:index]) or os.sep
    return None


def read_file(path: str, *, root: str | None = None) -> bytes:
    """The content of a file: of the project in `root`, of any project by its path, or of the person.

    Raises:
        FileNotFoundError: it does not exist.
        UnsafeFile: it is a project's file and must not be opened.
        OSError: it cannot be read.
    """
    if (top := root or root_of(path)) is not None:
        return read_inside(top, os.path.abspath(path))
    with open(path, "rb") as file:
        return file.read()


def read_inside(root: str, path: str, *, limit: int = MAX_FILE_BYTES) -> bytes:
    """The content of a regular file of the repository.

    Raises:
        FileNotFoundError: it does not exist.
        UnsafeFile: it is not a regular file, leads out of the repository, or is larger than `limit`.
        OSError: it cannot be read.
    """
    with open(open_inside(root, path), "rb", buffering=0) as file:
        content = b"".join(_chunks(file.fileno(), limit + 1))
    if len(content) > limit:
        raise UnsafeFile(path, f"it is larger than {limit} bytes", hint="make it smaller, or remove it")
    return content


def open_inside(root: str, path: str) -> int:
    """A descriptor to read a regular file of the repository. Raises like `read_inside`."""
    with _folder_of(root, path) as (folder, name):
        handle = os.open(name, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _not_plain(path)
    return handle


def write_inside(root: str, path: str, content: bytes, *, mode: int | None = None, is_new: bool = False) -> None:
    """Replaces a file of the repository atomically; a link to it inside of the repository stays a link.

    The new file survives a crash of the machine. Missing folders are created.

    Args:
        mode: of the file; by default that of the old file, or the usual one for a new file.
        is_new: there must be no such file.

    Raises:
        FileExistsError: it exists, but `is_new`.
        UnsafeFile: it leads out of the repository, or is not a regular file.
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
    """Removes a file of the repository. Raises like `write_inside`."""
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
    """The `stat` of a path, after links inside of the repository; None if nothing is there, or it leads out."""
    with suppress(OSError), _folder_of(root, path) as (folder, name):
        return _look(folder, name)
    return None


def is_file_inside(root: str, path: str) -> bool:
    """Whether it is a regular file of the repository."""
    found = find_inside(root, path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder_inside(root: str, path: str) -> bool:
    """Whether it is a folder of the repository."""
    found = find_inside(root, path)
    return found is not None and stat.S_ISDIR(found.st_mode)


@contextmanager
def folder_inside(root: str, path: str) -> Iterator[int]:
    """A descriptor of the folder of a file in the repository, created if it does not exist."""
    with _folder_of(root, path, make=True) as (folder, _):
        yield folder


def _chunks(handle: int, limit: int) -> Iterator[bytes]:
    while limit > 0 and (chunk := os.read(handle, min(limit, 1 << 20))):
        limit -= len(chunk)
        yield chunk


@contextmanager
def _folder_of(root: str, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder of a file and its name there, which is not a link at this moment."""
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
    """A descriptor of the folder with resolved names."""
    try:
        return _walk(os.path.realpath(root), names, make=make)
    except _MetLink as error:
        if isinstance(error.__cause__, NotADirectoryError):
            raise error.__cause__ from None
        raise _leads_out(path) from error


class _MetLink(Exception):
    """A name on the path is a link, or not a folder."""


def _walk(root: str, names: list[str], *, make: bool = False) -> int:
    """A descriptor of the folder at these names below the root. No link is followed."""
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
    """The names from the root to a path, as written. It raises an audit event, which tests use."""
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
    """Refuses git's folder, which has credentials and programs. Some systems ignore upper case."""
    if any(name.lower() == ".git" for name in names):
        raise UnsafeFile(path, "it leads into git's own folder", hint="replace it by a regular file")


def _resolve(root: str, path: str) -> list[str]:
    """The names from the real root to the resolved path.

    Raises:
        UnsafeFile: the resolved path is outside of the root, or in git's own folder.
    """
    top = os.path.realpath(root)
    target = os.path.realpath(os.path.join(top, *_names(root, path)))
    if not is_below(top, target):
        raise _leads_out(path)
    names = target[len(top.rstrip(os.sep)) + 1 :].split(os.sep)
    _check_not_git(path, names)
    return names


def is_below(root: str, path: str) -> bool:
    """Whether a path is below a folder, judged only by its text."""
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
    return UnsafeFile(path, "it leads out of the repository", hint="replace the link by a regular file")


def _not_plain(path: str) -> UnsafeFile:
    return UnsafeFile(path, "it is not a regular file", hint="replace it by a regular file")
