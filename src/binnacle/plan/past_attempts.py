"""Earlier attempts at a task: what each did, and why the task is not done by it."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from binnacle.store.reports import TaskAttempt
from binnacle.store.sessions import ITERATIONS
from binnacle.store.transaction import Reader
from binnacle.work.run import AttemptOutcome
from binnacle.work.session import Iteration

MAX_ATTEMPTS = 10
"""Attempts that a prompt shows, the newest."""


class PastAttempt(Struct, frozen=True, kw_only=True):
    """One attempt at a task, by the agent of a run or of another session."""

    by: str = ""
    """The agent, with its model if it is known."""

    at: datetime
    outcome: AttemptOutcome = ""
    reason: str = ""
    """Why the task is not done, whole."""

    reports: tuple[str, ...] = ()
    """What the agent reported at its end, whole."""

    summary: str = ""
    commit_id: str = ""
    files: int = 0


def list_attempts(
    tx: Reader, task_id: str, tried: Sequence[TaskAttempt], unloaded: dict[str, int]
) -> tuple[PastAttempt, ...]:
    """The attempts at a task that are over, the oldest first; `tried` are its closing reports.

    A report that was made in an iteration of a run belongs to it. Any other is an attempt of its own.
    """
    ended = ITERATIONS.select(
        tx, "where task_started = ? and outcome <> '' order by started_at, session, number", task_id
    )
    reports: dict[tuple[str, int], list[TaskAttempt]] = {(one.session, one.number): [] for one in ended}
    found: list[PastAttempt] = []
    for report in reversed(tried):
        if (own := _find_iteration(report, ended)) is not None:
            reports[own.session, own.number].append(report)
        else:
            found.append(PastAttempt(by=report.report.author, at=report.report.created_at, reports=(report.said,)))
    found += [_from_iteration(one, reports[one.session, one.number]) for one in ended]
    found.sort(key=lambda one: one.at)
    unloaded["attempts"] = max(0, len(found) - MAX_ATTEMPTS)
    return tuple(found[-MAX_ATTEMPTS:])


def _find_iteration(attempt: TaskAttempt, ended: Sequence[Iteration]) -> Iteration | None:
    """The iteration in which a report was made: the last of its session that began before it."""
    report = attempt.report
    before = [one for one in ended if one.session == report.session and one.started_at <= report.created_at]
    return before[-1] if before else None


def _from_iteration(one: Iteration, own: Sequence[TaskAttempt]) -> PastAttempt:
    said = tuple(report.said for report in own)
    is_told = any(one.reason in words for words in said)
    return PastAttempt(
        by=f"{one.agent} with {one.model}" if one.agent and one.model else one.agent,
        at=one.ended_at or one.started_at,
        outcome=one.outcome,
        reason="" if is_told else one.reason,
        reports=said,
        summary="" if any(one.summary in words for words in (*said, one.reason)) else one.summary,
        commit_id=one.commit_id,
        files=one.files,
    )
