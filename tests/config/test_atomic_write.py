"""Files that are there whole, or as they were."""

import os
import stat

import pytest

from binnacle.config.atomic_write import write_atomically


def test_the_old_file_gives_way_to_the_new_one_with_its_mode(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"old")
    write_atomically(str(file), b"new", mode=0o640, is_lasting=True)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o640)
    assert os.listdir(tmp_path) == ["file"]


def test_it_is_the_owners_alone_unless_it_is_said_otherwise(tmp_path):
    write_atomically(str(tmp_path / "file"), b"secret")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "file" / "in the way").mkdir(parents=True)
    with pytest.raises(OSError, match="file"):
        write_atomically(str(tmp_path / "file"), b"new")
    assert os.listdir(tmp_path) == ["file"]
    assert os.listdir(tmp_path / "file") == ["in the way"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(str(tmp_path / "none" / "file"), b"new")
