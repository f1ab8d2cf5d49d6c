"""The kept list of tools: never older than the program, and never in the way."""

import os

import msgspec
import pytest

from binnacle.app import listing
from binnacle.tools.work.catalog import work_tools


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "binnacle"


def made(asked: list[bool]):
    def specs():
        asked.append(True)
        return work_tools(None)

    return specs


def test_the_list_is_made_once_and_kept(cache):
    asked: list[bool] = []
    first = listing.kept_listing(made(asked))
    assert listing.kept_listing(made(asked)) == first
    assert asked == [True]
    assert "task_add" in [tool["name"] for tool in msgspec.json.decode(first)]
    assert len(list(cache.iterdir())) == 1


def test_a_changed_program_makes_it_anew_and_drops_the_old_one(cache, monkeypatch):
    asked: list[bool] = []
    listing.kept_listing(made(asked))
    monkeypatch.setattr(listing, "__version__", "9.9.9")
    listing.kept_listing(made(asked))
    assert asked == [True, True]
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b"{}", b"\xff"])
def test_a_damaged_list_is_made_anew(cache, content):
    asked: list[bool] = []
    whole = listing.kept_listing(made(asked))
    next(cache.iterdir()).write_bytes(content)
    assert listing.kept_listing(made(asked)) == whole
    assert asked == [True, True]


def test_a_place_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(blocker))
    asked: list[bool] = []
    assert listing.kept_listing(made(asked))
    assert listing.kept_listing(made(asked))
    assert asked == [True, True]
