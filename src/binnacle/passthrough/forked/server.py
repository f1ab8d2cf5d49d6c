"""The fork server's own process: loads the command once, then forks a guard for every request until told to stop.

A request is one byte with three descriptors: stdout, stderr and the guard's socket. What to run travels over that
socket, so nothing a caller sends can hold up the server. It ends when its socket does, that is with its parent.
"""

import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from binnacle.passthrough.call_request import to_frame
from binnacle.passthrough.forked.child import become
from binnacle.passthrough.forked.guard import Begin, watch_over
from binnacle.processes.linux import adopt_orphans


def main(argv: list[str]) -> None:
    """Serves until the other side of the socket closes. Arguments as `forkserver` gives them."""
    descriptor, grace, name, path, *preload = argv
    connection = socket.socket(fileno=int(descriptor))
    _reset_signals()
    try:
        function = load(path, preload)
    except BaseException as error:  # noqa: BLE001 - a supervisor: whatever the command's modules raise is for the parent
        connection.sendall(to_frame(["failed", f"{type(error).__name__}: {error}"]))
        return
    connection.sendall(to_frame(["ready", *_loaded_files(path)]))
    serve(connection, partial(become, function, name), grace=float(grace))


def load(path: str, preload: list[str]) -> Callable[[list[str]], Any]:
    """The function at `module:function`, with what it will need in memory."""
    module, _, attribute = path.partition(":")
    function: Callable[[list[str]], Any] = getattr(import_module(module), attribute)
    for name in preload:
        # One that is not installed is not missed until a call needs it.
        with contextlib.suppress(ImportError):
            import_module(name)
    # What an import left in a buffer would be said again by every call.
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # What is loaded now stays for good. Frozen, it is not looked at again, and its pages stay shared.
    gc.collect()
    gc.freeze()
    return function


def serve(connection: socket.socket, begin: Begin, *, grace: float) -> None:
    """Forks a guard for every request."""
    adopt_orphans()
    # Guards are collected by the system as they end, and so are the orphans of one that was killed.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
        if not message:
            return
        try:
            if len(descriptors) == 3 and os.fork() == 0:
                _guard(connection, descriptors, begin, grace=grace)
        except OSError:
            # No process to be had. The parent sees the guard's socket close and goes another way.
            pass
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def _guard(connection: socket.socket, descriptors: list[int], begin: Begin, *, grace: float) -> None:
    """The life of a guard, in its own process."""
    try:
        connection.close()
        stdout, stderr, descriptor = descriptors
        # Named here, it stays open to the very end: the Runner takes its closing for the end of this process.
        control = socket.socket(fileno=descriptor)
        watch_over(control, stdout, stderr, begin=begin, grace=grace)
    finally:
        os._exit(0)


def _reset_signals() -> None:
    """What a new Python has, whatever the parent ignored or blocked; interrupts are for commands only."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _loaded_files(path: str) -> list[str]:
    """The files of the command's package that are in memory."""
    package = path.partition(":")[0].partition(".")[0]
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == package]
    return [file for module in modules if (file := getattr(module, "__file__", None))]
