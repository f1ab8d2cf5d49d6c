"""Reports of an agent that is bound to one task, and the rules of their effects.

An agent does not move its task. It reports how the work went; when its session ends, the last
closing report decides what happens to the task.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from binnacle.errors import InvalidInput
from binnacle.work.status import Status
from binnacle.work.text import MAX_TITLE_CHARACTERS, clean_optional_line, clean_text, fold

ReportKind = Literal["done", "partial", "stuck", "blocked", "question", "flag", "learning", "suggestion"]
CLOSING: tuple[ReportKind, ...] = ("done", "partial", "stuck", "blocked")
"""Reports that say how the work ended; the others are made during the work."""

Outcome = Literal["", "done", "pending", "blocked", "needs_input", "left", "superseded"]
"""The resulting status of the task; or the task was `left` as it is, or a later report `superseded` this one.

Empty until settled.
"""

Severity = Literal["info", "warning", "blocking"]
Category = Literal[
    "bug", "stale", "contradiction", "ambiguity", "overlap", "performance", "security", "incomplete_prior"
]
LearningKind = Literal["discovery", "decision", "convention"]
Scope = Literal["project", "feature", "task"]
SuggestionKind = Literal["new_task", "split", "refactor", "alternative", "deprecate"]
BlockerKind = Literal["upstream_task", "external"]

MAX_STUCK_SESSIONS = 3
"""Consecutive sessions that may get stuck on a task before a person has to look at it."""

MAX_WORDS_CHARACTERS = 2000
SILENT_REASON = "the session ended without a report"
SAME_WORK_SHARE = 0.7
"""Share of common words above which two titles mean the same work."""


class Report(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent reported about its task."""

    id: str
    session: str | None = None
    task_id: str
    kind: ReportKind
    body: dict[str, Any]
    """The report's text, by parameter."""

    author: str
    created_at: datetime
    settled_at: datetime | None = None
    """When it took effect: at once, or, for a closing report, when its session ended."""

    outcome: Outcome = ""
    note: str = ""
    """Why the outcome differs from the report."""


class Question(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent asks people about its task."""

    id: str
    task_id: str
    session: str | None = None
    text: str
    options: tuple[str, ...] = ()
    preferred: str = ""
    """What the agent itself would do."""

    blocking: bool
    """Whether the task must wait for the answer."""

    asked_by: str
    created_at: datetime
    answer: str = ""
    answered_by: str | None = None
    answered_at: datetime | None = None


def words_of(report: Report) -> str:
    """The report as text for the next reader of the task."""
    body = report.body
    match report.kind:
        case "done":
            said = f"Done: {body['summary']}" if body["summary"] else "Done."
        case "partial":
            said = f"Partly done: {body['summary']}\n\nRemaining: {body['remaining']}"
        case "stuck":
            said = f"Stuck: {body['reason']}"
        case "blocked":
            said = f"Blocked on {reason_of(report)}"
        case "flag":
            said = f"Flag ({', '.join(filter(None, (body['severity'], body.get('category'))))}): {body['what']}"
        case "learning":
            why = f" ({body['rationale']})" if body.get("rationale") else ""
            said = f"Learned ({body['kind']}): {body['text']}{why}"
        case "suggestion":
            said = f"Suggestion ({body['kind']}): {body['what']}\n\nWhy: {body['why']}"
        case "question":
            said = f"Asked: {body['question']}"
    return said


def reason_of(report: Report) -> str:
    """Why a task is stuck or blocked, according to a report."""
    body = report.body
    if report.kind == "stuck":
        return str(body["reason"])
    return f"{body['on']}: {body['detail']}" if body.get("detail") else str(body["on"])


def outcome_of(
    kind: ReportKind, *, unfinished: str, awaits_answer: bool, stuck_before: int, waits_for_task: bool
) -> Outcome:
    """The outcome of a closing report.

    `unfinished` says why the task cannot be done yet, if so; `waits_for_task`, that it waits for its blocker.
    """
    if kind == "done" and not unfinished:
        return "done"
    if awaits_answer:
        return "needs_input"
    if kind == "stuck" and stuck_before + 1 >= MAX_STUCK_SESSIONS:
        return "blocked"
    return "blocked" if kind == "blocked" and not waits_for_task else "pending"


def may_requeue(status: Status) -> bool:
    """Whether a report may make a task pending. A status that someone else set meanwhile stays."""
    return status in ("in_progress", "pending", "partial")


def stuck_in_a_row(reports: Sequence[Report]) -> list[Report]:
    """The newest consecutive reports of being stuck. `reports` are the closing ones, newest first.

    After the task was blocked for it, counting starts again: unblocking gives it another chance.
    """
    found: list[Report] = []
    for report in reports:
        if report.outcome in ("left", "superseded"):
            continue
        if report.kind != "stuck" or report.outcome == "blocked":
            break
        found.append(report)
    return found


def remaining_of(reports: Iterable[Report]) -> str:
    """What is left to do, according to the newest closing report that says so. `reports` are newest first."""
    for report in reports:
        if report.outcome == "done":
            break
        if report.outcome in ("left", "superseded"):
            continue
        if report.kind == "partial":
            return str(report.body["remaining"])
        if report.kind == "done":
            return report.note
    return ""


def choose_answer(question: Question, text: str) -> str:
    """The answer that `text` means: the number or the text of an option, or any other text."""
    said = clean_text(text, what="answer", limit=MAX_WORDS_CHARACTERS)
    if not said:
        raise InvalidInput("answer is empty", hint="say it in a sentence, or give the number of an option")
    if not question.options:
        return said
    if said.isdecimal() and said not in question.options:
        number = int(said)
        if not 1 <= number <= len(question.options):
            raise InvalidInput(
                f"{question.id} has {len(question.options)} options, not {number}",
                hint="give the number of one, or your own words",
            )
        return question.options[number - 1]
    return next((option for option in question.options if fold(option) == fold(said)), said)


def title_for(what: str) -> str:
    """A title for suggested work: its first line, cut to the length of a title."""
    first = clean_optional_line(what.strip().partition("\n")[0], what="suggestion", limit=MAX_WORDS_CHARACTERS)
    return first if len(first) <= MAX_TITLE_CHARACTERS else f"{first[: MAX_TITLE_CHARACTERS - 1].rstrip()}…"


def is_same_work(a: str, b: str) -> bool:
    """Whether two titles mean the same piece of work."""
    ours, theirs = _words(a), _words(b)
    union = len(ours | theirs)
    return fold(a) == fold(b) or (union > 0 and len(ours & theirs) / union > SAME_WORK_SHARE)


def _words(text: str) -> frozenset[str]:
    stripped = (word.strip(".,;:!?\"'`()[]{}<>*") for word in fold(text).split())
    return frozenset(word for word in stripped if len(word) > 2)
