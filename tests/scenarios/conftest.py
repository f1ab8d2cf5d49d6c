"""A repository, and agents that come to it over each transport."""

from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from binnacle.store import sessions as store_sessions
from binnacle.store.opening import open_sqlite
from binnacle.store.store import Store
from binnacle.work.actor import Actor
from binnacle.work.session import SessionRecord
from cli.conftest import bn  # noqa: F401 - the fixture
from scenarios.agents import Agent, HttpAgent, StdioAgent

Connect = Callable[..., Agent]
"""Starts a server with the words given to `bn mcp serve`, and connects an agent to it."""


@pytest.fixture(params=["stdio", "http"])
def connect(request, bn) -> Generator[Connect]:  # noqa: F811
    kind = StdioAgent if request.param == "stdio" else HttpAgent
    with ExitStack() as stack:
        yield lambda *words, **env: stack.enter_context(kind(bn, *words, env=env))


@pytest.fixture
def write_recipe(bn) -> Callable[[str, str], None]:  # noqa: F811
    """Writes a recipe of the project's own."""

    def write(name: str, text: str) -> None:
        folder = bn.repo / ".binnacle" / "recipes"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)

    return write


@pytest.fixture
def store(bn) -> Generator[Store]:  # noqa: F811
    """The repository's own store, looked into beside its servers."""
    with open_sqlite(str(Path(bn("store", "path")["path"], "store.db"))) as opened:
        yield opened


@pytest.fixture
def sessions(store) -> Callable[[], list[SessionRecord]]:
    """The sessions there were, oldest first."""

    def listed() -> list[SessionRecord]:
        with store.read() as tx:
            return store_sessions.list_sessions(tx)[::-1]

    return listed


@pytest.fixture
def planned(bn, store) -> Callable[[str, str], tuple[str, Path]]:  # noqa: F811
    """Plans a session on a task. Returns its id and where its files are."""

    def plan(recipe: str, task: str) -> tuple[str, Path]:
        with store.write(by=Actor("ann")) as tx:
            session = store_sessions.start(tx, recipe=recipe, task_id=task)
        bn("plan", "renew", session.id)
        return session.id, Path(bn("store", "path")["path"], "sessions", session.id)

    return plan
