"""What `bn review` answers, as values for programs. `review_view` shows them to people."""

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from binnacle.cli.command import CommandAnswer
from binnacle.store.views.review_overview import ReviewDetails
from binnacle.work.diff import FileDiff
from binnacle.work.evidence import Evidence, EvidenceLevel, describe_verdict
from binnacle.work.gaming import ChangeFinding
from binnacle.work.ids import TaskId
from binnacle.work.review import CriterionVerdict, Review, ReviewRemark, ReviewVerdict
from binnacle.work.review_material import JudgedCriterion
from binnacle.work.status import Status

if TYPE_CHECKING:
    from binnacle.app.review_change import ReadChange, RunChange


class ReviewedTask(CommandAnswer):
    """The task of a change."""

    id: TaskId
    title: str
    status: Status
    description: str = ""


class ReviewedCheck(CommandAnswer):
    """What a check said about the change."""

    evidence: str
    name: str
    verdict: str
    words: str
    """The verdict with its reason."""

    commit: str
    at: datetime
    ran: int | None = None
    failed: tuple[str, ...] = ()
    log: str = ""


class ShownVerdict(CommandAnswer):
    """What a reviewer said."""

    id: str
    review: str
    author: str
    by_person: bool
    decision: str
    message: str
    commit: str
    is_current: bool
    """Whether it is about the tree that is shown."""

    criteria: tuple[CriterionVerdict, ...]
    at: datetime


class ShownRemark(CommandAnswer):
    """A comment on the change, and what became of it."""

    id: str
    state: str
    author: str
    by_person: bool
    place: str
    commit: str
    body: str
    at: datetime
    code: str = ""
    settled_commit: str = ""


class ShownDiff(CommandAnswer):
    """How files differ."""

    commit: str
    before: str
    since: str
    """Since when, in words."""

    added: int
    removed: int
    files: tuple[FileDiff, ...]
    left_out: int = 0
    """Files beyond the most that are listed."""

    problem: str = ""
    """Why there is nothing to see."""


class ShownReview(CommandAnswer):
    """A change, and everything that is known of it."""

    task: ReviewedTask
    level: EvidenceLevel
    """How well it is known that it is right."""

    waits_for: tuple[str, ...]
    review: Review | None
    run: str
    findings: tuple[ChangeFinding, ...]
    """What the change does to tests and what else judges it, the gravest first."""

    checks: tuple[ReviewedCheck, ...]
    criteria: tuple[JudgedCriterion, ...]
    verdicts: tuple[ShownVerdict, ...]
    remarks: tuple[ShownRemark, ...]
    diff: ShownDiff


class ShownRunChange(CommandAnswer):
    """Everything that a run changed."""

    run: str
    status: str
    commits: tuple[str, ...]
    diff: ShownDiff


def describe_details(found: ReviewDetails, diff: ShownDiff) -> ShownReview:
    """The answer about one change."""
    task = found.task
    tree = found.review.tree if found.review else ""
    # What would close the task says nothing to a reader.
    review = replace(found.review, proof={}) if found.review else None
    return ShownReview(
        task=ReviewedTask(id=task.id, title=task.title, status=task.status, description=task.description),
        level=found.level,
        waits_for=found.waits_for,
        review=review,
        run=found.run,
        findings=tuple(dict.fromkeys(finding for one in found.evidence for finding in one.findings)),
        checks=tuple(_describe_check(one) for one in found.evidence),
        criteria=found.criteria,
        verdicts=tuple(_describe_verdict(one, tree) for one in found.verdicts),
        remarks=tuple(map(describe_remark_state, found.remarks)),
        diff=diff,
    )


def describe_run_change(found: "RunChange") -> ShownRunChange:
    """The answer about what a run changed."""
    return ShownRunChange(
        run=found.run.name, status=found.run.status, commits=found.commits, diff=describe_diff(found.change)
    )


def describe_diff(found: "ReadChange") -> ShownDiff:
    """How files differ, with the sums."""
    return ShownDiff(
        commit=found.compared.commit,
        before=found.compared.before,
        since=found.compared.words,
        added=sum(one.added for one in found.files),
        removed=sum(one.removed for one in found.files),
        files=found.files,
        left_out=found.left_out,
        problem=found.problem,
    )


def describe_problem(problem: str) -> ShownDiff:
    """That there is nothing to see, and why."""
    return ShownDiff(commit="", before="", since="", added=0, removed=0, files=(), problem=problem)


def describe_remark_state(one: ReviewRemark) -> ShownRemark:
    """A comment with its state."""
    return ShownRemark(
        id=one.id,
        state=one.state,
        author=one.author,
        by_person=one.is_by_person,
        place=one.place,
        commit=one.commit_id,
        body=one.body,
        at=one.created_at,
        code=one.code,
        settled_commit=one.settled_commit,
    )


def _describe_check(one: Evidence) -> ReviewedCheck:
    return ReviewedCheck(
        evidence=one.id,
        name=one.check_name,
        verdict=one.verdict,
        words=describe_verdict(one),
        commit=one.commit_id,
        at=one.created_at,
        ran=one.ran,
        failed=one.new_failed or one.failed,
        log=one.log,
    )


def _describe_verdict(one: ReviewVerdict, tree: str) -> ShownVerdict:
    return ShownVerdict(
        id=one.id,
        review=one.review,
        author=one.author,
        by_person=one.is_by_person,
        decision=one.decision,
        message=one.message,
        commit=one.commit_id,
        is_current=one.tree == tree,
        criteria=one.criteria,
        at=one.created_at,
    )
