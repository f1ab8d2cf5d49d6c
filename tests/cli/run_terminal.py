"""A terminal with `bn run` in it: what can be seen, the keys of a person, and other sizes of the window."""

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable

from cli.emulated_terminal import EmulatedTerminal
from runner.repositories import Repository

BN = os.path.join(os.path.dirname(sys.executable), "bn")


class RunTerminal:
    """A terminal with `bn run` in it."""

    def __init__(self, repo: Repository, *words: str, columns: int = 100, rows: int = 40) -> None:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(repo.path)
            os.execv(BN, [BN, "-H", "run", *words])
        self.emulated = EmulatedTerminal(columns, rows)
        self.shown = ""
        self._before = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def resize(self, columns: int, rows: int) -> None:
        """Makes the window another size, as a person does; the program gets a signal.

        The program stands still meanwhile, so that nothing it wrote for the old size is shown in the new one.
        """
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)
        while select.select([self._master], [], [], 0)[0]:
            self._read()
        self.emulated.resize(columns, rows)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.pid, signal.SIGCONT)

    def screen(self) -> str:
        """What can be seen."""
        return "\n".join(self.emulated.screen())

    def wait_until(self, is_so: Callable[[list[str]], bool]) -> list[str]:
        """Waits for what can be seen."""
        until = time.monotonic() + 60
        while not is_so(self.emulated.screen()):
            assert time.monotonic() < until, self.screen()
            assert self._read(), self.screen()
        return self.emulated.screen()

    def wait_for(self, text: str) -> None:
        """Waits until `text` is shown after what was waited for before."""
        until = time.monotonic() + 60
        while text not in self.shown[self._before :]:
            assert time.monotonic() < until, self.shown[-3000:]
            assert self._read(), self.shown[-3000:]
        self._before = self.shown.index(text, self._before) + len(text)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """Reads to the end; the exit code."""
        until = time.monotonic() + 60
        while self._read():
            assert time.monotonic() < until, self.shown[-3000:]
        os.close(self._master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 1)[0]:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        text = self._decoder.decode(data)
        self.shown += text
        self.emulated.feed(text)
        return bool(data)
