"""Reviews: that someone looks at a change, says what is right and what is not, and accepts it or asks for changes.

A review is about one tree. Whoever accepts it accepts exactly that tree: a later change needs another review. A verdict
is a person's or an agent's, and neither stands for the other, except that a person decides in place of agents who were
asked and gave no verdict. An agent that worked on the task is not independent, so it cannot accept the work
(`is_independent`).
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from binnacle.errors import InvalidInput
from binnacle.work.acceptance import parse_criterion
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.ids import TaskId
from binnacle.work.review_policy import DEFAULT_REVIEW_ROUNDS, ReviewNeed, ReviewRequirement

REVIEW_PREFIX, VERDICT_PREFIX, REMARK_PREFIX = "bnv-", "bnj-", "bnm-"

ReviewStatus = Literal["open", "accepted", "changes", "replaced", "withdrawn"]
"""`changes`: they were asked for. `replaced`: a newer review of the same task. `withdrawn`: the task went on without
it."""

ReviewDecision = Literal["accept", "changes"]

RemarkState = Literal["draft", "sent", "seen", "addressed", "outdated"]
"""Of a comment on a change. `draft`: not sent yet. `sent`: waits for the next agent. `seen`: an agent has read it.
`addressed`: the agent that got it has changed the place. `outdated`: the place was changed otherwise, or is gone."""

MAX_REMARK_CHARACTERS = 5000
MAX_REMARKS = 200
"""Comments of one review."""

MAX_CODE_CHARACTERS = 1000
MAX_LINE = 10_000_000


class Review(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That a change waits for somebody to look at it, or what came of that."""

    id: str
    number: int = 0
    """Order of creation."""

    task_id: TaskId
    commit_id: str
    tree: str
    base: str = ""
    """The commit from which the change began."""

    run: str | None = None
    session: str | None = None
    """Of the agent that did the work."""

    round: int = 1
    """How many reviews of the task that agents ended with a wish for changes this makes."""

    require: ReviewRequirement
    reasons: tuple[str, ...] = ()
    reviewers: int = 1
    rounds: int = DEFAULT_REVIEW_ROUNDS
    handed_over: str = ""
    """Why a person decides in place of the agents, who gave no verdict; empty if they do not."""

    evidence: tuple[str, ...] = ()
    """Ids of results of checks."""

    proof: dict[str, Any] = {}
    """What closes the task once it is accepted (`done_gate.DoneProof`); empty if nothing does."""

    status: ReviewStatus
    asked_by: str = ""
    created_at: datetime
    ended_at: datetime | None = None

    @property
    def need(self) -> ReviewNeed:
        return ReviewNeed(require=self.require, reasons=self.reasons, reviewers=self.reviewers, rounds=self.rounds)


class CriterionVerdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a reviewer says about one acceptance criterion."""

    criterion: str
    met: bool
    place: str = ""
    """`path:line` of what shows it."""

    note: str = ""


class ReviewVerdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one reviewer said about one tree."""

    id: str
    review: str
    task_id: TaskId
    commit_id: str
    tree: str
    author: str
    is_by_person: bool = False
    decision: ReviewDecision
    criteria: tuple[CriterionVerdict, ...] = ()
    message: str = ""
    session: str | None = None
    created_at: datetime


class ReviewRemark(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A comment on a change, at a place of it."""

    id: str
    review: str
    task_id: TaskId
    author: str
    is_by_person: bool = False
    commit_id: str
    path: str = ""
    """Empty for a comment on the change as a whole."""

    line: int = 0
    """0 for a comment on the file."""

    code: str = ""
    """The line that it is about, as it was."""

    body: str
    state: RemarkState = "draft"
    settled_commit: str = ""
    """The commit in which the place is another."""

    created_at: datetime
    sent_at: datetime | None = None
    seen_at: datetime | None = None
    settled_at: datetime | None = None

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class Acceptance(Struct, frozen=True, kw_only=True):
    """Who accepted exactly one tree."""

    tree: str
    people: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """Independent ones, if they are enough."""

    is_handed_over: bool = False
    """Whether the agents were asked and gave no verdict, so that a person decides in their place."""

    @property
    def settles_agents(self) -> bool:
        """Whether nothing is left for agents to say."""
        return bool(self.agents or (self.is_handed_over and self.people))

    def suffices(self, require: ReviewRequirement) -> bool:
        """Whether everyone whose acceptance is required gave it."""
        has_person, has_agents = bool(self.people), self.settles_agents
        return {
            "none": True,
            "agent": has_agents,
            "person": has_person,
            "both": has_person and has_agents,
        }[require]

    def describe(self) -> str:
        """Who accepted it, in words."""
        return " and ".join((*self.people, *(f"agent {name}" for name in self.agents)))


class VerdictCount(Struct, frozen=True, kw_only=True):
    """How agents decided about a tree."""

    accepted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    wanted: int = 1

    @property
    def decision(self) -> ReviewDecision | None:
        """What more than half of the reviewers said; None while it is open."""
        if 2 * len(self.accepted) > self.wanted:
            return "accept"
        # With as many against it as for it, no majority can accept it any more.
        if 2 * len(self.refused) >= self.wanted:
            return "changes"
        return None


def count_verdicts(verdicts: Iterable[ReviewVerdict], *, reviewers: int) -> VerdictCount:
    """How agents decided. The last verdict of each counts; `verdicts` are of one tree, oldest first."""
    last = {one.author: one.decision for one in verdicts if not one.is_by_person}
    return VerdictCount(
        accepted=tuple(name for name, decision in last.items() if decision == "accept"),
        refused=tuple(name for name, decision in last.items() if decision == "changes"),
        wanted=max(1, reviewers),
    )


def find_acceptance(
    tree: str, verdicts: Sequence[ReviewVerdict], *, reviewers: int, is_handed_over: bool = False
) -> Acceptance:
    """Who accepted a tree. A person who asks for changes of it takes the word of every other person back."""
    here = [one for one in verdicts if one.tree == tree]
    last = {one.author: one.decision for one in here if one.is_by_person}
    people = tuple(last) if last and set(last.values()) == {"accept"} else ()
    counted = count_verdicts(here, reviewers=reviewers)
    agents = counted.accepted if counted.decision == "accept" else ()
    return Acceptance(tree=tree, people=people, agents=agents, is_handed_over=is_handed_over)


class Identity(Struct, frozen=True, kw_only=True):
    """By what an agent is known: two that have one of these in common are the same to a reviewer."""

    names: frozenset[str]
    """Ids of agents and sessions."""

    processes: frozenset[tuple[int, str]] = frozenset()
    """Their processes, each with its start."""


def is_independent(reviewer: Identity, workers: Identity) -> bool:
    """Whether a reviewer has nothing in common with those who did the work."""
    return reviewer.names.isdisjoint(workers.names) and reviewer.processes.isdisjoint(workers.processes)


def parse_place(text: str, *, needs_line: bool = False) -> tuple[str, int]:
    """A place in a change, `path` or `path:line`.

    Raises:
        InvalidInput: it is not a path inside the repository, or a line is missing or not a number.
    """
    path, _, digits = text.rpartition(":")
    if not path or not digits.isascii() or not digits.isdecimal():
        path, digits = text, ""
    line = int(digits[:12]) if digits else 0
    if not _is_path(path) or line > MAX_LINE or (digits and line == 0):
        hint = "a path from the top of the repository, with the line: src/app.py:12"
        raise InvalidInput(f"not a place in the change: {text[:200]!r}", hint=hint)
    if needs_line and not line:
        raise InvalidInput(f"the line is missing: {text[:200]!r}", hint="src/app.py:12")
    return path, line


def _is_path(path: str) -> bool:
    parts = path.split("/")
    is_inside = not path.startswith(("/", "~", ":")) and not {"", ".", ".."}.intersection(parts)
    return is_inside and path.isprintable() and len(path) <= 1000


def check_criteria(wanted: Sequence[str], found: Sequence[CriterionVerdict], decision: ReviewDecision) -> None:
    """Refuses an acceptance that says nothing about a criterion, or not what shows it.

    Raises:
        InvalidInput: the message names the criteria.
    """
    for one in found:
        if one.met and not one.place:
            hint = "give the path:line of the code or the test that shows it"
            raise InvalidInput(f"nothing shows that this is met: {one.criterion[:200]!r}", hint=hint)
    if decision == "changes":
        return
    judged = {one.criterion: one for one in found}
    missing = [text for text in wanted if text not in judged]
    if missing:
        said = "; ".join(text[:100] for text in missing[:5])
        raise InvalidInput(f"these criteria have no verdict: {said}", hint="give a verdict for each of them")
    if unmet := [one.criterion[:100] for one in found if not one.met]:
        raise InvalidInput(f"these criteria are not met: {'; '.join(unmet[:5])}", hint="ask for changes")


def name_criteria(criteria: Collection[str]) -> list[str]:
    """The texts of acceptance criteria, without what shows them."""
    return [parse_criterion(line).text or line for line in criteria]


def is_followed(remark: ReviewRemark) -> bool:
    """Whether it is at a place that later commits may change, and nothing is known about that yet."""
    return bool(remark.path) and remark.state not in ("addressed", "outdated")


def judge_remark(remark: ReviewRemark, code_now: str | None, *, is_by_attempt: bool) -> RemarkState:
    """The state of a comment on a line, seen from a newer commit.

    `code_now` is the line that is now where the commented one was, None if it is gone. `is_by_attempt` says that the
    newer commit is the work of the agent that got the comment.
    """
    if remark.state in ("addressed", "outdated") or code_now == remark.code:
        return remark.state
    return "addressed" if is_by_attempt and remark.state in ("sent", "seen") else "outdated"


def describe_remark(remark: ReviewRemark) -> str:
    """A comment as an agent reads it: where, the code as it was, and what is asked for."""
    where = remark.place or "the change"
    code = f" (`{remark.code.strip()}`)" if remark.code.strip() else ""
    at = f" at {remark.commit_id[:SHORT_COMMIT_CHARACTERS]}" if remark.path else ""
    return f"{where}{code}{at}: {remark.body}"
