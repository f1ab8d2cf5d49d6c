"""Runs of the product in a repository of a test, with the demo agent."""

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

import forked_bn
from binnacle.app import run
from binnacle.app.run_request import RunRequest
from binnacle.project.project import Project, find_project
from binnacle.project.store_opening import open_store
from binnacle.runner.agents.agent_commands import resolve_agent
from binnacle.runner.run_control import RunControl
from binnacle.runner.run_events import RunEnded, RunEvent
from binnacle.store import sessions, tasks
from binnacle.store.events import EVENTS
from binnacle.store.tasks import TaskFilter
from binnacle.work.task import Task
from demo_commands import MISBEHAVING_AGENT
from runner.repositories import Repository

TWO = """# Words

## Tasks

- Add the word one
  ```python one.py
  WORD = "one"
  ```
- Add the word two
  ```python two.py
  WORD = "two"
  ```
"""
"""A specification of two tasks that need nothing but files."""

WITHIN = 580 if os.environ.get("BN_TEST_EXAMPLES") == "deep" else 110
"""Seconds for a run of a test."""


def many(number: int) -> str:
    """A specification of so many tasks, each a file of its own."""
    items = (f"- Add the word w{one}\n  ```python w{one}.py\n  WORD = {one}\n  ```\n" for one in range(1, number + 1))
    return "# Words\n\n## Tasks\n\n" + "".join(items)


class Runs:
    """A repository in which runs are made."""

    def __init__(self, repo: Repository, home: Path) -> None:
        """What the agents keep is in `home`; a mark in their environment says which processes belong to this test."""
        self.repo = repo
        self._home = home
        self.told: list[RunEvent] = []

    @property
    def project(self) -> Project:
        return find_project(str(self.repo.path))

    def run(
        self,
        spec: str = TWO,
        *,
        misbehave: str = "",
        on: Callable[[RunEvent, RunControl], None] | None = None,
        **more: Any,
    ) -> RunEnded:
        """A run in this process; its agents are processes of their own. `on` sees everything as it happens."""
        words = more.pop("agent", shlex.join(MISBEHAVING_AGENT))
        agent = resolve_agent(f"{words} --misbehave {misbehave}" if misbehave else words)
        more_control, confirm = more.pop("control", None), more.pop("confirm", None)
        person = more.pop("person", None)
        given: dict[str, Any] = {"name": "words", "approve": "all", "silence": 60, "within": 100, **more}
        wanted = RunRequest(agent=agent, start=str(self.repo.path), spec=spec, **given)

        async def go() -> RunEnded:
            control = more_control or RunControl()

            def tell(event: RunEvent) -> None:
                self.told.append(event)
                if on is not None:
                    on(event, control)

            async with asyncio.timeout(WITHIN):
                return await run.run(self.project, wanted, control=control, tell=tell, person=person, confirm=confirm)

        return asyncio.run(go())

    def command(
        self, *words: str, stdout: Any = subprocess.PIPE, stderr: Any = subprocess.PIPE, **env: str
    ) -> "subprocess.Popen[bytes]":
        """`bn run` as a process, telling what happens as JSON."""
        bn = [os.path.join(os.path.dirname(sys.executable), "bn"), "run", *words]
        return forked_bn.start(
            [*bn, "--json"], cwd=self.repo.path, env={**os.environ, **env}, stdout=stdout,
            stderr=stderr, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def kinds(self, kind: type[RunEvent]) -> list[Any]:
        """What was told of one kind."""
        return [event for event in self.told if isinstance(event, kind)]

    def tasks(self) -> dict[str, Task]:
        """Every task by its title."""
        with open_store(self.project) as store, store.read() as tx:
            found, _ = tasks.list_tasks(tx, TaskFilter(closed_too=True), limit=1000)
            return {task.title: task for task in found}

    def statuses(self) -> list[str]:
        return sorted(task.status for task in self.tasks().values())

    def holders(self) -> set[str | None]:
        """Who holds a task."""
        return {task.claimed_by for task in self.tasks().values()} - {None}

    def times(self, action: str) -> dict[str, int]:
        """How often each task was moved so."""
        with open_store(self.project) as store, store.read() as tx:
            found = EVENTS.select(tx, "where entity = 'task' and action = ? order by seq", action)
        titles = {task.id: title for title, task in self.tasks().items()}
        counts: dict[str, int] = {}
        for event in found:
            counts[titles[event.entity_id]] = counts.get(titles[event.entity_id], 0) + 1
        return counts

    def iterations(self) -> list[tuple[int, str]]:
        """Numbers and summaries of the iterations of the newest session."""
        with open_store(self.project) as store, store.read() as tx:
            newest = sessions.list_sessions(tx, limit=1)[0]
            return [(one.number, one.summary) for one in sessions.list_iterations(tx, newest.id)]

    def session_status(self) -> str:
        with open_store(self.project) as store, store.read() as tx:
            return sessions.list_sessions(tx, limit=1)[0].status


def last_event(output: bytes) -> dict[str, Any]:
    """The last thing that `bn run --json` told."""
    found: dict[str, Any] = msgspec.json.decode(output.strip().splitlines()[-1])
    return found


def marked_processes(mark: str) -> list[int]:
    """The processes that have a word in their environment, ourselves excepted."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                environment = Path(f"/proc/{name}/environ").read_bytes()
                state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in environment and state != "Z":
                found.append(int(name))
    return found
