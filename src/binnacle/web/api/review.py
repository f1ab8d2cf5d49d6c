"""Changes that wait for a review: which, and one with its task, what judges it, what was said about it, and its code.

The code comes in two steps, so that a change of any size is there at once: first which files differ and by how much,
then the lines of the files that the page shows, a part at a time.
"""

from msgspec import Struct
from msgspec.structs import asdict, replace

from binnacle.app.review_change import (
    ComparedCommits,
    DiffRequest,
    ReadChange,
    compare,
    find_run,
    read_change,
    read_run_change,
)
from binnacle.app.review_details import DescribedChange, describe_change
from binnacle.app.review_lines import place_remarks, read_file_lines, show_name
from binnacle.errors import GitError, InvalidInput
from binnacle.store import reviews
from binnacle.store.transaction import Reader
from binnacle.store.views import review_overview
from binnacle.store.views.review_overview import ReviewDetails, ReviewEntry, find_subject
from binnacle.web.endpoints import reads
from binnacle.web.page_project import PageProject
from binnacle.work.diff import DiffLine, FileDiff
from binnacle.work.gaming import ProtectedKind, classify_path

MAX_LISTED_REVIEWS = 200
MAX_LISTED_FILES = 500
MAX_READ_LINES = 2000


class ReviewListQuery(Struct, frozen=True, kw_only=True):
    """Which reviews: those that wait, or all."""

    all: bool = False
    limit: int = 50
    offset: int = 0


class ReviewListPage(Struct, frozen=True, kw_only=True):
    """Some of the reviews, and how many there are."""

    reviews: tuple[ReviewEntry, ...]
    total: int


class ReviewQuery(Struct, frozen=True, kw_only=True):
    """A change: its task or its review."""

    subject: str


class ReviewPage(DescribedChange, frozen=True, kw_only=True):
    """A change with everything that is known of it besides its code."""

    newest: str = ""
    """The newest review of the task, if that is another one."""

    previous: str = ""
    """The commit that was judged before this one; empty if there is none."""

    viewer: str
    """Who looks at it: the drafts of comments are theirs."""


class ReviewFilesQuery(Struct, frozen=True, kw_only=True):
    """The code of a change, or of everything that a run did."""

    subject: str = ""
    run: str = ""
    since: str = "base"
    """`base`, `review` for the commit that was judged last, or any commit."""

    limit: int = 300
    offset: int = 0


class ReviewedFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a change does to one file, without its lines."""

    path: str
    before: str = ""
    """What it was called."""

    status: str
    note: str = ""
    folded: str = ""
    """Why it is folded away."""

    added: int = 0
    removed: int = 0
    protects: ProtectedKind | None = None
    """What the file is that it judges the change: a test, for instance."""


class ReviewFiles(Struct, frozen=True, kw_only=True):
    """Which files differ between two commits: those first that judge the change."""

    commit: str
    before: str
    since: str
    """Since when, in words."""

    files: tuple[ReviewedFile, ...]
    total: int
    added: int
    removed: int
    left_out: int
    """Files beyond the most that are looked at."""

    problem: str
    """Why there is nothing to see."""

    run: str
    run_status: str
    commits: tuple[str, ...]
    """Of the run, each with its title."""

    places: dict[str, int]
    """The lines of this commit that comments belong to, by the ids of the comments."""


class ReviewLinesQuery(Struct, frozen=True, kw_only=True):
    """Some lines of how one file differs between two commits."""

    commit: str
    before: str = ""
    path: str
    was: str = ""
    """What a renamed file was called."""

    context: int = 3
    offset: int = 0
    limit: int = 500


class ReviewLines(Struct, frozen=True, kw_only=True):
    """These lines, and how many there are."""

    lines: tuple[DiffLine, ...]
    total: int
    problem: str


@reads("review_list")
async def read_list(project: PageProject, asked: ReviewListQuery) -> ReviewListPage:
    limit, offset = max(1, min(asked.limit, MAX_LISTED_REVIEWS)), max(0, asked.offset)
    look = review_overview.list_all if asked.all else review_overview.list_waiting
    found, total = await project.read(lambda tx: look(tx, limit=limit, offset=offset))
    return ReviewListPage(reviews=tuple(found), total=total)


@reads("review")
async def read_review(project: PageProject, asked: ReviewQuery) -> ReviewPage:
    def look(tx: Reader) -> tuple[ReviewDetails, str]:
        subject = find_subject(tx, asked.subject)
        newest = reviews.list_of_task(tx, subject.task.id, limit=1)
        is_newest = subject.review is None or newest[0].id == subject.review.id
        found = review_overview.load_details(tx, subject, viewer=project.person.name)
        return found, "" if is_newest else newest[0].id

    found, newest = await project.read(look)
    return ReviewPage(
        **asdict(describe_change(found)),
        newest=newest,
        previous=found.previous.commit_id if found.previous else "",
        viewer=project.person.name,
    )


@reads("review_files")
async def read_files(project: PageProject, asked: ReviewFilesQuery) -> ReviewFiles:
    if bool(asked.subject) == bool(asked.run):
        raise InvalidInput("one change is shown at a time", hint="name a task or a review, or a run")
    request = DiffRequest(asked.since, has_text=False)
    if asked.run:
        return await _read_run(project, asked, request)
    found = await project.read(
        lambda tx: review_overview.load_details(tx, find_subject(tx, asked.subject), viewer=project.person.name)
    )
    compared = await compare(project.project, found.task, found.review, found.previous, found.evidence, asked.since)
    if isinstance(compared, str):
        return _describe_files(ReadChange(ComparedCommits("", "", ""), problem=compared), asked)
    change = await read_change(project.project, compared, request)
    try:
        places = dict(await place_remarks(project.project.repo, found.remarks, compared.commit))
    except GitError:
        places = {}  # they are listed all the same
    return replace(_describe_files(change, asked), places=places)


async def _read_run(project: PageProject, asked: ReviewFilesQuery, request: DiffRequest) -> ReviewFiles:
    run, places = await project.read(lambda tx: find_run(tx, asked.run))
    found = await read_run_change(project.project, run, places, request)
    made = _describe_files(found.change, asked)
    return replace(made, run=found.run.name, run_status=found.run.status, commits=found.commits)


def _describe_files(change: ReadChange, asked: ReviewFilesQuery) -> ReviewFiles:
    limit, offset = max(1, min(asked.limit, MAX_LISTED_FILES)), max(0, asked.offset)
    return ReviewFiles(
        commit=change.compared.commit,
        before=change.compared.before,
        since=change.compared.words,
        files=tuple(map(_describe_file, change.files[offset : offset + limit])),
        total=len(change.files),
        added=sum(one.added for one in change.files),
        removed=sum(one.removed for one in change.files),
        left_out=change.left_out,
        problem=change.problem,
        run="",
        run_status="",
        commits=(),
        places={},
    )


def _describe_file(one: FileDiff) -> ReviewedFile:
    return ReviewedFile(
        path=show_name(one.path),
        before=show_name(one.before),
        status=one.status,
        note=one.note,
        folded=one.folded,
        added=one.added,
        removed=one.removed,
        protects=classify_path(one.path) or (classify_path(one.before) if one.before else None),
    )


@reads("review_lines")
async def read_lines(project: PageProject, asked: ReviewLinesQuery) -> ReviewLines:
    found = await read_file_lines(
        project.project.repo,
        before=asked.before,
        commit=asked.commit,
        path=asked.path,
        was=asked.was,
        context=asked.context,
        offset=max(0, asked.offset),
        limit=max(1, min(asked.limit, MAX_READ_LINES)),
    )
    return ReviewLines(lines=tuple(found.lines), total=found.total, problem=found.problem)
