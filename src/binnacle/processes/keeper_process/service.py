"""The keeper's process: starts programs on request, reports their state, and ends them.

Messages on the socket (`frames`), with the number that the other side gave the program:

    Keeper  start NUMBER ARGV ENV CWD        with three descriptors
    keeper  started NUMBER PID START         it runs; START as in `ProcessEntry`
    keeper  failed NUMBER MESSAGE            it does not run, and never will
    keeper  lost NUMBER                      the same for every program: the keeper is about to end
    keeper  exited NUMBER CODE               the process that was started has ended; negative for a signal
    Keeper  end NUMBER GRACE                 ask it to end, kill what is left of it after so many seconds
    keeper  gone NUMBER                      nothing of it is left
    Keeper  closes                           its side of the socket, or dies: end everything
"""

import _socket
import os
import select
import sys

from binnacle.processes.facts import MARK_VARIABLE
from binnacle.processes.frames import FrameUnpacker, pack
from binnacle.processes.keeper_process.launch import LaunchRequest, launch
from binnacle.processes.linux import adopt_orphans, set_process_name
from binnacle.processes.process_tree import ProcessTree
from binnacle.processes.trees import END_POLL_SECONDS, ProcessTrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

END_GRACE_SECONDS = 2.0
"""Seconds to end, for what a program leaves behind, and for everything when the keeper ends."""

MAX_READ_BYTES = 256 * 1024
DESCRIPTORS_PER_START = 3
"""Descriptors that come with a request."""


def main(descriptor: int, token: str) -> None:
    """Serves until the other side closes and nothing is left."""
    os.set_inheritable(descriptor, False)
    adopt_orphans()
    set_process_name("bn-keeper")
    KeeperService(_socket.socket(fileno=descriptor), token.encode()).run()


class KeptProgram:
    """A requested program: its process tree, and whether it ever ran."""

    def __init__(self, tree: ProcessTree, report: int) -> None:
        self.tree = tree
        self.report = report
        """A pipe that shows whether it runs; -1 once that is known."""

        self.failed = False
        """Whether it never ran."""


class KeeperService:
    """Owns every program until it is gone."""

    def __init__(self, connection: _socket.socket, token: bytes) -> None:
        self._connection = connection
        self._token = token
        self._unpacker = FrameUnpacker()
        self._passed: list[list[int]] = []
        """Descriptors that arrived before the end of their message."""

        self._unsent = bytearray()
        self._is_closed = False
        """Whether the other side sends no more. It may still read."""

        self._programs: dict[int, KeptProgram] = {}
        self._trees = ProcessTrees()
        self._alarm, wakeup = os.pipe()
        os.set_blocking(self._alarm, False)
        os.set_blocking(wakeup, False)
        connection.setblocking(False)
        _catch_signals(wakeup)
        self._poll = select.poll()
        self._poll.register(self._alarm, select.POLLIN)
        self._watch()

    def run(self) -> None:
        """Runs until everything has been told to end and has ended."""
        while True:
            for descriptor, events in self._poll.poll(END_POLL_SECONDS * 1000 if self._trees.is_ending else None):
                self._attend(descriptor, events)
            self._reap()
            for tree in self._trees.advance():
                del self._programs[tree.number]
                self._say("gone", tree.number)
            if self._trees.is_done:
                return

    def _attend(self, descriptor: int, events: int) -> None:
        if descriptor == self._alarm:
            if signal.SIGTERM in os.read(self._alarm, 4096):
                self._trees.end_all(grace=END_GRACE_SECONDS)
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
            data, ancillary, flags, _ = self._connection.recvmsg(
                MAX_READ_BYTES, _socket.CMSG_SPACE(DESCRIPTORS_PER_START * 4)
            )
        except BlockingIOError:
            return
        except OSError:
            data, ancillary, flags = b"", [], 0
        descriptors = [
            int.from_bytes(content[at : at + 4], sys.byteorder)
            for _, _, content in ancillary
            for at in range(0, len(content) - 3, 4)
        ]
        # If cut off, they were too many for this process: only their request fails.
        if descriptors or flags & _socket.MSG_CTRUNC:
            for descriptor in descriptors:
                os.set_inheritable(descriptor, False)
            self._passed.append(descriptors)
        if not data:
            self._is_closed = True
            self._watch()
            self._trees.end_all(grace=END_GRACE_SECONDS)
        for message in self._unpacker.feed(data):
            if message[0] == "start":
                self._start(*message[1:])
            elif program := self._programs.get(message[1]):
                program.tree.end(grace=message[2])

    def _start(self, number: int, argv: tuple[bytes, ...], env: tuple[tuple[bytes, bytes], ...], cwd: bytes) -> None:
        descriptors = self._passed.pop(0)
        mark = self._token + b"-%d" % number
        try:
            if len(descriptors) < DESCRIPTORS_PER_START:
                self._say("failed", number, b"too many open files")
            elif self._trees.is_ending_all:
                self._say("lost", number)
            else:
                pid, report = launch(LaunchRequest(argv, {**dict(env), MARK_VARIABLE: mark}, cwd, descriptors))
                self._programs[number] = KeptProgram(
                    self._trees.add(ProcessTree(number=number, mark=mark, root=pid)), report
                )
                self._poll.register(report, select.POLLIN)
        except OSError as error:
            self._say("failed", number, f"cannot start a process: {error.strerror}".encode())
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _hear_report(self, program: KeptProgram) -> None:
        """Reports why a new program does not run, or that it runs."""
        problem = os.read(program.report, 4096)
        self._poll.unregister(program.report)
        os.close(program.report)
        program.report = -1
        tree = program.tree
        if problem:
            program.failed = True
            self._say("failed", tree.number, problem)
        else:
            self._say("started", tree.number, tree.root, tree.started)

    def _reap(self) -> None:
        """Reaps ended children. Ends what ended programs left behind."""
        for tree in self._trees.reap():
            program = self._programs[tree.number]
            if program.report >= 0:
                self._hear_report(program)
            tree.end(grace=END_GRACE_SECONDS)
            if not program.failed:
                self._say("exited", tree.number, tree.returncode)

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
            # The other side is gone; reading notices that, too.
            self._unsent.clear()
        self._watch()

    def _watch(self) -> None:
        """Polls the connection for the events that matter now."""
        events = (0 if self._is_closed else select.POLLIN) | (select.POLLOUT if self._unsent else 0)
        self._poll.register(self._connection, events)
        if not events:
            # Even without requested events, poll keeps reporting a hang-up.
            self._poll.unregister(self._connection)


def _catch_signals(wakeup: int) -> None:
    """Notices ended children and requests to end; ignores the signals of a terminal."""
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
