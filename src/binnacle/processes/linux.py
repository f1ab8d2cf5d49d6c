"""What is asked of Linux that Python has no function for. Elsewhere these do nothing."""

import sys

ADOPTS_ORPHANS = sys.platform == "linux"
"""Whether `adopt_orphans` does what it says."""

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36


def adopt_orphans() -> None:
    """Makes this process the parent of every descendant whose own parent ends, instead of process 1."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: int) -> None:
    """Has this process signalled when its parent ends. The caller checks that the parent had not ended before."""
    _prctl(PR_SET_PDEATHSIG, number)


def set_process_name(name: str) -> None:
    """What `ps` shows, and forks inherit."""
    _prctl(PR_SET_NAME, name.encode())


if sys.platform == "linux":
    import ctypes

    _libc = ctypes.CDLL(None)

    def _prctl(option: int, value: int | bytes) -> None:
        _libc.prctl(option, ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value), 0, 0, 0)

else:

    def _prctl(option: int, value: int | bytes) -> None:
        pass
