"""A page on a real repository and its store, on each engine."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psycopg
import pytest

from binnacle.errors import BinnacleError
from binnacle.project.project import find_project
from binnacle.store.transaction import Reader, Writer
from binnacle.web.endpoints import load_all
from binnacle.web.page_project import PageProject
from web.served_gui import ServedGui

Result = TypeVar("Result")

SCHEMA = f"page_{os.getpid()}"


class OpenPage:
    """A page that is open on a project: what it reads and does, by the names of endpoints."""

    def __init__(self, repo: Path, *, is_readonly: bool = False) -> None:
        self.repo = repo
        self.project = PageProject(
            find_project(str(repo)), key="shop", person="ann", workspace=str(repo), is_readonly=is_readonly
        )
        self._runner = asyncio.Runner()

    def __call__(self, name: str, /, **asked: Any) -> Any:
        """What an endpoint answers, as the page gets it: JSON values."""
        endpoint = load_all()[name]
        arguments = msgspec.convert(asked, endpoint.asked)
        answer = self._runner.run(endpoint.function(self.project, arguments))
        assert isinstance(answer, endpoint.answer)
        return msgspec.json.decode(msgspec.json.encode(answer))

    def fails(self, name: str, /, **asked: Any) -> BinnacleError:
        """The error of an endpoint that must refuse."""
        with pytest.raises(BinnacleError) as refused:
            self(name, **asked)
        return refused.value

    def wait(self, work: Any) -> Any:
        """The result of a coroutine, run where the endpoints run."""
        return self._runner.run(work)

    def read(self, look: Callable[[Reader], Result]) -> Result:
        """What the store says."""
        return self._runner.run(self.project.read(look))

    def write(self, change: Callable[[Writer], Result]) -> Result:
        """A change by the person of the page."""
        return self._runner.run(self.project.write(change))

    def close(self) -> None:
        self.project.access.close()
        self._runner.close()


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a commit, and the folders of a person of its own."""
    for name in [name for name in os.environ if name.startswith(("BN_", "XDG_")) and name != "BN_PORTABLE"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BN_USER", "ann")
    repo = tmp_path / "shop"
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(repo)], check=True, timeout=60)
    command = ["git", "-C", str(repo), *who, "commit", "--quiet", "--allow-empty", "-m", "Begin"]
    subprocess.run(command, check=True, timeout=60)
    return repo


@pytest.fixture(params=["sqlite", "postgres"])
def page(request: pytest.FixtureRequest, repo: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenPage]:
    """A page on an empty store, on each engine."""
    if request.param == "sqlite":
        page = OpenPage(repo)
        yield page
        page.close()
        return
    url = request.getfixturevalue("postgres_url")
    monkeypatch.setenv("BN_STORE_URL", url)
    monkeypatch.setenv("BN_STORE_SCHEMA", SCHEMA)
    page = OpenPage(repo)
    yield page
    page.close()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("set client_min_messages to warning")
        db.execute(f"drop schema if exists {SCHEMA} cascade")


@pytest.fixture
def sqlite_page(repo: Path) -> Iterator[OpenPage]:
    """A page on an empty store in a file, for what asks the store little."""
    page = OpenPage(repo)
    yield page
    page.close()


@pytest.fixture
def served(repo: Path) -> Iterator[ServedGui]:
    """A page that a process of its own serves."""
    with ServedGui(repo) as gui:
        yield gui
