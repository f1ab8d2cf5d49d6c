"""The folders in which the agents of a run work, as the loop sees them: the person's folder, or trees of their own."""

import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Protocol

from binnacle.errors import BinnacleError, GitError, InvalidInput, Refused
from binnacle.git.command import Commit, Git, is_nested_repository
from binnacle.proving.work_range import WorkRange, find_work_range
from binnacle.runner.run_control import RunStopped
from binnacle.runner.trees.commits import delete_ref, find_branch, has_commit, resolve
from binnacle.runner.trees.conflict_notes import readable_names
from binnacle.runner.trees.file_lock import hold_lock
from binnacle.runner.trees.ignored_files import find_precious
from binnacle.runner.trees.merge_queue import Lease, MergeQueue
from binnacle.runner.trees.merge_results import MergeHeld, MergeResult, NothingToMerge, PreparedTree
from binnacle.runner.trees.parking import WorkParker
from binnacle.runner.trees.person_changes import PersonChanges
from binnacle.runner.trees.person_checkout import PersonCheckout
from binnacle.runner.trees.remote_branches import RemoteBranches
from binnacle.runner.trees.repository_lock import RepositoryLock
from binnacle.runner.trees.task_branches import TaskBranches, Verify
from binnacle.runner.trees.worktree_list import list_worktrees
from binnacle.runner.trees.worktrees import WorkerTrees, is_held

OWNER_TIMEOUT_SECONDS = 15.0
"""Seconds until the last git of a killed run should have ended."""

OLDEST_GIT = (2, 38)
"""The first version of git that can merge without touching files."""

MAX_NAMED_FILES = 5
"""Files of one tree that are named at the end of a run."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


class RunTrees(Protocol):
    """The folders of a run. They keep the work of tasks, and know nothing of agents and of the store."""

    @property
    def branch(self) -> str:
        """The branch in which the work of all tasks comes together; empty if there is none."""

    @property
    def behind(self) -> str:
        """Why the person's branch does not have everything, and how to bring it in; empty if it has."""

    async def head(self) -> str:
        """The commit in which the work of all tasks comes together, or came together when this was closed.

        Empty without a repository or a commit.
        """

    def folder(self, worker: int) -> str:
        """Where a worker works. The folder is there once it was prepared."""

    async def prepare(self, worker: int, task_id: str) -> PreparedTree:
        """Makes a worker's folder ready for a task: on the task's branch, with everything that is integrated.

        Unfinished work of the same task stays as it is; that of others is stored first.

        Raises:
            RemoteUnreachable: the git remote did not answer.
            Refused: somebody else has the branch checked out.
            GitError: git failed.
        """

    async def fingerprint(self, worker: int) -> str:
        """A value that changes with the files of a worker."""

    async def keep(self, worker: int, task_id: str, message: str) -> Commit | None:
        """Commits what a worker changed. None if nothing changed, or a conflict is not resolved.

        Raises:
            Refused: the folder is in the middle of something else, such as a rebase.
            GitError: git failed, or a hook of the repository refused.
        """

    async def changed(self, worker: int, task_id: str) -> Sequence[str]:
        """The files that a task has changed and that are not integrated."""

    async def find_change(self, worker: int, task_id: str, *, starts: Sequence[str]) -> WorkRange | None:
        """The commits of a task, to be judged; None as long as they cannot be, as in a conflict.

        `starts` are the commits of the folder and the main branches when the task was taken.

        Raises:
            GitError: git failed, or there is no commit.
        """

    async def has_commit(self, commit: str) -> bool:
        """Whether a commit is on this machine, or could be fetched.

        Raises:
            RemoteUnreachable: it is not here, and the git remote did not answer.
        """

    async def is_integrated(self, commit: str) -> bool:
        """Whether a commit is where the work of all tasks comes together."""

    async def integrate(self, worker: int, task_id: str, message: str, verify: Verify | None = None) -> MergeResult:
        """Merges the work of a task into the branch of the run, in its turn, if `verify` lets the result pass.

        Raises:
            RemoteUnreachable: the git remote did not answer; nothing was merged.
            GitError: git failed.
        """

    async def integrate_commit(self, task_id: str, commit: str, message: str, verify: Verify) -> MergeResult:
        """Merges exactly this commit of a task, on which nobody works now, if `verify` lets the result pass.

        Raises:
            RemoteUnreachable: the git remote did not answer; nothing was merged.
            GitError: git failed, or the commit is not here.
        """

    async def close(self) -> Sequence[str]:
        """Removes what is not needed any more. Returns the refs and folders with work that is nowhere else."""


class InPlace:
    """One agent works in the person's folder, on the branch that is checked out."""

    branch = ""
    behind = ""

    def __init__(self, folder: str, git: Git | None, *, person: PersonChanges | None = None) -> None:
        """`git` is that of the folder, if it is in a repository. With `person`, changes that are not theirs are
        committed."""
        self._folder = folder
        self._git = git
        self._person = person
        self._start = ""
        """The commit before the task."""

    async def head(self) -> str:
        return "" if self._git is None else await self._git.head() or ""

    def folder(self, worker: int) -> str:  # noqa: ARG002 - there is one
        return self._folder

    async def prepare(self, worker: int, task_id: str) -> PreparedTree:  # noqa: ARG002 - there is one
        """Removes only the locks of a git that was killed with its agent."""
        if self._git is None:
            return PreparedTree(branch="", base="")
        await self._git.remove_dead_locks()
        self._start = await self._git.head() or ""
        return PreparedTree(branch=await self._git.branch() or "", base=self._start)

    async def fingerprint(self, worker: int) -> str:  # noqa: ARG002 - there is one
        return "" if self._git is None else await self._git.fingerprint()

    async def keep(self, worker: int, task_id: str, message: str) -> Commit | None:  # noqa: ARG002 - there is one
        """Commits, if that is wanted."""
        if self._git is None or self._person is None:
            return None
        return await self._git.commit_except(message, await self._person.list_untouched())

    async def changed(self, worker: int, task_id: str) -> Sequence[str]:  # noqa: ARG002 - there is one
        """What is committed since the start of the task, and what is not committed."""
        if self._git is None:
            return ()
        names = set(await self._git.list_changed())
        if self._start:
            names |= {*(await self._git.ask("diff", "--name-only", "--no-renames", "-z", self._start, "HEAD")).names}
        return sorted(names)

    async def find_change(self, worker: int, task_id: str, *, starts: Sequence[str]) -> WorkRange | None:  # noqa: ARG002
        return await find_work_range(self._folder, starts or [self._start])

    async def has_commit(self, commit: str) -> bool:
        return self._git is not None and bool(await resolve(self._git, commit))

    async def is_integrated(self, commit: str) -> bool:
        return self._git is not None and await has_commit(self._git, commit, within=await self.head())

    async def integrate(
        self,
        worker: int,  # noqa: ARG002 - it is there
        task_id: str,  # noqa: ARG002
        message: str,  # noqa: ARG002
        verify: Verify | None = None,  # noqa: ARG002
    ) -> MergeResult:
        return NothingToMerge(branch="")

    async def integrate_commit(self, task_id: str, commit: str, message: str, verify: Verify) -> MergeResult:  # noqa: ARG002
        """The commit was made where the work of all tasks comes together. A person may have taken it out again."""
        if await self.is_integrated(commit):
            return NothingToMerge(branch="")
        branch = await self._git.branch() or "" if self._git is not None else ""
        return MergeHeld(branch=branch, into=branch, reason=f"commit {commit[:10]} is not in the branch any more")

    async def close(self) -> Sequence[str]:
        return ()


class InWorktrees:
    """Every agent works in its own tree, on the branch of its task. `begin` it first, and `close` it in the end."""

    def __init__(
        self,
        *,
        start: str,
        folder: str,
        name: str,
        remote: str = "",
        lease: Lease | None = None,
        moves_checkout: bool = True,
    ) -> None:
        """`start` is the folder of the person, `folder` has the trees of all runs, `name` is that of the run.

        `remote` and `lease` are for runs of several machines. `moves_checkout` says whether the person's branch follows
        the branch of the run.

        Raises:
            InvalidInput: `name` is no valid name for branches.
        """
        if not _NAME.fullmatch(name):
            hint = "letters, digits, - and _, 64 at most"
            raise InvalidInput(f"no name for a run with branches: {name!r}", hint=hint)
        self._start = start
        self._shared_folder = os.path.realpath(folder)
        self._folder = os.path.join(self._shared_folder, name)
        self._name = name
        self._remote = RemoteBranches(remote, name) if remote else None
        self._lease = lease
        self._moves_checkout = moves_checkout
        self._parker = WorkParker(name)
        self._trees = WorkerTrees(self._folder, self._parker)
        self._open: AsyncExitStack | None = None
        self._kept: Sequence[str] = ()
        self._last_head = ""
        """The commit of the run's branch when this was closed."""

        self._lock: RepositoryLock
        self._checkout: PersonCheckout
        self._queue: MergeQueue
        self._tasks: TaskBranches

    async def begin(self) -> None:
        """Makes the branch of the run, and repairs what a killed run left.

        Raises:
            Refused: no branches can be made here, or a run of that name is at work.
            RemoteUnreachable: the git remote did not answer.
        """
        root, branch, head = await _find_start(Git(self._start))
        async with AsyncExitStack() as opening:
            git = Git(root, held=(await opening.enter_async_context(self._hold_name()),))
            self._lock = RepositoryLock(git, self._shared_folder)
            branch = branch if self._moves_checkout else ""
            self._checkout = PersonCheckout(self._lock, branch=branch, run_branch=self.branch)
            self._queue = MergeQueue(
                self._lock, self._folder, self._name,
                checkout=self._checkout, parker=self._parker, remote=self._remote, lease=self._lease,
            )  # fmt: skip
            self._tasks = TaskBranches(
                self._name, self._lock,
                trees=self._trees, queue=self._queue, parker=self._parker, remote=self._remote,
            )  # fmt: skip
            async with self._lock.alone() as locked:
                await self._trees.repair_all(locked)
            await self._queue.begin(head)
            self._open = opening.pop_all()

    @property
    def branch(self) -> str:
        return f"bn/{self._name}/run"

    @property
    def behind(self) -> str:
        return self._checkout.behind

    async def head(self) -> str:
        return self._last_head if self._open is None else await find_branch(Git(self._start), self.branch)

    def folder(self, worker: int) -> str:
        return self._trees.path_of(worker)

    async def prepare(self, worker: int, task_id: str) -> PreparedTree:
        return await self._tasks.prepare(worker, task_id)

    async def fingerprint(self, worker: int) -> str:
        return await Git(self.folder(worker)).fingerprint()

    async def keep(self, worker: int, task_id: str, message: str) -> Commit | None:
        return await self._tasks.keep(worker, task_id, message)

    async def changed(self, worker: int, task_id: str) -> Sequence[str]:  # noqa: ARG002 - the branch says it
        return await self._tasks.list_changed(task_id)

    async def find_change(self, worker: int, task_id: str, *, starts: Sequence[str]) -> WorkRange | None:  # noqa: ARG002
        return await self._tasks.find_change(worker, task_id)

    async def has_commit(self, commit: str) -> bool:
        git = Git(self._start)
        if self._remote and not await resolve(git, commit):
            await self._queue.catch_up()
        return bool(await resolve(git, commit))

    async def is_integrated(self, commit: str) -> bool:
        return await self._tasks.is_integrated(commit)

    async def integrate(self, worker: int, task_id: str, message: str, verify: Verify | None = None) -> MergeResult:
        return await self._tasks.integrate(worker, task_id, message, verify)

    async def integrate_commit(self, task_id: str, commit: str, message: str, verify: Verify) -> MergeResult:
        return await self._tasks.integrate_commit(task_id, commit, message, verify)

    async def close(self) -> Sequence[str]:
        """Ends the run here. What is needed by nobody is removed; in doubt, it is kept."""
        if self._open is None:
            return self._kept
        kept: list[str] = []
        try:
            # The remote may be away or in use, or the branches in conflict: all of it is for the next run.
            with suppress(BinnacleError, RunStopped):
                await self._queue.catch_up()
            for worker in self._trees.list_numbers():
                async with self._lock.alone() as git:
                    kept += await self._release(git, worker)
            async with self._lock.alone() as git:
                self._last_head = await find_branch(git, self.branch)
                kept += await self._tasks.delete_all_integrated(git)
                kept += await self._release_branch(git)
                kept += [*self._queue.parked, *await self._parker.list_stashes(git)]
        finally:
            await self._open.aclose()
            self._open, self._kept = None, tuple(dict.fromkeys((*self._trees.kept, *kept)))
        return self._kept

    @asynccontextmanager
    async def _hold_name(self) -> AsyncIterator[int]:
        """Excludes other runs of this name, and waits for the gits of a killed one."""
        hint = "give this one another name with --name, or wait for the other"
        busy = Refused(f"a run called {self._name!r} is at work here", hint=hint)
        lock = os.path.join(self._folder, "owner")
        async with hold_lock(lock, within=OWNER_TIMEOUT_SECONDS, otherwise=busy) as handle:
            yield handle

    async def _release(self, git: Git, worker: int) -> list[str]:
        """Removes the tree of a worker if nothing would be lost. Otherwise parks what it has, and leaves it.

        No commit can store a repository in a tree, nor what a process still writes: then the tree holds the work.
        """
        path = self._trees.path_of(worker)
        here = git.at(path)
        try:
            changed = await here.list_changed()
            if is_held(path) or any(is_nested_repository(name) for name in changed):
                return [path]
            if changed or await here.find_unfinished():
                label = (await here.branch() or f"worker-{worker}").rpartition("/")[2]
                return [await self._parker.park_changes(here, label)]
            parked = await self._parker.put_away(here, worker)
            if precious := await find_precious(here, home=git.folder):
                named = readable_names(precious[:MAX_NAMED_FILES])
                return [*parked, *(os.path.join(path, name) for name in named)]
            await self._trees.remove(git, worker)
        except BinnacleError:
            return [path]
        return parked

    async def _release_branch(self, git: Git) -> list[str]:
        """Deletes the branch of the run if the person's branch has everything, and no other machine needs it."""
        commit, base = await find_branch(git, self.branch), await find_branch(git, self._checkout.branch)
        if not base or not await has_commit(git, commit, within=base):
            return [self.branch]
        if not self._remote and all(one.branch != self.branch for one in await list_worktrees(git)):
            await delete_ref(git, f"refs/heads/{self.branch}", old=commit)
        return []


async def _find_start(git: Git) -> tuple[str, str, str]:
    """The top of the tree, its branch, which may be empty, and its commit.

    Raises:
        Refused: no branches can be made here.
    """
    root = await git.root()
    if root is None:
        raise Refused(f"not a git repository: {git.folder}", hint="begin one with: git init")
    version = (await git.ask("version")).line
    numbers = tuple(int(word) for word in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST_GIT:
        raise GitError(f"{version} is too old for branches of workers", hint="install git 2.38 or newer")
    head = await git.head()
    if head is None:
        raise Refused("the repository has no commit to begin from", hint="make a first one with: git commit")
    return root, await git.branch() or "", head
