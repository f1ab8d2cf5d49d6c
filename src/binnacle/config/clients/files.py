"""Reads, locks, backs up and replaces the files of other programs.

A backup is the file as it was before a change, byte for byte and with its permissions, beside it as `NAME.bak`. A
backup is never overwritten: if `NAME.bak` holds something else already, the next is `NAME.bak.1`, and so on; a change
whose old text is in one of them makes none. So going back and forth leaves two files behind, however often.
"""

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import count

from binnacle.config.edit import replace_file
from binnacle.errors import ConfigError

_LONGEST_WAIT = 10.0
"""Seconds. Whoever holds the lock writes one small file."""


def read(path: str) -> str | None:
    """The text of a file, line endings and byte order mark included; None if it is not there.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8.
    """
    try:
        with open(path, "rb") as file:
            return file.read().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not UTF-8 at byte {error.start}",
            hint="save the file as UTF-8 and run this again; it was left as it is",
            details={"file": path},
        ) from error
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}", hint="check the file's permissions", details={"file": path}
        ) from error


@contextmanager
def locked(path: str) -> Generator[None]:
    """No other `bn` changes a file in the same directory meanwhile. Makes the directory if it is not there."""
    folder = os.path.dirname(os.path.realpath(path))
    try:
        os.makedirs(folder, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        _wait_for_lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _wait_for_lock(handle: int, folder: str) -> None:
    import fcntl

    end = time.monotonic() + _LONGEST_WAIT
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > end:
                raise ConfigError(f"locked by another bn: {folder}", hint="try again when it has ended") from error
            time.sleep(0.01)
        except OSError:
            return  # a file system without locks; replacing a file is still all or nothing
        else:
            return


def write(path: str, *, before: str | None, after: str | None) -> str | None:
    """Replaces the text of a file, or removes the file. Returns where the old text is kept, if there was one to keep.

    Raises:
        ConfigError: it cannot be written, and is as it was.
    """
    try:
        if after is None:
            os.unlink(os.path.realpath(path))
            return None
        backup = None if before is None else _back_up(path, before)
    except OSError as error:
        raise _unwritable(path, error) from error
    replace_file(path, after)
    return backup


def backups(path: str) -> Iterator[str]:
    """The texts of the backups of a file, oldest first."""
    for name in _names(path):
        if not os.path.lexists(name):
            return
        with suppress(ConfigError):  # someone else's file of that name
            yield read(name) or ""


def _back_up(path: str, text: str) -> str:
    for name in _names(path):
        if not os.path.lexists(name):
            _create(name, text, mode=os.stat(path).st_mode & 0o777)
            return name
        with suppress(ConfigError):
            if read(name) == text:
                return name
    raise AssertionError("names never end")


def _names(path: str) -> Iterator[str]:
    yield f"{path}.bak"
    for number in count(1):
        yield f"{path}.bak.{number}"


def _create(path: str, text: str, *, mode: int) -> None:
    """Writes a new file. Nobody but the readers of the old one may see it, so the mode is there from the start."""
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
    return ConfigError(
        f"cannot write {path}: {error.strerror}", hint="check permissions and free space", details={"file": path}
    )
