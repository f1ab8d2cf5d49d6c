"""A workspace with a host, called through files as agents do."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from binnacle.bridge.client.bridge_client import BridgeClient
from binnacle.bridge.jobs import proofs
from binnacle.bridge.jobs.job_files import read_host
from binnacle.bridge.jobs.protocol import HostInfo
from binnacle.errors import BridgeError
from binnacle.project.bridge_host import host_command

T = TypeVar("T")

PROGRAMS = Path(__file__).parent.parent / "debug" / "programs"
PATIENCE = 100.0
"""Seconds until a test gives up waiting. A window that debugs for the first time takes a while."""

LONG = 90_000
"""Milliseconds for a program to get somewhere."""

RESUMING = ("debug.start", "debug.continue", "debug.restart", "debug.pause", "debug.wait-for-hit", "test.debug-single")


class Desk:
    """One workspace and its host. The host serves all tests; what a test leaves is cleared away."""

    def __init__(self, workspace: Path, kind: str) -> None:
        self.workspace = workspace
        self.kind = kind
        self._runner = asyncio.Runner()
        self.client = self.run(self._open())

    async def _open(self) -> BridgeClient:
        return BridgeClient(str(self.workspace), name="cli")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` to its end, which must come."""

        async def limited() -> T:
            async with asyncio.timeout(PATIENCE):
                return await work

        return self._runner.run(limited())

    def __call__(self, script: str, **params: Any) -> Any:
        return self.run(self.ask(script, **params))

    async def ask(self, script: str, **params: Any) -> Any:
        if script.startswith(("debug.step", *RESUMING)):
            params = {"timeoutMs": LONG, **params}
        return await self.client.call(script, params, timeout=PATIENCE)

    def fails(self, code: str, script: str, **params: Any) -> BridgeError:
        """Calls a script that answers with that error."""
        with pytest.raises(BridgeError) as caught:
            self(script, **params)
        assert caught.value.code == code, caught.value
        return caught.value

    def stop_at(self, program: str, line: int, **params: Any) -> Any:
        """A program that stands at a line."""
        self("breakpoint.set", path=program, line=line)
        told = self("debug.start", program=program, **params)
        assert where(told) == (program, line)
        return told

    def host(self) -> HostInfo:
        found = read_host(str(self.workspace))
        assert found is not None
        return found

    def key(self) -> bytes:
        """What the host shares with its clients."""
        found = proofs.read_key(str(self.workspace), self.host().bridge_id)
        assert found is not None
        return found

    def jobs(self) -> list[str]:
        folder = self.workspace / ".vsc-bridge"
        return sorted(os.listdir(folder / "execute") + os.listdir(folder / "prepared"))

    def write(self, name: str, text: str) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def reset(self) -> None:
        """Nothing is debugged, nothing is set, and the files are as they were."""
        # A window that was too busy to answer may have left for a moment.
        wait_until(lambda: (host := self.client.look_for_host()) is not None and host.kind == self.kind)
        while self.run(self._stops_one()):
            pass
        self("breakpoint.clear.project")
        lay_out(self.workspace)

    async def _stops_one(self) -> bool:
        try:
            await self.ask("debug.stop")
        except BridgeError as error:
            if error.code == "E_NO_SESSION":
                return False
            raise
        return True

    def close(self) -> None:
        self.client.close()
        self._runner.close()


def lay_out(workspace: Path) -> None:
    """The programs that are debugged, and nothing else."""
    workspace.mkdir(exist_ok=True)
    # Under its own name it would be taken for tests of ours.
    names = {("test_shop.py" if one.name == "checks.py" else one.name): one for one in PROGRAMS.glob("*.py")}
    for path in workspace.iterdir():
        if path.name not in (".vsc-bridge", ".git", "node_modules", *names):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, program in names.items():
        # An editor removes the breakpoints of a file that is deleted, and hears of it late.
        if not (workspace / name).exists() or (workspace / name).read_bytes() != program.read_bytes():
            shutil.copy(program, workspace / name)


def environment() -> dict[str, str]:
    """What the programs of a host have in common; with their clients they share a place for keys."""
    mode = {name: value for name, value in os.environ.items() if name == "BN_PORTABLE"}  # one for all processes
    return {"BN_DATA_DIR": os.environ["BN_DATA_DIR"], "VIRTUAL_ENV": sys.prefix, "PYTHONDONTWRITEBYTECODE": "1"} | mode


@contextlib.contextmanager
def headless(workspace: Path, env: dict[str, str]) -> Iterator[HostInfo]:
    """A host without an editor. Leaving it ends the host with all it debugs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "BN_"))}
    kept["PYTEST_DEBUG_TEMPROOT"] = os.environ["PYTEST_DEBUG_TEMPROOT"]  # where a debugged pytest has its folders
    with subprocess.Popen(host_command(str(workspace)), env=kept | env, stdin=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: _serves(workspace, process))
            found = read_host(str(workspace))
            assert found is not None
            yield found
        finally:
            process.terminate()
            process.wait(timeout=30)


def _serves(workspace: Path, process: "subprocess.Popen[bytes]") -> bool:
    assert process.poll() is None, "the host has ended"
    found = read_host(str(workspace))
    return found is not None and found.pid == process.pid


def wait_until(holds: Any) -> None:
    """Waits for something to become true, within bounds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it does not become so"
        time.sleep(0.02)


def where(told: Any) -> tuple[str, int]:
    """File and line where a program stands."""
    assert told["state"] == "paused", told
    return told["frames"][0]["file"], told["frames"][0]["line"]


def values(variables: Any) -> dict[str, str]:
    return {one["name"]: one["value"] for one in variables}


def shape(value: Any) -> Any:
    """What fields there are and of which kinds; not what stands in them."""
    match value:
        case dict():
            return {name: shape(one) for name, one in value.items()}
        case list():
            shapes: list[Any] = []
            for one in map(shape, value):
                if one not in shapes:
                    shapes.append(one)
            return sorted(shapes, key=json.dumps)
        case bool() | None:
            return str(type(value).__name__)
        case int() | float():
            return "number"
        case _:
            return "text"
