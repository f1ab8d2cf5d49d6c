"""Files of a repository are opened where they are, and nowhere else."""

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from binnacle.config.repository_files import (
    UnsafeFile,
    find_inside,
    hint_of,
    is_file_inside,
    list_inside,
    open_inside,
    read_inside,
    remove_inside,
    write_inside,
)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with links of every kind, beside a folder that is none of its business."""
    outside, repo = tmp_path / "outside", tmp_path / "repo"
    for folder in (outside / "folder", repo / ".git" / "hooks", repo / "docs"):
        folder.mkdir(parents=True)
    (outside / "secret").write_text("secret")
    (outside / "folder" / "secret").write_text("secret")
    (repo / ".git" / "config").write_text("secret")
    (repo / "docs" / "plain").write_text("plain")
    (repo / "to-plain").symlink_to("docs/plain")
    (repo / "to-docs").symlink_to("docs")
    (repo / "to-new").symlink_to("docs/new")
    (repo / "absolute").symlink_to(outside / "secret")
    (repo / "relative").symlink_to("../outside/secret")
    (repo / "docs" / "deep").symlink_to("../to-outside/secret")
    (repo / "to-outside").symlink_to("../outside/folder")
    (repo / "over").symlink_to("to-outside")
    (repo / "dangling").symlink_to(outside / "new")
    (repo / "to-git").symlink_to(".git/config")
    (repo / "git-folder").symlink_to(".git")
    (repo / "around").symlink_to("around")
    (repo / "top").symlink_to("../repo/docs/plain")
    return repo


LEADING_OUT = (
    "absolute", "relative", "docs/deep", "to-outside/secret", "over/secret", "to-git", "git-folder/config",
    "../outside/secret", "docs/../../outside/secret", ".git/config", "to-outside/../secret", "around",
)  # fmt: skip


@pytest.mark.parametrize("name", LEADING_OUT)
def test_nothing_that_leads_out_is_read_written_or_removed(repo, name):
    before = {path: path.read_bytes() for path in repo.parent.rglob("*") if path.is_file() and not path.is_symlink()}
    for act in (
        lambda: read_inside(str(repo), name),
        lambda: open_inside(str(repo), name),
        lambda: write_inside(str(repo), name, b"changed"),
        lambda: remove_inside(str(repo), name),
    ):
        with pytest.raises(UnsafeFile) as caught:
            act()
        assert caught.value.strerror.startswith("it leads ")
        assert "regular file" in hint_of(caught.value)
    assert find_inside(str(repo), name) is None
    after = {path: path.read_bytes() for path in repo.parent.rglob("*") if path.is_file() and not path.is_symlink()}
    assert after == before


def test_a_link_that_leads_out_to_nothing_makes_nothing(repo):
    with pytest.raises(UnsafeFile):
        write_inside(str(repo), "dangling", b"changed")
    with pytest.raises(UnsafeFile):
        write_inside(str(repo), "to-outside/new/deep", b"changed")
    assert not (repo.parent / "outside" / "new").exists()
    assert not (repo.parent / "outside" / "folder" / "new").exists()


@pytest.mark.parametrize("folder", ["to-outside", "over", "git-folder", "../outside"])
def test_no_folder_elsewhere_is_listed(repo, folder):
    with pytest.raises(UnsafeFile):
        list_inside(str(repo), folder)


@pytest.mark.parametrize("name", ["docs/plain", "to-plain", "to-docs/plain", "top", "docs/../to-plain"])
def test_links_inside_the_repository_are_followed(repo, name):
    for path in (name, str(repo / name)):
        assert read_inside(str(repo), path) == b"plain"
        assert is_file_inside(str(repo), path)
    write_inside(str(repo), name, b"changed")
    assert (repo / "docs" / "plain").read_text() == "changed"
    assert (repo / "to-plain").is_symlink()
    assert list_inside(str(repo), "to-docs") == ["deep", "plain"]


def test_a_link_to_a_file_that_is_not_there_yet_makes_it(repo):
    write_inside(str(repo), "to-new", b"new")
    assert (repo / "docs" / "new").read_text() == "new"


def test_the_root_itself_may_be_reached_by_a_link(repo):
    other = repo.parent / "other"
    other.symlink_to(repo)
    assert read_inside(str(other), "to-plain") == b"plain"
    assert read_inside(str(other), str(repo / "docs" / "plain")) == b"plain"


def test_what_is_written_is_complete_and_keeps_its_mode(repo):
    write_inside(str(repo), "made/on/the/way", b"text")
    assert (repo / "made" / "on" / "the" / "way").read_bytes() == b"text"
    os.chmod(repo / "docs" / "plain", 0o640)
    write_inside(str(repo), "docs/plain", b"text")
    assert (repo / "docs" / "plain").stat().st_mode & 0o777 == 0o640
    write_inside(str(repo), "private", b"text", mode=0o600, is_new=True)
    assert (repo / "private").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        write_inside(str(repo), "private", b"text", is_new=True)
    assert sorted(os.listdir(repo / "docs")) == ["deep", "plain"], "nothing half written is left"


def test_only_plain_files_of_a_bounded_size_are_read(repo):
    os.mkfifo(repo / "pipe")
    (repo / "to-pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(repo / "socket"))
        for name in ("pipe", "to-pipe", "docs"):
            with pytest.raises(UnsafeFile, match="not a regular file"):
                read_inside(str(repo), name)
            with pytest.raises(UnsafeFile, match="not a regular file"):
                write_inside(str(repo), name, b"text")
        with pytest.raises(OSError, match="socket"):
            read_inside(str(repo), "socket")
    assert read_inside(str(repo), "docs/plain", limit=5) == b"plain"
    with pytest.raises(UnsafeFile, match="larger than 4 bytes"):
        read_inside(str(repo), "docs/plain", limit=4)


def test_what_is_not_there_is_said_as_ever(repo):
    with pytest.raises(FileNotFoundError):
        read_inside(str(repo), "docs/none")
    with pytest.raises(FileNotFoundError):
        read_inside(str(repo), "none/none")
    with pytest.raises(NotADirectoryError):
        read_inside(str(repo), "docs/plain/none")
    assert list_inside(str(repo), "none") == []
    assert find_inside(str(repo), "none") is None


def test_no_descriptor_is_left_open(repo):
    before = len(os.listdir("/proc/self/fd"))
    for name in (*LEADING_OUT, "docs/none", "none/none", "docs", "to-plain", "to-docs/plain"):
        for act in (read_inside, list_inside):
            with suppress(OSError):
                act(str(repo), name)
    assert len(os.listdir("/proc/self/fd")) == before
