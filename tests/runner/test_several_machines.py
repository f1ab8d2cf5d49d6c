"""One run on two machines: two clones of one repository, a bare one between them, and one PostgreSQL."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from binnacle.work.task import NewTask
from demo_commands import MISBEHAVING_AGENT
from runner import parts
from runner.plays import Play, player_command
from runner.repositories import Repository
from runner.running_commands import RunningCommand
from runner.runs import Runs, marked_processes

PATIENCE = 240
"""Seconds for one run, on a machine that has other things to do."""

pytestmark = pytest.mark.timeout(4 * PATIENCE)

AGENT = f"{shlex.join(MISBEHAVING_AGENT)} --misbehave slow=0.02"
TASKS = 5
SPEC = "# Words\n\n## Tasks\n\n" + "".join(
    f"- Add the word w{number}{f' (depends on {number - 2})' if number > 2 else ''}\n"
    f"  ```python w{number}.py\n{f'  import w{number - 2}' if number > 2 else ''}\n  WORD = {number}\n  ```\n"
    for number in range(1, TASKS + 1)
)
"""Tasks that need the files of others, each on whatever machine."""

TEST = "\n".join(f"import w{number}" for number in range(1, TASKS + 1)) + "\n"


class RunningRun:
    """A run on a machine, as a process. What it tells is in files: nobody has to read for it to go on."""

    def __init__(self, machine: Runs, words: tuple[str, ...], number: int) -> None:
        folder = Path(f"{machine.repo.path}.output")
        folder.mkdir(exist_ok=True)
        self._told, self._errors = (folder / f"{number}.{name}" for name in ("told", "errors"))
        with self._told.open("wb") as told, self._errors.open("wb") as errors:
            self.process = machine.command(
                *words, BN_DATA_DIR=f"{machine.repo.path}.data", stdout=told, stderr=errors
            )  # fmt: skip

    @property
    def errors(self) -> bytes:
        return self._errors.read_bytes()

    def told(self) -> list[dict[str, Any]]:
        """The events so far."""
        whole = self._told.read_bytes().rpartition(b"\n")[0]
        return [msgspec.json.decode(line) for line in whole.splitlines()]

    def wait_for(self, kind: str, **fields: object) -> None:
        """Until the run tells of something."""

        def is_told() -> bool:
            return any(event["event"] == kind and fields.items() <= event.items() for event in self.told())

        until = time.monotonic() + PATIENCE
        while not is_told() and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        assert is_told(), (kind, self.told()[-1:], self.errors)

    def wait(self) -> str:
        """Until its end; why it ended."""
        self.process.wait(timeout=PATIENCE)
        told = self.told()
        return str(told[-1].get("why")) if told else ""

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=60)


class Machine(Runs):
    """A clone of the repository, with its own folder for what is not in the database."""

    def __init__(self, repo: Repository, home: Path) -> None:
        super().__init__(repo, home)
        self.started: list[RunningRun] = []

    def begin(self, *more: str, agent: str = AGENT) -> RunningRun:
        """A run on this machine. It ends with the test at the latest."""
        words = ("spec.md", "--agent", agent, "--approve", "all", "--workers", "2", *more)
        self.started.append(RunningRun(self, words, len(self.started)))
        return self.started[-1]


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
        for started in one.started:
            started.kill()


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path):
    yield
    until = time.monotonic() + 20
    while (left := marked_processes(f"BN_TEST_MARK={tmp_path}")) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def check_whole(*machines: Runs, test: Sequence[str] = ("-B", "-c", TEST)) -> None:
    """Both have the same complete tree, and it passes its test."""
    trees = {git(one.repo.path, "rev-parse", "HEAD^{tree}") for one in machines}
    assert len(trees) == 1
    for one in machines:
        assert one.repo.status == ""
        subprocess.run([sys.executable, *test], cwd=one.repo.path, check=True)


def test_both_have_the_whole_product_in_the_end(machines, monkeypatch):
    running = [one.begin("--remote", "origin") for one in machines]
    for one in running:
        assert one.wait() == "unproven", (one.told()[-5:], one.errors)
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
    (tmp_path / "pid").write_text(str(victim.process.pid))
    victim.wait()
    assert victim.process.returncode == -signal.SIGKILL, (victim.told()[-5:], victim.errors)
    assert flag.exists()
    other = second.begin("--remote", "origin")
    assert other.wait() == "unproven", (other.told()[-5:], other.errors)
    again = first.begin("--remote", "origin")
    assert again.wait() in ("unproven", "no_ready_task"), (again.told()[-5:], again.errors)
    check_whole(*machines)
    monkeypatch.setenv("BN_DATA_DIR", f"{first.repo.path}.data")
    assert set(first.times("done").values()) == {1}


def test_twelve_tasks_are_completed_although_an_agent_and_a_machine_are_killed(machines, tmp_path, monkeypatch):
    """Tasks that need others and change the same files, one agent killed, one outage, one machine killed."""
    first, second = machines
    first.repo.commit("parts", parts.files(12))
    first.repo.git("push", "--quiet", "origin", "main")
    second.repo.git("pull", "--quiet", "origin", "main")
    agent = player_command(parts.SCRIPT, tmp_path / "play")
    victim = first.begin("--remote", "origin", agent=agent)
    victim.wait_for("progress", total=12)
    other = second.begin("--remote", "origin", agent=agent)
    victim.wait_for("merged")
    victim.kill()
    again = first.begin("--remote", "origin", agent=agent)
    assert other.wait() == "unproven", (other.told()[-5:], other.errors)
    assert again.wait() in ("unproven", "no_ready_task"), (again.told()[-5:], again.errors)
    check_whole(*machines, test=parts.TEST_WORDS)
    monkeypatch.setenv("BN_DATA_DIR", f"{first.repo.path}.data")
    assert first.times("done") == {f"Part {part}": 1 for part in range(1, 13)}
    told = [*victim.told(), *other.told(), *again.told()]
    assert any(event["event"] == "merged" and event.get("conflicts") for event in told)
    assert any(event["event"] == "waiting" and "503" in event["why"] for event in told)
    assert any(event["event"] == "warned" and "signal 9" in event["message"] for event in told)


def test_without_a_common_remote_the_second_is_refused(machines):
    first, second = machines
    running = first.begin()
    running.wait_for("run_started")
    refused = second.begin()
    refused.wait()
    running.process.send_signal(signal.SIGTERM)
    running.wait()
    errors = refused.errors
    assert refused.told() == []
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
