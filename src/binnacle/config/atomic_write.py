"""Writes files atomically: no reader ever sees half a file."""

import contextlib
import os


def write_atomically(path: str, content: bytes, *, mode: int = 0o600, is_lasting: bool = False) -> None:
    """Replaces the file by one with `content`. On failure the old file stays, and no other is left.

    The file has `mode` from the start. With `is_lasting`, it also survives a crash of the machine.

    Raises:
        OSError: it cannot be written.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(4).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(handle, mode)
            if is_lasting:
                file.flush()
                os.fsync(handle)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
