"""Creates our own folders and files, which no other user may read.

They are private from the start, whatever the umask is. A folder or file of ours that an older Binnacle, or a person,
left open to others is closed when it is next used, if we own it.

Files that a team shares by git (`.binnacle` in a repository) and files of other programs are not made private:
`make_folder` decides by the path.
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
    """Creates a folder and its parents: private ones in our own places, elsewhere with the usual mode.

    Raises:
        OSError: it cannot be made.
    """
    if is_private_place(path):
        make_private_folder(path)
    else:
        os.makedirs(path, exist_ok=True)


def make_private_folder(path: str) -> None:
    """Creates a folder and its missing parents, all of them private.

    The folder, and its parents in our own places, are closed to others if they were open.

    Raises:
        OSError: it cannot be created.
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
        with contextlib.suppress(FileExistsError):  # another process was quicker
            os.mkdir(folder, FOLDER_MODE)
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    _close_to_others(path)
    while is_private_place(above):
        _close_to_others(above)
        above = os.path.dirname(above)


def make_new_private_folder(path: str) -> None:
    """Creates a private folder below an existing one.

    Raises:
        FileExistsError: it exists already.
        OSError: it cannot be created.
    """
    os.mkdir(path, FOLDER_MODE)


def make_private_file(path: str) -> None:
    """Creates an empty private file, or closes an existing one to others without opening it.

    A database file must not be opened outside of its engine: closing any descriptor of a file releases all locks that
    this process has on it, even those of a connection, and then another process may remove its log.

    Raises:
        OSError: it cannot be created or closed to others.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    except FileExistsError:
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and found.st_mode & OTHERS and found.st_uid == os.geteuid():
            os.chmod(path, stat.S_IMODE(found.st_mode) & ~OTHERS)


def private_opener(path: str, flags: int) -> int:
    """For `open(…, opener=private_opener)`: a new file is private, and an existing one becomes private."""
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
    # A folder with the sticky bit, like /tmp, is for everyone, even if someone keeps data there.
    is_shared = found.st_mode & stat.S_ISVTX or folder == os.path.expanduser("~")
    if found.st_mode & OTHERS and found.st_uid == os.geteuid() and not is_shared:
        with contextlib.suppress(OSError):
            os.chmod(folder, stat.S_IMODE(found.st_mode) & ~OTHERS)
