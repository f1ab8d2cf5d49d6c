"""One run on two machines: two clones of one repository, a bare one between them, and one PostgreSQL."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from binnacle.work.task import NewTask
from demo_commands import MISBEHAVING_AGENT
from runner.plays import Play
from runner.repositories import Repository
from runner.running_commands import RunningCommand
from runner.runs import Runs, last_event, marked_processes

pytestmark = pytest.mark.timeout(400)
"""Seconds: every wait for a run has its own bound, and some tests have three."""

AGENT = f"{shlex.join(MISBEHAVING_AGENT)} --misbehave slow=0.02"
WORDS = ("spec.md", "--agent", AGENT, "--approve", "all", "--workers", "2")

TASKS = 5
SPEC = "# Words\n\n## Tasks\n\n" + "".join(
    f"- Add the word w{number}{f' (depends on {number - 2})' if number > 2 else ''}\n"
    f"  ```python w{number}.py\n{f'  import w{number - 2}' if number > 2 else ''}\n  WORD = {number}\n  ```\n"
    for number in range(1, TASKS + 1)
)
"""Tasks that need the files of others, each on whatever machine."""

TEST = "\n".join(f"import w{number}" for number in range(1, TASKS + 1)) + "\n"


class Machine(Runs):
    """A clone of the repository, with its own folder for what is not in the database."""

    def __init__(self, repo: Repository, home: Path) -> None:
        super().__init__(repo, home)
        self.started: list[subprocess.Popen[bytes]] = []

    def begin(self, *more: str) -> "subprocess.Popen[bytes]":
        """A run on this machine. It ends with the test at the latest."""
        self.started.append(self.command(*WORDS, *more, BN_DATA_DIR=f"{self.repo.path}.data"))
        return self.started[-1]

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            with process:  # closes its streams
                process.wait(timeout=60)


@pytest.fixture
def machines(tmp_path, monkeypatch, postgres_place) -> Iterator[tuple[Machine, Machine]]:
    monkeypatch.setenv("BN_STORE_URL", postgres_place.where)
    monkeypatch.setenv("BN_STORE_SCHEMA", postgres_place.schema)
    monkeypatch.setenv("BN_CLAIM_MINUTES", "0.1")
    monkeypatch.setenv("BN_TEST_MARK", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("BN_AGENT_ID", raising=False)
    first = Repository.new(tmp_path / "one", {"spec.md": SPEC})
    git(tmp_path, "clone", "--quiet", "--bare", str(first.path), "shared.git")
    git(first.path, "remote", "add", "origin", str(tmp_path / "shared.git"))
    git(tmp_path, "clone", "--quiet", str(tmp_path / "shared.git"), "two")
    both = Machine(first, tmp_path), Machine(Repository(tmp_path / "two"), tmp_path)
    yield both
    for one in both:
        one.end()


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path):
    yield
    until = time.monotonic() + 20
    while (left := marked_processes(f"BN_TEST_MARK={tmp_path}")) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def check_whole(*machines: Runs) -> None:
    """Both have the same complete tree, and it passes its test."""
    trees = {git(one.repo.path, "rev-parse", "HEAD^{tree}") for one in machines}
    assert len(trees) == 1
    for one in machines:
        assert one.repo.status == ""
        subprocess.run([sys.executable, "-c", TEST], cwd=one.repo.path, check=True)


def test_both_have_the_whole_product_in_the_end(machines, monkeypatch):
    running = [one.begin("--remote", "origin") for one in machines]
    for process in running:
        told, errors = process.communicate(timeout=110)
        assert last_event(told)["why"] == "complete", (told[-2000:], errors)
    check_whole(*machines)
    monkeypatch.setenv("BN_DATA_DIR", f"{machines[0].repo.path}.data")
    assert machines[0].times("done") == dict.fromkeys(machines[0].tasks(), 1)


def test_one_that_is_killed_in_the_middle_of_a_merge_holds_nobody_up(machines, tmp_path, monkeypatch):
    """The hook of its repository kills it when it pushes a merge to the branch of the run, which goes through.

    The other begins after that: it could do all the work alone, and then there would be nothing to kill.
    """
    first, second = machines
    flag = tmp_path / "flag"
    hook = first.repo.path / ".git/hooks/pre-push"
    hook.write_text(f"""#!/bin/sh
while read local commit remote before; do
    case "$remote $before" in
        *" 0000"*) ;;
        "refs/heads/bn/spec/run "*) [ -e {flag} ] || {{
            for _ in $(seq 600); do [ -s {tmp_path}/pid ] || sleep 0.1; done
            touch {flag}
            kill -9 $(cat {tmp_path}/pid)
        }};;
    esac
done
exit 0
""")
    hook.chmod(0o755)
    victim = first.begin("--remote", "origin")
    (tmp_path / "pid").write_text(str(victim.pid))
    told, errors = victim.communicate(timeout=110)
    assert victim.returncode == -signal.SIGKILL, (told[-3000:], errors)
    assert flag.exists()
    other = second.begin("--remote", "origin")
    told, errors = other.communicate(timeout=110)
    assert last_event(told)["why"] == "complete", (told[-3000:], errors)
    again, errors = first.begin("--remote", "origin").communicate(timeout=110)
    assert last_event(again)["why"] in ("complete", "no_ready_task"), errors
    check_whole(*machines)
    monkeypatch.setenv("BN_DATA_DIR", f"{first.repo.path}.data")
    assert set(first.times("done").values()) == {1}


def test_without_a_common_remote_the_second_is_refused(machines):
    first, second = machines
    running = first.begin()
    assert running.stdout is not None
    try:
        assert running.stdout.readline()
        told, errors = second.begin().communicate(timeout=60)
    finally:
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    assert told == b""
    assert b"works in another checkout too" in errors
    assert b"bn config set run.remote origin" in errors
    assert not os.path.exists(second.repo.path / "w1.py")


def test_a_stop_on_one_machine_stops_the_run_on_all(machines, tmp_path, monkeypatch):
    """Both wait in an agent until they are stopped; when the command returns, nothing of the run is alive."""
    play = Play(machines[0], tmp_path / "play")
    agent = play.agent("agent.keep('pid', str(os.getpid())); agent.wait('never')")
    words = ("--agent", agent, "--name", "words", "--approve", "all", "--remote", "origin")
    datas = [f"{one.repo.path}.data" for one in machines]
    monkeypatch.setenv("BN_DATA_DIR", datas[0])
    play.add(NewTask(title="one"), NewTask(title="two"))
    with ExitStack() as stack:
        first = stack.enter_context(RunningCommand(machines[0], *words, BN_DATA_DIR=datas[0]))
        second = stack.enter_context(RunningCommand(machines[1], *words, BN_DATA_DIR=datas[1]))
        first.until("prompted")
        second.until("prompted")
        said = second.bn("session", "stop", "words")
        assert said["has_stopped"]
        assert len(said["sessions"]) == 2
        assert len(play.kept("pid")) == 2
        assert not [pid for pid in play.kept("pid") if os.path.exists(f"/proc/{pid}")]
        assert [one.until("run_ended")["why"] for one in (first, second)] == ["interrupted"] * 2
