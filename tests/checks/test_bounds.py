"""A check is bounded: in time, in memory, in output; and nothing of it is left, however it or we end."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from binnacle.checks.bounded_log import HEAD_BYTES, TAIL_BYTES, BoundedLog
from binnacle.checks.clean_checkout import clean_checkout
from checks.checked_repository import make_check

PATIENCE_SECONDS = 60

LEAVES_A_DAEMON = """\
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(1000)
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():
    time.sleep(0.01)
time.sleep(float(sys.argv[2]))
"""


def wait_until(is_true) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_check_that_hangs_is_ended_with_what_left_its_group(checked):
    pid = checked.path / "pid"
    commit = checked.branch({"hang.py": LEAVES_A_DAEMON})
    found = checked.run(make_check(f"{sys.executable} hang.py {pid} 1000", timeout=3), commit)
    assert (found.verdict, found.reason) == ("timeout", "it took longer than 3 s and was ended")
    assert not is_alive(int(pid.read_text()))


def test_what_a_check_leaves_behind_is_ended_when_it_is_over(checked):
    pid = checked.path / "pid"
    commit = checked.branch({"hang.py": LEAVES_A_DAEMON})
    assert checked.run(make_check(f"{sys.executable} hang.py {pid} 0"), commit).verdict == "pass"
    assert not is_alive(int(pid.read_text()))


def test_a_gigabyte_of_output_is_cut_with_a_notice(checked):
    found = checked.run(make_check("sh -c 'echo first; yes flood | head -c 1G; echo last'"), checked.base)
    assert found.verdict == "pass"
    assert found.log_bytes > 1 << 30
    log = Path(found.log).read_bytes()
    assert len(log) < HEAD_BYTES + TAIL_BYTES + 1000
    assert log.startswith(b"first")
    assert log.endswith(b"last\n")
    assert b"bytes of output were left out here" in log


def test_a_log_keeps_its_beginning_and_its_end():
    log = BoundedLog()
    for number in range(200):
        log.write(b"%04d" % number * 10_000)
    kept = log.content
    assert kept.startswith(b"0000")
    assert kept.endswith(b"0199")
    assert log.size == 200 * 40_000
    assert len(kept) <= HEAD_BYTES + TAIL_BYTES + 100


def test_a_short_log_is_kept_as_it_is():
    log = BoundedLog()
    log.write(b"a\n")
    log.write(b"b\n")
    assert (log.content, log.excerpt()) == (b"a\nb\n", "a\nb")


def test_an_excerpt_is_of_the_check_itself_and_without_colours():
    log = BoundedLog()
    log.write(b"Collecting pytest\n")
    log.begin_command()
    assert log.excerpt() == "Collecting pytest", "a check that said nothing leaves what its setup said"
    log.write(b"10 %\r90 %\r\n\x1b[31m\x1b[1m1 failed\x1b[0m\x1b]0;title\x07 in 1 s\r\n")
    assert log.excerpt() == "90 %\n1 failed in 1 s"
    log.write(b"x" * (HEAD_BYTES + 2 * TAIL_BYTES) + b"\nthe end\n")
    assert log.excerpt().endswith("\nthe end")


def test_a_process_of_a_check_gets_no_more_memory_than_it_may_have(checked):
    check = make_check(f"{sys.executable} -c 'x = bytearray(900 << 20)'", memory=300)
    found = checked.run(check, checked.base)
    assert found.verdict == "fail"
    assert "MemoryError" in found.log_excerpt


KILLED = """\
import asyncio, sys
from pathlib import Path
from checks.checked_repository import CheckedRepository, make_check

checked = CheckedRepository.__new__(CheckedRepository)
checked.path = Path(sys.argv[1])
from runner.repositories import Repository
checked.repo, checked.folder = Repository(checked.path / "repo"), checked.path / "checks"
checked.told, checked.environ, checked.base = [], {}, ""
checked.run(make_check(f"{sys.executable} hang.py {sys.argv[1]}/pid 1000"), sys.argv[2])
"""


def test_a_kill_of_us_leaves_no_process_and_the_next_run_removes_the_checkout(checked):
    commit = checked.branch({"hang.py": LEAVES_A_DAEMON})
    pid = checked.path / "pid"
    tests = str(Path(__file__).parents[1])
    ours = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(checked.path), commit], env={**os.environ, "PYTHONPATH": tests}
    )
    try:
        wait_until(lambda: pid.exists() and pid.read_text())
    finally:
        ours.send_signal(signal.SIGKILL)
        ours.wait(PATIENCE_SECONDS)
    wait_until(lambda: not is_alive(int(pid.read_text())))
    assert len(checked.rooms) == 2  # the room and its lock
    left = next(checked.folder.glob("room-*/temporary")).read_text()
    assert os.path.isdir(left)
    checked.run(make_check("true"), checked.base)
    assert checked.rooms == []
    assert not os.path.exists(left)


def test_a_cancelled_check_leaves_nothing(checked):
    commit = checked.branch({"hang.py": LEAVES_A_DAEMON})
    pid = checked.path / "pid"

    async def cancel() -> None:
        running = asyncio.create_task(checked.run_async(make_check(f"{sys.executable} hang.py {pid} 1000"), commit, ""))
        await asyncio.to_thread(wait_until, lambda: pid.exists() and pid.read_text())
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()

    asyncio.run(asyncio.wait_for(cancel(), PATIENCE_SECONDS))
    assert not is_alive(int(pid.read_text()))
    assert checked.rooms == []


def test_a_room_that_is_in_use_is_not_removed_by_another(checked):
    async def two() -> None:
        async with (
            clean_checkout(str(checked.repo.path), "HEAD", folder=str(checked.folder)) as one,
            clean_checkout(str(checked.repo.path), "HEAD", folder=str(checked.folder)) as other,
        ):
            assert one.tree != other.tree
            assert os.path.exists(os.path.join(one.tree, "cart.py"))

    asyncio.run(asyncio.wait_for(two(), PATIENCE_SECONDS))
    assert checked.rooms == []


def test_rooms_that_are_made_at_once_do_not_remove_each_other(checked):
    async def use() -> None:
        async with clean_checkout(str(checked.repo.path), "HEAD", folder=str(checked.folder)) as room:
            name = os.path.basename(os.path.dirname(room.tree))
            assert {name, f"{name}.lock"} <= set(checked.rooms)

    async def all_at_once() -> None:
        await asyncio.gather(*(use() for _ in range(12)))

    asyncio.run(asyncio.wait_for(all_at_once(), PATIENCE_SECONDS))
    assert checked.rooms == []


def test_only_our_own_folders_are_removed(checked, tmp_path):
    """A file that names another folder for temporary files, and folders that are not rooms."""
    other = tmp_path / "home" / "bn-check-x"
    other.mkdir()
    room = checked.folder / "room-0123456789ab"
    room.mkdir(parents=True)
    (room / "temporary").write_text(str(other))
    (checked.folder / "room-0123456789ab.lock").touch()
    (checked.folder / "room-mine").mkdir()
    (checked.folder / "room-mine.lock").touch()
    checked.run(make_check("true"), checked.base)
    assert other.is_dir()
    assert sorted(checked.rooms) == ["room-mine", "room-mine.lock"]


def test_hooks_of_the_person_do_not_run(checked):
    hooks = checked.path / "hooks"
    hooks.mkdir()
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {checked.path}/hooked\n")
    (hooks / "post-checkout").chmod(0o755)
    (Path(os.environ["HOME"]) / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n")
    assert checked.run(make_check("true"), checked.base).verdict == "pass"
    assert not (checked.path / "hooked").exists()
