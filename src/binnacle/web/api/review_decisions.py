"""What a person says about a change on the page: comments on lines, and that they accept it or ask for changes.

An acceptance names the commit and the tree that the person saw, and is refused if anything else is there now.
"""

from msgspec import Struct

from binnacle.app import review_verdicts
from binnacle.app.check_run import close_task
from binnacle.app.review_comment import CommentPlace, find_place, keep_comment
from binnacle.app.review_details import ShownRemark, describe_remark_state
from binnacle.app.review_verdicts import AcceptedReview
from binnacle.errors import InvalidInput, Refused
from binnacle.proving.task_closing import DoneAsker
from binnacle.proving.work_range import WorkRange
from binnacle.store import review_remarks
from binnacle.store.review_decisions import ReviewResult
from binnacle.store.transaction import Writer
from binnacle.store.views.review_overview import find_subject
from binnacle.web.endpoints import acts
from binnacle.web.page_project import PageProject
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.ids import TaskId
from binnacle.work.review import Review, ReviewStatus
from binnacle.work.task import Brief, brief


class AcceptReview(Struct, frozen=True, kw_only=True):
    """That a person accepts exactly what they saw."""

    review: str
    commit: str
    tree: str
    message: str = ""


class RejectReview(Struct, frozen=True, kw_only=True):
    """That a person asks for changes. Their drafts are sent with it."""

    review: str
    commit: str
    message: str = ""
    kept_files: tuple[str, ...] = ()
    """Files that they accept as they are. The next attempt is told to leave them unchanged."""


class DecidedReview(Struct, frozen=True, kw_only=True):
    """A decision that was kept, and what followed."""

    review: str
    status: ReviewStatus
    """`open` if others have to accept it, too."""

    commit: str
    task: Brief
    sent: int
    """Comments that were sent to the next attempt."""

    unblocked: tuple[TaskId, ...]
    notes: tuple[str, ...]
    missing: str = ""
    """Why the task is not done, although its change was accepted."""


class AddRemark(Struct, frozen=True, kw_only=True):
    """A comment on a line of the reviewed commit, on a file (line 0), or on the whole change (no path)."""

    review: str
    path: str = ""
    line: int = 0
    body: str


class EditRemark(Struct, frozen=True, kw_only=True):
    """What a draft says now."""

    id: str
    body: str


class ChosenRemark(Struct, frozen=True, kw_only=True):
    """A comment."""

    id: str


@acts("accept_review")
async def accept_review(project: PageProject, asked: AcceptReview) -> DecidedReview:
    """Accepts a change. Where its checks have to run again before the task is done, waits for them."""
    found = await project.read(lambda tx: review_verdicts.find_to_accept(tx, asked.review, person=project.person.name))
    review = found.review
    if (review.id, review.commit_id, review.tree) != (asked.review, asked.commit, asked.tree):
        raise _refuse_another(review, asked.commit)
    if found.is_accepted:
        accepted = await project.write(lambda tx: review_verdicts.close_accepted(tx, review))
    else:
        note = await review_verdicts.check_is_there(project.project, review, is_shared=found.is_shared)
        accepted = await project.write(lambda tx: review_verdicts.accept(tx, review, message=asked.message, note=note))
    return await _close_requested(project, accepted)


def _refuse_another(review: Review, commit: str) -> Refused:
    now, seen = review.commit_id[:SHORT_COMMIT_CHARACTERS], commit[:SHORT_COMMIT_CHARACTERS]
    said = f"you have seen commit {seen}, and {review.id} is about {now}" if now != seen else "its tree is another now"
    return Refused(said, hint="look at it again")


async def _close_requested(project: PageProject, accepted: AcceptedReview) -> DecidedReview:
    """The answer to a decision, after the checks have run that still have to."""
    result, request = accepted.result, accepted.result.request
    if request is None:
        return _describe(result, (*result.warnings, *accepted.notes))
    review = result.review
    asker = DoneAsker(project.person, None, project.workspace)
    change = WorkRange(project.project.repo, review.commit_id, review.base)
    closed = await close_task(project.project, request, asker, change=change)
    now = result._replace(task=closed.move.task, unblocked=closed.move.unblocked)
    return _describe(now, (*accepted.notes, *closed.move.warnings), missing="" if closed.is_done else closed.missing)


def _describe(result: ReviewResult, notes: tuple[str, ...], *, missing: str = "") -> DecidedReview:
    return DecidedReview(
        review=result.review.id,
        status=result.review.status,
        commit=result.review.commit_id,
        task=brief(result.task),
        sent=result.sent,
        unblocked=result.unblocked,
        notes=tuple(dict.fromkeys(notes)),
        missing=missing,
    )


@acts("reject_review")
async def reject_review(project: PageProject, asked: RejectReview) -> DecidedReview:
    """Asks for changes."""

    def reject(tx: Writer) -> ReviewResult:
        review = review_verdicts.get_open(find_subject(tx, asked.review))
        if (review.id, review.commit_id) != (asked.review, asked.commit):
            raise _refuse_another(review, asked.commit)
        return review_verdicts.reject(tx, review, message=asked.message, kept_files=asked.kept_files)

    result = await project.write(reject)
    return _describe(result, result.warnings)


@acts("add_remark")
async def add_remark(project: PageProject, asked: AddRemark) -> ShownRemark:
    """Keeps a comment as a draft of the person."""
    review = await project.read(lambda tx: review_verdicts.get_open(find_subject(tx, asked.review)))
    if asked.line < 0 or (asked.line and not asked.path):
        raise InvalidInput(f"not a line of a file: {asked.line}", hint="name the file, and its line from 1 on")
    place = CommentPlace()
    if asked.path:
        named = f"{asked.path}:{asked.line}" if asked.line else asked.path
        place = await find_place(project.project, review, named)

    return await project.write(lambda tx: describe_remark_state(keep_comment(tx, review, place, asked.body)))


@acts("edit_remark")
async def edit_remark(project: PageProject, asked: EditRemark) -> ShownRemark:
    """Changes a draft of the person."""
    return await project.write(
        lambda tx: describe_remark_state(review_remarks.edit(tx, review_remarks.get(tx, asked.id), asked.body))
    )


@acts("remove_remark")
async def remove_remark(project: PageProject, asked: ChosenRemark) -> ShownRemark:
    """Removes a draft of the person, and answers what it said."""

    def remove(tx: Writer) -> ShownRemark:
        found = review_remarks.get(tx, asked.id)
        review_remarks.remove(tx, found)
        return describe_remark_state(found)

    return await project.write(remove)


@acts("settle_remark")
async def settle_remark(project: PageProject, asked: ChosenRemark) -> ShownRemark:
    """Says of a comment that was sent that nothing is left to do about it."""
    return await project.write(
        lambda tx: describe_remark_state(review_remarks.settle_sent(tx, review_remarks.get(tx, asked.id)))
    )
