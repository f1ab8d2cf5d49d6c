"""Our extension is installed in an editor that is found, and nowhere else."""

import os

import pytest

from binnacle.app import editors
from binnacle.errors import NotFound, Refused, UsageError


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A PATH with nothing on it, and an extension that was built."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "binnacle.vsix").write_bytes(b"PK")
    monkeypatch.setattr(editors, "EXTENSION", str(tmp_path / "binnacle.vsix"))
    return tmp_path


def put(places, name, code=0):
    """An editor that notes what it is told."""
    path = places / "bin" / name
    path.write_text(f'#!/bin/sh\necho "$0" "$@" >> {places}/said\necho "no room" >&2\nexit {code}\n')
    path.chmod(0o755)
    return str(path)


def test_the_only_one_is_found(places):
    path = put(places, "codium")
    assert editors.install_extension(None) == editors.InstalledExtension(editor=path, extension=editors.EXTENSION)
    assert (places / "said").read_text() == f"{path} --install-extension {editors.EXTENSION} --force\n"


def test_of_several_one_has_to_be_named(places):
    put(places, "code")
    cursor = put(places, "cursor")
    with pytest.raises(UsageError) as caught:
        editors.install_extension(None)
    assert cursor in caught.value.message
    assert "--editor code" in caught.value.hint
    assert not (places / "said").exists()
    assert editors.install_extension("cursor").editor == cursor


def test_without_one_it_is_said_how_to_get_one(places):
    with pytest.raises(NotFound) as caught:
        editors.install_extension(None)
    assert "--editor" in caught.value.hint
    with pytest.raises(NotFound):
        editors.install_extension("emacs")


def test_a_copy_without_the_extension_says_how_to_build_it(places):
    put(places, "code")
    os.unlink(editors.EXTENSION)
    with pytest.raises(NotFound) as caught:
        editors.install_extension(None)
    assert "make vsix" in caught.value.hint


def test_what_an_editor_says_when_it_refuses_is_passed_on(places):
    put(places, "code", code=3)
    with pytest.raises(Refused) as caught:
        editors.install_extension(None)
    assert "no room" in caught.value.message
    assert "--install-extension" in caught.value.hint
