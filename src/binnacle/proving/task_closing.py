"""`done` outside of runs: runs the checks that a task needs, and closes it, or says what is missing.

A `done` of a task with checks is a request (`store.done_requests`). Whoever asks gets the answer of the checks at once.
A request that is refused is kept with its reason; after too many for different commits, a person is asked. If nothing
is missing but that somebody accepts the change, it is put up for review, and the acceptance closes the task.
"""

from collections.abc import Mapping
from typing import NamedTuple

from binnacle.checks.check_runner import Tell
from binnacle.errors import Unproven
from binnacle.processes.keeper import Keeper
from binnacle.project.project import Project
from binnacle.proving.change_prover import ChangeProver, EvidenceOrigin, TaskProof
from binnacle.proving.proof_report import describe_missing
from binnacle.proving.proof_store import ProofStore
from binnacle.proving.review_opening import describe_review, open_proven
from binnacle.proving.work_range import WorkRange, find_work_range
from binnacle.store import comments, done_requests, questions, reports, reviews, task_moves, tasks, work_starts
from binnacle.store.task_moves import TaskMove
from binnacle.store.transaction import Writer
from binnacle.work.actor import Actor
from binnacle.work.done_gate import DoneRequest
from binnacle.work.evidence import PROVEN
from binnacle.work.report import MAX_WORDS_CHARACTERS
from binnacle.work.review import Review
from binnacle.work.status import is_closed

FIX_IT = "fix it, commit, and set the task to done again"


class DoneAsker(NamedTuple):
    """Who calls a task done, and where its work is."""

    actor: Actor
    session: str | None
    workspace: str
    """A folder in the working tree whose commits count."""

    environ: Mapping[str, str] | None = None
    """What checks get a part of; that of this process when left out."""


class ClosedTask(NamedTuple):
    """What a request led to."""

    move: TaskMove
    missing: str = ""
    """What is missing, in words for who asked; empty if the task is done."""

    proof: TaskProof | None = None
    review: Review | None = None
    """The review that the task waits for now."""

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

    async def close(
        self, request: DoneRequest, asker: DoneAsker, *, change: WorkRange | None = None, tell: Tell | None = None
    ) -> ClosedTask:
        """Runs the checks of a request and closes its task, or refuses it. Cancelling leaves it as it is.

        `change` is what was reviewed; without it, what was committed in the asker's working tree.

        Raises:
            GitError: there is no commit to check.
            ConfigError: the file of checks is wrong.
            NotFound: the task is gone.
        """
        if change is None:
            start = await self._store.read(lambda tx: work_starts.find(tx, request.task_id))
            change = await find_work_range(asker.workspace, start.commits if start else ())
        origin = EvidenceOrigin(asked_by=asker.actor.name, session=asker.session)
        async with Keeper() as keeper:
            prover = ChangeProver(self._project, self._store, keeper, origin=origin, tell=tell, environ=asker.environ)
            is_agent_above = await self._store.read(lambda tx: tx.outlook.is_agent_above())
            is_by_person = asker.actor.kind == "human" and not is_agent_above
            found = await prover.prove(request.task_id, change, is_by_person=is_by_person)
        return await self._store.write(lambda tx: self._finish(tx, request, asker, found))

    def _finish(self, tx: Writer, request: DoneRequest, asker: DoneAsker, found: TaskProof) -> ClosedTask:
        task = tasks.get(tx, request.task_id)
        if task.status == "done" and task.evidence_level in PROVEN:  # proven meanwhile, for another request
            return ClosedTask(TaskMove(task), proof=found)
        if found.waits_for_review:
            return _open_review(tx, request, asker, found)
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
        if task.status == "in_review" and reviews.find_open(tx, task.id) is None:  # accepted, and proven no longer
            comments.add(tx, task.id, f"The change was accepted, and is not proven: {missing}"[:MAX_WORDS_CHARACTERS])
            return ClosedTask(task_moves.reopen(tx, task.id, force=True), missing, found)
        if done_requests.count_refused_commits(tx, task.id) < self._max_attempts:
            return ClosedTask(TaskMove(task), f"{missing}\n{FIX_IT}", found)
        asked = f"its checks did not pass for {self._max_attempts} commits. The last time: {missing}"
        questions.ask(tx, task.id, asked[:MAX_WORDS_CHARACTERS], blocking=True, kind="stuck")
        moved = task_moves.set_status(tx, task.id, "needs_input", force=True)
        return ClosedTask(moved, f"{missing}\na person has to look at it now; stop working on it", found)


def _open_review(tx: Writer, request: DoneRequest, asker: DoneAsker, found: TaskProof) -> ClosedTask:
    """Puts a proven change up for review, and answers who has to look at it and how."""
    task = tasks.get(tx, request.task_id)
    if is_closed(task.status):
        return ClosedTask(TaskMove(task), f"{task.id} is {task.status} already", found)
    with tx.acting_as(asker.actor, session=asker.session):
        review = open_proven(tx, found, session=asker.session)
        said = describe_review(review)
        done_requests.note_in_review(tx, task.id, said)
        move = (
            TaskMove(task)
            if task.status == "in_review"
            else task_moves.set_status(tx, task.id, "in_review", force=True)
        )
    return ClosedTask(move, said, found, review)


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
