"""Servers behind a real `bn mcp serve`."""

import pytest

from cli.conftest import Bn, bn  # noqa: F401 - the fixture
from scenarios.conftest import connect, planned, store, write_recipe  # noqa: F401
from server.upstreams.servers import Servers


@pytest.fixture
def servers(bn: Bn) -> Servers:  # noqa: F811
    """What is configured for the repository."""
    return Servers(bn)
