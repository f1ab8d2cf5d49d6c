"""The process in which the command runs.

It sets itself up like a new process, calls the command's function, and exits with its code.
"""

import atexit
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from binnacle.passthrough.call_request import CallRequest, process_name
from binnacle.passthrough.completed_call import EXIT_SIGNALLED, EXIT_UNABLE
from binnacle.processes.linux import die_with_parent, set_process_name

MAX_DESCRIPTORS = 256
"""More descriptors than a fork server and a guard ever have open; they get the lowest free numbers."""


def become(
    function: Callable[[list[str]], Any], name: str, request: CallRequest, stdout: int, stderr: int, guard: int
) -> NoReturn:
    """Turns this new process into the command. Never returns, whatever the command does."""
    code = EXIT_UNABLE
    try:
        _separate(request, stdout, stderr, guard)
        if _enter(request):
            sys.argv = [name, *request.args]
            code = _call(function, list(request.args))
            _wind_up()
    finally:
        os._exit(code & 0xFF)


def _separate(request: CallRequest, stdout: int, stderr: int, guard: int) -> None:
    """Drops everything that belongs to the guard."""
    os.setsid()
    die_with_parent(signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(EXIT_SIGNALLED + signal.SIGKILL)
    set_process_name(process_name(request.run_id))
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.closerange(3, MAX_DESCRIPTORS)


def _enter(request: CallRequest) -> bool:
    """Enters the directory and environment of the call."""
    os.environ.clear()
    os.environ.update(request.env)
    time.tzset()
    try:
        os.chdir(request.cwd)
    except OSError as error:
        os.write(2, f"error: cannot enter {request.cwd!r}: {error.strerror}\n".encode("utf-8", "replace"))
        return False
    return True


def _call(function: Callable[[list[str]], Any], args: list[str]) -> int:
    """The exit code, by the rules of `sys.exit`."""
    try:
        result = function(args)
    except SystemExit as leaving:
        result = leaving.code
    except KeyboardInterrupt:
        return EXIT_SIGNALLED + signal.SIGINT
    except BaseException:  # noqa: BLE001 - the end of a process: the interpreter would do the same
        sys.excepthook(*sys.exc_info())
        return 1
    if result is None or isinstance(result, int):
        return result or 0
    print(result, file=sys.stderr)
    return 1


def _wind_up() -> None:
    """Does what the interpreter does at its end, without tearing itself down."""
    if "threading" in sys.modules:
        import threading

        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001 - multiprocessing ends its forks by private means, too; there is no public one
    for stream in (sys.stdout, sys.stderr):
        # A command may have closed its streams, or replaced them by nothing.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
