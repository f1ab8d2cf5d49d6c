"""A host of the bridge with scripts made for tests, in this process or in one of its own."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import uvloop

import forked_bn
from binnacle.bridge.host.job_host import JobHost
from binnacle.bridge.jobs.job_files import execute_folder, read_host
from binnacle.bridge.jobs.protocol import BridgeError, ScriptJob

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
loop: ContextVar[str] = ContextVar("loop", default="asyncio")
"""The event loop that tests run on."""

BOUND = 30.0
"""Seconds that no test waits for longer."""


def run(main: Any) -> Any:
    """Runs a coroutine, within a bound."""

    async def bounded() -> Any:
        async with asyncio.timeout(BOUND):
            return await main

    with asyncio.Runner(loop_factory=LOOPS[loop.get()]) as runner:
        return runner.run(bounded())


async def _echo(job: ScriptJob) -> Any:
    return job.command.params


async def _told(job: ScriptJob) -> Any:
    for number in range(3):
        job.progress(number * 50, f"step {number}")
    return {"told": 3}


async def _wait(job: ScriptJob) -> Any:
    job.progress(None, "waiting")
    await asyncio.sleep(60)


async def _stubborn(job: ScriptJob) -> Any:
    """Does not end when it is cancelled, unless there is a file that lets it go."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if os.path.exists(job.command.params["release"]):
                raise


async def _large(job: ScriptJob) -> Any:
    return {"text": "x" * job.command.params["size"]}


async def _wrong(job: ScriptJob) -> Any:
    raise BridgeError("E_NO_SESSION", "no debug session", hint="start one with debug_start", details={"a": 1})


async def _raises(job: ScriptJob) -> Any:
    raise ValueError("unexpected")


async def _strange(job: ScriptJob) -> Any:
    return {"value": object()}


async def _die(job: ScriptJob) -> Any:
    os._exit(9)


SCRIPTS = {
    "echo": _echo, "told": _told, "wait": _wait, "stubborn": _stubborn, "large": _large, "wrong": _wrong,
    "raises": _raises, "strange": _strange, "die": _die,
}  # fmt: skip


async def script(job: ScriptJob) -> Any:
    if (known := SCRIPTS.get(job.command.script_name)) is None:
        raise BridgeError("E_SCRIPT_NOT_FOUND", f"no script {job.command.script_name!r}")
    return await known(job)


@asynccontextmanager
async def serving(workspace: Path, **options: Any) -> AsyncIterator[JobHost]:
    """A host in this process."""
    host = JobHost(str(workspace), "headless", script, {"scripts": ["echo"]}, **options)
    task = asyncio.create_task(host.serve())
    try:
        while (info := read_host(str(workspace))) is None or info.bridge_id != host.info.bridge_id:
            assert not task.done(), task.exception()
            await asyncio.sleep(0.005)
        yield host
    finally:
        host.end()
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() and not isinstance(task.exception(), BridgeError):
            raise task.exception()


@contextmanager
def host_process(workspace: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A host in a process of its own, which serves when this is entered."""
    with forked_bn.start([sys.executable, __file__, str(workspace)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"serving\n"
            yield process
        finally:
            process.kill()


def main() -> None:
    async def serve() -> None:
        async with serving(Path(sys.argv[1])):
            print("serving", flush=True)
            await asyncio.sleep(BOUND * 4)

    asyncio.run(serve())


def jobs(workspace: Path) -> list[str]:
    """What is left in the directory of jobs, and in the one where they are prepared."""
    return sorted([*os.listdir(execute_folder(str(workspace))), *os.listdir(workspace / ".vsc-bridge" / "prepared")])


async def until(condition: Any) -> None:
    """Waits for something to become true; the test's bound holds."""
    while not condition():  # noqa: ASYNC110 - what it waits for happens in files
        await asyncio.sleep(0.005)
