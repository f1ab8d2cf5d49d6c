"""Reads a file that may be a link, a pipe, or larger than memory: the code under test can write it."""

import os
import stat

from binnacle.checks.junit_report import BadReport


def read_bounded(path: str, *, most: int) -> bytes | None:
    """The content of a report of at most `most` bytes; None if there is no such file.

    Raises:
        BadReport: it is something else than a file of that size.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadReport(f"the report cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            raise BadReport(f"the report is not a file of at most {most >> 20} MiB")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(handle)
