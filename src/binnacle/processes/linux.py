"""What only Linux has, behind functions that do the next best on other systems.

`BN_PORTABLE=1` hides all of it, so that the tests see what users of other systems have (docs/platforms.md).
"""

import os
import sys

IS_LINUX = sys.platform == "linux" and os.environ.get("BN_PORTABLE") != "1"
"""Whether inotify, pidfd and prctl are used."""

HAS_PROC = IS_LINUX and os.path.exists("/proc/self/stat")
"""Whether facts about processes are read from /proc."""

ADOPTS_ORPHANS = IS_LINUX
"""Whether `adopt_orphans` does what it says."""

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36


def adopt_orphans() -> None:
    """Makes this process the parent of every descendant whose own parent ends, instead of process 1."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: int) -> None:
    """Makes the system signal this process when its parent ends. The caller checks that it has not ended before."""
    _prctl(PR_SET_PDEATHSIG, number)


def set_process_name(name: str) -> None:
    """Sets the name that `ps` shows and forks inherit."""
    _prctl(PR_SET_NAME, name.encode())


def open_pidfd(pid: int) -> int | None:
    """A descriptor of the process, readable when it has ended; None if the system has none.

    Raises:
        ProcessLookupError: there is no such process.
    """
    if not IS_LINUX or not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return None  # an old system, or no descriptor left


def _prctl(option: int, value: int | bytes) -> None:
    if IS_LINUX:
        import ctypes  # most who ask about processes never get here

        argument = ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
        ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)
