"""What was committed since the work on a task began: the commit to check, and the one to compare it with."""

from collections.abc import Sequence
from typing import NamedTuple

from binnacle.config.git_heads import MAIN_BRANCHES
from binnacle.errors import GitError
from binnacle.git.command import Git


class WorkRange(NamedTuple):
    """A change to be judged: what is in `commit` and not in `base`."""

    folder: str
    """A working tree of the repository."""

    commit: str
    base: str = ""
    """Empty if nothing is known to compare with. The same as `commit` if nothing was committed."""

    uncommitted: tuple[str, ...] = ()
    """Files with changes that are not in the commit."""

    @property
    def is_empty(self) -> bool:
        return self.commit == self.base


async def find_work_range(folder: str, starts: Sequence[str]) -> WorkRange:
    """What is committed in a working tree since it, and the main branches, were at `starts`.

    Raises:
        GitError: it is not a working tree, or has no commit.
    """
    git = Git(folder)
    if await git.root() is None:
        raise GitError(f"not a working tree of git: {folder}", hint="checks run on commits: make one with git init")
    commit = await git.head()
    if commit is None:
        raise GitError(f"{folder} has no commit", hint="checks run on commits: git add what you made, and git commit")
    uncommitted = tuple(await git.list_changed())
    known = [one for one in starts if (await git.run("cat-file", "-e", f"{one}^{{commit}}")).code == 0]
    if not known:
        return WorkRange(folder, commit, "", uncommitted)
    fresh = (await git.ask("rev-list", "--count", commit, "--not", *known)).line
    base = commit if fresh == "0" else await _find_nearest(git, commit, known)
    if base != commit and await _is_gone(git, commit, starts):
        base = starts[0]
    return WorkRange(folder, commit, base, uncommitted)


async def _find_nearest(git: Git, commit: str, starts: Sequence[str]) -> str:
    """The newest commit that the change and one of its starts have in common; empty if they have none."""
    nearest, fewest = "", -1
    for start in starts:
        common = await git.run("merge-base", start, commit)
        if common.code or not common.line:
            continue
        between = int((await git.ask("rev-list", "--count", f"{common.line}..{commit}")).line)
        if fewest < 0 or between < fewest:
            nearest, fewest = common.line, between
    return nearest


async def _is_gone(git: Git, commit: str, starts: Sequence[str]) -> bool:
    """Whether the commit from which the work began was taken out of history, as by `git commit --amend`.

    The change is then compared with that commit itself, so that nothing gets lost that was only there. Work that was
    left behind on another branch is not gone.
    """
    start = starts[0]
    if (await git.run("cat-file", "-e", f"{start}^{{commit}}")).code or await _has(git, commit, start):
        return False
    if not (await git.ask("for-each-ref", "--contains", start, "refs/heads", "refs/remotes")).line:
        return True
    mains = [one for one in MAIN_BRANCHES if (await git.run("rev-parse", "--verify", "--quiet", one)).code == 0]
    was_main = len(starts) == 1 and bool(mains)
    return was_main and not any([await _has(git, one, start) for one in mains])


async def _has(git: Git, commit: str, other: str) -> bool:
    """Whether a commit is in the history of another, or is it."""
    return (await git.run("merge-base", "--is-ancestor", other, commit)).code == 0


async def find_base(git: Git, commit: str) -> str:
    """Where a commit left the main branch; empty if it is on it, or there is no such branch."""
    for branch in MAIN_BRANCHES:
        found = await git.run("merge-base", branch, commit)
        if found.code == 0 and found.line:
            return found.line if found.line != commit else ""
    return ""


async def resolve_commit(git: Git, revision: str) -> str:
    """The id of a commit that a person names.

    Raises:
        GitError: there is none.
    """
    found = await git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.code or not found.line:
        raise GitError(f"no such commit: {revision}", hint="name a commit or a branch of this repository")
    return found.line.splitlines()[-1]


async def find_tree(git: Git, commit: str) -> str:
    """The id of the tree of a commit; empty for no commit."""
    return (await git.ask("rev-parse", f"{commit}^{{tree}}")).line if commit else ""
