"""The work of one attempt: its changes are committed, and what they prove is found out.

A task that needs checks is done when Binnacle saw them pass: first on the commit of the worker, and, where branches are
merged, on what the merge gives. A result counts as long as it is about the same trees, so nothing runs twice.

What is proven of a merge is noted before the branch of the run moves. If the run is killed right after that, whoever
resumes the task finds the commit in the branch and the proof in the store, and closes the task with it.
"""

from msgspec.structs import replace

from binnacle.errors import BinnacleError
from binnacle.git.command import commit_message
from binnacle.proving.change_prover import TaskProof
from binnacle.proving.proof_report import describe_missing
from binnacle.proving.work_range import WorkRange
from binnacle.runner import run_events
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.trees.run_trees import RunTrees
from binnacle.store import done_requests, reviewed_attempts, work_starts
from binnacle.store.attempts import MAX_REASON_CHARACTERS, ClaimedAttempt
from binnacle.work.done_gate import DoneProof

UNCHANGED = "reviewers asked for changes of exactly this, and nothing was changed since; do what they ask for"


class AttemptWork:
    """What one attempt has changed, and what is proven of it."""

    def __init__(self, context: RunContext, trees: RunTrees, worker: Worker, claimed: ClaimedAttempt) -> None:
        self._context = context
        self._trees = trees
        self._worker = worker
        self._claimed = claimed
        self._task = claimed.task
        self._own: TaskProof | None = None
        """The latest proof of the commits of the worker."""

        self.refused: TaskProof | None = None
        """What was found of a merge that may not be made."""

        self.proof: DoneProof | None = None
        """With what the task is closed."""

        self.commit = ""
        """The newest commit of the attempt's changes."""

    async def keep(self, message: str) -> None:
        """Commits what the agent changed."""
        done = await self._trees.keep(self._worker.number, self._task.id, message)
        if done is None:
            return
        files = done.files
        if self.commit:  # the agent went on after a commit, and may have changed the same files again
            files = len(await self._trees.changed(self._worker.number, self._task.id))
        self.commit = done.id
        self._context.tell(run_events.ChangesCommitted(worker=self._worker.number, commit=done.id, files=done.files))
        await self._context.store.note_commit(self._worker.session, self._claimed.number, done.id, files)

    async def find_missing(self) -> str:
        """What is missing before the task is done, for the agent who calls it done; empty if nothing is.

        What it could fix is noted with its `done`, which is refused: it says again when it is done.

        Raises:
            RunStopped: the run was stopped, which ended the checks.
        """
        store, session = self._context.store, self._worker.session
        end = await store.read_attempt_end(session, self._task.id)
        if end.outcome != "done" or end.is_closed:
            return ""
        try:
            summary = (await store.current_iteration(session)).summary
            await self.keep(commit_message(self._task.title, summary or end.reason))
            found = await self._prove_own()
        except BinnacleError:
            return ""  # it is met again, and reported, when the changes are taken over
        if found is None or found.is_proven:
            return ""
        missing = await self.find_refused(found) if found.waits_for_review else describe_missing(found)
        if not missing:
            return ""
        commit = found.proof.commit_id
        await store.write(lambda tx: done_requests.refuse(tx, self._task.id, missing, commit=commit))
        return missing

    async def find_refused(self, found: TaskProof) -> str:
        """Whether reviewers have asked for changes of exactly this tree, in words for who calls it done again."""
        refused = await self._context.store.read(
            lambda tx: reviewed_attempts.find_refused(tx, self._task.id, found.proof.tree)
        )
        return f"{UNCHANGED} ({refused.id})" if refused else ""

    def find_refusal(self) -> TaskProof:
        """What is missing of a merge that was refused. Who has to accept something accepts the change itself."""
        assert self.refused is not None
        if self._own is not None and self.refused.waits_for_review:
            return replace(self.refused, proof=self._own.proof)
        return self.refused

    async def prove(self) -> TaskProof | None:
        """What is proven of the worker's commits; None if nothing has to be, or they cannot be judged yet.

        Raises:
            RunStopped: the run was stopped, which ended the checks.
            GitError: there is no commit.
            ConfigError: the file of checks is wrong.
        """
        if self._own is not None and self._own.change.range == await self._find_change():
            return self._own
        return await self._prove_own()

    async def _prove_own(self) -> TaskProof | None:
        self._own = None
        if not await self._context.prover.find_needs(self._task.id):
            return None
        change = await self._find_change()
        if change is None:
            return None
        self._own = await self._context.prover.prove(self._worker, self._task.id, change)
        self.proof = self._own.proof
        return self._own

    async def _find_change(self) -> WorkRange | None:
        start = await self._context.store.read(lambda tx: work_starts.find(tx, self._task.id))
        return await self._trees.find_change(self._worker.number, self._task.id, starts=start.commits if start else ())

    async def verify_merge(self, commit: str, base: str) -> str:
        """Checks what a merge gives. Returns why it may not be made; empty if it may.

        Raises:
            RunStopped: the run was stopped, which ended the checks.
        """
        self.proof = self.refused = None
        needs = await self._context.prover.find_needs(self._task.id)
        if not needs and not needs.for_merge:
            return ""
        own = self._own
        if own is not None and (own.proof.commit_id, own.proof.base) == (commit, base) and not needs.for_merge:
            found = replace(own, proof=replace(own.proof, is_merged=True))
        else:
            change = WorkRange(self._trees.folder(self._worker.number), commit, base)
            found = await self._context.prover.prove(
                self._worker, self._task.id, change, is_merged=True, change_tree=own.proof.tree if own else ""
            )
        if not found.is_proven:
            self.refused = found
            return describe_for_attempt(found)
        proof = self.proof = found.proof
        await self._context.store.write(lambda tx: done_requests.note_proof(tx, self._task.id, proof))
        return ""

    async def find_merged(self) -> bool:
        """Whether the work was merged already, with a proof, before the run was interrupted."""
        noted = await self._context.store.read(lambda tx: done_requests.find_noted_proof(tx, self._task.id))
        if noted is None or not await self._trees.is_integrated(noted.commit_id):
            return False
        self.proof = noted
        return True


def describe_for_attempt(found: TaskProof) -> str:
    """What is missing, short enough to be kept with an attempt."""
    missing = describe_missing(found, room=MAX_REASON_CHARACTERS // 2)
    return missing if len(missing) <= MAX_REASON_CHARACTERS else f"{missing[: MAX_REASON_CHARACTERS - 1]}…"
