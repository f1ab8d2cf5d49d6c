"""The commits between one on which a check passed and one on which it does not, and whose they are."""

from collections.abc import Sequence
from typing import NamedTuple

from binnacle.git.command import Git

TASK_TRAILER = "Task"
"""The line at the end of a commit's message that names its task (`runner.trees.commits`)."""

MAX_TITLE_CHARACTERS = 100
MAX_NAMED_COMMITS = 200
"""Commits of one merge that are looked at to find its task."""


class HistoryCommit(NamedTuple):
    """A commit of a history."""

    id: str
    tree: str
    parents: tuple[str, ...]


class CommitWords(NamedTuple):
    """What is written about a commit, and about those that came with it."""

    title: str
    author: str
    commits: list[str]
    """The commit, and those that it merged, newest first."""

    tasks: list[str]
    """The tasks that they name."""


async def list_first_parents(git: Git, *, since: str, until: str) -> list[HistoryCommit]:
    """The first-parent commits up to `until` that contain `since`, without it, oldest first.

    So each of them has the work of `since`, and what came to it one by one. Empty if `until` does not contain it.
    """
    ran = await git.run("log", "--first-parent", "--format=%H %T %P", until, f"^{since}")
    if ran.code or not await contains(git, until, since):
        return []
    found = [
        HistoryCommit(words[0], words[1], tuple(words[2:])) for line in ran.line.splitlines() if (words := line.split())
    ]
    found.reverse()
    low, high = 0, len(found) - 1  # once a first-parent commit contains it, all after it do
    while low < high:
        middle = (low + high) // 2
        if await contains(git, found[middle].id, since):
            high = middle
        else:
            low = middle + 1
    return found[low:]


async def contains(git: Git, commit: str, other: str) -> bool:
    """Whether `other` is `commit` or one of its ancestors."""
    return commit == other or (await git.run("merge-base", "--is-ancestor", other, commit)).code == 0


async def find_trees(git: Git, commits: Sequence[str]) -> dict[str, str]:
    """The trees of those commits that are here."""
    if not commits:
        return {}
    given = "".join(f"{one}^{{tree}}\n" for one in commits).encode()
    ran = await git.ask("cat-file", "--batch-check=%(objectname) %(objecttype)", given=given)
    lines = ran.line.splitlines()
    pairs = zip(commits, (line.split() for line in lines), strict=False)
    return {commit: words[0] for commit, words in pairs if len(words) == 2 and words[1] == "tree"}


async def read_words(git: Git, commit: HistoryCommit) -> CommitWords:
    """What is written about a commit and those that it merged."""
    task = f"%(trailers:key={TASK_TRAILER},valueonly,separator=%x20)"
    without = [f"^{one}" for one in commit.parents[:1]]
    words = (
        "log",
        f"--max-count={MAX_NAMED_COMMITS}",
        "-z",
        f"--format=%H%x09%s%x09%an%x09{task}",
        commit.id,
        *without,
    )
    entries = [one.split("\t") for one in (await git.ask(*words)).names]
    own = next((one for one in entries if one[0] == commit.id), [commit.id, "", "", ""])
    named = [task_id for one in entries for task_id in one[-1].split()]
    return CommitWords(own[1][:MAX_TITLE_CHARACTERS], own[2], [one[0] for one in entries], list(dict.fromkeys(named)))
