"""The working trees of a repository, as git lists them."""

import os
from contextlib import suppress
from typing import NamedTuple

from binnacle.git.command import Git


class ListedWorktree(NamedTuple):
    """A working tree as git lists it."""

    path: str
    branch: str
    """Empty if a commit is checked out."""

    commit: str
    """The commit that is checked out, also if its folder is gone."""

    git_dir: str
    locked: str = ""
    """Why it may not be removed."""


async def list_worktrees(git: Git) -> list[ListedWorktree]:
    """Every working tree of the repository, the main one first."""
    common = (await git.ask("rev-parse", "--path-format=absolute", "--git-common-dir")).line
    listed = os.fsdecode((await git.ask("worktree", "list", "--porcelain", "-z")).out)
    found = []
    for entry in listed.split("\0\0"):
        about = dict(line.partition(" ")[::2] for line in entry.split("\0") if line)
        if "worktree" in about and "bare" not in about:
            path = about["worktree"]
            branch = about.get("branch", "").removeprefix("refs/heads/")
            git_dir, commit = _git_dir(path, common), about.get("HEAD", "")
            found.append(ListedWorktree(path, branch, commit, git_dir, about.get("locked", "")))
    return found


def _git_dir(path: str, common: str) -> str:
    marker = os.path.join(path, ".git")
    with suppress(OSError), open(marker, encoding="utf-8", errors="surrogateescape") as file:
        return os.path.join(path, file.read().removeprefix("gitdir:").strip())
    return marker if os.path.isdir(marker) else common


def is_rebasing(one: ListedWorktree, branch: str) -> bool:
    """Whether a tree is in the middle of a rebase of a branch."""
    for folder in ("rebase-merge", "rebase-apply"):
        with suppress(OSError), open(os.path.join(one.git_dir, folder, "head-name"), encoding="utf-8") as file:
            if file.read().strip() == f"refs/heads/{branch}":
                return True
    return False
