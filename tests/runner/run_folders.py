"""The trees of a run for tests, and what its agents do in them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from binnacle.runner.trees.merge_results import MergeResult
from binnacle.runner.trees.run_trees import InWorktrees
from binnacle.runner.trees.task_branches import Verify
from runner.repositories import Repository


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 100))


@asynccontextmanager
async def opened(trees: InWorktrees) -> AsyncIterator[InWorktrees]:
    """Begins and closes the trees of a run."""
    await trees.begin()
    try:
        yield trees
    finally:
        await trees.close()


def in_tree(trees: InWorktrees, worker: int) -> Repository:
    return Repository(Path(trees.folder(worker)))


async def work(trees: InWorktrees, worker: int, task: str, files: dict[str, str], message: str = "work"):
    """An attempt that changes files, and is not integrated."""
    prepared = await trees.prepare(worker, task)
    in_tree(trees, worker).write(files)
    await trees.keep(worker, task, f"{message}\n")
    return prepared


async def do(
    trees: InWorktrees,
    worker: int,
    task: str,
    files: dict[str, str],
    message: str = "work",
    *,
    verify: Verify | None = None,
) -> MergeResult:
    """A complete task."""
    await work(trees, worker, task, files, message)
    return await trees.integrate(worker, task, f"Merge {message}\n", verify)
