"""The acceptance criteria once more, with an editor for a host."""

from collections.abc import Iterator

import pytest

import cli.conftest
from bridge import test_acceptance as scenarios
from bridge.agent import Bench
from bridge.conformance.desk import Desk
from cli.conftest import Bn

pytestmark = pytest.mark.peers

bn = cli.conftest.bn
agent = scenarios.agent
globals().update({name: one for name, one in vars(scenarios).items() if name.startswith("test_")})


@pytest.fixture
def desk(bn: Bn, vscode_host: Desk) -> Iterator[Bench]:
    """The workspace of the window, for an agent that knows nothing of it."""
    vscode_host.reset()
    made = Bench(Bn(vscode_host.workspace, bn.env))
    yield made
    vscode_host.reset()
    assert made.jobs() == []
