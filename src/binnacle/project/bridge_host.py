"""The bridge of a project: its client, and the headless host."""

import asyncio
import signal
import sys
from contextlib import suppress

from msgspec import Struct

from binnacle.bridge.client.bridge_client import BridgeClient
from binnacle.bridge.client.bridge_status import BridgeStatus, bridge_status
from binnacle.bridge.host.job_host import JobHost
from binnacle.bridge.jobs import process_identity
from binnacle.bridge.jobs.protocol import STOP_SCRIPT, BridgeError, HostInfo, ScriptJob
from binnacle.bridge.manifest import shipped_scripts
from binnacle.errors import Refused

IDLE_MINUTES = 30
"""Minutes without a job after which an automatically started host ends."""

STOP_TIMEOUT_SECONDS = 8.0
"""Seconds for a host to end the programs it debugs, and itself."""


def open_client(workspace: str, *, name: str) -> BridgeClient:
    """A client that starts the headless host when there is none; the caller closes it."""

    async def start(where: str) -> HostInfo:
        from binnacle.bridge.client.host_starter import start_host

        return await start_host(where, host_command(where))

    return BridgeClient(workspace, name=name, start=start)


def host_command(workspace: str) -> list[str]:
    """The command of the headless host. It imports nothing from its working directory."""
    run = "from binnacle.cli.main import run; run()"
    return [sys.executable, "-P", "-c", run, "bridge", "host", "--workspace", workspace, "--idle", str(IDLE_MINUTES)]


async def serve_bridge(workspace: str, *, idle: float | None) -> None:
    """Serves a workspace as its headless host, until it is stopped or has had no job for `idle` seconds.

    Raises:
        BridgeError: another host already serves it.
    """
    from binnacle.bridge.debug.debugger import Debugger
    from binnacle.bridge.debug.scripts.script_table import list_capabilities, run_script
    from binnacle.processes.keeper import Keeper

    async with Keeper() as keeper:
        debugger = Debugger(workspace, keeper)

        async def run(job: ScriptJob) -> object:
            return await run_script(debugger, job.command.script_name, job.command.params, job)

        host = JobHost(workspace, "headless", run, list_capabilities(), idle=idle)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, host.end)
        try:
            await host.serve()
        finally:
            await debugger.close()


async def read_status(workspace: str) -> BridgeStatus:
    """How the bridge of a workspace stands. No host is started for it."""
    client = open_client(workspace, name="cli")
    try:
        return await bridge_status(client, shipped_scripts())
    finally:
        client.close()


class StoppedHost(Struct, frozen=True, omit_defaults=True):
    """Whether a host was ended, and its process if there was one."""

    stopped: bool
    pid: int | None = None


async def stop_host(workspace: str) -> StoppedHost:
    """Ends the headless host of a workspace: by a stop request, then by SIGTERM, then by SIGKILL.

    Raises:
        Refused: the host is an editor, which a person closes.
    """
    client = BridgeClient(workspace, name="cli")
    try:
        host = client.look_for_host()
        if host is None:
            return StoppedHost(stopped=False)
        if host.kind != "headless":
            raise Refused(f"the host is {host.kind}, process {host.pid}", hint="close the workspace there")
        with suppress(BridgeError):
            await client.call(STOP_SCRIPT, {}, timeout=2)
        for by in (None, signal.SIGTERM, signal.SIGKILL):
            if by is not None and host.is_near:
                process_identity.kill_process(host.pid, host.process_start, by=by)
            if await _is_gone(host):
                return StoppedHost(stopped=True, pid=host.pid)
        return StoppedHost(stopped=False, pid=host.pid)
    finally:
        client.close()


async def _is_gone(host: HostInfo) -> bool:
    """Waits for the process to end, long enough for it to end the programs it debugs."""
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_TIMEOUT_SECONDS):
            while host.is_alive():  # noqa: ASYNC110 - there is no event for its end
                await asyncio.sleep(0.02)
        return True
    return False
