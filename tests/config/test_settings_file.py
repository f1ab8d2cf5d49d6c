"""A settings file is changed in place: the rest of it stays, and a failure leaves the old file."""

import os
import resource
import stat
import subprocess
import sys

import pytest

from binnacle.config.file_replacement import replace_file
from binnacle.config.settings import read_file
from binnacle.config.settings_file import write_setting
from binnacle.errors import ConfigError, InvalidInput

FILE = """\
# The team's settings.

[project]   # what we make
title = "Old"      # shown on pages
description = 'As it was'

[store]
timeout = 5
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "config.toml").write_text(FILE, encoding="utf-8")
    return str(tmp_path / "config.toml")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_comments_order_and_layout_are_kept(path):
    assert write_setting(path, "project.title", "New") == "New"
    assert text_of(path) == FILE.replace('"Old"', '"New"')


def test_a_new_key_joins_its_table(path):
    write_setting(path, "store.schema", "team")
    assert read_file(path) == {
        "project.title": "Old",
        "project.description": "As it was",
        "store.timeout": 5,
        "store.schema": "team",
    }
    assert text_of(path).startswith(FILE.rstrip())


def test_a_new_table_is_made(path):
    write_setting(path, "claim.minutes", "7.5")
    assert read_file(path)["claim.minutes"] == 7.5
    assert text_of(path).startswith(FILE)


def test_a_new_file_is_made_with_its_directory(tmp_path):
    path = str(tmp_path / ".binnacle" / "config.toml")
    write_setting(path, "project.title", 'A "quoted" name \\ and 日本')
    assert read_file(path) == {"project.title": 'A "quoted" name \\ and 日本'}


def test_a_key_is_taken_out_and_its_table_with_the_last(path):
    assert write_setting(path, "store.timeout", None) is None
    assert "store.timeout" not in read_file(path)
    assert "[store]" not in text_of(path)
    assert 'title = "Old"      # shown on pages' in text_of(path)
    write_setting(path, "store.timeout", None)
    assert read_file(path)["project.title"] == "Old"


def test_whole_numbers_are_written_as_such(path):
    write_setting(path, "store.timeout", "20")
    assert "timeout = 20\n" in text_of(path)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("store.timout", "3", InvalidInput),
        ("nonsense", "3", InvalidInput),
        ("store.timeout", "soon", ConfigError),
        ("store.timeout", "-1", ConfigError),
    ],
)
def test_what_does_not_fit_is_refused_and_the_file_left_alone(path, key, value, error):
    with pytest.raises(error) as caught:
        write_setting(path, key, value)
    assert caught.value.hint
    assert text_of(path) == FILE


def test_a_broken_file_is_not_overwritten(path):
    with open(path, "a", encoding="utf-8") as file:
        file.write("[store\n")
    before = text_of(path)
    with pytest.raises(ConfigError, match="cannot change"):
        write_setting(path, "project.title", "New")
    assert text_of(path) == before


def test_a_table_that_is_none_is_said(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("store = 5\n")
    with pytest.raises(ConfigError, match="'store' is not a table"):
        write_setting(str(path), "store.timeout", "3")
    assert path.read_text() == "store = 5\n"


def test_permissions_are_kept(path):
    os.chmod(path, 0o600)
    write_setting(path, "project.title", "New")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_link_stays_a_link(path, tmp_path):
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    write_setting(str(link), "project.title", "New")
    assert link.is_symlink()
    assert read_file(path)["project.title"] == "New"


def test_a_file_that_cannot_take_its_place_leaves_nothing_behind(tmp_path):
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot write"):
        replace_file(str(tmp_path / "config.toml"), "[store]\n")
    assert os.listdir(tmp_path) == ["config.toml"]


def limit_files() -> None:
    """Before a program begins: lets no file of its grow beyond a little, as a full disk would."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def test_a_write_that_breaks_off_leaves_the_old_file_and_no_other(path):
    program = (
        "import sys\n"
        "from binnacle.config.settings_file import write_setting\n"
        "from binnacle.errors import ConfigError\n"
        "try:\n"
        "    write_setting(sys.argv[1], 'project.description', 'x' * 5000)\n"
        "except ConfigError as error:\n"
        "    print(error.code)\n"
    )
    command = [sys.executable, "-B", "-c", program, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, preexec_fn=limit_files)
    assert done.stdout.strip() == "E_CONFIG"
    assert text_of(path) == FILE
    assert os.listdir(os.path.dirname(path)) == ["config.toml"]
