"""Settings: the defaults, overridden by the user's file, the project's file and the environment."""

import os

import pytest

from binnacle.config.directories import project_config_file, user_config_file
from binnacle.config.settings import SETTINGS, load_settings
from binnacle.errors import ConfigError


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "project").mkdir()
    return str(tmp_path / "project")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def user(text):
    return write(user_config_file(), text)


def project(repo, text):
    return write(project_config_file(repo), text)


def test_without_any_file_the_defaults_are_in_force(repo):
    found = load_settings(repo)
    assert found.values == {key: setting.default for key, setting in SETTINGS.items()}
    assert set(found.origins.values()) == {"default"}
    assert (found.text("store.url"), found.number("store.timeout")) == ("", 10.0)


def test_each_place_overrides_the_one_before(repo, monkeypatch):
    user("[store]\nschema = 'user'\ntimeout = 1\n[claim]\nminutes = 1\n[project]\ntitle = 'mine'\n")
    project(repo, "[store]\ntimeout = 2\n[claim]\nminutes = 2\n")
    monkeypatch.setenv("BN_CLAIM_MINUTES", "3")
    found = load_settings(repo)
    assert (found.values["store.schema"], found.origins["store.schema"]) == ("user", "user")
    assert (found.values["store.timeout"], found.origins["store.timeout"]) == (2, "project")
    assert (found.values["claim.minutes"], found.origins["claim.minutes"]) == (3, "environment")
    assert (found.values["store.url"], found.origins["store.url"]) == ("", "default")


@pytest.mark.parametrize("setting", [setting for setting in SETTINGS.values() if setting.variable])
def test_every_variable_is_read_and_an_empty_one_is_none(repo, monkeypatch, setting):
    given = setting.choices[-1] if setting.choices else "words" if isinstance(setting.default, str) else "7.5"
    monkeypatch.setenv(setting.variable, given)
    assert str(load_settings(repo).values[setting.key]) == given
    monkeypatch.setenv(setting.variable, "")
    assert load_settings(repo).values[setting.key] == setting.default


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[store]\ntimout = 3\n", "did you mean 'store.timeout'?"),
        ("[stroe]\nurl = 'x'\n", "did you mean 'store.url'?"),
        ("[zzzz]\nqqqq = 1\n", "known settings: store.url"),
        ("[project.deeper]\ntitle = 'x'\n", "did you mean 'project.title'?"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest(repo, text, hint):
    path = project(repo, text)
    with pytest.raises(ConfigError, match="unknown setting") as caught:
        load_settings(repo)
    assert path in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "[store]\ntimeout = 'soon'\n",
        "[store]\ntimeout = true\n",
        "[store]\ntimeout = 0\n",
        "[store]\ntimeout = -1\n",
        "[store]\ntimeout = nan\n",
        "[store]\ntimeout = inf\n",
        "[store]\ntimeout = []\n",
        "[store]\nurl = 5\n",
        "[store]\nurl = ['a']\n",
        "[project]\ntitle = 2026-01-01\n",
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_place(repo, text):
    path = project(repo, text)
    with pytest.raises(ConfigError, match=r"takes (text|a number)") as caught:
        load_settings(repo)
    assert caught.value.message.startswith(path)
    assert caught.value.hint


def test_a_wrong_variable_is_named(repo, monkeypatch):
    monkeypatch.setenv("BN_STORE_TIMEOUT", "soon")
    with pytest.raises(ConfigError, match=r"environment variable BN_STORE_TIMEOUT: store\.timeout takes a number"):
        load_settings(repo)


def test_a_key_outside_a_table_is_refused(repo):
    project(repo, "title = 'x'\n")
    with pytest.raises(ConfigError, match="'title' is outside of a table"):
        load_settings(repo)


def test_broken_toml_is_told_with_file_and_line(repo):
    path = project(repo, "[store]\nurl = \n")
    with pytest.raises(ConfigError, match="is not valid TOML") as caught:
        load_settings(repo)
    assert path in caught.value.message
    assert "line 2" in caught.value.message


def test_a_file_that_is_not_utf_8_is_told(repo):
    path = project(repo, "")
    with open(path, "wb") as file:
        file.write(b"[project]\ntitle = '\xff\xfe'\n")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        load_settings(repo)


def test_a_directory_in_place_of_the_file_is_told(repo):
    os.makedirs(project_config_file(repo))
    with pytest.raises(ConfigError, match="cannot read"):
        load_settings(repo)


def test_an_empty_file_is_fine(repo):
    project(repo, "# nothing yet\n")
    assert set(load_settings(repo).origins.values()) == {"default"}
