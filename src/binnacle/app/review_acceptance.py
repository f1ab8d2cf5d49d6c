"""Whether a change that is accepted is still what is there: an acceptance is of one tree, and commits may follow it."""

from typing import NamedTuple

from binnacle.config.git_heads import MAIN_BRANCHES
from binnacle.git.command import Git
from binnacle.git.commit_content import find_commit, list_changed_paths
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.review import Review

MAX_NAMED_FILES = 5
MAX_TIPS = 200
"""Branches that are looked at."""


class NewerWork(NamedTuple):
    """What was committed after a change that was put up for review."""

    problem: str = ""
    """Why accepting it would not be accepting what is there."""

    note: str = ""
    """What is not accepted with it, but is no obstacle."""


class _Tip(NamedTuple):
    name: str
    commit: str
    is_main: bool


async def find_newer_work(folder: str, review: Review, *, is_shared: bool) -> NewerWork:
    """Looks for commits that followed a change on its branch.

    In a branch that is shared (the main branch, or where somebody works on other tasks, `is_shared`), commits that
    touch other files belong to others. What touches the files of the change makes it another one.

    Raises:
        GitError: git is not installed, or failed.
    """
    git, commit = Git(folder), review.commit_id
    short = commit[:SHORT_COMMIT_CHARACTERS]
    if not await find_commit(git, commit):
        return NewerWork(f"commit {short} is not in this repository, so nobody can have looked at it here")
    tips = await _list_tips(git, commit)
    if not tips:
        return NewerWork(f"no branch has commit {short} any more: it was amended, rebased or removed")
    if any(one.commit == commit for one in tips):
        return NewerWork()
    counted = [(int((await git.ask("rev-list", "--count", f"{commit}..{one.commit}")).line), one) for one in tips]
    count, nearest = min(counted, key=lambda one: one[0])
    later = "1 newer commit" if count == 1 else f"{count} newer commits"
    base = review.base if review.base and await find_commit(git, review.base) else ""
    own = set(await list_changed_paths(git, base, commit))
    if touched := sorted(own.intersection(await list_changed_paths(git, commit, nearest.commit))):
        named = ", ".join(touched[:MAX_NAMED_FILES]) + (" …" if len(touched) > MAX_NAMED_FILES else "")
        return NewerWork(f"{nearest.name} has {later} since {short}, which changed the same files: {named}")
    if not (nearest.is_main or is_shared):
        return NewerWork(f"{nearest.name} has {later} since {short} was put up for review")
    return NewerWork(note=f"{nearest.name} has {later} with other files, which this does not accept")


async def _list_tips(git: Git, commit: str) -> list[_Tip]:
    """The branches that have a commit, and commits with it that are checked out without a branch."""
    main = set[str]()
    for name in MAIN_BRANCHES:
        ran = await git.run("rev-parse", "--verify", "--quiet", "--symbolic-full-name", name)
        main.update((name, ran.line) if ran.code == 0 else ())
    form = ("--format=%(objectname) %(refname)", f"--count={MAX_TIPS}")
    listed = (await git.ask("for-each-ref", f"--contains={commit}", *form, "refs/heads", "refs/remotes")).line
    refs = [line.partition(" ") for line in listed.splitlines()]
    found = [_Tip(f"branch {ref.split('/', 2)[2]}", tip, ref in main) for tip, _, ref in refs]
    trees = (await git.ask("worktree", "list", "--porcelain")).line.split("\n\n")
    for entry in trees[:MAX_TIPS]:
        head = next((line[5:] for line in entry.splitlines() if line.startswith("HEAD ")), "")
        if head and "detached" in entry.splitlines():
            has_it = await git.run("merge-base", "--is-ancestor", commit, head)
            found += [_Tip("a working tree", head, is_main=False)] if has_it.code == 0 else []
    return found
