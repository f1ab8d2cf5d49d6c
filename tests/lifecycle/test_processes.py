"""Who a process is: its id and its start, and nothing less."""

import os
import shutil
import subprocess
import sys

import pytest

from binnacle.lifecycle.process import ancestors, find_process, is_alive, is_here, is_older
from lifecycle.conftest import wait_zombie


def moved(started: str, *, by: int = 0, host: str = "", boot: str = "") -> str:
    """A start like `started`, at another moment or in another place."""
    found, space, booted, moment = started.split("/")
    return f"{host or found}/{space}/{boot or booted}/{int(moment) + by}"


def test_a_process_is_seen_with_its_parent_and_its_program(bash):
    child = bash()
    found = find_process(child.pid)
    assert (found.parent_pid, found.name, found.program) == (os.getpid(), "bash", "bash")
    assert found.command.startswith("bash -c")
    assert find_process(child.pid) == found


def test_a_process_is_alive_under_its_own_start_only(bash):
    child = bash()
    started = find_process(child.pid).started
    assert is_alive(child.pid, started)
    for other in (moved(started, by=1), moved(started, by=-1), moved(started, boot="x"), "", "nonsense"):
        assert not is_alive(child.pid, other)


def test_what_has_ended_is_gone_also_before_its_parent_asks(bash):
    child = bash()
    started = find_process(child.pid).started
    child.stdin.write("\n")
    child.stdin.flush()
    wait_zombie(child)
    assert not is_alive(child.pid, started)
    assert find_process(child.pid) is None
    assert child.wait(timeout=30) == 7


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1])
def test_there_is_nothing_under_an_impossible_id(pid):
    assert find_process(pid) is None


def test_a_name_may_hold_anything(start, tmp_path):
    odd = tmp_path / "x) S 1 (y"
    shutil.copy(shutil.which("cat"), odd)
    child = start(str(odd))
    assert (find_process(child.pid).name, find_process(child.pid).parent_pid) == ("x) S 1 (y", os.getpid())


def test_a_script_has_its_own_name_and_the_program_of_its_shell(start, tmp_path):
    script = tmp_path / "deploy"
    script.write_text("#!/bin/bash\necho ready\nread -r line\n")
    script.chmod(0o755)
    child = start(str(script))
    assert child.stdout.readline() == "ready\n"
    assert (find_process(child.pid).name, find_process(child.pid).program) == ("deploy", "bash")


def test_ancestors_lead_up_to_the_first_process(bash):
    child = bash()
    above = ancestors(child.pid)
    assert above[0].pid == os.getpid()
    assert above[1:] == ancestors()
    assert [one.parent_pid for one in above[:-1]] == [one.pid for one in above[1:]]
    assert ancestors(2**22 + 1) == []


def test_a_parent_is_older_than_its_child_and_not_the_other_way_round(bash):
    child = bash()
    grandchild = find_process(child.pid).started
    assert is_older(find_process(os.getpid()).started, than=grandchild)
    assert not is_older(moved(grandchild, by=1), than=grandchild)
    assert not is_older(moved(grandchild, by=-1, boot="x"), than=grandchild)
    assert not is_older("", than=grandchild)
    assert not is_older(grandchild, than="nonsense")


def test_a_process_of_another_machine_is_not_here_and_one_of_another_boot_is():
    mine = find_process(os.getpid()).started
    assert is_here(mine)
    assert is_here(moved(mine, boot="x"))
    assert not is_here(moved(mine, host="elsewhere"))
    assert not is_here("")


def test_the_first_shell_of_a_terminal_leads_it():
    code = (
        "import os, pty, sys\n"
        "from binnacle.lifecycle import process\n"
        "pid, leader = pty.fork()\n"
        "if not pid:\n"
        "    os.execvp('cat', ['cat'])\n"
        "os.write(leader, b'x\\n')\n"
        "said = b''\n"
        "while said.count(b'x') < 2:  # the terminal's echo, and then cat\n"
        "    said += os.read(leader, 9)\n"
        "print(process.find_process(pid).leads_terminal)\n"
        "os.close(leader)\n"
        "os.waitpid(pid, 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"
