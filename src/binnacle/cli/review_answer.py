"""What `bn review` answers, as values for programs. `review_view` shows them to people."""

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from binnacle.app.review_details import DescribedChange, describe_change
from binnacle.cli.command import CommandAnswer
from binnacle.store.views.review_overview import ReviewDetails
from binnacle.work.diff import FileDiff

if TYPE_CHECKING:
    from binnacle.app.review_change import ReadChange, RunChange


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


class ShownReview(DescribedChange, CommandAnswer, frozen=True, kw_only=True, omit_defaults=True):
    """A change, and everything that is known of it."""

    diff: ShownDiff


class ShownRunChange(CommandAnswer):
    """Everything that a run changed."""

    run: str
    status: str
    commits: tuple[str, ...]
    diff: ShownDiff


def describe_details(found: ReviewDetails, diff: ShownDiff) -> ShownReview:
    """The answer about one change."""
    return ShownReview(**asdict(describe_change(found)), diff=diff)


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
