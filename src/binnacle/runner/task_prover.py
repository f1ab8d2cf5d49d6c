"""Proves the tasks of a run: their checks on the commits of workers, and on what merging them gives.

A stop of the run ends checks at once, and leaves no result of them. What was proven before is not run again.
"""

import time
from collections.abc import Sequence

from binnacle.processes.keeper import Keeper
from binnacle.project.project import Project
from binnacle.proving.change_prover import FAST, ChangeProver, EvidenceOrigin, TaskProof
from binnacle.proving.verification import ClosedWorkVerifier, Verification
from binnacle.proving.work_range import WorkRange
from binnacle.runner import run_events
from binnacle.runner.ports import Worker
from binnacle.runner.run_control import RunControl
from binnacle.runner.run_events import Tell
from binnacle.runner.run_store import RunStore
from binnacle.store import task_requirements, tasks
from binnacle.store.transaction import Reader
from binnacle.work.check import CheckTier
from binnacle.work.done_gate import TaskRequirements
from binnacle.work.evidence import Evidence
from binnacle.work.task import Task

FULL: tuple[CheckTier, ...] = ("fast", "full")
PROGRESS_SECONDS = 1.0
"""Seconds between two reports of what a check does: some write thousands of lines."""


class TaskProver:
    """Proves tasks of one run. The keeper owns every process that it starts."""

    def __init__(self, project: Project, store: RunStore, keeper: Keeper, *, control: RunControl, tell: Tell) -> None:
        self._project = project
        self._store = store
        self._keeper = keeper
        self._control = control
        self._tell = tell

    async def find_needs(self, task_id: str) -> TaskRequirements:
        """What has to be proven of a task."""

        def look(tx: Reader) -> TaskRequirements:
            task = tasks.get(tx, task_id)
            return task_requirements.find_requirements(tx, task, parts=tasks.list_parts(tx, task.id))

        return await self._store.read(look)

    async def prove(
        self, worker: Worker, task_id: str, change: WorkRange, *, is_merged: bool = False, change_tree: str = ""
    ) -> TaskProof:
        """Runs the checks of a task on a change, as far as nothing is known of them.

        `is_merged` if the commit is what the branch of the run becomes: then all trusted checks of the project run, and
        `change_tree` is the tree of the worker's commit.

        Raises:
            RunStopped: the run was stopped.
            ConfigError: the file of checks is wrong.
        """
        prover = self._open_prover(worker, _CheckWatch(self._tell, worker.number, task_id, is_merged=is_merged))
        proving = prover.prove(
            task_id, change, tiers=FULL if is_merged else FAST, is_merged=is_merged, change_tree=change_tree
        )
        return await self._control.unless_stopped(proving)

    async def verify(self, worker: Worker, closed: Sequence[Task], commit: str) -> Verification:
        """Runs what tasks were closed with again at a commit, as far as nothing is known of it.

        Raises:
            RunStopped: the run was stopped.
            GitError: there is no such commit.
            ConfigError: the file of checks is wrong.
        """
        prover = self._open_prover(worker, _CheckWatch(self._tell, worker.number, "", is_merged=True))
        verifier = ClosedWorkVerifier(prover, self._store, worker.cwd, reuses=True)
        return await self._control.unless_stopped(verifier.verify(closed, commit))

    def _open_prover(self, worker: Worker, watch: "_CheckWatch") -> ChangeProver:
        return ChangeProver(
            self._project,
            self._store,
            self._keeper,
            origin=EvidenceOrigin(asked_by=worker.session, run=self._store.run, session=worker.session),
            tell=watch.note,
            on_result=watch.end,
        )


class _CheckWatch:
    """Reports the checks of one task as events."""

    def __init__(self, tell: Tell, worker: int, task_id: str, *, is_merged: bool) -> None:
        self._tell = tell
        self._worker = worker
        self._task_id = task_id
        self._is_merged = is_merged
        self._running = ""
        self._told_at = 0.0

    def note(self, check: str, what: str) -> None:
        """Takes what a check does now: a stage of its run, or the last line that it wrote."""
        if check != self._running:
            self._running = check
            self._tell(
                run_events.CheckStarted(worker=self._worker, task=self._task_id, check=check, is_merged=self._is_merged)
            )
        now = time.monotonic()
        if now - self._told_at < PROGRESS_SECONDS:
            return
        self._told_at = now
        self._tell(run_events.CheckProgressed(worker=self._worker, task=self._task_id, check=check, said=what))

    def end(self, result: Evidence) -> None:
        """Takes the result of a check."""
        self._running = ""
        self._tell(
            run_events.CheckEnded(
                worker=self._worker,
                task=self._task_id,
                check=result.check_name,
                verdict=result.verdict,
                reason=result.reason,
                commit=result.commit_id,
                evidence=result.id,
                seconds=round(result.seconds, 1),
                is_merged=self._is_merged,
            )
        )
