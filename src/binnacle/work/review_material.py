"""What a reviewer sees of a change besides its code: the task, what shows its criteria, results, earlier comments.

Nothing of it was said by whoever did the work: no report, no summary and no comment on the task. A reviewer who reads
those first looks for what they say.
"""

from collections.abc import Sequence

from msgspec import Struct

from binnacle.work.acceptance import parse_criterion
from binnacle.work.done_gate import is_same_test
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, Evidence, describe_verdict
from binnacle.work.gaming import ChangeFinding, describe_finding
from binnacle.work.review import Review, ReviewRemark, describe_remark
from binnacle.work.task import Task

MAX_SHOWN_FINDINGS = 50
MAX_SHOWN_TESTS = 10
"""Names of failed tests of one check."""


class JudgedCriterion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An acceptance criterion, and what shows it."""

    number: int
    text: str
    shown_by: str = ""
    """The check or the test that it names, and how that ended; empty if it names none."""

    def describe(self) -> str:
        return f"{self.text} ({self.shown_by})" if self.shown_by else self.text


class ReviewMaterial(Struct, frozen=True, kw_only=True):
    """Everything that a reviewer sees of a change, except its code."""

    review: Review
    task: Task
    criteria: tuple[JudgedCriterion, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    remarks: tuple[ReviewRemark, ...] = ()
    """What earlier reviews of the task asked for, oldest first."""

    previous_commit: str = ""
    """The commit that was reviewed before; empty if there is none."""

    @property
    def findings(self) -> tuple[ChangeFinding, ...]:
        """What the change does to what judges it, each once."""
        return tuple(dict.fromkeys(finding for one in self.evidence for finding in one.findings))


def judge_criteria(criteria: Sequence[str], found: Sequence[Evidence]) -> tuple[JudgedCriterion, ...]:
    """The criteria of a task, each with what the results say about it."""
    parsed = [(line, parse_criterion(line)) for line in criteria]
    return tuple(
        JudgedCriterion(number=number, text=one.text or line, shown_by=_describe_shown(one.check, one.test, found))
        for number, (line, one) in enumerate(parsed, 1)
    )


def _describe_shown(check: str, test: str, found: Sequence[Evidence]) -> str:
    said = []
    if check:
        results = [one for one in found if one.check_name == check]
        said.append(f"check {check}: {describe_verdict(results[-1]) if results else 'has not run'}")
    if test:
        failed = any(is_same_test(test, name) for one in found for name in one.failed)
        passed = any(is_same_test(test, name) for one in found if one.verdict == "pass" for name in one.passed)
        said.append(f"test {test}: {'failed' if failed else 'passed' if passed else 'is in no result'}")
    return "; ".join(said)


def describe_subject(found: ReviewMaterial) -> str:
    """Which change is reviewed, in one line."""
    review = found.review
    since = f", since {review.base[:SHORT_COMMIT_CHARACTERS]}" if review.base else ", from the beginning"
    turn = f"; round {review.round} of {review.rounds}" if review.round > 1 else ""
    return f"commit {review.commit_id[:SHORT_COMMIT_CHARACTERS]}{since} (review {review.id}{turn})"


def describe_findings(found: ReviewMaterial) -> list[str]:
    """What the change does to tests and to what else judges it, the gravest first."""
    return [describe_finding(one) for one in found.findings[:MAX_SHOWN_FINDINGS]]


def describe_results(found: ReviewMaterial) -> list[str]:
    """What the checks said, one line each."""
    return [_describe_result(one) for one in found.evidence]


def _describe_result(one: Evidence) -> str:
    ran = "" if one.ran is None else f", {one.ran} {'test' if one.ran == 1 else 'tests'} ran"
    named = one.new_failed or one.failed
    more = f" and {len(named) - MAX_SHOWN_TESTS} more" if len(named) > MAX_SHOWN_TESTS else ""
    failed = f"; failed: {', '.join(named[:MAX_SHOWN_TESTS])}{more}" if named else ""
    return f"{one.check_name}: {describe_verdict(one)}{ran}{failed}"


def describe_earlier(found: ReviewMaterial) -> list[str]:
    """What was asked for before, and what became of it."""
    return [f"[{one.state}] {describe_remark(one)}" for one in found.remarks]
