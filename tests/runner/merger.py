"""A run to be killed: two workers that make files and merge them, and tell a log what was merged.

python merger.py REPOSITORY FOLDER LOG MARK [REMOTE]
"""

import asyncio
import os
import sys

from binnacle.runner.trees.merge_results import MergeDone, NothingToMerge
from binnacle.runner.trees.run_trees import InWorktrees

ROUNDS = 3
WORKERS = (1, 2)


async def work(trees: InWorktrees, worker: int, log: str, mark: str) -> None:
    for number in range(ROUNDS):
        task = f"bn-{worker}{number}"
        prepared = await trees.prepare(worker, task)
        assert prepared.conflict is None, prepared
        folder = trees.folder(worker)
        names = [f"made/{mark}-{worker}-{number}-{part}" for part in range(20)]
        os.makedirs(os.path.join(folder, "made"), exist_ok=True)
        for name in [*names, *half_made(folder)]:
            with open(os.path.join(folder, name), "w") as file:
                file.write(name * 200)
        await trees.keep(worker, task, f"{mark} {number}\n")
        done = await trees.integrate(worker, task, f"Merge {mark} {number}\n")
        assert isinstance(done, MergeDone | NothingToMerge), done
        with open(log, "a") as file:
            file.write("\n".join(names) + "\n")


def half_made(folder: str) -> list[str]:
    """The files of an attempt that was killed while it wrote them: this one writes them again."""
    found = []
    for name in os.listdir(os.path.join(folder, "made")):
        path = os.path.join("made", name)
        with open(os.path.join(folder, path)) as file:
            if file.read() != path * 200:
                found.append(path)
    return found


async def main(repo: str, folder: str, log: str, mark: str, remote: str = "") -> None:
    trees = InWorktrees(start=repo, folder=folder, name="killed", remote=remote)
    await trees.begin()
    await asyncio.gather(*(work(trees, worker, log, mark) for worker in WORKERS))
    kept = await trees.close()
    assert kept == (), kept


os.environ["MERGER"] = str(os.getpid())
asyncio.run(main(*sys.argv[1:]))
