"""The guard of one call: starts it, ends it with everything it started, and reports how it ended.

It speaks with the `CommandRunner` over a socket:

    guard   ready PID       nothing has run yet; giving up here is safe
    Runner  the request
    guard   started PID START   the root of the tree, and its start
    Runner  closes          its side: end the call; its death does the same
    guard   ended CODE      nothing of the call is left; negative for a signal
"""

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable
from typing import NoReturn

from binnacle.passthrough.call_request import CallRequest, receive_request
from binnacle.passthrough.completed_call import EXIT_UNABLE
from binnacle.processes.linux import adopt_orphans
from binnacle.processes.process_tree import ProcessTree
from binnacle.processes.trees import END_POLL_SECONDS, ProcessTrees

Begin = Callable[[CallRequest, int, int, int], NoReturn]
"""Turns a new process into the call: request, stdout, stderr, and the guard's process id."""


class ChildAlarm:
    """Ends a wait when a child ends."""

    def __init__(self) -> None:
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def wait(self, seconds: float | None = None, *, also: socket.socket | None = None) -> bool:
        """Waits until a child ends, `also` is readable, or the time is over. Returns whether `also` is readable."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        if also is not None:
            poll.register(also, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000)}
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)
        return also is not None and also.fileno() in ready


def watch_over(control: socket.socket, stdout: int, stderr: int, *, begin: Begin, grace: float) -> None:
    """Runs one call. Returns when nothing of it is left."""
    # Not in the session of the fork server, so that a signal to that one does not end this.
    os.setsid()
    adopt_orphans()
    alarm = ChildAlarm()
    guard = os.getpid()
    _say(control, f"ready {guard}")
    request = receive_request(control)
    if request is None:
        return
    try:
        root = os.fork()
    except OSError as error:
        os.write(stderr, f"error: cannot start a process: {error.strerror}\n".encode())
        _say(control, f"ended {EXIT_UNABLE}")
        return
    if root == 0:
        begin(request, stdout, stderr, guard)
    # The streams end with the call only if no other process has them open.
    os.close(stdout)
    os.close(stderr)
    tree = ProcessTree(number=1, mark=request.mark, root=root)
    _say(control, f"started {root} {tree.started}")
    _wait_and_end(tree, control, alarm, grace=grace)
    # A root that survives a kill counts as killed.
    _say(control, f"ended {-signal.SIGKILL if tree.returncode is None else tree.returncode}")


def _wait_and_end(tree: ProcessTree, control: socket.socket, alarm: ChildAlarm, *, grace: float) -> None:
    """Waits until the root has ended or the `CommandRunner` hangs up, then ends what is left."""
    trees = ProcessTrees()
    trees.add(tree)
    while not trees.is_done:
        if trees.is_ending:
            alarm.wait(END_POLL_SECONDS)
        elif alarm.wait(also=control) and not _is_wanted(control):
            trees.end_all(grace=grace)
        if trees.reap():
            trees.end_all(grace=grace)
        trees.advance()


def _is_wanted(control: socket.socket) -> bool:
    try:
        return control.recv(64) != b""
    except OSError:
        return False


def _say(control: socket.socket, line: str) -> None:
    # The runner may be gone, and the call still has to be ended.
    with contextlib.suppress(OSError):
        control.sendall(line.encode() + b"\n")
