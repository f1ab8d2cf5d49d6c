"""What commits have to do with each other: which has which, and what merging two of them gives.

Nothing here touches a file of a working tree or moves a branch.
"""

from collections.abc import Sequence
from typing import NamedTuple

from binnacle.git.command import Git, git_failure

TASK_TRAILER = "Task"
"""The line at the end of a commit's message that names its task."""

MAX_LISTED_COMMITS = 20
"""How many commits a list of them has at most."""


class JoinConflict(NamedTuple):
    """Two commits cannot be merged without somebody's help."""

    tree: str
    """The tree of git that has the conflicts, with their marks in the files."""

    files: tuple[str, ...]


async def resolve(git: Git, ref: str) -> str:
    """The commit of a ref by its complete name; empty if there is none."""
    ran = await git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    return ran.line if ran.code == 0 else ""


async def find_branch(git: Git, branch: str) -> str:
    """The commit of a branch; empty if there is none."""
    return await resolve(git, f"refs/heads/{branch}")


async def has_commit(git: Git, commit: str, *, within: str) -> bool:
    """Whether `commit` is `within` or one of its ancestors."""
    return commit == within or (await git.run("merge-base", "--is-ancestor", commit, within)).code == 0


async def is_related(git: Git, one: str, other: str) -> bool:
    """Whether two commits have a common ancestor. What has none, such as an agent's new root, cannot be merged."""
    return (await git.run("merge-base", one, other)).code == 0


async def join_commits(git: Git, ours: str, theirs: str, message: str) -> str | JoinConflict:
    """The commit that has both, made only if none of them has the other."""
    if await has_commit(git, ours, within=theirs):
        return theirs
    if await has_commit(git, theirs, within=ours):
        return ours
    ran = await git.run("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    if ran.code not in (0, 1):
        raise git_failure("merge-tree", ran)
    tree, *files = ran.names
    if ran.code == 1:
        return JoinConflict(tree, tuple(files))
    words = (*await git.identity(), "commit-tree", tree, "-p", ours, "-p", theirs, "-F", "-")
    return (await git.ask(*words, given=message.encode(errors="replace"))).line


async def list_commits(git: Git, *, since: str, until: str, files: Sequence[str] = ()) -> tuple[str, ...]:
    """The newest commits of `until` that `since` does not have and that changed `files`, each with title and task."""
    task = f"%(trailers:key={TASK_TRAILER},valueonly,separator=%x20)"
    options = ("--no-merges", f"--max-count={MAX_LISTED_COMMITS}", "-z", f"--format=%h %s%x09{task}")
    ran = await git.ask("--literal-pathspecs", "log", *options, until, f"^{since}", "--", *files)
    found = (entry.decode(errors="replace").strip().partition("\t") for entry in ran.out.split(b"\0") if entry)
    return tuple(f"{title} ({task})" if task else title for title, _, task in found)


async def set_branch(git: Git, branch: str, commit: str, *, old: str) -> bool:
    """Moves a branch that is checked out nowhere from `old`, or makes it if `old` is empty.

    Returns False if somebody else moved it meanwhile.
    """
    words = ("update-ref", "-m", "bn run", f"refs/heads/{branch}", commit, old)
    return (await git.run(*words)).code == 0


async def delete_ref(git: Git, ref: str, *, old: str) -> bool:
    """Deletes a ref that is still at `old`. False if it is not."""
    return (await git.run("update-ref", "-m", "bn run: merged", "-d", ref, old)).code == 0
