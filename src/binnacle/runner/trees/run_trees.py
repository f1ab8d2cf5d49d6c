"""The folders in which the agents of a run work, and how their changes are kept."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Protocol, assert_never

from binnacle.errors import BinnacleError
from binnacle.runner import run_events
from binnacle.runner.iteration import FinishedIteration
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.trees.git import Git, commit_message
from binnacle.runner.trees.merge_results import MergeConflict, MergeDone, MergeHeld, NothingToMerge, WorkerTree
from binnacle.runner.trees.worktrees import RunWorktrees


class RunTrees(Protocol):
    """The folders of a run."""

    async def refresh(self, context: RunContext, worker: Worker) -> None:
        """Prepares a worker's folder for its next iteration."""

    async def fingerprint(self, worker: Worker) -> str:
        """A value that changes with the files of a worker."""

    async def keep(self, context: RunContext, worker: Worker, finished: FinishedIteration) -> None:
        """Commits and merges what an iteration changed, if that is wanted."""

    async def keep_left(self, context: RunContext, worker: Worker, finished: FinishedIteration | None) -> None:
        """Does the same for the last iteration of a killed run.

        If the iteration is unknown, its session is over; then only what is committed is kept.
        """

    async def close(self) -> Sequence[str]:
        """Closes the folders. Returns the branches whose commits are nowhere else."""


class InPlace:
    """One agent works in the person's folder."""

    def __init__(self, git: Git | None) -> None:
        """`git` is that of the folder, if it is in a repository."""
        self._git = git

    async def refresh(self, context: RunContext, worker: Worker) -> None:  # noqa: ARG002 - there is one
        """Removes only the locks of a git that was killed with its agent."""
        if self._git is not None:
            await self._git.remove_dead_locks()

    async def fingerprint(self, worker: Worker) -> str:  # noqa: ARG002 - there is one
        return "" if self._git is None else await self._git.fingerprint()

    async def keep(self, context: RunContext, worker: Worker, finished: FinishedIteration) -> None:
        """Commits, if that is wanted. If something prevents it, warns and leaves the files."""
        if self._git is None or not context.options.auto_commit:
            return
        try:
            done = await self._git.commit_all(await _message(context, finished))
        except BinnacleError as error:
            _warn(context, worker, f"not committed: {error.message}", error.hint)
        else:
            if done is not None:
                context.tell(run_events.ChangesCommitted(worker=worker.number, commit=done.id, files=done.files))

    async def keep_left(self, context: RunContext, worker: Worker, finished: FinishedIteration | None) -> None:
        """Does nothing: uncommitted changes here may be the person's."""

    async def close(self) -> Sequence[str]:
        return ()


class InWorktrees:
    """Every agent works in its own tree, whose branch is merged into that of the run after each iteration."""

    def __init__(self, worktrees: RunWorktrees) -> None:
        """Owns `worktrees`, and closes them."""
        self._worktrees = worktrees
        self._open = AsyncExitStack()
        self._taken: dict[int, WorkerTree] = {}

    async def begin(self, workers: int) -> list[str]:
        """The folders of the workers; for one worker, that of the run."""
        await self._open.enter_async_context(self._worktrees)
        home = self._worktrees.home
        trees = [home] if workers == 1 else [await self._worktrees.take(number + 1) for number in range(workers)]
        self._taken = dict(enumerate(trees, 1))
        return [tree.path for tree in trees]

    async def refresh(self, context: RunContext, worker: Worker) -> None:
        """Merges what others did. A conflict becomes the next task of the worker."""
        tree = self._taken[worker.number]
        if tree.number == 0:
            return
        try:
            conflict = await self._worktrees.refresh(tree)
        except BinnacleError as error:
            _warn(context, worker, error.message, error.hint)
        else:
            if conflict is not None:
                await self._hand_over(context, worker, conflict)

    async def fingerprint(self, worker: Worker) -> str:
        return await Git(self._taken[worker.number].path).fingerprint()

    async def keep(self, context: RunContext, worker: Worker, finished: FinishedIteration) -> None:
        tree, message = self._taken[worker.number], await _message(context, finished)
        try:
            done = await self._worktrees.commit(tree, message)
            if done is not None:
                context.tell(run_events.ChangesCommitted(worker=worker.number, commit=done.id, files=done.files))
            if tree.number:
                await self._merge(context, worker, tree, f"Merge {tree.branch}: {message}")
        except BinnacleError as error:
            _warn(context, worker, error.message, error.hint)

    async def keep_left(self, context: RunContext, worker: Worker, finished: FinishedIteration | None) -> None:
        tree = self._taken[worker.number]
        if finished is not None:
            await self.keep(context, worker, finished)
            return
        try:
            if tree.number and not await Git(tree.path).list_changed():
                await self._merge(context, worker, tree, f"Merge {tree.branch}\n")
        except BinnacleError as error:
            _warn(context, worker, error.message, error.hint)

    async def _merge(self, context: RunContext, worker: Worker, tree: WorkerTree, message: str) -> None:
        found = await self._worktrees.merge(tree, message)
        match found:
            case MergeDone():
                context.tell(run_events.BranchMerged(worker=worker.number, branch=found.branch, into=found.into))
            case MergeConflict():
                await self._hand_over(context, worker, found)
            case MergeHeld():
                hint = "commit or put aside what is in the way; the next iteration tries again"
                _warn(context, worker, f"{found.branch} is not merged: {found.reason}", hint)
            case NothingToMerge():
                pass
            case _:
                assert_never(found)

    async def _hand_over(self, context: RunContext, worker: Worker, conflict: MergeConflict) -> None:
        """Makes a task of a conflict, and gives it to the worker."""
        task = await context.store.assign_task(worker.session, conflict.title, conflict.description)
        context.tell(
            run_events.BranchMerged(
                worker=worker.number, branch=conflict.branch, into=conflict.into, conflicts=conflict.files, task=task
            )
        )

    async def close(self) -> Sequence[str]:
        await self._open.aclose()
        return [one.branch for one in self._worktrees.kept]


async def _message(context: RunContext, finished: FinishedIteration) -> str:
    title = await context.store.title_of(finished.task) if finished.task else f"Iteration {finished.number}"
    return commit_message(title, finished.summary)


def _warn(context: RunContext, worker: Worker, message: str, hint: str) -> None:
    context.tell(run_events.WarningReported(worker=worker.number, message=message, hint=hint))
