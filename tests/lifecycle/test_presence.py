"""Registered agents compared with the processes that are there."""

import os
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from binnacle.lifecycle.agent_presence import (
    current_status,
    find_same_agent,
    is_of_process,
    is_present,
    make_registration,
    process_of,
    shell_of,
)
from binnacle.lifecycle.process import find_process
from binnacle.lifecycle.shell_caller import ShellCaller
from binnacle.work.session import Agent
from lifecycle.test_processes import moved

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def registered(caller: ShellCaller | None, name: str = "worker", **changes) -> Agent:
    agent = Agent(id="bna-1", name=name, registered="mcp", created_at=NOW, active_at=NOW)
    if caller is not None:
        agent = msgspec.structs.replace(agent, registered="shell", **make_registration(caller))
    return msgspec.structs.replace(agent, **changes)


def gone(agent: Agent, *, by: int = -1) -> Agent:
    """The same registration, made by a process that has ended and whose id was used again."""
    return msgspec.structs.replace(agent, process_started=moved(agent.process_started, by=by))


@pytest.fixture
def caller(bash) -> ShellCaller:
    """A shell under this process."""
    return ShellCaller(find_process(bash().pid), find_process(os.getpid()))


def test_an_agent_is_its_own_process_and_the_shell_it_registered_from(caller):
    agent = registered(caller)
    assert (process_of(agent).pid, shell_of(agent).pid) == (os.getpid(), caller.shell.pid)
    assert is_present(agent) is True


def test_an_agent_that_registered_itself_has_one_process(caller):
    agent = registered(ShellCaller(caller.shell, caller.shell))
    assert agent.parent_pid is None
    assert process_of(agent) == shell_of(agent) == caller.shell


def test_an_agent_outlives_its_shell(caller):
    agent = gone(registered(caller), by=1)
    assert shell_of(agent) is None
    assert process_of(agent).pid == os.getpid()
    assert is_present(agent) is True


def test_a_process_younger_than_the_shell_is_not_the_one_above_it(caller):
    agent = registered(caller, process_started=moved(find_process(os.getpid()).started, by=-1))
    assert process_of(agent) is None
    assert is_present(agent) is False


def test_nothing_is_left_of_an_agent_of_another_boot(caller):
    agent = registered(caller)
    agent = msgspec.structs.replace(agent, process_started=moved(agent.process_started, boot="x"))
    assert is_present(agent) is False


@pytest.mark.parametrize("place", ["mcp", "another machine"])
def test_an_agent_that_cannot_be_seen_is_there_until_it_was_silent_for_too_long(caller, place):
    elsewhere = registered(caller, process_started=moved(caller.shell.started, host="elsewhere"))
    agent = registered(None) if place == "mcp" else elsewhere
    assert is_present(agent) is None
    assert process_of(agent) is None
    for minutes, status in ((0, "active"), (6, "idle"), (31, "stale")):
        assert current_status(agent, now=NOW + timedelta(minutes=minutes)) == status


def test_an_agent_whose_process_is_gone_is_stale_at_once(caller):
    agent = registered(ShellCaller(caller.shell, caller.shell))
    assert current_status(agent, now=NOW) == "active"
    assert current_status(gone(agent), now=NOW) == "stale"


def test_the_same_shell_is_the_same_agent_whatever_it_calls_itself(caller):
    agent = registered(caller)
    for name in (None, "worker", "other"):
        assert find_same_agent([agent], caller, name=name) == agent


def test_the_next_shell_of_a_process_is_the_same_agent_unless_it_has_another_name(caller):
    before = gone(registered(caller), by=1)
    for name, found in ((None, before), ("worker", before), ("other", None)):
        assert find_same_agent([before], caller, name=name) == found


def test_two_shells_side_by_side_are_two_agents(caller, bash):
    beside = registered(ShellCaller(find_process(bash().pid), caller.agent))
    assert find_same_agent([beside], caller, name=None) is None
    assert is_of_process(beside, caller.agent), "they have one process"


def test_a_process_that_is_somebody_else_is_no_agent_at_all(caller, bash):
    other = find_process(bash().pid)
    strangers = [
        registered(ShellCaller(other, other)),
        registered(None),
        gone(registered(ShellCaller(caller.shell, caller.shell))),
    ]
    for stranger in strangers:
        assert not is_of_process(stranger, caller.agent)
        assert not is_of_process(stranger, caller.shell)


def test_an_agent_that_runs_bn_without_a_shell_is_found_by_its_process(caller, bash):
    agent = gone(registered(caller), by=1)
    assert is_of_process(agent, find_process(os.getpid()))
    assert not is_of_process(agent, find_process(os.getppid()))
