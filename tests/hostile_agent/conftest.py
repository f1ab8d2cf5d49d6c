"""A repository with work of others in it, and agents that are to leave it alone."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from cli.conftest import bn  # noqa: F401 - the fixture
from hostile_agent.acting import HostileAgent, plan_session
from identity.conftest import client  # noqa: F401 - the fixture
from scenarios.conftest import connect, store, write_recipe  # noqa: F401 - the fixtures

Plan = Callable[..., HostileAgent]


@pytest.fixture
def hostile(bn, store) -> Iterator[Plan]:  # noqa: F811
    """Plans a session and starts its agent."""
    with ExitStack() as stack:

        def start(**terms: str | None) -> HostileAgent:
            session, secret = plan_session(bn, store, **terms)
            agent = stack.enter_context(HostileAgent(bn, secret))
            agent.session, agent.secret = session, secret
            return agent

        yield start
