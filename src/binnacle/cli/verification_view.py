"""What `bn verify` answers: as values for programs, and as lines for people."""

from datetime import datetime
from typing import TYPE_CHECKING

from binnacle.cli.command import CommandAnswer
from binnacle.cli.screen import Screen, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from binnacle.proving.verification import Verification
    from binnacle.work.regression import Regression
    from binnacle.work.verification import VerifiedCheck, VerifiedTask

MAX_SHOWN_EXCERPT_LINES = 20
MAX_SHOWN_TASKS = 50
"""Tasks of one state that a person sees one by one; JSON has all."""


class ShownProof(CommandAnswer):
    """The result with which a task was closed."""

    evidence: str
    commit: str
    at: datetime


class ShownCheck(CommandAnswer):
    """What a check says now about a task."""

    name: str
    state: str
    verdict: str = ""
    reason: str = ""
    failed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Tests that criteria name, and that have not passed."""

    stale: tuple[str, ...] = ()
    evidence: str = ""
    log: str = ""
    then: ShownProof | None = None


class ShownTask(CommandAnswer):
    """What still holds of a task."""

    id: str
    title: str
    state: str
    level: str = ""
    commit: str = ""
    proven_at: datetime | None = None
    checks: tuple[ShownCheck, ...] = ()


class ShownRegression(CommandAnswer):
    """What no longer holds, and what broke it."""

    check: str
    task: str = ""
    tasks: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""
    broken_by: str = ""
    """The commit; empty if it is not known."""

    title: str = ""
    author: str = ""
    broken_by_task: str = ""
    suspects: tuple[str, ...] = ()
    said: str = ""
    """The same in a sentence, or why no commit can be named."""

    commits: int = 0
    probes: int = 0
    log_excerpt: str = ""
    opened: str = ""
    """The task that was opened for it."""

    how: str = ""


class VerifyAnswer(CommandAnswer):
    """What holds of closed tasks at a commit."""

    commit: str
    holds: bool
    counts: dict[str, int]
    tasks: list[ShownTask]
    regressions: list[ShownRegression]


STATE_WORDS = {
    "holds": "holds",
    "broken": "no longer holds",
    "unclear": "unclear",
    "unchecked": "no check to run",
    "said": "only said",
    "waived": "waived",
    "open": "not done",
}
_SIGNS = {"holds": ("✓", "green"), "broken": ("✗", "red"), "unclear": ("!", "yellow")}
_ORDER = ("broken", "unclear", "holds", "unchecked", "waived", "said", "open")


def show_verification(answer: VerifyAnswer, screen: Screen) -> None:
    for state in _ORDER:
        found = [one for one in answer.tasks if one.state == state]
        for task in found[:MAX_SHOWN_TASKS]:
            _show_task(task, screen)
        if len(found) > MAX_SHOWN_TASKS:
            screen.line(f"  and {len(found) - MAX_SHOWN_TASKS} more: {STATE_WORDS[state]}")
    for regression in answer.regressions:
        _show_regression(regression, screen)
    said = ", ".join(f"{answer.counts[state]} {STATE_WORDS[state]}" for state in _ORDER if answer.counts.get(state))
    screen.line(f"commit {answer.commit[:8]}: {said or 'no task is done'}")


def _show_task(task: ShownTask, screen: Screen) -> None:
    sign, style = _SIGNS.get(task.state, ("–", "dim"))
    proven = f" ({task.level} at {task.commit[:8]})" if task.commit else ""
    words = f"{task.id} {STATE_WORDS[task.state]}: {task.title}{proven}"
    screen.line(f"{screen.styled(sign, style)} {printable(words)}")
    for check in task.checks:
        if check.state != "holds" or check.reason:
            screen.line(f"    {printable(check.name)}: {printable(check.reason or STATE_WORDS[check.state])}")
        if check.then is not None and check.state != "holds":
            since = f"{check.then.commit[:8]} on {check.then.at.astimezone():%Y-%m-%d %H:%M}"
            screen.line(f"    {printable(check.name)} passed at {since}")
        for words in check.stale:
            screen.line(f"    stale: {printable(words)}")


def _show_regression(one: ShownRegression, screen: Screen) -> None:
    screen.heading(printable(f"{one.check}{f' of {one.task}' if one.task else ''}: {one.said or one.reason}"))
    for test in one.failed + one.missing:
        screen.line(f"  {printable(test)}")
    if one.tasks:
        screen.line(f"  closed with it: {', '.join(one.tasks)}")
    if one.log_excerpt:
        screen.block("\n".join(one.log_excerpt.splitlines()[-MAX_SHOWN_EXCERPT_LINES:]))
    if one.opened:
        screen.line(f"  {one.opened}: {one.how}")
    elif one.broken_by:
        screen.line(f"  see it with: git show {one.broken_by[:8]}")


def key_of(one: "Regression") -> str:
    """What tells the regressions of one verification apart."""
    return f"{one.check} {one.task_id}"


def describe_verification(found: "Verification", opened: "Mapping[str, tuple[str, str]]") -> VerifyAnswer:
    """The answer; `opened` has the tasks that were opened for regressions, and how, by `key_of`."""
    counts: dict[str, int] = {}
    for task in found.tasks:
        counts[task.state] = counts.get(task.state, 0) + 1
    return VerifyAnswer(
        commit=found.commit,
        holds=found.holds,
        counts=counts,
        tasks=[_describe_task(one) for one in found.tasks],
        regressions=[_describe_regression(one, *opened.get(key_of(one), ("", ""))) for one in found.regressions],
    )


def _describe_task(one: "VerifiedTask") -> ShownTask:
    return ShownTask(
        id=one.task_id,
        title=one.title,
        state=one.state,
        level=one.level,
        commit=one.commit,
        proven_at=one.proven_at,
        checks=tuple(map(_describe_check, one.checks)),
    )


def _describe_check(one: "VerifiedCheck") -> ShownCheck:
    then = one.then
    return ShownCheck(
        name=one.name,
        state=one.state,
        verdict=one.now.verdict if one.now else "",
        reason=one.reason,
        failed=one.broken_tests.failed,
        missing=one.broken_tests.missing,
        stale=one.stale,
        evidence=one.now.id if one.now else "",
        log=one.now.log if one.now else "",
        then=ShownProof(evidence=then.id, commit=then.commit_id, at=then.created_at) if then else None,
    )


def _describe_regression(one: "Regression", opened: str, how: str) -> ShownRegression:
    from binnacle.work.regression import describe_culprit

    culprit = one.search.culprit
    return ShownRegression(
        check=one.check,
        task=one.task_id,
        tasks=one.tasks,
        failed=one.broken_tests.failed,
        missing=one.broken_tests.missing,
        reason=one.reason,
        broken_by=culprit.commit if culprit else "",
        title=culprit.title if culprit else "",
        author=culprit.author if culprit else "",
        broken_by_task=culprit.task if culprit else "",
        suspects=culprit.suspects if culprit else (),
        said=describe_culprit(one.search),
        commits=one.search.commits,
        probes=one.search.probes,
        log_excerpt=one.log_excerpt,
        opened=opened,
        how=how,
    )
