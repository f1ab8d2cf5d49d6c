"""Writes files that nobody ever sees half of."""

import contextlib
import os


def write_atomically(path: str, content: bytes, *, mode: int = 0o600, is_lasting: bool = False) -> None:
    """Puts `content` in the place of the file, whatever that was. A failure leaves the old one, and nothing else.

    `mode` holds from the first moment. What `is_lasting` outlives a crash of the machine, and not only one of ours.

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
