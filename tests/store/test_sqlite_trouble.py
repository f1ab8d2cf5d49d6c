"""A disk that is full, a directory that cannot be written: said clearly, and nothing is lost."""

import ctypes
import json
import os
import stat
import subprocess
import sys

import pytest

from store.verbs import put

SCRIPT = os.path.join(os.path.dirname(__file__), "trouble.py")
TESTS = os.path.dirname(os.path.dirname(__file__))

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def obey_permissions() -> None:
    """Before a program of root's begins: takes away the right to pass over permissions."""
    libc = ctypes.CDLL(None)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def outcome(*arguments: str, within: tuple[str, ...] = ()) -> dict:
    """What `trouble.py` has to say."""
    done = subprocess.run(
        [*within, sys.executable, SCRIPT, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, os.environ.get("PYTHONPATH", "")])},
        preexec_fn=obey_permissions if os.geteuid() == 0 and not within else None,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def mounts_of_its_own() -> tuple[str, ...]:
    """The command that gives a process mounts of its own; nothing where the machine allows none."""
    for command in (("unshare", "-m"), ("unshare", "-rm")):
        try:
            probe = [*command, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
            if subprocess.run(probe, capture_output=True, timeout=60, check=False).returncode == 0:
                return command
        except FileNotFoundError:
            pass
    return ()


def test_a_full_disk_is_said_and_nothing_is_changed_and_it_goes_on_when_there_is_room(tmp_path):
    within = mounts_of_its_own()
    found = outcome("full-disk", str(tmp_path), "mount" if within else "limit", within=within)
    assert {error and error["code"] for error in found["errors"]} == {"E_STORE_FULL"}
    assert found["errors"][0]["hint"] == "free some space; nothing was changed"
    assert found["unchanged"] is True
    assert found["ready"] == ["before", "after"]
    assert (found["sound"], found["hits"]) == ("ok", ["after"])


def test_a_new_store_for_which_there_is_no_room_is_made_when_there_is(tmp_path):
    within = mounts_of_its_own()
    if within:  # the machine lets us make a disk that is too small
        found = outcome("new-on-full-disk", str(tmp_path), within=within)
        assert found["error"]["code"] == "E_STORE_FULL"
        assert found["ready"] == ["after"]


def test_a_store_that_cannot_be_opened_for_want_of_space_says_so(tmp_path):
    within = mounts_of_its_own()
    if within:
        found = outcome("known-on-full-disk", str(tmp_path), within=within)
        assert {error["code"] for error in found["errors"] if error} == {"E_STORE_FULL"}
        assert found["errors"][-1] is not None
        assert found["ready"] == ["before", "after"]


@pytest.fixture
def there(sqlite_place):
    """A store with a task in it, closed."""
    store = sqlite_place.open()
    put(store, "there")
    store.close()
    return sqlite_place.where


@pytest.fixture
def locked_directory(there):
    """That store in a directory that cannot be written."""
    folder = os.path.dirname(there)
    os.chmod(there, 0o444)
    os.chmod(folder, 0o555)
    yield there
    os.chmod(folder, 0o755)


def test_a_store_in_a_read_only_directory_is_read_and_not_written(locked_directory):
    with open(locked_directory, "rb") as file:
        before = file.read()
    found = outcome("read-only", locked_directory)
    assert found["open"] is None
    assert (found["ready"], found["hits"]) == (["there"], ["there"])
    assert found["write"]["code"] == "E_STORE_READONLY"
    assert "BN_DATA_DIR" in found["write"]["hint"]
    assert os.listdir(os.path.dirname(locked_directory)) == ["store.db"]
    with open(locked_directory, "rb") as file:
        assert file.read() == before


def test_a_read_only_file_in_a_directory_that_can_be_written_is_read_too(there):
    os.chmod(there, 0o444)
    found = outcome("read-only", there)
    assert (found["open"], found["ready"]) == (None, ["there"])
    assert found["write"]["code"] == "E_STORE_READONLY"


def test_a_new_store_in_a_read_only_directory_is_refused(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    for path in (folder / "store.db", folder / "data" / "store.db"):
        found = outcome("read-only", str(path))
        assert found["open"]["code"] == "E_STORE_READONLY"
        assert "BN_DATA_DIR" in found["open"]["hint"]
    assert list(folder.iterdir()) == []


def test_a_read_only_store_with_an_unfinished_log_beside_it_is_not_read_as_if_it_were_whole(locked_directory):
    folder = os.path.dirname(locked_directory)
    os.chmod(folder, 0o755)
    with open(f"{locked_directory}-wal", "wb") as file:
        file.write(b"\x37\x7f\x06\x82" + b"\x00" * 4096)
    os.chmod(f"{locked_directory}-wal", 0o444)
    os.chmod(folder, 0o555)
    found = outcome("read-only", locked_directory)
    assert found["open"]["code"] == "E_STORE_READONLY"


def test_a_file_that_may_not_be_read_is_said(there):
    os.chmod(there, 0)
    found = outcome("read-only", there)
    assert found["open"]["code"] == "E_STORE_READONLY"


def test_nobody_else_may_look_into_the_directory_of_a_store(there):
    assert stat.S_IMODE(os.stat(os.path.dirname(there)).st_mode) == 0o700


def test_a_directory_where_the_store_should_be_is_said(tmp_path):
    found = outcome("read-only", str(tmp_path))
    assert found["open"]["code"] == "E_STORE_READONLY"


READER = """
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select count(*) from task").fetchone()[0])
"""


def test_a_second_store_of_a_process_takes_no_locks_from_the_first(sqlite_place):
    """Else the next reader would think itself the last, and take the log of the first away."""
    first = sqlite_place.open()
    put(first, "One")
    sqlite_place.open().close()
    for number in (1, 2, 3):
        done = subprocess.run(
            [sys.executable, "-c", READER, sqlite_place.where], capture_output=True, text=True, timeout=60, check=True
        )
        assert int(done.stdout) == number
        put(first, f"Another {number}")
