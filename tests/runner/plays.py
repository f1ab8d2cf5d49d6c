"""Runs of an agent that plays a script (`player`), and a clock that does not wait."""

import shlex
import sys
from pathlib import Path

from binnacle.project.store_opening import open_store
from binnacle.runner.run_control import RunControl
from binnacle.store import attempts, tasks
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask
from runner.runs import Runs

HERE = Path(__file__).parent
PERSON = Actor("ann")


class Play:
    """A run of an agent that plays a script."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self.runs = runs
        self.folder = folder

    def add(self, *new: NewTask) -> list[str]:
        with open_store(self.runs.project) as store, store.write(by=PERSON) as tx:
            return [task.id for task in tasks.add(tx, list(new))]

    def run(self, script: str, *, spec: str = "", **more):
        return self.runs.run(spec=spec, agent=self.agent(script), **more)

    def agent(self, script: str) -> str:
        """The command of an agent that plays a script."""
        return player_command(script, self.folder)

    def flag(self, word: str) -> None:
        """Makes the file that the agent waits for."""
        (self.folder / "kept").mkdir(parents=True, exist_ok=True)
        (self.folder / "kept" / word).touch()

    def kept(self, word: str) -> list[str]:
        found = (self.folder / "kept").glob(f"{word}-[0-9]*")
        return [path.read_text() for path in sorted(found, key=lambda path: int(path.name.rpartition("-")[2]))]

    def attempts(self, task_id: str):
        with open_store(self.runs.project) as store, store.read() as tx:
            return [(one.outcome, one.reason) for one in attempts.list_attempts(tx, task_id)]

    def status(self, task_id: str) -> str:
        with open_store(self.runs.project) as store, store.read() as tx:
            return tasks.get(tx, task_id).status


def player_command(script: str, folder: Path) -> str:
    """The command of an agent that plays a script; both are in `folder`, with what it keeps."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "script.py").write_text(script)
    return shlex.join([sys.executable, str(HERE / "player.py"), str(folder / "script.py"), str(folder / "kept")])


class FastControl(RunControl):
    """A clock that goes on by what is waited for, at once."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0.0

    def now(self) -> float:
        return super().now() + self.waited

    async def sleep(self, seconds, *, until=None) -> None:
        if seconds >= 1:
            self.waited += seconds
        await super().sleep(min(seconds, 0.05), until=until)
