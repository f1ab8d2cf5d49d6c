"""The code of a change that somebody reviews: which two commits are compared, and how files differ between them.

A change may be committed and merged long ago, its branch may be gone, and its commits may be as well. What cannot be
read is said, and is no error: everything else about the change is still known.
"""

import os
from collections.abc import Collection
from typing import NamedTuple

from binnacle.app.run_report.changes import read_changes
from binnacle.errors import GitError, InvalidInput, NotFound
from binnacle.git.command import Git
from binnacle.git.commit_content import find_commit, find_start, get_commit, list_changed_paths, read_diff
from binnacle.project.project import Project
from binnacle.sessions.run_sessions import place_of
from binnacle.store import runs
from binnacle.store.transaction import Reader
from binnacle.work.diff import FileDiff
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, Evidence
from binnacle.work.gaming import classify_path
from binnacle.work.review import Review
from binnacle.work.run import RunRecord
from binnacle.work.task import Task

BASE, LAST_REVIEW = "base", "review"


class DiffRequest(NamedTuple):
    """What of a change somebody wants to see."""

    since: str = BASE
    """`base`, `review` for the commit that was judged last, or any commit."""

    paths: tuple[str, ...] = ()
    unfold: bool = False
    has_text: bool = True
    """Whether the hunks are wanted, and not only which files there are."""


class ComparedCommits(NamedTuple):
    """Two commits to compare."""

    commit: str
    before: str
    """Empty if everything is new."""

    words: str
    """Since when, for a heading."""

    within: tuple[str, ...] | None = None
    """The files that come into question; None for all."""


class ReadChange(NamedTuple):
    """How files differ."""

    compared: ComparedCommits
    files: tuple[FileDiff, ...] = ()
    left_out: int = 0
    problem: str = ""
    """Why there is nothing to see."""


class RunChange(NamedTuple):
    """What a run changed."""

    run: RunRecord
    commits: tuple[str, ...]
    """Each with its title."""

    change: ReadChange


async def read_change(project: Project, compared: ComparedCommits, asked: DiffRequest) -> ReadChange:
    """How files differ between two commits: those first that judge the change.

    Raises:
        NotFound: the change does not touch a file that is asked for.
    """
    try:
        files, left_out = await read_diff(
            Git(project.repo),
            compared.before,
            compared.commit,
            only=asked.paths,
            within=compared.within,
            unfold=asked.unfold,
            has_text=asked.has_text,
        )
    except GitError as error:
        return ReadChange(compared, problem=error.message)
    if asked.paths and not files:
        named = ", ".join(path[:200] for path in asked.paths[:5])
        raise NotFound(f"the change does not touch {named}", hint="leave out --path to see which files it touches")
    in_order = sorted(files, key=lambda one: (classify_path(one.path) is None, one.path))
    return ReadChange(compared, tuple(in_order), left_out)


async def compare(
    project: Project,
    task: Task,
    review: Review | None,
    previous: Review | None,
    found: Collection[Evidence],
    since: str,
) -> ComparedCommits | str:
    """The commits that a request means, or, in words, why they cannot be compared.

    Raises:
        GitError: the commit that is asked for is none.
    """
    git = Git(project.repo)
    commit = review.commit_id if review else task.evidence_commit or next((one.commit_id for one in found), "")
    if not commit:
        return "no commit is known for this task: nothing was put up for review, and nothing was proven"
    chosen = await get_commit(git, since) if since not in (BASE, LAST_REVIEW) else ""
    try:
        await _require(git, commit)
        if chosen:
            return ComparedCommits(commit, chosen, f"since {chosen[:SHORT_COMMIT_CHARACTERS]}")
        if since == LAST_REVIEW and review is not None and previous is not None:
            return await _compare_reviews(git, review, previous)
        known = review.base if review else next((one.base for one in found if one.base), "")
        base = known or ("" if review else await find_start(git, commit))
        await _require(git, base)
    except GitError as error:
        return error.message
    if since == LAST_REVIEW:
        return ComparedCommits(commit, base, "since its base, as nobody has judged it before")
    return ComparedCommits(commit, base, f"since {base[:SHORT_COMMIT_CHARACTERS]}" if base else "from the beginning")


async def _compare_reviews(git: Git, review: Review, previous: Review) -> ComparedCommits:
    """What changed since the last verdict. After a rebase, what others did in between is left out."""
    await _require(git, previous.commit_id)
    words = f"since {previous.commit_id[:SHORT_COMMIT_CHARACTERS]}, which was judged last ({previous.id})"
    is_later = await git.run("merge-base", "--is-ancestor", previous.commit_id, review.commit_id)
    if is_later.code == 0 or previous.base == review.base:
        return ComparedCommits(review.commit_id, previous.commit_id, words)
    touched: set[str] = set()
    for one in (previous, review):
        await _require(git, one.base)
        touched.update(await list_changed_paths(git, one.base, one.commit_id))
    said = f"{words}; it was rebased since, so only files of the change are compared"
    return ComparedCommits(review.commit_id, previous.commit_id, said, tuple(sorted(touched)))


async def _require(git: Git, commit: str) -> None:
    """Makes sure that a commit can be read, if one is named.

    Raises:
        GitError: it cannot.
    """
    if commit and not await find_commit(git, commit):
        short = commit[:SHORT_COMMIT_CHARACTERS]
        said = f"commit {short} is not in this repository: it was made elsewhere, or git has removed it since"
        raise GitError(said, hint="fetch it from where it was made")


def find_run(tx: Reader, text: str) -> tuple[RunRecord, list[str]]:
    """A run, and the places where it worked."""
    run = runs.find(tx, text)
    return run, sorted({one.place for one in runs.list_sessions(tx, run.id) if one.place})


async def read_run_change(project: Project, run: RunRecord, places: list[str], asked: DiffRequest) -> RunChange:
    """Everything that a run did.

    Raises:
        InvalidInput: it is asked for since a review.
    """
    if asked.since == LAST_REVIEW:
        raise InvalidInput("a run has many reviews", hint="name the task: bn review show TASK --since review")
    known = await read_changes(project.repo, run, places=places, here=place_of(project), made_for={})
    if known.unknown:
        return RunChange(run, (), ReadChange(ComparedCommits("", "", ""), problem=known.unknown))
    before = known.base if asked.since == BASE else await get_commit(Git(project.repo), asked.since)
    compared = ComparedCommits(known.head, before, f"since {before[:SHORT_COMMIT_CHARACTERS]}")
    commits = tuple(f"{one.id[:SHORT_COMMIT_CHARACTERS]} {one.title}" for one in known.commits)
    return RunChange(run, commits, await read_change(project, compared, asked))


def name_paths(given: Collection[str], *, inside: str = "") -> tuple[str, ...]:
    """The files and folders that somebody in the folder `inside` names, from the top of the repository.

    A name counts from the top, as a diff shows it, and from the folder, as a shell completes it.
    """
    found: list[str] = []
    for path in given:
        names = [os.path.normpath(path)] + ([os.path.normpath(f"{inside}/{path}")] if inside else [])
        inner = [name for name in names if name != "." and not name.startswith(("/", "../")) and name != ".."]
        if not inner and os.path.normpath(path) != ".":
            raise InvalidInput(f"not a path in the repository: {path[:200]!r}", hint="name it from the top: src/app.py")
        found += inner
    return tuple(dict.fromkeys(found))
