"""Runs a program in place of this one, with the same terminal and streams, and forwards signals to it."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import IO, Any, Self

KEYS = (signal.SIGINT, signal.SIGQUIT)
"""Signals of keys: a terminal sends them to its whole foreground group, including the program."""

PASSED_ON = (*KEYS, signal.SIGTERM, signal.SIGHUP)


class ForegroundProgram:
    """Runs one program. Within the block, signals may end the program, but never this process."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in PASSED_ON:
            # Signals that are ignored, as under nohup, stay ignored, for the program too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def run(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: str | None = None, stdin: IO[bytes] | None = None
    ) -> int:
        """Runs the program and returns its exit code as a shell does: 128 plus the number of the signal that ended it.

        Raises:
            OSError: it could not be started.
        """
        with subprocess.Popen(command, env=env, cwd=cwd, stdin=stdin) as child:
            self._child = child
            for number in self._early:
                child.send_signal(number)
            code = child.wait()
        return code if code >= 0 else 128 - code

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        if self._child is None:
            self._early.append(number)
        elif number not in KEYS or not _is_in_foreground():
            self._child.send_signal(number)


def _is_in_foreground() -> bool:
    """Whether the keys of a terminal reach this process and its children."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
