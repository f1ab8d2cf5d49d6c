"""The working trees of the workers of a run: makes them, repairs them after a kill, and removes them.

They are in the data directory, `worktrees/<run>/trees/<worker>`. Between two tasks a tree is detached, so that any
worker can take the branch of any task. A killed run leaves its trees, and the next run of that name uses them again.

A tree is removed only if nothing in it would be lost: it has no changes, its commit is in a branch or a parked ref, no
process works in it, and its ignored files can be made again. Git itself checks most of this once more, as it is never
told to insist. What is in the way of a branch that is checked out, which git would overwrite if it is ignored, is put
aside: into a folder next to the tree.
"""

import os
from collections.abc import Collection
from contextlib import suppress

from binnacle.config.private_files import make_folder, private_opener
from binnacle.errors import Refused
from binnacle.git.command import LONG_GIT_TIMEOUT_SECONDS, NEVER_COMMITTED, Git, is_nested_repository
from binnacle.processes.facts import folder_of, read_table
from binnacle.runner.trees.commits import resolve
from binnacle.runner.trees.parking import WorkParker
from binnacle.runner.trees.tree_moves import restore_missing
from binnacle.runner.trees.worktree_list import ListedWorktree, list_worktrees

REMOVING_SUFFIX = ".removing"
"""Suffix of a file next to a tree while it is being removed."""

INITIALIZING = "initializing"
"""Why git locks a tree while it makes it."""


class WorkerTrees:
    """The trees of one run. Everything here needs `RepositoryLock.alone`."""

    def __init__(self, folder: str, parker: WorkParker) -> None:
        """`folder` is that of the run."""
        self._folder = os.path.join(folder, "trees")
        self._parker = parker
        self.kept: list[str] = []
        """Folders and refs with work that was found and is nowhere else."""

    def path_of(self, worker: int) -> str:
        """Where a worker works."""
        return os.path.join(self._folder, str(worker))

    def list_numbers(self) -> list[int]:
        """The workers that have a tree, from this run or a killed one."""
        names = os.listdir(self._folder) if os.path.isdir(self._folder) else []
        return sorted(int(name) for name in names if name.isdigit())

    async def ensure(self, git: Git, worker: int, commit: str) -> None:
        """Makes the tree of a worker, detached at a commit. An existing tree keeps its content."""
        path = self.path_of(worker)
        listed = next((one for one in await list_worktrees(git) if one.path == path), None)
        if listed and await self._repair(git, listed):
            return
        if os.path.lexists(path):
            self._put_aside(path)
        if listed:
            await self._forget(git, listed)
        words = ("worktree", "add", "--quiet", "--detach", path, commit)
        await git.ask(*words, within=LONG_GIT_TIMEOUT_SECONDS)

    async def repair_all(self, git: Git) -> None:
        """Restores trees whose removal was killed: a half removed tree looks like an agent's deletions."""
        for worker in self.list_numbers():
            if os.path.exists(mark := f"{self.path_of(worker)}{REMOVING_SUFFIX}"):
                listed = next((one for one in await list_worktrees(git) if one.path == self.path_of(worker)), None)
                if listed and await self._repair(git, listed):
                    await restore_missing(git.at(listed.path))
                os.unlink(mark)

    async def free_branch(self, git: Git, branch: str, *, for_worker: int) -> list[str]:
        """Detaches the tree of another worker that has this branch checked out. Returns what was parked.

        Raises:
            Refused: somebody else has it checked out.
        """
        for one in await list_worktrees(git):
            if one.branch != branch or one.path == self.path_of(for_worker):
                continue
            if os.path.dirname(one.path) != self._folder:
                hint = f"check out another branch there: git -C {one.path} switch --detach"
                raise Refused(f"{branch} is checked out in {one.path}", hint=hint)
            if await self._repair(git, one):
                return await self._parker.put_away(git.at(one.path), int(os.path.basename(one.path)))
            await self._forget(git, one)
        return []

    async def remove(self, git: Git, worker: int) -> None:
        """Removes a detached tree without changes. Git refuses if there are any."""
        path = self.path_of(worker)
        mark = f"{path}{REMOVING_SUFFIX}"
        with open(mark, "w", encoding="utf-8", opener=private_opener):
            pass
        ran = await git.run("worktree", "remove", path, within=LONG_GIT_TIMEOUT_SECONDS)
        if ran.code:
            self.kept.append(path)
        os.unlink(mark)
        with suppress(OSError):  # others are left
            os.rmdir(self._folder)

    async def _repair(self, git: Git, listed: ListedWorktree) -> bool:
        """Completes a tree that a killed git was making. Returns whether it can be used."""
        if not os.path.isdir(listed.path):
            return False
        if not os.path.lexists(os.path.join(listed.path, ".git")):
            await git.ask("worktree", "repair")
        here = git.at(listed.path)
        if await here.root() != listed.path or await here.head() is None:
            return False
        await here.remove_dead_locks()
        if listed.locked == INITIALIZING:
            await restore_missing(here)
            await git.ask("worktree", "unlock", listed.path)
        return True

    async def _forget(self, git: Git, listed: ListedWorktree) -> None:
        """Makes git forget a tree whose folder is gone, and keeps the commit that it had checked out."""
        commit = await resolve(git, listed.commit)
        if commit and not await self._parker.is_kept(git, commit):
            self.kept.append(await self._parker.park(git, commit, f"worker-{os.path.basename(listed.path)}"))
        if listed.locked == INITIALIZING:
            await git.run("worktree", "unlock", listed.path)
        await git.ask("worktree", "remove", listed.path)

    async def make_way(self, here: Git, new: str) -> None:
        """Puts aside what is in the place of files that `new` adds to a tree without changes: ignored files.

        `new` is a commit, or a tree of git.
        """
        added = ("diff", "--name-only", "--no-renames", "--diff-filter=A", "-z", "HEAD", new)
        names = (await here.ask(*added)).names
        self._put_files_aside(here.folder, {found for name in names if (found := _find_in_place_of(here.folder, name))})

    async def clear_leftovers(self, here: Git) -> None:
        """Puts aside files of another branch that are not ignored any more, so that nobody commits them here."""
        ran = await here.ask("ls-files", "--others", "--exclude-standard", "-z")
        ours = (
            one for one in ran.names if not is_nested_repository(one) and one.partition("/")[0] not in NEVER_COMMITTED
        )
        self._put_files_aside(here.folder, set(ours))

    def _put_files_aside(self, tree: str, names: Collection[str]) -> None:
        """Moves files of a tree into a folder next to it, and keeps them."""
        aside = f"{tree}.{os.urandom(3).hex()}"
        for name in sorted(names):
            place = os.path.join(aside, name)
            make_folder(os.path.dirname(place))
            os.rename(os.path.join(tree, name), place)
        if names:
            self.kept.append(aside)

    def _put_aside(self, path: str) -> None:
        """Moves something else out of the place of a tree, and keeps it."""
        with suppress(OSError):  # it is not an empty folder
            os.rmdir(path)
            return
        aside = f"{path}.{os.urandom(3).hex()}"
        os.rename(path, aside)
        self.kept.append(aside)


def _find_in_place_of(tree: str, name: str) -> str:
    """What is where a file is to be written: something of its name, or a file where it needs a folder; else empty."""
    parts = name.split("/")
    for end in range(1, len(parts)):
        above = os.path.join(tree, *parts[:end])
        if os.path.islink(above) or (os.path.lexists(above) and not os.path.isdir(above)):
            return "/".join(parts[:end])
    return name if os.path.lexists(os.path.join(tree, name)) else ""


def is_held(folder: str) -> bool:
    """Whether a process works in a folder; processes of other users are not visible."""
    places = (folder_of(entry.pid) or "" for entry in read_table().values())
    return any(place == folder or place.startswith(f"{folder}/") for place in places)
