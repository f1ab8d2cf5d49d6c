"""The branches of tasks: `bn/<run>/<task>`, each checked out in the tree of the worker that works on the task.

A branch starts from the branch of the run, is brought up to date whenever a worker takes it, and goes away when its
work is integrated. Until then it is the work of the task, whoever continues it: with a remote, it is pushed whenever
something is committed, and a worker on another machine continues from there.

A conflict is never resolved by us. The merge is begun in the worker's tree, and a note next to the tree says so until
the branch is integrated, also if the agent commits the marks or gives the merge up.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from binnacle.errors import GitError, Refused, RemoteUnreachable
from binnacle.git.command import MERGE, Commit, Git, is_nested_repository
from binnacle.proving.work_range import WorkRange
from binnacle.runner.trees.commits import (
    TASK_TRAILER,
    JoinConflict,
    delete_ref,
    find_branch,
    has_commit,
    is_related,
    join_commits,
    list_commits,
    resolve,
    set_branch,
)
from binnacle.runner.trees.conflict_notes import find_unresolved, read_note, readable_names, write_note
from binnacle.runner.trees.merge_queue import MAX_TURN_ATTEMPTS, RUN_WORD, MergeQueue
from binnacle.runner.trees.merge_results import (
    MergeConflict,
    MergeDone,
    MergeHeld,
    MergeRefused,
    MergeResult,
    NothingToMerge,
    PreparedTree,
    WorkerTree,
)
from binnacle.runner.trees.parking import WorkParker, return_to_branch
from binnacle.runner.trees.remote_branches import RemoteBranches
from binnacle.runner.trees.repository_lock import RepositoryLock
from binnacle.runner.trees.tree_moves import TreeMove
from binnacle.runner.trees.worktree_list import list_worktrees
from binnacle.runner.trees.worktrees import WorkerTrees

Verify = Callable[[str, str], Awaitable[str]]
"""Checks a commit before it is integrated; the second is the end of the branch that it continues. Returns why it may
not be; empty if it may."""

Join = Callable[[Git, str], Awaitable[str | MergeResult]]
"""The commit to be integrated on top of the end of the run's branch, or why there is none."""


class TaskBranches:
    """The branches of the tasks of one run."""

    def __init__(
        self,
        run: str,
        lock: RepositoryLock,
        *,
        trees: WorkerTrees,
        queue: MergeQueue,
        parker: WorkParker,
        remote: RemoteBranches | None,
    ) -> None:
        self._prefix = f"bn/{run}/"
        self._lock = lock
        self._trees = trees
        self._queue = queue
        self._parker = parker
        self._remote = remote
        self._unpushed: set[str] = set()
        """Tasks whose branch could not be pushed yet."""

    async def prepare(self, worker: int, task_id: str) -> PreparedTree:
        """Checks the branch of a task out in the tree of a worker, with everything that is integrated."""
        await self._queue.catch_up()
        tree = self._tree(worker, task_id)
        async with self._lock.alone() as git:
            for left in sorted(self._unpushed):
                await self._push(git, left)
            tip = await self._queue.find_tip(git)
            await self._trees.ensure(git, worker, tip)
            here = git.at(tree.path)
            parked = await self._trees.free_branch(git, tree.branch, for_worker=worker)
            conflict = None
            if not await return_to_branch(here, tree.branch) or not await _is_unfinished(here):
                parked += await self._parker.put_away(here, worker)
                start = await self._find_start(git, task_id, tip, parked) or tip
                conflict = await self._check_out(git, tree, start, tip)
            elif files := await find_unresolved(here):
                conflict = await self._describe(here, tree, files)
            self._trees.kept += parked
        return PreparedTree(branch=tree.branch, base=tip, conflict=conflict, was_parked=tuple(parked))

    async def keep(self, worker: int, task_id: str, message: str) -> Commit | None:
        """Commits the changes in the tree of a worker, ends a merge that is resolved, and pushes the branch."""
        tree = self._tree(worker, task_id)
        async with self._lock.alone() as git:
            here = git.at(tree.path)
            await here.remove_dead_locks()
            if not await return_to_branch(here, tree.branch):
                hint = f"finish what is under way there, then check it out: git -C {tree.path} switch {tree.branch}"
                raise Refused(f"nothing was committed: {tree.path} is not on {tree.branch}", hint=hint)
        # Hooks of the repository may run for long, and others need the lock.
        here = Git(tree.path)
        if await here.find_unfinished() in ("", MERGE) and await find_unresolved(here):
            return None
        done = await here.commit_all(message, ends_merge=True, trailer=f"{TASK_TRAILER}: {task_id}")
        async with self._lock.alone() as git:
            await self._push(git, task_id)
        return done

    async def list_changed(self, task_id: str) -> list[str]:
        """The files that a task has changed and that are not integrated."""
        async with self._lock.alone() as git:
            commit, tip = await find_branch(git, self._branch(task_id)), await self._queue.find_tip(git)
            if not commit:
                return []
            return (await git.ask("diff", "--name-only", "--no-renames", "-z", f"{tip}...{commit}")).names

    async def find_change(self, worker: int, task_id: str) -> WorkRange | None:
        """What a task has changed since its branch left the branch of the run; None if that cannot be judged yet.

        That is so while a conflict is not resolved, or if the branch cannot be merged at all.
        """
        tree = self._tree(worker, task_id)
        async with self._lock.alone() as git:
            here = git.at(tree.path)
            commit, tip = await find_branch(git, tree.branch), await self._queue.find_tip(git)
            if not commit or not await is_related(git, tip, commit):
                return None
            if await here.find_unfinished() or await find_unresolved(here):
                return None
            base = (await git.ask("merge-base", tip, commit)).line
            return WorkRange(tree.path, commit, base, readable_names(await here.list_changed()))

    async def is_integrated(self, commit: str) -> bool:
        """Whether a commit is in the branch of the run."""
        async with self._lock.alone() as git:
            return await has_commit(git, commit, within=await self._queue.find_tip(git))

    async def integrate(self, worker: int, task_id: str, message: str, verify: Verify | None = None) -> MergeResult:
        """Merges the branch of a task into the branch of the run if `verify` lets it, and then removes it."""
        tree = self._tree(worker, task_id)
        async with self._queue.turn():
            found = await self._integrate(tree.branch, partial(self._join, tree=tree, message=message), verify)
        if isinstance(found, MergeDone | NothingToMerge):
            async with self._lock.alone() as git:
                await self._leave(git, tree)
                await self._delete_integrated(git, task_id)
        return found

    async def integrate_commit(self, task_id: str, commit: str, message: str, verify: Verify) -> MergeResult:
        """Merges exactly this commit of a task, whatever its branch has now. Nobody may work on the task."""
        branch = self._branch(task_id)

        async def join(git: Git, tip: str) -> str | MergeResult:
            return await self._join_commit(git, branch, tip, commit, message)

        async with self._queue.turn():
            found = await self._integrate(branch, join, verify)
        if isinstance(found, MergeDone | NothingToMerge):
            async with self._lock.alone() as git:
                for worker in self._trees.list_numbers():
                    await self._leave(git, self._tree(worker, task_id))
                await self._delete_integrated(git, task_id)
        return found

    async def _join_commit(self, git: Git, branch: str, tip: str, commit: str, message: str) -> str | MergeResult:
        """The commit to be integrated, or why there is none. A conflict is met again by whoever works on the task."""
        into = self._queue.branch
        if not await resolve(git, commit):
            raise GitError(f"commit {commit[:10]} of {branch} is not here", hint="resume the run where it was made")
        if await has_commit(git, commit, within=tip):
            return NothingToMerge(branch=branch)
        if not await is_related(git, tip, commit):
            reason = f"its commits do not begin from {into}, so they cannot be merged"
            return MergeHeld(branch=branch, into=into, reason=reason)
        joined = await join_commits(git, tip, commit, message)
        if isinstance(joined, str):
            return joined
        return MergeConflict(worker=0, branch=branch, into=into, files=readable_names(joined.files))

    async def _integrate(self, branch: str, join: Join, verify: Verify | None) -> MergeResult:
        for _ in range(MAX_TURN_ATTEMPTS):
            await self._queue.take_in_person()
            async with self._lock.alone() as git:
                tip = await self._queue.find_tip(git)
                joined = await join(git, tip)
                if not isinstance(joined, str):
                    return joined
                files = (await git.ask("diff", "--name-only", "--no-renames", "-z", tip, joined)).names
            if verify is not None and (reason := await verify(joined, tip)):
                return MergeRefused(branch=branch, into=self._queue.branch, reason=reason)
            moved = await self._queue.advance(joined)
            if moved.reason:
                return MergeHeld(branch=branch, into=self._queue.branch, reason=moved.reason)
            if moved.is_done:
                return MergeDone(branch=branch, into=self._queue.branch, commit=joined, files=len(files))
        return MergeHeld(branch=branch, into=self._queue.branch, reason="others were faster each time")

    async def _join(self, git: Git, tip: str, *, tree: WorkerTree, message: str) -> str | MergeResult:
        """The commit to be integrated, or why there is none."""
        commit = await find_branch(git, tree.branch)
        if obstacle := await self._find_obstacle(git, tree, tip):
            return obstacle
        if not commit or await has_commit(git, commit, within=tip):
            return NothingToMerge(branch=tree.branch)
        if not await is_related(git, tip, commit):
            return self._hold(tree, f"its commits do not begin from {self._queue.branch}, so they cannot be merged")
        joined = await join_commits(git, tip, commit, message)
        if isinstance(joined, str):
            return joined
        if not self._has_tree(tree) or await git.at(tree.path).branch() != tree.branch:
            return self._hold(tree, "it is in conflict, and no worker has it checked out", joined.files)
        return await self._hand_over(git, tree, tip, joined)

    async def delete_all_integrated(self, git: Git) -> list[str]:
        """Deletes the branches of all tasks that are integrated. Returns the others."""
        names = await git.ask("for-each-ref", "--format=%(refname:lstrip=4)", f"refs/heads/{self._prefix}")
        words = [word for word in names.line.split() if word != RUN_WORD]
        return [self._branch(word) for word in words if not await self._delete_integrated(git, word)]

    async def _delete_integrated(self, git: Git, task_id: str) -> bool:
        """Deletes the branch of a task if nobody has it checked out. Returns False if it is not integrated."""
        branch = self._branch(task_id)
        commit, tip = await find_branch(git, branch), await self._queue.find_tip(git)
        if commit and not await has_commit(git, commit, within=tip):
            return False
        if all(one.branch != branch for one in await list_worktrees(git)):
            there = await self._remote.find(git, task_id) if self._remote else ""
            if self._remote and there and await has_commit(git, there, within=tip):
                with suppress(RemoteUnreachable):  # it is integrated, so it only remains to be seen there
                    await self._remote.delete(git, there, task_id)
            if commit:
                await delete_ref(git, f"refs/heads/{branch}", old=commit)
        return True

    def _tree(self, worker: int, task_id: str) -> WorkerTree:
        return WorkerTree(worker, self._trees.path_of(worker), self._branch(task_id))

    def _branch(self, task_id: str) -> str:
        return f"{self._prefix}{task_id}"

    async def _find_start(self, git: Git, task_id: str, tip: str, parked: list[str]) -> str:
        """Where the work on a task was left, here or in the remote; empty if nobody has begun.

        What cannot be merged into `tip`, because an agent began a new history, is parked.
        """
        here = await find_branch(git, self._branch(task_id))
        there = await self._remote.find(git, task_id) if self._remote else ""
        if here and not await is_related(git, here, tip):
            parked.append(await self._parker.park(git, here, task_id))
            here = ""
        if there and not await is_related(git, there, tip):
            there = ""  # it stays in the remote
        if not here or not there:
            return here or there
        joined = await join_commits(git, here, there, f"Merge both parts of {self._branch(task_id)}\n")
        if isinstance(joined, str):
            return joined
        parked.append(await self._parker.park(git, there, task_id))
        return here

    async def _check_out(self, git: Git, tree: WorkerTree, start: str, tip: str) -> MergeConflict | None:
        """Brings a branch up to date, and checks it out in a detached tree without changes."""
        joined = await join_commits(git, start, tip, f"Merge {self._queue.branch} into {tree.branch}\n")
        commit = start if isinstance(joined, JoinConflict) else joined
        await set_branch(git, tree.branch, commit, old=await find_branch(git, tree.branch))
        here = git.at(tree.path)
        await self._trees.make_way(here, commit)
        old = await here.head() or ""
        move = TreeMove(tree=tree.path, branch=tree.branch, old=old, new=commit, is_ours=True)
        await self._lock.mover.switch(git, move)
        await self._trees.clear_leftovers(here)
        return await self._hand_over(git, tree, tip, joined) if isinstance(joined, JoinConflict) else None

    async def _hand_over(self, git: Git, tree: WorkerTree, tip: str, conflict: JoinConflict) -> MergeConflict:
        """Begins the merge in the worker's tree."""
        ours = await find_branch(git, tree.branch)
        await self._trees.make_way(git.at(tree.path), conflict.tree)
        write_note(tree.path, ours=ours, theirs=tip, files=conflict.files)
        await self._lock.mover.begin_merge(git, tree=tree.path, branch=tree.branch, commit=tip)
        return await self._describe(git.at(tree.path), tree, conflict.files)

    async def _describe(self, here: Git, tree: WorkerTree, files: Sequence[str]) -> MergeConflict:
        """A conflict with both sides named."""
        note = read_note(tree.path)
        return MergeConflict(
            worker=tree.number,
            branch=tree.branch,
            into=self._queue.branch,
            files=readable_names(files),
            branch_commits=await list_commits(here, since=note.theirs, until=note.ours) if note else (),
            into_commits=await list_commits(here, since=note.ours, until=note.theirs, files=files) if note else (),
        )

    async def _find_obstacle(self, git: Git, tree: WorkerTree, tip: str) -> MergeHeld | MergeConflict | None:
        """Why the branch cannot be merged as it is."""
        here = git.at(tree.path)
        if not self._has_tree(tree):
            return None
        what, changed = await here.find_unfinished(), await here.list_changed()
        if not await return_to_branch(here, tree.branch) and not what:
            # After a kill, its work may be integrated and the tree detached already.
            if not changed and await has_commit(here, await here.head() or "", within=tip):
                return None
            return self._hold(tree, f"{tree.path} has something else than {tree.branch} checked out")
        if what in ("", MERGE) and (files := await find_unresolved(here)):
            return await self._describe(here, tree, files)
        if what:
            return self._hold(tree, f"{tree.path} is in the middle of {what}")
        return self._hold_changes(tree, changed) if changed else None

    def _hold_changes(self, tree: WorkerTree, changed: Sequence[str]) -> MergeHeld:
        if nested := readable_names([name for name in changed if is_nested_repository(name)]):
            reason = f"{nested[0]} is a git repository of its own, so nothing in it is committed"
            return self._hold(tree, f"{reason}: remove its .git, move it away or ignore it", nested)
        return self._hold(tree, f"{tree.path} has uncommitted changes", changed)

    def _has_tree(self, tree: WorkerTree) -> bool:
        return tree.number in self._trees.list_numbers()

    async def _leave(self, git: Git, tree: WorkerTree) -> None:
        """Detaches the tree of a worker from a branch that is integrated."""
        if self._has_tree(tree) and await git.at(tree.path).branch() == tree.branch:
            self._trees.kept += await self._parker.put_away(git.at(tree.path), tree.number)

    async def _push(self, git: Git, task_id: str) -> None:
        """Pushes the branch of a task. Without an answer of the remote, it is pushed before the next task."""
        commit = await find_branch(git, self._branch(task_id))
        self._unpushed.discard(task_id)
        if self._remote and commit:
            try:
                # If it is refused, another machine has worked on it too. The next preparation brings both together.
                await self._remote.push(git, commit, task_id)
            except RemoteUnreachable:
                self._unpushed.add(task_id)

    def _hold(self, tree: WorkerTree, reason: str, files: Sequence[str] = ()) -> MergeHeld:
        return MergeHeld(branch=tree.branch, into=self._queue.branch, reason=reason, files=readable_names(files))


async def _is_unfinished(here: Git) -> bool:
    """Whether a tree is in the middle of something: changes, a merge, a conflict that is not resolved."""
    return bool(await here.find_unfinished() or await here.list_changed() or await find_unresolved(here))
