"""Servers as processes of ours: started, spoken to, ended by their id. Nothing of them is left."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, NamedTuple

from bench.clients import Client, HttpClient, LineClient, greet
from bench.measure import Command, Failed, run, undisturbed

PATIENCE = 10.0
"""Seconds that a server gets to stop by itself."""


class Served:
    """A server that runs, and a client of it that has greeted."""

    def __init__(self, client: Client, pid: int, *, page: str = "") -> None:
        self.client = client
        self.pid = pid
        self.page = page
        """A link to the page for people, if it serves one."""


class Website(NamedTuple):
    """A server that a browser opens."""

    url: str
    """The address that it has printed."""

    pid: int


START_SECONDS = 60.0
"""The longest wait for a website to say where it is."""

_URL = re.compile(rb"http://127\.0\.0\.1[^\s\"]*")


@contextmanager
def on_stdio(command: Command) -> Iterator[Served]:
    """A server on pipes. Leaving closes them and waits for its end."""
    with _process(command, lambda process: _pipe(process.stdin).close()) as process:
        client = LineClient(to_server=_pipe(process.stdin).fileno(), from_server=_pipe(process.stdout).fileno())
        greet(client)
        yield Served(client, process.pid)


@contextmanager
def on_http(command: Command) -> Iterator[Served]:
    """A server that prints its address in a line of JSON. Leaving asks it to stop and waits for its end."""
    with ExitStack() as stack:
        process = stack.enter_context(_process(command, lambda process: process.terminate()))
        line = _pipe(process.stdout).readline()
        try:
            printed = json.loads(line)
            url = printed["url"]
        except (ValueError, LookupError, TypeError) as error:
            raise Failed(f"not an address: {line[:200]!r}") from error
        client = stack.enter_context(HttpClient(url))
        greet(client)
        yield Served(client, process.pid, page=printed.get("page", ""))


@contextmanager
def website(command: Command) -> Iterator[Website]:
    """A server that prints its address among other things. Leaving asks it to stop and waits for its end."""
    with (
        tempfile.TemporaryFile() as output,
        _process(command, lambda process: process.terminate(), output=output.fileno()) as process,
    ):
        yield Website(_printed_url(process, output), process.pid)


def _printed_url(process: subprocess.Popen[bytes], output: IO[bytes]) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        said = os.pread(output.fileno(), 1 << 16, 0)
        # The end of the line: until then more of the address may follow.
        if (found := _URL.search(said)) and b"\n" in said[found.start() :]:
            return found[0].decode()
        time.sleep(0.005)
    raise Failed(f"no address within {START_SECONDS:g} s: {os.pread(output.fileno(), 400, 0)!r}")


@contextmanager
def _process(
    command: Command, stop: Callable[[subprocess.Popen[bytes]], object], *, output: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a group of its own, and why it failed if it did."""
    pipe = subprocess.PIPE
    with tempfile.TemporaryFile() as complaint:
        process = None
        try:
            with undisturbed():
                process = subprocess.Popen(
                    command.argv,
                    env=command.env,
                    cwd=command.cwd,
                    stdin=pipe,
                    stdout=output,
                    stderr=complaint,
                    start_new_session=True,
                )
            yield process
        except Failed as error:
            complaint.seek(0)
            said = complaint.read().decode(errors="replace").strip()[-800:]
            raise Failed(f"{' '.join(command.argv)[:200]}: {error} {said}".strip()) from error
        finally:
            if process is not None:
                with undisturbed():
                    _end(process, stop)


def _end(process: subprocess.Popen[bytes], stop: Callable[[subprocess.Popen[bytes]], object]) -> None:
    with suppress(OSError):
        stop(process)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        # It has not been waited for, so its id, which is its group's, can be nobody else's yet.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
    for end in (process.stdin, process.stdout):
        with suppress(OSError):
            if end is not None:
                end.close()


def _pipe(end: IO[bytes] | None) -> IO[bytes]:
    assert end is not None
    return end


def cpu_time(pid: int) -> float:
    """Milliseconds of processor time that the threads of a process have had. Always 0 where there is no `/proc`."""
    total = 0
    with suppress(FileNotFoundError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(FileNotFoundError), open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
    return total / 1e6


def resident(pid: int) -> float:
    """Megabytes that a process has in memory now; none if it has ended."""
    if sys.platform == "linux":
        with suppress(FileNotFoundError), open(f"/proc/{pid}/status", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024
        return 0.0
    return int(run(["ps", "-o", "rss=", "-p", str(pid)])) / 1024


def descendants(pid: int) -> list[int]:
    """Ids of the processes that a process has started, and of those that they have. Empty where there is no `/proc`."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(child) for child in file.read().split()]
    except OSError:
        return []
    return [*children, *(below for child in children for below in descendants(child))]
