"""Whether a run continues, and if not, why: rules over values."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from binnacle.work.closed_count import ClosedCount

EndKind = Literal[
    "complete",
    "unproven",
    "budget",
    "no_ready_task",
    "stagnation",
    "needs_input",
    "agent_failing",
    "hook_failed",
    "aborted",
    "interrupted",
    "error",
]
"""Why a run ended. Only `complete` is a success.

After both `complete` and `unproven`, nothing is left to be done. `complete` is what was seen to be done; with
`unproven`, some of it is only said.
"""

FINISHED: tuple[EndKind, ...] = ("complete", "unproven")
"""Ends of a run that has done what it can."""

SEE_UNPROVEN = "see what is only said with: bn report"
GET_CHECKS = "the project has no checks, so nothing can be proven; propose some with: bn check suggest"

MAX_FAILURES = 3
"""Times in a row that an agent may fail in an attempt, and attempts in a row in which it may do so."""

MAX_IDLE_ITERATIONS = 9
"""Attempts in a row, at whatever tasks, of which nothing may come."""

SPARE_ITERATIONS = 5
"""Iterations more than every attempt at every task, for tasks that agents add."""


class EndReason(NamedTuple):
    """The end of a run."""

    why: EndKind
    said: str
    hint: str = ""


class TaskCounts(Struct, frozen=True, kw_only=True):
    """The tasks of a run, by state."""

    is_complete: bool = False
    """Whether an agent, or an earlier run, completed the session."""

    given_up: str = ""
    """Why an agent aborted the session."""

    ready: int = 0
    waiting: int = 0
    """Tasks that wait for others."""

    in_progress: int = 0
    """Tasks that agents hold, until they finish or their claims lapse."""

    held_by_people: int = 0
    blocked: int = 0
    needs_input: int = 0
    in_review: int = 0
    """Tasks that wait for a review."""

    draft: int = 0
    done: int = 0
    cancelled: int = 0
    closed_here: ClosedCount = ClosedCount()
    """Those that this run closed, by how well it is known that they are done."""

    @property
    def left(self) -> int:
        """Not closed."""
        begun = self.in_progress + self.held_by_people
        stopped = self.blocked + self.needs_input + self.in_review
        return self.ready + self.waiting + begun + stopped + self.draft

    @property
    def closed(self) -> int:
        return self.done + self.cancelled


def default_iterations(tasks: int, max_attempts: int, *, reviewers: int = 0) -> int:
    """The most iterations of a run with so many tasks, if its budget does not say.

    `reviewers` is how many agents look at one change. One more of them may fail.
    """
    reviews = reviewers + 1 if reviewers else 0
    return tasks * max_attempts * (1 + reviews) + SPARE_ITERATIONS


def count_failures(tasks: Sequence[str], *, has_worked: bool) -> int:
    """How many failures in a row speak against the agent. `tasks` are those of the attempts in which it failed.

    An agent that has worked before and fails only in one task fails because of this task, which is handed to a person.
    One that has never worked is not tried again.
    """
    if tasks and not has_worked:
        return MAX_FAILURES
    return len(tasks) if len(set(tasks)) > 1 else 0


def find_end_reason(
    counts: TaskCounts, *, idle: int = 0, failures: int = 0, has_checks: bool = True
) -> EndReason | None:
    """Why the run ends here; None if it continues.

    `idle` counts iterations in a row without a change, `failures` those in which the agent failed. `has_checks` says
    whether the project has checks that a person trusts.
    """
    if counts.given_up:
        return EndReason("aborted", f"the agent gave up: {counts.given_up}", "start over with: bn run --reset")
    is_at_work = counts.ready or counts.in_progress
    if counts.is_complete and not (is_at_work or counts.waiting):  # there may be new tasks since
        return _check_completed(counts, has_checks=has_checks)
    if failures >= MAX_FAILURES:
        return EndReason(
            "agent_failing", f"the agent failed {failures} times in a row", "see what it said above, and in its log"
        )
    if not is_at_work:
        return _nothing_to_do(counts, has_checks=has_checks)
    if idle >= MAX_IDLE_ITERATIONS:
        said = f"{idle} attempts in a row changed no file, closed no task and asked nothing"
        return EndReason("stagnation", said, "see why with: bn session show; then: bn run --resume")
    return None


def _check_completed(counts: TaskCounts, *, has_checks: bool) -> EndReason:
    if counts.needs_input or counts.in_review:
        return _end_unanswered(counts)
    if not counts.closed_here.total:
        return EndReason("no_ready_task", "nothing was done: the session was completed without closing a task")
    return _end_finished(counts, has_checks=has_checks)


def _end_finished(counts: TaskCounts, *, has_checks: bool) -> EndReason:
    """The end of a run that has closed tasks and cannot do more."""
    found = counts.closed_here
    said = "; ".join(filter(None, (found.describe(), f"{counts.blocked} blocked" if counts.blocked else "")))
    if not found.done:
        return EndReason("no_ready_task", f"nothing was done: {said}", "see why with: bn report")
    if not found.is_proven:
        return EndReason("unproven", said, SEE_UNPROVEN if has_checks else GET_CHECKS)
    return EndReason("complete", said, "see: bn blocked" if counts.blocked else "")


def _nothing_to_do(counts: TaskCounts, *, has_checks: bool) -> EndReason:
    if not counts.left:
        if counts.closed_here.total:
            return _end_finished(counts, has_checks=has_checks)
        hint = "add tasks with: bn task add, or give a specification: bn run SPEC"
        return EndReason("no_ready_task", "nothing was done: there is no open task", hint)
    if counts.needs_input or counts.in_review:
        return _end_unanswered(counts)
    kinds = {
        "blocked": counts.blocked,
        "held by people": counts.held_by_people,
        "waiting for those": counts.waiting,
        "still drafts": counts.draft,
    }
    said = ", ".join(f"{count} {what}" for what, count in kinds.items() if count)
    return EndReason("no_ready_task", f"no task can be taken: {said}", "see why with: bn blocked")


def _end_unanswered(counts: TaskCounts) -> EndReason:
    waiting = {"an answer": counts.needs_input, "a review": counts.in_review}
    hints = {"answer what bn ask list shows": counts.needs_input, "review what bn review list shows": counts.in_review}
    words = ", ".join(
        f"{count} {'task waits' if count == 1 else 'tasks wait'} for {what}" for what, count in waiting.items() if count
    )
    hint = " and ".join(text for text, count in hints.items() if count)
    return EndReason("needs_input", words, f"{hint}; then: bn run --resume")
