"""What git knows of a run: its commits and files, and the branches that wait to be merged. Nothing is changed."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from binnacle.app.run_report.values import KeptRef, ReportedChanges, ReportedCommit, ReportedFile
from binnacle.errors import GitError
from binnacle.git.command import Git
from binnacle.runner.trees.commits import TASK_TRAILER, find_branch, resolve
from binnacle.runner.trees.parking import PARKED
from binnacle.work.run import RunRecord

MAX_FILES = 500
MAX_COMMITS = 500
MAX_REFS = 100
MAX_TASK_CHARACTERS = 40

_REF_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


async def read_changes(
    folder: str, run: RunRecord, *, places: Sequence[str], here: str, made_for: Mapping[str, str]
) -> ReportedChanges:
    """What a run changed. `places` are where it works, and `here` is this one; `made_for` has tasks by commit."""
    git = Git(folder)
    try:
        if await git.root() is None:
            return ReportedChanges(unknown="this folder is not in a git repository")
        base, head = await _find_ends(git, run, is_here=here in places)
        if not base or not head:
            return ReportedChanges(unknown=_explain(run, places, here))
        files = await _list_files(git, base, head)
        in_place = not run.branch and here in places
        return ReportedChanges(
            base=base,
            head=head,
            branch=run.branch,
            commits=await _list_commits(git, base, head, made_for),
            files=files[:MAX_FILES],
            left_out=max(0, len(files) - MAX_FILES),
            insertions=sum(one.insertions or 0 for one in files),
            deletions=sum(one.deletions or 0 for one in files),
            uncommitted=(await git.list_changed())[:MAX_FILES] if in_place else [],
        )
    except GitError as error:
        return ReportedChanges(unknown=error.message)


async def list_kept_refs(folder: str, run: RunRecord) -> list[KeptRef]:
    """The branches and parked refs of a run whose commits the checked-out branch does not have."""
    if not _REF_NAME.fullmatch(run.name):
        return []
    git = Git(folder)
    try:
        if await git.root() is None or await git.head() is None:
            return []
        places = (f"refs/heads/bn/{run.name}/", f"{PARKED}/{run.name}/")
        form = "--format=%(objectname:short) %(refname)"
        ran = await git.ask("for-each-ref", f"--count={MAX_REFS}", "--no-merged=HEAD", form, *places)
    except GitError:
        return []
    found = (line.partition(" ") for line in ran.line.splitlines())
    return [KeptRef(ref=ref.removeprefix("refs/heads/"), commit=commit) for commit, _, ref in found]


async def _find_ends(git: Git, run: RunRecord, *, is_here: bool) -> tuple[str, str]:
    """The first and the last commit, each empty if it is not in this repository."""
    base = await resolve(git, run.base) if run.base else ""
    noted = await resolve(git, run.head) if run.head else ""
    if run.branch:
        live = await find_branch(git, run.branch)
    else:
        live = await git.head() or "" if is_here else ""
    return base, (noted or live) if run.status == "ended" else (live or noted)


def _explain(run: RunRecord, places: Sequence[str], here: str) -> str:
    if not run.base:
        return "the run has no commit to begin from"
    elsewhere = [place for place in places if place != here]
    where = f": it worked in {', '.join(elsewhere)}" if elsewhere else ""
    return f"the commits of the run are not in this repository{where}"


async def _list_files(git: Git, base: str, head: str) -> list[ReportedFile]:
    options = ("--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
    found = []
    for entry in (await git.ask("diff", *options, base, head)).names:
        insertions, deletions, path = entry.split("\t", 2)
        is_text = insertions != "-"
        found.append(
            ReportedFile(
                path=path,
                insertions=int(insertions) if is_text else None,
                deletions=int(deletions) if is_text else None,
            )
        )
    return found


async def _list_commits(git: Git, base: str, head: str, made_for: Mapping[str, str]) -> list[ReportedCommit]:
    """The commits without merges, oldest first."""
    task = f"%(trailers:key={TASK_TRAILER},valueonly,separator=%x20)"
    options = ("--no-merges", f"--max-count={MAX_COMMITS}", "-z", f"--format=%H%x1f%cI%x1f{task}%x1f%s")
    found = []
    for entry in (await git.ask("log", *options, head, f"^{base}")).out.split(b"\0"):
        if entry:
            commit, at, task_id, title = entry.decode(errors="replace").split("\x1f", 3)
            task_id = made_for.get(commit) or task_id.strip()[:MAX_TASK_CHARACTERS]
            found.append(ReportedCommit(id=commit, title=title, at=datetime.fromisoformat(at), task=task_id))
    return found[::-1]
