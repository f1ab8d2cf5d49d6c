"""Launchers that need long before the server runs: waited for while they work, and not for ever."""

import sys
from pathlib import Path

import pytest

from binnacle.errors import UpstreamDown
from binnacle.processes.output_log import OutputLog
from binnacle.processes.usage import ProcessUsage
from binnacle.upstream import launch_deadline
from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig
from binnacle.upstream.supervisor import LAUNCHING, SupervisedServer
from binnacle.upstream.transports.launch_activity import MIN_BYTES, MIN_CPU_SECONDS, ActivitySample, has_worked
from binnacle.upstream.transports.stdio import StdioTransport
from upstream.test_faults import ROGUE, bench, until

LAUNCHER = str(Path(__file__).with_name("launcher.py"))
GIVEN_SECONDS = 2.0
"""To connect: far less than the launchers take."""


def launched(made, manner, gate, **options):
    """A server that is started by a launcher, which is at it until there is the file `gate`."""
    python = (sys.executable, "-S")
    config = ServerConfig(
        name="slow",
        transport="stdio",
        command=sys.executable,
        args=("-S", LAUNCHER, manner, str(gate), *python, ROGUE),
        source=ConfigSource("cli"),
        **{"connect_timeout": GIVEN_SECONDS} | options,
    )
    log = made.logs["slow"] = OutputLog()
    server = SupervisedServer(config, lambda one, receive: StdioTransport(one, receive, keeper=made.keeper, log=log))
    made.servers.append(server)
    server.start()
    return server


def starts(made):
    return len([line for line in made.logs["slow"].lines if line.startswith("--- started")])


@pytest.mark.parametrize("manner", ["noise", "children", "busy", "writing"])
def test_a_launcher_at_work_is_waited_for_and_shown(manner, tmp_path):
    gate = tmp_path / "gate"

    @bench
    async def scenario(made, place):
        server = launched(made, manner, gate)
        await until(lambda: server.is_launching)
        assert server.status.reason == LAUNCHING
        with pytest.raises(UpstreamDown) as down:
            await made.call(server, "echo", "hi")
        assert "its launcher is still working" in down.value.message
        assert down.value.hint == "it is on its way: call again in a moment"
        await until(lambda: server._deadline.extended_by > GIVEN_SECONDS)
        gate.touch()
        await until(lambda: server.status.state == "ready")
        assert await made.said(server, "echo", "hi") == "hi"
        assert starts(made) == 1

    scenario(tmp_path)


@bench
async def test_one_that_does_nothing_is_ended_at_the_short_bound(made, place):
    server = launched(made, "idle", place / "never", connect_timeout=1.0)
    assert "not ready within 1 s" in (await server.settle()).reason


def test_one_that_works_for_ever_is_ended_at_the_long_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(launch_deadline, "MAX_LAUNCH_SECONDS", 2.5)

    @bench
    async def scenario(made, place):
        server = launched(made, "noise", tmp_path / "never", connect_timeout=1.0)
        found = await server.settle()
        assert found.state == "failed"
        assert found.reason.startswith("slow was still starting after ")

    scenario(tmp_path)


def a_sample(*processes, cpu=0.0, io=0, output=0):
    return ActivitySample(frozenset(processes), ProcessUsage(cpu, io), output)


def test_what_counts_as_work():
    before = a_sample((1, 10), cpu=1.0, io=1000, output=5)
    assert not has_worked(before, before)
    assert not has_worked(before, before._replace(usage=ProcessUsage(1.0 + MIN_CPU_SECONDS / 2, 1000 + MIN_BYTES // 2)))
    assert has_worked(before, before._replace(usage=ProcessUsage(1.0 + MIN_CPU_SECONDS, 1000)))
    assert has_worked(before, before._replace(usage=ProcessUsage(1.0, 1000 + MIN_BYTES)))
    assert has_worked(before, before._replace(output_bytes=6))
    assert has_worked(before, before._replace(processes=frozenset({(1, 10), (2, 20)})))
    assert has_worked(before, before._replace(processes=frozenset({(1, 11)})))
