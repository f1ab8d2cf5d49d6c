"""What a call came to."""

import msgspec

EXIT_TIMED_OUT = 124
"""As `timeout` of the coreutils has it."""

EXIT_UNABLE = 126
"""The command could not be started."""

EXIT_NOT_FOUND = 127
"""There is no such program."""

EXIT_SIGNALLED = 128
"""Plus the number of the signal, as shells have it."""


class CompletedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is over: nothing it started is left."""

    stdout: str
    stderr: str

    exit_code: int
    """Of the process; 124 when it took too long, 126 or 127 when it could not start, 128 + n when signal n ended it."""

    timed_out: bool = False

    cut: bool = False
    """Whether either stream was longer than is kept; its text then ends with a notice."""

    duration: float
    """Seconds, waiting for a turn included."""


def exit_code_of(returncode: int) -> int:
    """A process's return code as shells show it: Python says -9 where they say 137."""
    return returncode if returncode >= 0 else EXIT_SIGNALLED - returncode


def with_note(text: str, note: str) -> str:
    """`text` with a line of ours below it."""
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}{note}\n" if note else text
