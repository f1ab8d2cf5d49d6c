"""The process that has loaded `bn` and the test server, and forks for each request: `fork_server.py SOCKET`.

A fork becomes what was asked for in all that others can see of a process:

- it is a child of the test process, not of this one: `clone` with CLONE_PARENT. So who started it, who is told of its
  end and who is above it are as with a process that was started. `os.fork` cannot do this; `fork_as_sibling` does what
  glibc and Python do around it, which is right because this process has one thread;
- `/proc` shows its own command line and variables, not those of this process (PR_SET_MM_MAP, which needs no rights);
- its streams, folder, variables, session and arguments are its own, and it has no other file open.
"""

import atexit
import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

ENTRY_POINTS = __file__
PROGRAMS = tuple(
    str(Path(__file__).parent / name)
    for name in (
        "server/fixture.py",
        "hostile_repository/watched.py",
        "identity/client_process.py",
        "hostile_agent/agent_process.py",
        "bridge/serving.py",
    )
)
"""The programs of the tests that can be forked. Each has a `main`."""

PRELOADED = (
    "cli", "app", "serving", "server", "sessions", "project", "plan", "tools", "store", "upstream", "work", "lifecycle",
    "config",
)  # fmt: skip
"""The packages that commands use and that run nothing when they are loaded."""

MAX_REQUEST_BYTES = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a fork is to become."""

    words: list[str]
    """The command line as `/proc` shows it: interpreter, program, arguments."""

    cwd: str
    env: dict[str, str]

    is_leader: bool
    """Whether it leads a session of its own."""

    umask: int
    """The rights that files of its own do not get; -1 for those of this process."""

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def serve(requests: socket.socket) -> None:
    """Forks for each request and answers with the id of the fork, until nobody can ask any more."""
    while True:
        message, streams, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 3)
        if not message:
            return
        pid = fork_as_sibling()
        if pid == 0:
            _become(Request(**json.loads(message)), streams)
        for fd in streams:
            os.close(fd)
        requests.send(b"%d" % pid)


def try_fork() -> int:
    """The id of a fork that ends with 0 if it can become another program; 0 where there is none: an older kernel."""
    try:
        pid = fork_as_sibling()
    except (OSError, ValueError):
        return 0
    if pid == 0:
        code = 1
        try:
            show_in_proc([sys.executable, "trial"], {})
            code = 0
        finally:
            os._exit(code)
    return pid


def is_fork() -> bool:
    """Whether this process is a fork of the server, so that it has loaded `bn` and may fork itself."""
    return getattr(sys.modules["__main__"], "__file__", None) == ENTRY_POINTS


def fork_child(request: Request, streams: Sequence[int]) -> int:
    """Forks this process, which is a fork itself: a client that starts `bn`. The id of the child."""
    pid = os.fork()
    if pid == 0:
        _become(request, streams)
    return pid


def _become(request: Request, streams: Sequence[int]) -> NoReturn:
    """Makes this fork the program that was asked for."""
    code = 70
    try:
        if request.is_leader:
            os.setsid()
        for number, fd in enumerate(streams):
            os.dup2(fd, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        # The parent may have read ahead, and what it has read is not for this one.
        sys.stdin = open(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors, closefd=False)  # noqa: SIM115
        os.chdir(request.cwd)
        if request.umask >= 0:
            os.umask(request.umask)
        os.environ.clear()
        os.environ.update(request.env)
        sys.dont_write_bytecode = bool(request.env.get("PYTHONDONTWRITEBYTECODE"))
        show_in_proc(request.words, request.env)
        sys.orig_argv, sys.argv = request.words, request.words[1:]
        code = _run_to_exit()
    finally:
        os._exit(code)


def _run_to_exit() -> int:
    """Runs the program, and does what an interpreter does at its end."""
    import threading
    import time
    import traceback

    time.tzset()
    code = 0
    try:
        _entry_point(sys.argv[0])()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
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


def _entry_point(program: str) -> Callable[[], object]:
    if program not in PROGRAMS:
        return import_module("binnacle.cli.main").run
    sys.path[:0] = [str(Path(program).parent), str(Path(__file__).parent)]
    return import_module(Path(program).stem).main


def preload() -> None:
    """Loads what nearly every command needs, and keeps the collector from touching it in every fork."""
    import gc
    import pkgutil

    import binnacle
    from binnacle.cli.main import _load_msgspec

    _load_msgspec()
    for package in PRELOADED:
        for found in pkgutil.walk_packages([f"{binnacle.__path__[0]}/{package}"], f"binnacle.{package}."):
            import_module(found.name)
    gc.collect()
    gc.freeze()


CLONE_PARENT, CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000
SYS_CLONE3 = 435
PR_SET_MM, PR_SET_MM_MAP = 35, 14

_libc = ctypes.PyDLL(None, use_errno=True)
_libc.pthread_self.restype = ctypes.c_ulong
_libc.sbrk.restype = ctypes.c_ulong


def fork_as_sibling() -> int:
    """`os.fork`, but that the parent of the child is the parent of this process. Here must be no other thread."""
    flags = CLONE_PARENT | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID
    arguments = (ctypes.c_uint64 * 8)(flags, 0, _thread_id_address(), 0, 0, 0, 0, 0)
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = _libc.syscall(SYS_CLONE3, ctypes.byref(arguments), ctypes.sizeof(arguments))
    (ctypes.pythonapi.PyOS_AfterFork_Parent if pid else ctypes.pythonapi.PyOS_AfterFork_Child)()
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone3")
    return pid


def _thread_id_address() -> int:
    """Where glibc keeps the id of this thread, which `fork` has the system write there in the child."""
    thread = _libc.pthread_self()
    numbers = (ctypes.c_int32 * 512).from_address(thread)
    return thread + 4 * list(numbers).index(os.getpid())


_shown: list[object] = []
"""The memory that the system reads command line and variables from."""


def show_in_proc(words: Sequence[str], env: dict[str, str]) -> None:
    """Lets the system find the command line and the variables of this process where they are now."""
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    field = lambda number: int(stat[number - 3])  # noqa: E731 - as proc(5) numbers them
    ends = [field(26), field(27), field(45), field(46), field(47), _libc.sbrk(0), field(28)]
    for strings in (words, [f"{name}={value}" for name, value in env.items()]):
        text = b"".join(os.fsencode(one) + b"\0" for one in strings)
        memory = ctypes.create_string_buffer(text, len(text))
        _shown.append(memory)
        ends += [ctypes.addressof(memory), ctypes.addressof(memory) + len(text)]
    no_file = 0xFFFFFFFF
    layout = (ctypes.c_uint64 * 13)(*ends, 0, no_file << 32)
    if _libc.prctl(PR_SET_MM, PR_SET_MM_MAP, ctypes.byref(layout), ctypes.sizeof(layout), 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    Path("/proc/self/comm").write_text(Path(words[1]).name[:15])


if __name__ == "__main__":
    sys.path[0] = str(Path(sys.executable).parent)
    asked = socket.socket(fileno=int(sys.argv[1]))
    asked.send(b"%d" % try_fork())
    preload()
    serve(asked)
