"""`bn run` as a process whose events a test waits for, and `bn` beside it."""

import json
import os
import queue
import subprocess
import threading
import time
from types import TracebackType
from typing import Any, Self

from cli.conftest import Bn
from runner.runs import Runs

WAIT_SECONDS = 90


class RunningCommand:
    """A run in a process of its own. Leaving the block ends it, if it has not ended."""

    def __init__(self, runs: Runs, *words: str, **env: str) -> None:
        self.bn = Bn(runs.repo.path, {**os.environ, "BN_USER": "ann", **env})
        self.process: subprocess.Popen[bytes] = runs.command(*words, **env)
        self.told: list[dict[str, Any]] = []
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=60)
        self._reading.join(60)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def until(self, event: str, **fields: Any) -> dict[str, Any]:
        """Waits for an event with these fields."""
        end = time.monotonic() + WAIT_SECONDS
        while line := self._lines.get(timeout=max(0.1, end - time.monotonic())):
            told = json.loads(line)
            self.told.append(told)
            if told["event"] == event and all(told.get(name) == value for name, value in fields.items()):
                return told
        assert self.process.stderr is not None
        said = [{name: str(value)[:200] for name, value in one.items()} for one in self.told]
        raise AssertionError(f"no {event} {fields} in {said}; {self.process.stderr.read().decode()}")

    def kinds(self) -> list[str]:
        return [one["event"] for one in self.told]
