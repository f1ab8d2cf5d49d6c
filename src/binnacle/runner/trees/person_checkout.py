"""The branch of the person from which a run began: it follows the branch of the run, as far as it may.

A branch that is checked out moves with its files, and only if the person has no uncommitted changes there. Nobody waits
for it: what could not be moved is moved later, or by the person.
"""

from binnacle.git.command import Git
from binnacle.runner.trees.commits import find_branch, has_commit, is_related, set_branch
from binnacle.runner.trees.repository_lock import RepositoryLock
from binnacle.runner.trees.tree_moves import TreeMove
from binnacle.runner.trees.worktree_list import is_rebasing, list_worktrees


class PersonCheckout:
    """The branch that was checked out where the run was started; "" if it was none."""

    def __init__(self, lock: RepositoryLock, *, branch: str, run_branch: str) -> None:
        self._lock = lock
        self._run_branch = run_branch
        self.branch = branch
        self.behind = ""
        """Why the branch does not have everything, and how to bring it in; empty if it has."""

    async def find_new(self, git: Git, tip: str) -> str:
        """The newest commit of the person, if `tip` does not have it and it can be merged; otherwise empty."""
        at = await find_branch(git, self.branch) if self.branch else ""
        if not at or await has_commit(git, at, within=tip):
            return ""
        return at if await is_related(git, at, tip) else ""

    async def follow(self, git: Git, tip: str) -> None:
        """Moves the branch to `tip`, with the tree in which it is checked out. Notes why, if it must stay."""
        reason = await self._find_reason(git, tip) if self.branch else ""
        place = next((one.path for one in await list_worktrees(git) if one.branch == self.branch), "")
        command = f"git -C {place} merge {self._run_branch}" if place else f"git merge {self._run_branch}"
        self.behind = (
            f"{self.branch} is behind {self._run_branch}: {reason}; bring it in with: {command}" if reason else ""
        )

    async def _find_reason(self, git: Git, tip: str) -> str:
        at = await find_branch(git, self.branch)
        if not at or await has_commit(git, tip, within=at):
            return ""
        if not await has_commit(git, at, within=tip):
            return f"{self.branch} has commits that conflict with it"
        for one in await list_worktrees(git):
            if is_rebasing(one, self.branch):
                return f"{one.path} is in the middle of a rebase"
            if one.branch == self.branch:
                if changed := await git.at(one.path).list_changed(untracked=False):
                    return f"{one.path} has uncommitted changes in {changed[0]}"
                move = TreeMove(tree=one.path, branch=self.branch, old=at, new=tip, is_ours=False)
                blocked = await self._lock.mover.advance(git, move)
                return blocked.reason if blocked else ""
        return "" if await set_branch(git, self.branch, tip, old=at) else f"somebody else moves {self.branch}"
