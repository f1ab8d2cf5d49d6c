"""Facts about processes are the same from /proc and from psutil."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from binnacle.processes import facts, linux_facts, portable_facts, tcp_owner

PATIENCE = 30


@pytest.fixture(params=[linux_facts, portable_facts], ids=["proc", "psutil"])
def source(request):
    """Where facts come from."""
    if request.param is linux_facts and not os.path.exists("/proc/self/stat"):
        pytest.skip("this system has no /proc")
    return request.param


@pytest.fixture
def child(tmp_path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that waits for its input to end, in a session of its own."""
    code = "import sys; print('ready', flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={"ONE": "a=b", "EMPTY": "", "BN_KEPT": "mine"},
        start_new_session=True,
    )
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.communicate(timeout=PATIENCE)


def test_a_process_has_a_parent_a_session_and_a_start(source, child):
    found, mine = source.find_process(child.pid), source.find_process(os.getpid())
    assert (found.pid, found.parent, found.session) == (child.pid, os.getpid(), child.pid)
    assert found.started >= mine.started
    assert found.key == source.find_process(child.pid).key
    assert not found.is_over
    assert not found.is_stopped
    assert source.read_table()[child.pid].key == found.key


def test_a_process_has_an_environment_a_command_a_program_and_a_folder(source, child, tmp_path):
    variables = source.environment_of(child.pid)
    assert (variables[b"ONE"], variables[b"EMPTY"], variables[b"BN_KEPT"]) == (b"a=b", b"", b"mine")
    assert source.command_line_of(child.pid).startswith(f"{sys.executable} -c import sys")
    assert source.program_of(child.pid) == os.path.realpath(sys.executable)
    assert source.folder_of(child.pid) == os.path.realpath(tmp_path)
    assert not source.has_terminal(child.pid)


def test_one_that_is_stopped_and_one_that_is_over_are_told_from_one_that_runs(source, child):
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert source.find_process(child.pid).is_stopped
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert source.find_process(child.pid).is_over


def test_what_a_process_has_used_only_grows(source):
    before = source.read_usage(os.getpid())
    sum(range(200_000))
    after = source.read_usage(os.getpid())
    assert after[0] >= before[0] > 0
    assert after[1] >= before[1]


def test_nothing_is_known_of_a_process_that_is_not_there(source):
    gone = 2**22 + 1
    assert source.find_process(gone) is None
    assert source.environment_of(gone) == {}
    assert (source.command_line_of(gone), source.program_of(gone), source.folder_of(gone)) == ("", "", "")
    assert source.read_usage(gone) == (0.0, 0)
    assert not source.has_terminal(gone)


def test_a_signal_reaches_the_very_process_only(child):
    entry = facts.find_process(child.pid)
    entry.started -= 1
    facts.send_signal(entry, signal.SIGKILL)
    assert child.poll() is None
    entry.started += 1
    facts.send_signal(entry, signal.SIGTERM)
    assert child.wait(PATIENCE) == -signal.SIGTERM


@pytest.mark.parametrize("has_proc", [True, False], ids=["proc", "psutil"])
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_owner_of_a_connection_is_found(monkeypatch, host, has_proc):
    monkeypatch.setattr(tcp_owner, "HAS_PROC", has_proc)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listener:
        code = (
            f"import socket,sys; s=socket.create_connection(({host!r}, {listener.getsockname()[1]})); sys.stdin.read()"
        )
        client = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
        connection, peer = listener.accept()
        with connection:
            own = connection.getsockname()[:2]
            assert tcp_owner.find_connection_owner(peer[:2], own) == client.pid
            assert tcp_owner.find_connection_owner(peer[:2], own, likely=(client.pid,)) == client.pid
            assert tcp_owner.find_connection_owner((host, 1), own) is None
            assert tcp_owner.find_connection_user(peer[:2], own) == (os.geteuid() if has_proc else None)
        client.communicate(timeout=PATIENCE)
