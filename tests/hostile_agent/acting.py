"""An agent of a planned session that means harm, and what it leaves behind."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple, Self

import forked_bn
from binnacle.store import agents, events, sessions
from binnacle.store.store import Store
from binnacle.work.actor import SYSTEM
from cli.conftest import Bn

PROCESS = str(Path(__file__).with_name("agent_process.py"))
WAIT_SECONDS = 90.0


class Done(NamedTuple):
    """What a `bn` of the agent came to."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> dict[str, Any]:
        """What it was refused with; empty if it was not."""
        try:
            return json.loads(self.err.strip().splitlines()[-1])["error"]
        except (ValueError, IndexError, KeyError):
            return {}


class HostileAgent:
    """A process that was started for a session, as a run or `bn plan launch` does. Leaving it kills the process."""

    def __init__(self, bn: Bn, secret: str) -> None:
        env = bn.env | {"BN_SESSION": secret}
        self.process = forked_bn.start(
            [sys.executable, PROCESS], cwd=bn.repo, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._unread = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(timeout=WAIT_SECONDS)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()

    def bn(self, *words: str, **env: str | None) -> Done:
        """Runs `bn` in its shell, with variables of its choice."""
        self.process.stdin.write(json.dumps({"words": list(words), "env": env}).encode() + b"\n")
        self.process.stdin.flush()
        return Done(**json.loads(self._line()))

    def _line(self) -> bytes:
        end = time.monotonic() + WAIT_SECONDS
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                assert ready.select(end - time.monotonic()), "the agent does not answer"
                data = os.read(self.process.stdout.fileno(), 1 << 20)
                assert data, "the agent is gone"
                self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line


def plan_session(bn: Bn, store: Store, **terms: Any) -> tuple[str, str]:
    """Plans a session. Returns its id and its secret."""
    with store.write(by=SYSTEM) as tx:
        session = sessions.start(tx, **terms)
        agents.join_session(tx, session.id, name="planned")
        secret = sessions.issue_secret(tx, session.id)
    bn("plan", "renew", session.id)
    return session.id, secret


class Trace(NamedTuple):
    """What there is to change: the newest event, and every file of the repository, the settings and the data."""

    event: int
    files: dict[str, tuple[int, int]]


def look(store: Store, *folders: Path) -> Trace:
    with store.read() as tx:
        newest = events.last_number(tx)
    found = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    kept = {str(path): _state(path) for path in found if not _is_passing(path)}
    return Trace(newest, kept)


def _is_passing(path: Path) -> bool:
    """Whether a file is the store's own, or a lock: they change by being read."""
    return path.name.startswith("store.db") or path.suffix == ".lock" or "cache" in path.parts


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def changes_since(store: Store, before: Trace) -> list[tuple[str, str]]:
    """What was recorded, as entity and action."""
    with store.read() as tx:
        return [(one.entity, one.action) for one in events.list_events(tx, limit=100) if one.seq > before.event]
