"""Ending a process: the right one, and no other."""

import os
import signal
import subprocess
import sys

import pytest

from binnacle.errors import Refused
from binnacle.lifecycle.process import find_process
from binnacle.lifecycle.termination import terminate
from binnacle.processes import linux
from lifecycle.conftest import wait_zombie
from lifecycle.test_processes import moved

IGNORES_TERM = "trap '' TERM"


@pytest.fixture(params=["by descriptor", "by id"])
def system(request, monkeypatch):
    """Linux, and a system that knows processes by their ids only."""
    if request.param == "by id":
        monkeypatch.setattr(linux, "IS_LINUX", False)


@pytest.mark.usefixtures("system")
def test_a_process_ends_when_it_is_asked_to(bash):
    child = bash()
    assert terminate(child.pid, find_process(child.pid).started) == "terminated"
    assert child.wait(timeout=30) == -signal.SIGTERM


@pytest.mark.usefixtures("system")
def test_one_that_does_not_listen_is_killed(bash):
    child = bash(IGNORES_TERM)
    assert terminate(child.pid, find_process(child.pid).started, grace=0.1) == "killed"
    assert child.wait(timeout=30) == -signal.SIGKILL


@pytest.mark.usefixtures("system")
def test_one_that_tidies_up_has_the_time_to(bash):
    child = bash("trap 'echo tidy; exit 3' TERM")
    assert terminate(child.pid, find_process(child.pid).started) == "terminated"
    assert child.stdout.read() == "tidy\n"
    assert child.wait(timeout=30) == 3


@pytest.mark.usefixtures("system")
def test_an_id_that_was_used_again_is_never_signalled(bash):
    child = bash("trap 'echo signalled' TERM INT HUP")
    started = find_process(child.pid).started
    for other in (
        moved(started, by=-1),
        moved(started, by=1),
        moved(started, boot="x"),
        moved(started, host="x"),
        "",
    ):
        assert terminate(child.pid, other, grace=0.1) == "gone"
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.read() == ""
    assert child.wait(timeout=30) == 7


@pytest.mark.usefixtures("system")
def test_what_has_ended_is_gone(bash):
    child = bash()
    started = find_process(child.pid).started
    child.stdin.write("\n")
    child.stdin.flush()
    wait_zombie(child)
    assert terminate(child.pid, started) == "gone"
    child.wait(timeout=30)
    assert terminate(child.pid, started) == "gone"


@pytest.mark.parametrize("pid", [1, 0, -1])
def test_the_first_process_and_whole_groups_are_never_signalled(pid):
    found = find_process(pid)
    with pytest.raises(Refused, match="never signalled"):
        terminate(pid, found.started if found else "")


def test_a_process_does_not_end_itself():
    mine = find_process(os.getpid())
    for above in (True, False):
        with pytest.raises(Refused, match="cannot end itself"):
            terminate(mine.pid, mine.started, above=above)


def test_what_a_process_runs_under_is_ended_only_when_that_is_meant():
    """A Python under a shell under a shell: it is refused the upper one, and then says that it means it."""
    code = (
        "import os\n"
        "from binnacle.errors import Refused\n"
        "from binnacle.lifecycle.termination import terminate\n"
        "from binnacle.lifecycle.process import ancestors\n"
        "target = ancestors()[1]\n"
        "try:\n"
        "    terminate(target.pid, target.started)\n"
        "except Refused as error:\n"
        "    print(error.message, flush=True)\n"
        "print(terminate(target.pid, target.started, above=True), flush=True)\n"
    )
    agent = subprocess.Popen(
        ["bash", "-c", 'bash -c \'"$0" -c "$1"; true\' "$0" "$1"; true', sys.executable, code],
        stdout=subprocess.PIPE,
        text=True,
    )
    said, _ = agent.communicate(timeout=60)
    assert said == f"this command runs under process {agent.pid}\nterminated\n"
    assert agent.returncode == -signal.SIGTERM
