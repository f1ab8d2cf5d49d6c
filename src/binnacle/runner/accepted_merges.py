"""Merges the changes that reviewers accepted, in the turn of the merge queue, and closes their tasks.

What is merged is exactly the commit that was accepted, whatever its branch has now. What that gives is checked like any
other merge. Before the branch of the run moves, what was proven is noted with the review: after a kill right then, the
next run finds the commit in the branch and the proof in the store. A conflict, or a merge that does not prove the task,
gives it back for another attempt; the new commit needs another acceptance.
"""

from functools import partial

import msgspec

from binnacle.errors import BinnacleError, Refused
from binnacle.git.command import commit_message
from binnacle.proving.change_prover import TaskProof
from binnacle.proving.work_range import WorkRange
from binnacle.runner import run_events
from binnacle.runner.attempt_work import describe_for_attempt
from binnacle.runner.outage import OutageWait
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.trees.merge_results import MergeConflict, MergeDone, MergeHeld, MergeRefused
from binnacle.runner.trees.run_trees import RunTrees
from binnacle.store import reviewed_attempts, reviews, tasks
from binnacle.store.reviewed_attempts import SettledReview
from binnacle.work.done_gate import DoneProof
from binnacle.work.review import Review
from binnacle.work.run import AttemptOutcome


class AcceptedMerges:
    """The accepted changes of one run."""

    def __init__(self, context: RunContext, trees: RunTrees, home: Worker) -> None:
        """`home` is a folder in the repository."""
        self._context = context
        self._trees = trees
        self._home = home
        self._taken: set[str] = set()
        """The reviews whose changes are being merged, or could not be."""

    async def find_next(self) -> Review | None:
        """The oldest accepted change that nobody merges yet."""
        store = self._context.store
        found = await store.read(lambda tx: reviews.list_accepted_of_run(tx, store.run))
        return next((one for one in found if one.id not in self._taken), None)

    def take(self, review: Review) -> None:
        """Notes that an accepted change is being merged."""
        self._taken.add(review.id)

    async def merge(self, worker: Worker, review: Review) -> None:
        """Merges an accepted change and closes its task, or gives it back.

        Raises:
            RunStopped: the run was stopped, which ended the checks.
        """
        try:
            settled = await self._merge(worker, review)
        except BinnacleError as error:  # it stays accepted, for the next run
            self._context.tell(run_events.WarningReported(worker=worker.number, message=error.message, hint=error.hint))
            return
        self._context.tell(
            run_events.ReviewSettled(
                worker=worker.number,
                task=review.task_id,
                review=review.id,
                outcome=settled.outcome,
                reason=settled.reason,
                status=settled.task.status,
            )
        )

    async def _merge(self, worker: Worker, review: Review) -> SettledReview:
        store, task_id = self._context.store, review.task_id
        task = await store.read(lambda tx: tasks.get(tx, task_id))
        verifying = _MergeCheck(self._context, worker, self._home.cwd, review)
        message = commit_message(task.title, f"accepted in {review.id}")
        merging = partial(self._trees.integrate_commit, task_id, review.commit_id, message, verifying.verify)
        found = await OutageWait(self._context, worker).bear(merging)
        match found:
            case MergeDone():
                self._context.tell(
                    run_events.BranchMerged(worker=worker.number, branch=found.branch, into=found.into, task=task_id)
                )
            case MergeRefused():
                return await self._give_back(worker, review, "unproven", found.reason)
            case MergeConflict():
                return await self._give_back(worker, review, "conflict", found.reason)
            case MergeHeld():
                raise Refused(
                    f"{task_id} is accepted, and not merged: {found.reason}", hint="see to it, then: bn run --resume"
                )
        proof = verifying.proof or await self._find_proof(verifying, review)
        times = self._context.options.max_attempts
        return await store.write(
            lambda tx: reviewed_attempts.close_accepted(tx, review, proof, max_attempts=times), session=worker.session
        )

    async def _find_proof(self, verifying: "_MergeCheck", review: Review) -> DoneProof:
        """What is known of a change that is integrated already: by a run that was killed, or by a person."""
        noted = await self._context.store.read(lambda tx: reviewed_attempts.find_proof(reviews.get(tx, review.id)))
        if noted is not None and noted.is_merged == bool(self._trees.branch):
            is_integrated = await self._trees.is_integrated(noted.commit_id)
            return noted if is_integrated else (await verifying.prove(review.commit_id, review.base)).proof
        return (await verifying.prove(review.commit_id, review.base)).proof

    async def _give_back(self, worker: Worker, review: Review, outcome: AttemptOutcome, reason: str) -> SettledReview:
        times = self._context.options.max_attempts
        return await self._context.store.write(
            lambda tx: reviewed_attempts.give_back(tx, review, outcome, reason, max_attempts=times),
            session=worker.session,
        )


class _MergeCheck:
    """Checks what merging one accepted change gives."""

    def __init__(self, context: RunContext, worker: Worker, folder: str, review: Review) -> None:
        self._context = context
        self._worker = worker
        self._folder = folder
        self._review = review
        self.proof: DoneProof | None = None
        """What is proven of the merge that was allowed last."""

    async def verify(self, commit: str, base: str) -> str:
        """Checks a commit before it is integrated. Returns why it may not be; empty if it may."""
        self.proof = None
        found = await self.prove(commit, base)
        if not found.is_proven:
            return describe_for_attempt(found)
        proof = self.proof = found.proof
        await self._context.store.write(
            lambda tx: reviews.note_proof(tx, self._review, msgspec.to_builtins(proof)), session=self._worker.session
        )
        return ""

    async def prove(self, commit: str, base: str) -> TaskProof:
        """What is proven of a commit that is integrated, or about to be."""
        return await self._context.prover.prove(
            self._worker,
            self._review.task_id,
            WorkRange(self._folder, commit, base),
            is_merged=True,
            change_tree=self._review.tree,
        )
