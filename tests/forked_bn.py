"""Starts `bn` as a fork of a process that has loaded it: about a tenth of the time of an interpreter of its own.

`start` is `subprocess.Popen` for commands of `bn` and for some programs of the tests, and `run` waits for their end.
What they start runs the real entry point as a child of this process, with its own words, variables, folder, streams,
session and command line (`fork_server`), so what it does, says and leaves behind is what `bn` does. What tells it from
one that was executed is that imports have happened. Where that could matter, and in tests about the start itself,
programs are started with `subprocess`.

One server belongs to each test process and ends with it: its socket closes.
"""

import atexit
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fork_server import ENTRY_POINTS, MAX_REQUEST_BYTES, PROGRAMS, Request, fork_child, is_fork

BN = str(Path(sys.executable).with_name("bn"))

AT_START = ("PYTHON", "LC_", "LANG", "LD_", "BN_DEBUG", "BN_PORTABLE")
"""How the variables begin that an interpreter or a module reads when it is loaded."""

UNDERSTOOD = "PYTHONDONTWRITEBYTECODE"
"""One of them that a fork heeds all the same."""

FORKED_OPTIONS = {"cwd", "env", "stdin", "stdout", "stderr", "text", "start_new_session", "umask"}
"""The options of `subprocess.Popen` that a fork understands."""

END_SECONDS = 60


def start(command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """Starts a command: in a fork if that makes no difference, else as it is."""
    can_fork = may_fork(command, options.get("env") or os.environ) and FORKED_OPTIONS.issuperset(options)
    return (ForkedProcess if can_fork else subprocess.Popen)(command, **options)


def run(
    command: Sequence[str], *, stdin: bytes = b"", timeout: float, **options: Any
) -> "subprocess.CompletedProcess[bytes]":
    """Runs a command to its end, as `subprocess.run` does with `capture_output`."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with start(command, **pipes, **options) as process:
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def may_fork(command: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a command is one that the server has loaded, and its variables let it be the same in a fork."""
    is_known = command[0] == BN or (command[0] == sys.executable and command[1] in PROGRAMS)
    # What a test starts does not live long enough for a server of its own.
    can_ask = "pytest" in sys.modules or is_fork()
    return is_known and can_ask and _at_start(env) == _at_start(os.environ) and _is_possible()


@cache
def _is_possible() -> bool:
    """Whether this system has forks that cannot be told from what is started."""
    return is_fork() or (sys.platform == "linux" and server().has_forks)


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_START) and name != UNDERSTOOD}


class ForkedProcess(subprocess.Popen[Any]):
    """A process that was forked instead of executed."""

    def _execute_child(self, args: Sequence[str], *details: Any) -> None:
        """Does with the server what `subprocess` does with `fork` and `exec`, at the point where it does so."""
        named = dict(zip(_DETAILS, details, strict=True))
        streams = [named[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        words = [sys.executable, *args] if args[0] == BN else [*args]
        request = Request(
            words=words,
            cwd=str(named["cwd"] or os.getcwd()),
            env=dict(named["env"] or os.environ),
            is_leader=named["start_new_session"],
            umask=named["umask"],
        )
        fork = fork_child if is_fork() else server().fork
        self.pid = fork(request, [number if fd == -1 else fd for number, fd in enumerate(streams)])
        self._child_created = True
        self._close_pipe_fds(*(named[name] for name in _PIPES))


_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_DETAILS = (
    "executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo", "creationflags", "shell", *_PIPES,
    "restore_signals", "gid", "gids", "uid", "umask", "start_new_session", "process_group",
)  # fmt: skip
"""What `subprocess` hands to the method that starts a process."""


@cache
def server() -> "ForkServer":
    """The server of this test process, which ends with it."""
    started = ForkServer()
    atexit.register(started.close)
    return started


class ForkServer:
    """The near end of a process that forks. It ends when this end of its socket is closed."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_REQUEST_BYTES)
        self._socket.settimeout(END_SECONDS)
        self._one_at_a_time = threading.Lock()
        with theirs:
            command = [sys.executable, ENTRY_POINTS, str(theirs.fileno())]
            # It outlives the test that needs it first, whose marks are not for it.
            env = {name: value for name, value in os.environ.items() if not name.startswith("BN_TEST_MARK")}
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], cwd="/", env=env
            )
        trial = int(self._socket.recv(20) or 0)
        self.has_forks = trial > 0 and os.waitstatus_to_exitcode(os.waitpid(trial, 0)[1]) == 0

    def close(self) -> None:
        self._socket.close()
        self._process.wait(END_SECONDS)

    def fork(self, request: Request, streams: Sequence[int]) -> int:
        """The id of a new child of this process."""
        with self._one_at_a_time:
            socket.send_fds(self._socket, [request.encode()], streams)
            answer = self._socket.recv(20)
        assert answer, "the fork server is gone"
        return int(answer)
