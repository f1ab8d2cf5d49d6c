"""The fork server's process: loads the command once, then forks a guard for every request until its socket closes.

A request is one byte with three descriptors: stdout, stderr and the guard's socket. The call itself is sent over that
socket, so nothing that a caller sends can block the server. The server ends with its socket, so with its parent.
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
    """Serves until the other side of the socket closes. `argv` comes from `fork_server`."""
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
    """The function at `module:function`, with the modules it will need loaded."""
    module, _, attribute = path.partition(":")
    function: Callable[[list[str]], Any] = getattr(import_module(module), attribute)
    for name in preload:
        # A module that is not installed matters only when a call needs it.
        with contextlib.suppress(ImportError):
            import_module(name)
    # Every call would write again what an import left in a buffer.
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # What is loaded now stays loaded. Frozen, the collector skips it, and its pages stay shared.
    gc.collect()
    gc.freeze()
    return function


def serve(connection: socket.socket, begin: Begin, *, grace: float) -> None:
    """Forks a guard for every request."""
    adopt_orphans()
    # The system reaps guards as they end, and also the orphans of a killed one.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
        if not message:
            return
        try:
            if len(descriptors) == 3 and os.fork() == 0:
                _guard(connection, descriptors, begin, grace=grace)
        except OSError:
            # Fork failed. The parent sees the guard's socket close and starts a new process.
            pass
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def _guard(connection: socket.socket, descriptors: list[int], begin: Begin, *, grace: float) -> None:
    """Runs a guard, in its own process."""
    try:
        connection.close()
        stdout, stderr, descriptor = descriptors
        # Named here, it stays open to the end: the runner takes its closing for the end of this process.
        control = socket.socket(fileno=descriptor)
        watch_over(control, stdout, stderr, begin=begin, grace=grace)
    finally:
        os._exit(0)


def _reset_signals() -> None:
    """Restores the signal handling of a new Python; only commands handle interrupts."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _loaded_files(path: str) -> list[str]:
    """The files of the command's package that are in memory."""
    package = path.partition(":")[0].partition(".")[0]
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == package]
    return [file for module in modules if (file := getattr(module, "__file__", None))]
