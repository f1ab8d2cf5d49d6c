"""`done` outside of runs: runs the checks that a task needs, and closes it, or says what is missing.

A `done` of a task with checks is a request (`store.done_requests`). Whoever asks gets the answer of the checks at once.
A request that is refused is kept with its reason; after too many for different commits, a person is asked.
"""

from typing import NamedTuple

from binnacle.checks.check_runner import Tell
from binnacle.errors import Unproven
from binnacle.processes.keeper import Keeper
from binnacle.project.project import Project
from binnacle.proving.change_prover import ChangeProver, EvidenceOrigin, TaskProof
from binnacle.proving.proof_report import describe_missing
from binnacle.proving.proof_store import ProofStore
from binnacle.proving.work_range import find_work_range
from binnacle.store import done_requests, questions, reports, task_moves, tasks, work_starts
from binnacle.store.task_moves import TaskMove
from binnacle.store.transaction import Writer
from binnacle.work.actor import Actor
from binnacle.work.done_gate import DoneRequest
from binnacle.work.report import MAX_WORDS_CHARACTERS
from binnacle.work.status import is_closed

FIX_IT = "fix it, commit, and set the task to done again"


class DoneAsker(NamedTuple):
    """Who calls a task done, and where its work is."""

    actor: Actor
    session: str | None
    workspace: str
    """A folder in the working tree whose commits count."""


class ClosedTask(NamedTuple):
    """What a request led to."""

    move: TaskMove
    missing: str = ""
    """What is missing, in words for who asked; empty if the task is done."""

    proof: TaskProof | None = None

    @property
    def is_done(self) -> bool:
        return not self.missing


class TaskCloser:
    """Carries out requests for `done` in one project."""

    def __init__(self, project: Project, store: ProofStore, *, max_attempts: int) -> None:
        """`max_attempts` is after how many refused commits a person is asked."""
        self._project = project
        self._store = store
        self._max_attempts = max_attempts

    async def close(self, request: DoneRequest, asker: DoneAsker, *, tell: Tell | None = None) -> ClosedTask:
        """Runs the checks of a request and closes its task, or refuses it. Cancelling leaves it as it is.

        Raises:
            GitError: there is no commit to check.
            ConfigError: the file of checks is wrong.
            NotFound: the task is gone.
        """
        start = await self._store.read(lambda tx: work_starts.find(tx, request.task_id))
        change = await find_work_range(asker.workspace, start.commits if start else ())
        origin = EvidenceOrigin(asked_by=asker.actor.name, session=asker.session)
        async with Keeper() as keeper:
            prover = ChangeProver(self._project, self._store, keeper, origin=origin, tell=tell)
            found = await prover.prove(request.task_id, change, is_by_person=asker.actor.kind == "human")
        return await self._store.write(lambda tx: self._finish(tx, request, asker, found))

    def _finish(self, tx: Writer, request: DoneRequest, asker: DoneAsker, found: TaskProof) -> ClosedTask:
        if not found.is_proven:
            return self._refuse(tx, request, found, describe_missing(found))
        try:
            move = _close(tx, request, asker, found)
        except Unproven as error:  # something has changed meanwhile, and the store has the last word
            return self._refuse(tx, request, found, error.message)
        return ClosedTask(move, proof=found)

    def _refuse(self, tx: Writer, request: DoneRequest, found: TaskProof, missing: str) -> ClosedTask:
        task = tasks.get(tx, request.task_id)
        if is_closed(task.status):
            return ClosedTask(TaskMove(task), missing)
        done_requests.refuse(tx, task.id, missing, commit=found.proof.commit_id)
        if done_requests.count_refused_commits(tx, task.id) < self._max_attempts:
            return ClosedTask(TaskMove(task), f"{missing}\n{FIX_IT}", found)
        asked = f"its checks did not pass for {self._max_attempts} commits. The last time: {missing}"
        questions.ask(tx, task.id, asked[:MAX_WORDS_CHARACTERS], blocking=True, kind="stuck")
        moved = task_moves.set_status(tx, task.id, "needs_input", force=True)
        return ClosedTask(moved, f"{missing}\na person has to look at it now; stop working on it", found)


def _close(tx: Writer, request: DoneRequest, asker: DoneAsker, found: TaskProof) -> TaskMove:
    report = done_requests.find(tx, request.report)
    reason = str(report.body.get("summary", "")) if report else ""
    if report is not None and reports.is_bound(tx, report):
        assert report.session is not None
        settled = reports.settle(tx, report.session, proof=found.proof)
        if settled is None or settled.outcome != "done":
            raise Unproven(settled.note if settled else "its session has ended", hint=FIX_IT)
        return TaskMove(tasks.get(tx, request.task_id), settled.unblocked)
    with tx.acting_as(asker.actor, session=asker.session):
        return task_moves.finish(tx, request.task_id, reason=reason, proof=found.proof, may_request=False)
