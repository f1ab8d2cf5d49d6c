"""A run to be killed: two workers that make files and merge them, and tell a log what was merged.

python merger.py REPOSITORY FOLDER LOG NUMBER
"""

import asyncio
import os
import sys

from binnacle.runner.trees.merge_results import MergeDone, NothingToMerge, WorkerTree
from binnacle.runner.trees.worktrees import RunWorktrees

ROUNDS = 3


async def work(run: RunWorktrees, tree: WorkerTree, log: str, mark: str) -> None:
    for number in range(ROUNDS):
        await run.refresh(tree)
        names = [f"made/{mark}-{tree.number}-{number}-{part}" for part in range(20)]
        os.makedirs(os.path.join(tree.path, "made"), exist_ok=True)
        for name in names:
            with open(os.path.join(tree.path, name), "w") as file:
                file.write(name * 200)
        await run.commit(tree, f"{mark} {number}")
        done = await run.merge(tree, f"Merge {mark} {number}\n")
        assert isinstance(done, MergeDone | NothingToMerge), done
        with open(log, "a") as file:
            file.write("\n".join(names) + "\n")


async def main(repo: str, folder: str, log: str, mark: str) -> None:
    async with RunWorktrees(repo, folder, "killed") as run:
        trees = [await run.take(number) for number in (1, 2)]
        for tree in trees:
            # What an iteration that was killed had written so far, in full or in part, is begun anew.
            await asyncio.to_thread(discard, tree)
            done = await run.merge(tree, "Merge what was left\n")
            assert isinstance(done, MergeDone | NothingToMerge), done
        await asyncio.gather(*(work(run, tree, log, mark) for tree in trees))
    assert run.kept == [], run.kept


def discard(tree: WorkerTree) -> None:
    import subprocess

    for words in (["reset", "--hard", "--quiet"], ["clean", "-fdq"]):
        subprocess.run(["git", *words], cwd=tree.path, check=True, timeout=60)


os.environ["MERGER"] = str(os.getpid())
asyncio.run(main(*sys.argv[1:]))
