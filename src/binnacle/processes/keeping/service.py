"""The keeper's process: starts programs on request, says how they fare, and ends them.

What is said over the socket (`frames`), with the number that the other side gave the program:

    Keeper  start NUMBER ARGV ENV CWD        with three descriptors
    keeper  started NUMBER PID START         it runs; START as in `table.Entry`
    keeper  failed NUMBER MESSAGE            it does not, and never will
    keeper  lost NUMBER                      nor will any other: the keeper is about to end
    keeper  exited NUMBER CODE               the process that was started has ended; negative for a signal
    Keeper  end NUMBER GRACE                 ask it to end, kill what is left of it after so many seconds
    keeper  gone NUMBER                      nothing of it is left
    Keeper  closes                           its side, or dies: end everything
"""

import _socket
import os
import select
import sys
import time

from binnacle.processes.frames import Unpacker, pack
from binnacle.processes.keeping.census import Census
from binnacle.processes.keeping.launch import Request, launch
from binnacle.processes.keeping.programs import Ending, Program, tell_ending
from binnacle.processes.linux import adopt_orphans, set_process_name
from binnacle.processes.table import MARK, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

GRACE = 2.0
"""Seconds to end by themselves, for what a program leaves behind, and for all when the keeper ends."""

TICK = 0.05
"""Seconds between two looks for what an ending program has started in the meantime. Ends are noticed at once."""

CHUNK = 256 * 1024
PASSED = 3
"""Descriptors that come with a request."""


def main(descriptor: int, token: str) -> None:
    """Serves until the other side closes and nothing is left."""
    os.set_inheritable(descriptor, False)
    adopt_orphans()
    set_process_name("bn-keeper")
    Service(_socket.socket(fileno=descriptor), token.encode()).run()


class Service:
    """Owns every program, and what became of them."""

    def __init__(self, connection: _socket.socket, token: bytes) -> None:
        self._connection = connection
        self._token = token
        self._unpacker = Unpacker()
        self._passed: list[list[int]] = []
        """Descriptors that came before the end of their message."""

        self._unsent = bytearray()
        self._is_closed = False
        """Whether the other side says no more. It may still listen."""

        self._programs: dict[int, Program] = {}
        self._census = Census()
        self._leaving: Ending | None = None
        """Set once everything is to end; it is also the ending of those that belong to no program."""

        self._alarm, wakeup = os.pipe()
        os.set_blocking(self._alarm, False)
        os.set_blocking(wakeup, False)
        connection.setblocking(False)
        _catch_signals(wakeup)
        self._poll = select.poll()
        self._poll.register(self._alarm, select.POLLIN)
        self._watch()

    def run(self) -> None:
        """Returns when everything was to end and has."""
        while True:
            is_ending = self._leaving or any(program.ending for program in self._programs.values())
            for descriptor, events in self._poll.poll(TICK * 1000 if is_ending else None):
                self._attend(descriptor, events)
            self._reap()
            if self._sweep():
                return

    def _attend(self, descriptor: int, events: int) -> None:
        if descriptor == self._alarm:
            if signal.SIGTERM in os.read(self._alarm, 4096):
                self._leave()
        elif descriptor != self._connection.fileno():
            for program in self._programs.values():
                if program.report == descriptor:
                    self._hear_report(program)
        else:
            if events & select.POLLOUT:
                self._flush()
            if events & ~select.POLLOUT:
                self._receive()

    def _receive(self) -> None:
        try:
            data, ancillary, flags, _ = self._connection.recvmsg(CHUNK, _socket.CMSG_SPACE(PASSED * 4))
        except BlockingIOError:
            return
        except OSError:
            data, ancillary, flags = b"", [], 0
        descriptors = [
            int.from_bytes(content[at : at + 4], sys.byteorder)
            for _, _, content in ancillary
            for at in range(0, len(content) - 3, 4)
        ]
        # Cut off, they were too many for this process to have open: their request is to fail, and no other.
        if descriptors or flags & _socket.MSG_CTRUNC:
            for descriptor in descriptors:
                os.set_inheritable(descriptor, False)
            self._passed.append(descriptors)
        if not data:
            self._is_closed = True
            self._watch()
            self._leave()
        for message in self._unpacker.feed(data):
            if message[0] == "start":
                self._start(*message[1:])
            elif program := self._programs.get(message[1]):
                program.end(grace=message[2])

    def _start(self, number: int, argv: tuple[bytes, ...], env: tuple[tuple[bytes, bytes], ...], cwd: bytes) -> None:
        descriptors = self._passed.pop(0)
        mark = self._token + b"-%d" % number
        try:
            if len(descriptors) < PASSED:
                self._say("failed", number, b"too many open files")
            elif self._leaving:
                self._say("lost", number)
            else:
                pid, report = launch(Request(argv, {**dict(env), MARK: mark}, cwd, descriptors))
                self._programs[number] = Program(number, mark, pid, report)
                self._poll.register(report, select.POLLIN)
        except OSError as error:
            self._say("failed", number, f"cannot start a process: {error.strerror}".encode())
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _hear_report(self, program: Program) -> None:
        """Passes on what a new program had to say before it ran, or that it runs."""
        problem = os.read(program.report, 4096)
        self._poll.unregister(program.report)
        os.close(program.report)
        program.report = -1
        if problem:
            program.failed = True
            self._say("failed", program.number, problem)
        else:
            entry = look(program.pid)
            self._say("started", program.number, program.pid, entry.started if entry else 0)

    def _reap(self) -> None:
        """Collects what has ended. A program that has is not to leave anybody behind."""
        leaders = {program.pid: program for program in self._programs.values() if program.returncode is None}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            program = leaders.pop(pid, None)
            if program is None:
                continue
            if program.report >= 0:
                self._hear_report(program)
            program.returncode = os.waitstatus_to_exitcode(status)
            program.end(grace=GRACE)
            if not program.failed:
                self._say("exited", program.number, program.returncode)

    def _sweep(self) -> bool:
        """Goes on ending what is to end; whether this process has nothing more to do."""
        if not self._leaving and not any(program.ending for program in self._programs.values()):
            return False
        for program in tell_ending(self._programs, self._leaving, self._census):
            del self._programs[program.number]
            self._say("gone", program.number)
        if self._leaving is None or self._programs:
            return False
        return not self._census.strangers or self._leaving.is_hopeless(time.monotonic())

    def _leave(self) -> None:
        """Begins to end everything."""
        if self._leaving is None:
            self._leaving = Ending(time.monotonic() + GRACE)
            for program in self._programs.values():
                program.end(grace=GRACE)

    def _say(self, *message: object) -> None:
        self._unsent += pack(*message)
        self._flush()

    def _flush(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._connection.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            # The other side is gone, which reading notices, too.
            self._unsent.clear()
        self._watch()

    def _watch(self) -> None:
        """Has the connection looked at for what is of interest now."""
        events = (0 if self._is_closed else select.POLLIN) | (select.POLLOUT if self._unsent else 0)
        self._poll.register(self._connection, events)
        if not events:
            # Even without a wish, a poll tells of a hang-up again and again.
            self._poll.unregister(self._connection)


def _catch_signals(wakeup: int) -> None:
    """Notices ended children and the wish that this process end; what a terminal sends is not for it."""
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
