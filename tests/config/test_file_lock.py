"""A lock has one holder, ends with it, and nobody waits for it without a bound."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from binnacle.config import file_lock
from binnacle.config.file_lock import try_lock, wait_for_lock, wait_for_lock_async

PATIENCE = 30


@pytest.fixture
def opened(tmp_path) -> Iterator[Callable[[], int]]:
    """Opens the file again and again."""
    descriptors = []

    def open_again() -> int:
        descriptors.append(os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT, 0o600))
        return descriptors[-1]

    yield open_again
    for descriptor in descriptors:
        os.close(descriptor)


def wait_sync(descriptor: int, seconds: float) -> None:
    wait_for_lock(descriptor, timeout_seconds=seconds)


def wait_async(descriptor: int, seconds: float) -> None:
    asyncio.run(wait_for_lock_async(descriptor, timeout_seconds=seconds))


@pytest.fixture(params=[wait_sync, wait_async])
def wait(request) -> Callable[[int, float], None]:
    """Both ways to wait."""
    return request.param


def test_one_has_the_lock_and_many_may_share_it(opened):
    one, other, third = opened(), opened(), opened()
    assert try_lock(one)
    assert not try_lock(other)
    assert not try_lock(other, is_shared=True)
    assert try_lock(one, is_shared=True)
    assert try_lock(other, is_shared=True)
    assert not try_lock(third)


def test_a_free_lock_is_taken_and_one_that_is_kept_is_given_up(opened, wait):
    one, other = opened(), opened()
    wait(one, 0)
    assert not try_lock(other)
    with pytest.raises(TimeoutError, match="another process has locked it"):
        wait(other, 0.05)


def test_the_lock_of_a_killed_process_is_free(opened, wait, tmp_path):
    code = (
        "import os, sys; from binnacle.config.file_lock import try_lock\n"
        "assert try_lock(os.open(sys.argv[1], os.O_RDWR)); print('locked', flush=True); sys.stdin.read()"
    )
    descriptor = opened()
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"locked\n"
        assert not try_lock(descriptor)
        holder.send_signal(signal.SIGKILL)
        wait(descriptor, PATIENCE)
    assert not try_lock(opened())


def test_where_there_are_no_locks_nobody_waits(opened, wait, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(file_lock.fcntl, "flock", refuse)
    wait(opened(), 0)
    with pytest.raises(OSError, match="not supported"):
        try_lock(opened())
