"""A change as values for whoever shows it: its task, checks, verdicts and comments. `review_change` has its code."""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from binnacle.store.views.review_overview import ReviewDetails
from binnacle.work.evidence import Evidence, EvidenceLevel, describe_verdict
from binnacle.work.gaming import ChangeFinding
from binnacle.work.ids import TaskId
from binnacle.work.review import CriterionVerdict, Review, ReviewRemark, ReviewVerdict
from binnacle.work.review_material import JudgedCriterion
from binnacle.work.status import Status


class ReviewedTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The task of a change."""

    id: TaskId
    title: str
    status: Status
    description: str = ""


class ReviewedCheck(Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    excerpt: str = ""
    """The part of its log that a reader needs first."""


class ShownVerdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
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


class ShownRemark(Struct, frozen=True, kw_only=True, omit_defaults=True):
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


class DescribedChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change, and everything that is known of it besides its code."""

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


def describe_change(found: ReviewDetails) -> DescribedChange:
    """What is known of a change, as values."""
    task = found.task
    tree = found.review.tree if found.review else ""
    # What would close the task says nothing to a reader.
    review = replace(found.review, proof={}) if found.review else None
    return DescribedChange(
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
    )


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
        excerpt=one.log_excerpt,
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
