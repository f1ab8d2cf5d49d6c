"""The one place that makes folders, and opens files, of our own: nobody else may ever look into them.

What is made is private from its first moment, whatever the umask says. A folder or file of ours that an older
Binnacle, or a person, left open to others is closed to them when it is next used, if it belongs to us.

What a team shares by git (`.binnacle` in a repository) and the files of other programs are not ours to hide:
`make_folder` tells the two apart by the place.
"""

import contextlib
import errno
import os
import stat

from binnacle.config.directories import cache_dir, data_root, user_config_file

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def is_private_place(path: str) -> bool:
    """Whether `path` is among our data, our settings or our cache."""
    path = os.path.abspath(path)
    return any(path == root or path.startswith(f"{root}{os.sep}") for root in _roots())


def make_folder(path: str) -> None:
    """Makes a folder and those above it: private ones in our places, elsewhere as any program would.

    Raises:
        OSError: it cannot be made.
    """
    if is_private_place(path):
        make_private_folder(path)
    else:
        os.makedirs(path, exist_ok=True)


def make_private_folder(path: str) -> None:
    """Makes a folder and those above it that are missing, all of them private.

    One that was open is closed: itself, and those above it in our places.

    Raises:
        OSError: it cannot be made.
    """
    path = os.path.abspath(path)
    missing = []
    above = path
    while not os.path.isdir(above):
        missing.append(above)
        above, last = os.path.dirname(above), above
        if above == last:
            break
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):  # somebody else was quicker
            os.mkdir(folder, FOLDER_MODE)
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    _close_to_others(path)
    while is_private_place(above):
        _close_to_others(above)
        above = os.path.dirname(above)


def make_new_private_folder(path: str) -> None:
    """Makes a private folder that is not there yet, below one that is.

    Raises:
        FileExistsError: it is there.
        OSError: it cannot be made.
    """
    os.mkdir(path, FOLDER_MODE)


def make_private_file(path: str) -> None:
    """Makes an empty private file, or closes to others the one that is there, without opening that.

    A database must not be opened beside its engine: closing any descriptor of a file gives up all locks that this
    process has on it, also those of a connection, and then another process takes its log away.

    Raises:
        OSError: it cannot be made or closed.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    except FileExistsError:
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and found.st_mode & OTHERS and found.st_uid == os.geteuid():
            os.chmod(path, stat.S_IMODE(found.st_mode) & ~OTHERS)


def private_opener(path: str, flags: int) -> int:
    """For `open(…, opener=private_opener)`: a file that it makes is private, and one that is there becomes so."""
    handle = os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and found.st_mode & OTHERS and found.st_uid == os.geteuid():
        with contextlib.suppress(OSError):
            os.fchmod(handle, stat.S_IMODE(found.st_mode) & ~OTHERS)
    return handle


def _roots() -> tuple[str, str, str]:
    return data_root(), os.path.dirname(os.path.abspath(user_config_file())), os.path.abspath(cache_dir())


def _close_to_others(folder: str) -> None:
    found = os.stat(folder)
    # A folder with the sticky bit, as /tmp has it, is everybody's, even if somebody keeps data there.
    is_shared = found.st_mode & stat.S_ISVTX or folder == os.path.expanduser("~")
    if found.st_mode & OTHERS and found.st_uid == os.geteuid() and not is_shared:
        with contextlib.suppress(OSError):
            os.chmod(folder, stat.S_IMODE(found.st_mode) & ~OTHERS)
