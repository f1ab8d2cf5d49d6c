"""PostgreSQL is cut off, killed and restarted under servers, runs and followers: they come back, nothing is lost."""

import json
import os
import select
import shlex
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack

import psycopg
import pytest

from cli.conftest import BN
from demo_commands import DEMO_AGENT
from postgres_server import Server
from runner.runs import TWO
from scenarios.agents import Agent, HttpAgent, StdioAgent

CALLS = 1_000
CLIENTS = 4
PAGE = 500
WITHIN_SECONDS = 100

SCHEMA = "restarts"


@pytest.fixture
def shared(bn, own_postgres) -> Server:
    """The repository keeps its tasks in a database of its own."""
    bn.env |= {"BN_STORE_URL": own_postgres.url, "BN_STORE_SCHEMA": SCHEMA}
    bn("store", "init")
    return own_postgres


def backends(server: Server) -> list[int]:
    """The processes of the server that serve Binnacle."""
    with psycopg.connect(server.url, autocommit=True) as db:
        rows = db.execute("select pid from pg_stat_activity where application_name = 'binnacle'").fetchall()
    return [row[0] for row in rows]


def cut_all(server: Server) -> None:
    """Ends every connection from the server's side."""
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'binnacle'")


def kill_backend(server: Server) -> None:
    """One process is killed; the server then ends all others and recovers."""
    os.kill(backends(server)[0], signal.SIGKILL)
    wait_until_up(server)


def restart(server: Server) -> None:
    server.stop()
    server.start()


def crash(server: Server) -> None:
    server.kill()
    server.start()


def wait_until_up(server: Server) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(server.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            assert time.monotonic() < end
        else:
            return


TROUBLES: list[Callable[[Server], None]] = [cut_all, kill_backend, restart, cut_all, crash]


class Worker:
    """A client that adds tasks one by one, and does what the errors tell it to do.

    A title is taken once: a change that was made twice would be refused as a duplicate, which is not among them.
    """

    def __init__(self, agent: Agent, name: str, count: int) -> None:
        self._agent = agent
        self._titles = [f"{name} task {number}" for number in range(count)]
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        """Codes of the errors met."""

    def run(self) -> None:
        for title in self._titles:
            while title not in self.acknowledged:
                self._try(title)

    def _try(self, title: str) -> None:
        result = self._agent.result("task_add", tasks=[{"title": title}])
        if not result["isError"]:
            self.acknowledged.append(title)
            return
        error = result["structuredContent"]["error"]
        self.refused.append(error["code"])
        assert error["code"] in ("E_STORE_UNREACHABLE", "E_STORE_LOST"), error
        assert error["retryable"]
        if error["code"] == "E_STORE_LOST" and title in self._known():
            self.acknowledged.append(title)

    def _known(self) -> set[str]:
        """The titles of all tasks, asked for until there is an answer."""
        pages = [self._page(offset) for offset in range(0, CALLS, PAGE)]
        return {title for page in pages for title in page}

    def _page(self, offset: int) -> list[str]:
        while True:
            result = self._agent.result("task_list", limit=PAGE, offset=offset)
            if not result["isError"]:
                return [task["title"] for task in result["structuredContent"]["data"]["tasks"]]
            assert result["structuredContent"]["error"]["code"] == "E_STORE_UNREACHABLE", result


def test_nothing_acknowledged_is_lost_and_nothing_is_done_twice_in_a_thousand_calls(bn, shared):
    with ExitStack() as stack:
        kinds = [StdioAgent, HttpAgent] * (CLIENTS // 2)
        clients = [stack.enter_context(kind(bn, env={})) for kind in kinds]
        workers = [Worker(client, f"client {n}", CALLS // CLIENTS) for n, client in enumerate(clients)]
        threads = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        working = [threads.submit(worker.run) for worker in workers]
        end = time.monotonic() + WITHIN_SECONDS
        for number, trouble in enumerate(TROUBLES, 1):
            due = CALLS * number // (len(TROUBLES) + 1)
            while sum(len(worker.acknowledged) for worker in workers) < due:
                assert time.monotonic() < end, "the service did not come back"
                wait(working, timeout=0.01, return_when=FIRST_EXCEPTION)
            trouble(shared)
        for one in working:
            one.result(timeout=max(0.0, end - time.monotonic()))
    with psycopg.connect(shared.url) as db:
        kept = Counter(row[0] for row in db.execute(f"select title from {SCHEMA}.task").fetchall())
    acknowledged = [title for worker in workers for title in worker.acknowledged]
    assert len(acknowledged) == CALLS
    assert kept == Counter(acknowledged)
    # Each client has one connection, and each trouble costs it at most the call under way.
    assert all(len(worker.refused) <= len(TROUBLES) for worker in workers), [worker.refused for worker in workers]


def read_lines(child: "subprocess.Popen[bytes]", count: int) -> list[dict]:
    """The next lines that a process prints, as JSON."""
    assert child.stdout is not None
    found, end = b"", time.monotonic() + 60
    while found.count(b"\n") < count and time.monotonic() < end:
        if select.select([child.stdout], [], [], 1)[0]:
            found += os.read(child.stdout.fileno(), 65536)
    assert found.count(b"\n") >= count, found
    return [json.loads(line) for line in found.splitlines()]


@pytest.mark.parametrize("trouble", [cut_all, restart, crash])
def test_a_follower_goes_on(bn, shared, trouble):
    bn.add("before")
    command = [BN, "log", "--follow"]
    with subprocess.Popen(command, cwd=bn.repo, env=bn.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            assert read_lines(child, 1)[0]["changes"]["title"] == "before"
            trouble(shared)
            bn.add("after")
            assert read_lines(child, 1)[0]["changes"]["title"] == "after"
        finally:
            child.kill()


def test_a_run_rides_over_restarts(bn, shared, tmp_path):
    (bn.repo / "words.md").write_text(TWO)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-qm", "begin"],
                   cwd=bn.repo, check=True, timeout=60)  # fmt: skip
    agent = shlex.join(DEMO_AGENT)
    env = {**bn.env, "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [BN, "run", "words.md", "--agent", agent, "--approve", "all", "--json"]
    with subprocess.Popen(command, cwd=bn.repo, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:  # fmt: skip
        try:
            assert child.stdout is not None
            told = []
            for line in child.stdout:
                told.append(json.loads(line))
                if told[-1]["event"] == "iteration_started":
                    restart(shared)
            assert told[-1]["why"] == "unproven", told[-1]
        finally:
            child.kill()
    assert sorted(task["status"] for task in bn("task", "list", "--all")["tasks"]) == ["done", "done"]
