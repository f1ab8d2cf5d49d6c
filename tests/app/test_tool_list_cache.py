"""The kept list of tools: never older than the program, and never in the way."""

import os

import pytest

import binnacle
from binnacle.serving.tool_list_cache import MAX_KEPT_LISTS, ToolList, fingerprint, read_or_make_list

MADE = ToolList("what to do", b'[{"name":"task_add"}]')


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "binnacle"


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "repo" / ".binnacle" / "recipes").mkdir(parents=True)
    return tmp_path / "repo"


@pytest.fixture
def kept(repo):
    """Asks for the list of a recipe, and remembers how often it was made."""

    def ask(recipe="default"):
        return read_or_make_list(fingerprint(recipe, str(repo)), lambda: ask.made.append(recipe) or MADE)

    ask.made = []
    return ask


def test_the_list_is_made_once_and_kept(cache, kept):
    assert kept() == kept() == MADE
    assert kept.made == ["default"]
    assert len(list(cache.iterdir())) == 1


def test_every_recipe_has_a_list_of_its_own(cache, kept):
    for _ in range(2):
        kept("loop")
        kept("chat")
    assert kept.made == ["loop", "chat"]


def test_a_changed_program_makes_it_anew(cache, kept, monkeypatch):
    kept()
    monkeypatch.setattr(binnacle, "__version__", "9.9.9")
    kept()
    assert kept.made == ["default", "default"]


def test_a_changed_recipe_of_the_project_makes_it_anew(cache, kept, repo):
    kept()
    (repo / ".binnacle" / "recipes" / "default.yaml").write_text("extends: default\n")
    kept()
    assert kept.made == ["default", "default"]


def test_old_lists_make_room(cache, kept):
    for number in range(MAX_KEPT_LISTS + 5):
        kept(f"recipe-{number}")
    assert len(list(cache.iterdir())) == MAX_KEPT_LISTS


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b"{}", b"\xff"])
def test_a_damaged_list_is_made_anew(cache, content, kept):
    kept()
    next(cache.iterdir()).write_bytes(content)
    assert kept() == MADE
    assert kept.made == ["default", "default"]


def test_a_place_that_cannot_be_written_is_no_error(tmp_path, monkeypatch, kept):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(blocker))
    assert kept() == kept() == MADE
    assert kept.made == ["default", "default"]
