"""Runs `bn` in forks of a process that has loaded it: about a fifth of the time of an interpreter of its own.

A fork runs the real entry point with its own words, variables, folder and pipes, so what it does, says and leaves
behind is what `bn` does. What tells it from one that was started is what `/proc` shows of it, its command line and the
variables at its start, and that imports have happened. Commands that others recognise by those, and those under which
agents run, are started (`may_fork`); so are all in tests about the start itself, which do not come here.

One server belongs to each test process and ends with it: its socket closes. Requests travel as one message each, with
three standard streams and a socket for the reply, so threads may run commands at the same time.
"""

import array
import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn, Self

STARTED = (("mcp", "serve"), ("run",), ("plan", "launch"), ("bridge",), ("hook", "run"), ("script",), ("doctor",))
"""Commands that are known by their command lines, or that start what looks at the processes above it."""

AT_START = ("PYTHON", "LC_", "LANG", "LD_", "BN_DEBUG", "BN_PORTABLE")
"""How the variables begin that an interpreter reads when it starts."""

PRELOADED = ("cli", "app", "serving", "sessions", "project", "plan", "tools", "store", "work", "lifecycle", "config")
"""The packages that commands use and that run nothing when they are loaded."""

MAX_REQUEST_BYTES = 1 << 18
END_SECONDS = 30


def may_fork(words: Sequence[str], env: Mapping[str, str]) -> bool:
    """Whether a command does the same in a fork."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        takes_value = rest.pop(0) in ("-C", "--repo")
        del rest[: int(takes_value)]
    if any(tuple(rest[: len(command)]) == command for command in STARTED):
        return False
    return _at_start(env) == _at_start(os.environ)


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_START)}


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
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], cwd="/")

    def close(self) -> None:
        self._socket.close()
        self._process.wait(END_SECONDS)

    def run(
        self, words: Sequence[str], *, program: str, cwd: Path, env: Mapping[str, str], stdin: bytes, timeout: float
    ) -> tuple[int, bytes, bytes]:
        """Runs a command to its end: its exit code, and what it wrote to either stream.

        `program` is `bn`, or a script that runs it.
        """
        request = {"words": [program, *words], "cwd": str(cwd), "env": dict(env)}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, _Exchange(stdin) as exchange:
            with theirs:
                fds = array.array("i", [*exchange.theirs, theirs.fileno()])
                message = json.dumps(request).encode()
                self._socket.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            exchange.close_theirs()
            ours.settimeout(timeout)
            pid = int(ours.recv(20))
            try:
                out, err = exchange.communicate(timeout)
                return int(ours.recv(20)), out, err
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise


class _Exchange:
    """Three pipes: what a command reads and what it writes."""

    def __init__(self, stdin: bytes) -> None:
        read_in, self._in = os.pipe()
        self._out, write_out = os.pipe()
        self._err, write_err = os.pipe()
        self.theirs = [read_in, write_out, write_err]
        self._ours = {self._in, self._out, self._err}
        self._stdin = memoryview(stdin)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_theirs()
        for fd in [*self._ours]:
            self._close(fd)

    def close_theirs(self) -> None:
        while self.theirs:
            os.close(self.theirs.pop())

    def _close(self, fd: int) -> None:
        self._ours.remove(fd)
        os.close(fd)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """Writes all that is to be read and reads all that is written, until everyone has closed both streams."""
        read: dict[int, list[bytes]] = {self._out: [], self._err: []}
        with selectors.DefaultSelector() as ready:
            ready.register(self._out, selectors.EVENT_READ)
            ready.register(self._err, selectors.EVENT_READ)
            if self._stdin:
                os.set_blocking(self._in, False)
                ready.register(self._in, selectors.EVENT_WRITE)
            else:
                self._close(self._in)
            while ready.get_map():
                found = ready.select(timeout)
                if not found:
                    raise TimeoutError
                for key, _ in found:
                    is_over = self._write() if key.fd == self._in else self._read(read[key.fd], key.fd)
                    if is_over:
                        ready.unregister(key.fd)
                        self._close(key.fd)
        return b"".join(read[self._out]), b"".join(read[self._err])

    def _write(self) -> bool:
        try:
            self._stdin = self._stdin[os.write(self._in, self._stdin) :]
        except BrokenPipeError:
            return True
        return not self._stdin

    @staticmethod
    def _read(into: list[bytes], fd: int) -> bool:
        into.append(os.read(fd, 1 << 18))
        return not into[-1]


# What follows runs in the process that forks.


def serve(requests: socket.socket) -> None:
    """Forks a child for each request, and reports its id and then its exit code, until nobody can ask any more."""
    children: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as ready:
        ready.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is not requests:
                    ready.unregister(key.fd)
                    _report_end(key.fd, *children.pop(key.fd))
                    continue
                message, fds, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 4)
                if not message:
                    return
                pid = os.fork()
                if pid == 0:
                    ready.close()
                    _become(json.loads(message), fds, unused=[requests.fileno(), *children])
                for fd in fds[:3]:
                    os.close(fd)
                reply = socket.socket(fileno=fds[3])
                reply.send(b"%d" % pid)
                watched = os.pidfd_open(pid)
                children[watched] = (pid, reply)
                ready.register(watched, selectors.EVENT_READ)


def _report_end(watched: int, pid: int, reply: socket.socket) -> None:
    _, status = os.waitpid(pid, 0)
    os.close(watched)
    with reply:
        reply.send(b"%d" % os.waitstatus_to_exitcode(status))


def _become(request: dict, fds: Sequence[int], *, unused: Iterable[int]) -> NoReturn:
    """Makes this fork the command that was asked for."""
    code = 70
    try:
        for number, fd in enumerate(fds[:3]):
            os.dup2(fd, number)
        os.closerange(3, max(*fds, *unused) + 1)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        sys.argv = request["words"]
        code = _run_to_exit()
    finally:
        os._exit(code)


def _run_to_exit() -> int:
    """Runs the entry point, and does what an interpreter does at its end."""
    import runpy
    import threading
    import time
    import traceback

    from binnacle.cli.main import run

    time.tzset()
    code = 0
    try:
        if sys.argv[0].endswith(".py"):
            runpy.run_path(sys.argv[0], run_name="__main__")
        run()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 120
    return code


def preload() -> None:
    """Loads what nearly every command needs, and keeps the collector from touching it in every fork."""
    import gc
    import pkgutil
    from importlib import import_module

    import binnacle
    from binnacle.cli.main import _load_msgspec

    _load_msgspec()
    for package in PRELOADED:
        for found in pkgutil.walk_packages([f"{binnacle.__path__[0]}/{package}"], f"binnacle.{package}."):
            import_module(found.name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    sys.path[0] = str(Path(sys.executable).parent)
    preload()
    serve(socket.socket(fileno=int(sys.argv[1])))
