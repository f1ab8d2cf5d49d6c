"""The result of a call."""

import msgspec

EXIT_TIMED_OUT = 124
"""The exit code of `timeout` in coreutils."""

EXIT_UNABLE = 126
"""The command could not be started."""

EXIT_NOT_FOUND = 127
"""There is no such program."""

EXIT_SIGNALLED = 128
"""Added to the number of the signal, as in shells."""


class CompletedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that has ended, with everything it started."""

    stdout: str
    stderr: str

    exit_code: int
    """The exit code; 124 if it took too long, 126 or 127 if it could not start, 128 + n if signal n ended it."""

    timed_out: bool = False

    cut: bool = False
    """Whether a stream was cut; its text then ends with a notice."""

    duration: float
    """Seconds, including the wait for a turn."""


def exit_code_of(returncode: int) -> int:
    """A process's return code as shells show it: Python says -9 where they say 137."""
    return returncode if returncode >= 0 else EXIT_SIGNALLED - returncode


def with_note(text: str, note: str) -> str:
    """`text` with a line of ours below it."""
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}{note}\n" if note else text
