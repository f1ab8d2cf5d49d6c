"""Reads, locks, backs up and replaces the files of other programs.

A backup is the file before a change, byte for byte and with its permissions, next to it as `NAME.bak`. A backup is
never overwritten: if `NAME.bak` has other content, the next is `NAME.bak.1`, and so on. If a backup already has the old
text, no new one is made. So repeated changes back and forth leave only two backups.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import count

from binnacle.config import repository_files
from binnacle.config.file_replacement import replace_file
from binnacle.config.private_files import make_folder
from binnacle.errors import ConfigError

_LOCK_TIMEOUT_SECONDS = 10.0
"""How long to wait for the lock. Its holder writes one small file."""


def read(path: str, *, root: str | None = None) -> str | None:
    """The text of a file, including line endings and byte order mark; None if it does not exist.

    `root` is the repository, for a file of a project; see `config.repository_files`.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8.
    """
    try:
        return repository_files.read_file(path, root=root).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not UTF-8 at byte {error.start}",
            hint="save the file as UTF-8 and run this again; it was not changed",
            details={"file": path},
        ) from error
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}", hint=repository_files.hint_of(error), details={"file": path}
        ) from error


@contextmanager
def locked(path: str, *, root: str | None = None) -> Generator[None]:
    """Keeps other `bn` processes from changing files in the same directory. Creates the directory if necessary."""
    try:
        handle = _open_folder(path, root)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        _wait_for_lock(handle, os.path.dirname(path))
        yield
    finally:
        os.close(handle)


def _open_folder(path: str, root: str | None) -> int:
    if (top := root or repository_files.root_of(path)) is not None:
        with repository_files.folder_inside(top, path) as handle:
            return os.dup(handle)
    folder = os.path.dirname(os.path.realpath(path))
    make_folder(folder)
    return os.open(folder, os.O_RDONLY | os.O_CLOEXEC)


def _wait_for_lock(handle: int, folder: str) -> None:
    from binnacle.config.file_lock import wait_for_lock

    try:
        wait_for_lock(handle, timeout_seconds=_LOCK_TIMEOUT_SECONDS)
    except TimeoutError as error:
        raise ConfigError(f"locked by another bn: {folder}", hint="try again when it has ended") from error


def write(path: str, *, before: str | None, after: str | None, root: str | None = None) -> str | None:
    """Replaces the text of a file, or removes the file. Returns the path of the backup, if there is one.

    Raises:
        ConfigError: it cannot be written; it is unchanged.
    """
    top = root or repository_files.root_of(path)
    try:
        if after is None:
            _remove(path, top)
            return None
        backup = None if before is None else _back_up(path, before, top)
    except OSError as error:
        raise _unwritable(path, error) from error
    replace_file(path, after, root=top)
    return backup


def backups(path: str, *, root: str | None = None) -> Iterator[str]:
    """The texts of the backups of a file, oldest first."""
    for name in _names(path):
        if not os.path.lexists(name):
            return
        with suppress(ConfigError):  # someone else's file of that name
            yield read(name, root=root) or ""


def _remove(path: str, root: str | None) -> None:
    if root is None:
        os.unlink(os.path.realpath(path))
    else:
        repository_files.remove_inside(root, path)


def _back_up(path: str, text: str, root: str | None) -> str:
    for name in _names(path):
        if not os.path.lexists(name):
            _create(name, text, root, mode=os.stat(path).st_mode & 0o777)
            return name
        with suppress(ConfigError):
            if read(name, root=root) == text:
                return name
    raise AssertionError("names never end")


def _names(path: str) -> Iterator[str]:
    yield f"{path}.bak"
    for number in count(1):
        yield f"{path}.bak.{number}"


def _create(path: str, text: str, root: str | None, *, mode: int) -> None:
    """Writes a new file. It has its mode from the start, so that only readers of the old file can read it."""
    if root is not None:
        repository_files.write_inside(root, path, text.encode(), mode=mode, is_new=True)
        return
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(text.encode())
            file.flush()
            os.fsync(handle)
    except BaseException:
        os.unlink(path)
        raise


def _unwritable(path: str, error: OSError) -> ConfigError:
    hint = repository_files.hint_of(error, "check permissions and free space")
    return ConfigError(f"cannot write {path}: {error.strerror}", hint=hint, details={"file": path})
