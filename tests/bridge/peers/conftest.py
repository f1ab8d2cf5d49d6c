"""What every test here needs: other people's software, and a workspace of which nothing is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.agent import Bench, bench
from cli.conftest import bn
from server.peers.conftest import sdk

__all__ = ["bn", "sdk"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Any test here may be the first to ask for a peer, and then waits for its installation."""
    for item in items:
        if item.get_closest_marker("peers") and HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(1200))


@pytest.fixture
def desk(bn) -> Iterator[Bench]:
    with bench(bn) as made:
        yield made
