"""Whether a run goes on, and if not, why: rules over values."""

from typing import Literal, NamedTuple

from msgspec import Struct

Ending = Literal[
    "complete",
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
"""Why a run ended. Only `complete` is a success."""

FAILURES = 3
"""Times in a row that an agent may fail at an iteration."""

STAGNATION = 3
"""Iterations in a row that may change nothing."""


class Verdict(NamedTuple):
    """The end of a run."""

    why: Ending
    said: str
    hint: str = ""


class Standing(Struct, frozen=True, kw_only=True):
    """How the tasks of a run stand."""

    is_complete: bool = False
    """Whether an agent, or an earlier run, completed the session."""

    given_up: str = ""
    """Why an agent aborted the session."""

    ready: int = 0
    waiting: int = 0
    """For others to be finished."""

    in_progress: int = 0
    """In the hands of agents, which finish it or lose it in time."""

    held_by_people: int = 0
    blocked: int = 0
    needs_input: int = 0
    draft: int = 0
    done: int = 0
    cancelled: int = 0
    closed_here: int = 0
    """Closed in the sessions of this run."""

    @property
    def left(self) -> int:
        """Not closed."""
        begun = self.in_progress + self.held_by_people
        return self.ready + self.waiting + begun + self.blocked + self.needs_input + self.draft

    @property
    def closed(self) -> int:
        return self.done + self.cancelled


def judge(standing: Standing, *, idle: int = 0, failures: int = 0) -> Verdict | None:
    """Why the run ends here; None if it goes on.

    `idle` counts iterations in a row without a change, `failures` those in which the agent failed.
    """
    if standing.given_up:
        return Verdict("aborted", f"the agent gave up: {standing.given_up}", "begin anew with: bn run --reset")
    is_at_work = standing.ready or standing.in_progress
    if standing.is_complete and not (is_at_work or standing.waiting):  # something may have come up since
        return _completed(standing)
    if failures >= FAILURES:
        return Verdict(
            "agent_failing", f"the agent failed {failures} times in a row", "see what it said above, and in its log"
        )
    if not is_at_work:
        return _nothing_to_do(standing)
    if idle >= STAGNATION:
        said = f"{idle} iterations changed no task, no note and no file"
        return Verdict("stagnation", said, "look at the notes, make the task smaller, then: bn run --resume")
    return None


def _completed(standing: Standing) -> Verdict:
    if standing.needs_input:
        return _unanswered(standing)
    if not standing.closed_here:
        return Verdict("no_ready_task", "nothing was done: the session was completed without closing a task")
    rest = f"; {standing.blocked} blocked" if standing.blocked else ""
    return Verdict("complete", f"{standing.closed_here} task(s) closed{rest}", "see: bn blocked" if rest else "")


def _nothing_to_do(standing: Standing) -> Verdict:
    if not standing.left:
        if standing.closed_here:
            return Verdict("complete", f"{standing.closed_here} task(s) closed, none left")
        hint = "add tasks with: bn task add, or give a specification: bn run SPEC"
        return Verdict("no_ready_task", "nothing was done: there is no open task", hint)
    if standing.needs_input:
        return _unanswered(standing)
    counts = {
        "blocked": standing.blocked,
        "held by people": standing.held_by_people,
        "waiting for those": standing.waiting,
        "still drafts": standing.draft,
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return Verdict("no_ready_task", f"no task can be taken: {said}", "see why with: bn blocked")


def _unanswered(standing: Standing) -> Verdict:
    said = f"{standing.needs_input} task(s) wait for an answer"
    return Verdict("needs_input", said, "answer with: bn ask list; then: bn run --resume")
