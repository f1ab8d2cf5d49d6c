"""Real server processes: one for each test on stdio, one for each worker on HTTP."""

from collections.abc import Iterator

import pytest

from server.clients import Http, Stdio


@pytest.fixture
def stdio() -> Iterator[Stdio]:
    with Stdio() as server:
        yield server


@pytest.fixture(params=["asyncio", "uvloop"])
def on_any_loop(request) -> Iterator[Stdio]:
    """A server on each event loop: they differ in what they tell of pipes."""
    with Stdio(*(["--uvloop"] if request.param == "uvloop" else []), "stdio") as server:
        yield server


@pytest.fixture(scope="session")
def http() -> Iterator[Http]:
    """A server for tests that leave nothing behind: names in it are unique to a test."""
    with Http() as server:
        yield server
