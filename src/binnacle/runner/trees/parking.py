"""Stores what is in a working tree as a commit, so that the tree can be used for something else.

Nothing is ever discarded: what is not committed goes to the branch of its task, or, where that makes no sense (in the
middle of a merge, on no branch), to a ref `refs/binnacle/parked/<run>/<task or worker>-<commit>`. Git keeps the commits
of refs, and `git log`, `git show` and `git cherry-pick` take them like branches.

Every step can be repeated, so that a kill between two of them does no harm: first a ref gets the commit, then the tree
is detached at it, then the index is set to it. The files are not touched.
"""

import os
import shutil
from tempfile import TemporaryDirectory

from binnacle.git.command import MERGE, Git
from binnacle.runner.trees.commits import resolve
from binnacle.runner.trees.conflict_notes import delete_note

PARKED = "refs/binnacle/parked"

_QUIT_WORDS = {
    "a rebase": ("rebase", "--quit"),
    "a cherry-pick": ("cherry-pick", "--quit"),
    "a revert": ("revert", "--quit"),
    "a bisection": ("bisect", "reset", "HEAD"),
}
"""How to forget an unfinished operation without a change of files; resetting the index ends a merge."""


class WorkParker:
    """Stores the work in the trees of one run."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._branches = f"bn/{run}/"

    async def park(self, git: Git, commit: str, label: str) -> str:
        """Gives a commit a ref of its own, and returns its name. `label` is a task or a worker."""
        ref = f"{PARKED}/{self._run}/{label}-{commit[:10]}"
        await git.ask("update-ref", "-m", "bn run: parked", ref, commit)
        return ref

    async def park_changes(self, here: Git, label: str) -> str:
        """Stores what is not committed in a tree under a ref, without a change in the tree."""
        return await self.park(here, await self._snapshot(here, label), label)

    async def put_away(self, here: Git, worker: int) -> list[str]:
        """Stores everything that is in a tree of ours, and detaches it.

        Returns the refs with work that is now nowhere else, apart from the branches of tasks.
        """
        await here.remove_dead_locks()
        branch, head = await here.branch() or "", await here.head() or ""
        task = branch.removeprefix(self._branches) if branch.startswith(self._branches) else ""
        what, label = await here.find_unfinished(), task or f"worker-{worker}"
        stored: list[str] = []
        if what or await here.list_changed():
            found = await self._snapshot(here, label)
            if task and not what:
                await here.ask("update-ref", "-m", "bn run: unfinished", f"refs/heads/{branch}", found, head)
            else:
                stored.append(await self.park(here, found, label))
            if what in _QUIT_WORDS:
                await here.run(*_QUIT_WORDS[what])
            head = found
        elif not task and not await self.is_kept(here, head):
            stored.append(await self.park(here, head, label))
        await here.ask("update-ref", "--no-deref", "-m", "bn run: detach", "HEAD", head)
        await here.ask("reset", "--quiet")
        delete_note(here.folder)
        return stored

    async def _snapshot(self, here: Git, label: str) -> str:
        """A commit with all the changes of a tree. The same changes always give the same commit."""
        head = await here.head() or ""
        with TemporaryDirectory(prefix="bn-index-") as folder:
            index = os.path.join(folder, "index")
            known = (await here.ask("rev-parse", "--path-format=absolute", "--git-path", "index")).line
            if os.path.exists(known):
                shutil.copyfile(known, index)
            await here.stage(await here.list_changed(), index=index)
            tree = (await here.ask("write-tree", variables={"GIT_INDEX_FILE": index})).line
        parents = [head]
        if await here.find_unfinished() == MERGE:
            parents += (await here.ask("rev-parse", "MERGE_HEAD")).line.split()
        elif tree == (await here.ask("rev-parse", "HEAD^{tree}")).line:
            return head
        date = (await here.ask("log", "-1", "--format=%cI", head)).line
        words = (*await here.identity(), "commit-tree", tree, *(word for one in parents for word in ("-p", one)))
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        message = f"Unfinished work of {label}\n".encode(errors="replace")
        return (await here.ask(*words, "-F", "-", given=message, variables=dates)).line

    async def list_stashes(self, git: Git) -> list[str]:
        """What agents of the run have put on git's own stack of changes, which all trees of a repository share."""
        ran = await git.run("log", "--walk-reflogs", "--format=%gd: %gs", "refs/stash", "--")
        return [line for line in ran.line.splitlines() if f"n {self._branches}" in line] if ran.code == 0 else []

    async def is_kept(self, git: Git, commit: str) -> bool:
        """Whether a branch, a tag or a parked ref has a commit."""
        places = ("refs/heads", "refs/tags", f"{PARKED}/")
        ran = await git.ask("for-each-ref", "--count=1", f"--contains={commit}", "--format=%(refname)", *places)
        return bool(ran.line)


async def return_to_branch(here: Git, branch: str) -> bool:
    """Checks a task's branch out again, with the commits of an agent that switched away. Returns whether it is."""
    if await here.branch() == branch:
        return True
    head, ref = await here.head(), f"refs/heads/{branch}"
    at = await resolve(here, ref)
    if not at or head is None or await here.find_unfinished():
        return False
    if at != head and (await here.run("merge-base", "--is-ancestor", at, head)).code:
        return False
    await here.ask("update-ref", "-m", "bn run: commits of the worker", ref, head, at)
    await here.ask("symbolic-ref", "HEAD", ref)
    return True
