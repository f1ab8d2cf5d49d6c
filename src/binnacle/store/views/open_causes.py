"""What waits for a person, one entry for one cause: what happened, what was tried, and what there is to decide.

Most of it is in `attention`. A review that is asked for outside of a run is only a review, and questions of an older
store are only questions. Trust and logins are no business of the store.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from binnacle.store import attempts, evidence, questions, reviews, runs, tasks
from binnacle.store.attention import ATTENTIONS
from binnacle.store.done_requests import REPORTS
from binnacle.store.questions import QUESTIONS
from binnacle.store.reviews import REVIEWS, VERDICTS
from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader
from binnacle.store.views.review_overview import ReviewEntry, describe_entry
from binnacle.work.evidence import describe_verdict
from binnacle.work.report import Question, words_of
from binnacle.work.review import Review
from binnacle.work.run import AttemptOutcome, Attention, AttentionKind
from binnacle.work.task import Brief, brief
from binnacle.work.verdict import Verdict

MAX_CAUSES = 50
"""Entries of each kind of source that are read at once."""

MAX_DESCRIPTION_CHARACTERS = 4000

MAX_TRIED = 5
"""Attempts, and results of checks, that an entry shows."""

URGENCY: tuple[AttentionKind, ...] = ("permission", "question", "stuck", "review", "ended")
"""An agent waits for a permission, and a task for an answer."""

_CLOSED_TASK = "exists (select 1 from task t where t.id = a.task_id and t.status in ('done', 'cancelled'))"
_WAITING_RUN = (
    "exists (select 1 from run r where r.id = a.run and r.why = 'needs_input') and exists "
    "(select 1 from attention o where o.run = a.run and o.kind <> 'ended' and o.answered_at is null)"
)
"""A run that ended because it waits for answers is a cause of its own once they are given: it can be resumed then."""

_OPEN_ENTRY = (
    f"a.answered_at is null and not (a.kind = 'stuck' and {_CLOSED_TASK}) and not (a.kind = 'ended' and {_WAITING_RUN})"
)
_LONE_QUESTION = "q.answered_at is null and not exists (select 1 from attention a where a.question = q.id)"
_NEWEST = "not exists (select 1 from review n where n.task_id = r.task_id and n.number > r.number)"
_LAST_WORD = (
    "coalesce((select v.decision from review_verdict v where v.task_id = r.task_id and v.tree = r.tree "
    "and v.is_by_person = 1 order by v.number desc limit 1), '')"
)
_LONE_REVIEW = (
    "not exists (select 1 from attention a where a.kind = 'review' and a.task_id = r.task_id "
    "and a.answered_at is null) and "
    f"((r.status = 'open' and r.require in ('person', 'both') and {_LAST_WORD} <> 'accept') or "
    f"(r.status = 'accepted' and r.run is null and {_NEWEST} and "
    "exists (select 1 from task t where t.id = r.task_id and t.status = 'in_review')))"
)


class TriedAttempt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An attempt of a run at a task, as far as a person who decides has to know it."""

    at: datetime
    agent: str = ""
    outcome: AttemptOutcome = ""
    reason: str = ""
    commit: str = ""
    seconds: float = 0.0
    cost: float = 0.0
    currency: str = ""


class TriedCheck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a check said, with the part of its log that shows why."""

    evidence: str
    name: str
    verdict: Verdict
    words: str
    commit: str
    at: datetime
    excerpt: str = ""
    failed: tuple[str, ...] = ()


class EndedRun(Struct, frozen=True, kw_only=True):
    """A run that ended, and how it goes on."""

    id: str
    name: str
    why: str
    resume: str
    """The command that resumes it, or that reports what is only said."""


class OpenCause(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that waits for a person."""

    id: str
    """Of its entry, or of the review or the question if it has none."""

    kind: AttentionKind
    title: str
    body: str = ""
    at: datetime
    agent: str = ""
    """Who asks."""

    session: str = ""
    run: str = ""
    """The name of the run that it is about."""

    task: Brief | None = None
    description: str = ""
    """The task, in its own words."""

    options: tuple[str, ...] = ()
    preferred: str = ""
    """What the agent itself would do."""

    is_blocking: bool = False
    """Whether the task waits for the answer."""

    attempts: tuple[TriedAttempt, ...] = ()
    """The newest, oldest first."""

    attempts_total: int = 0
    last_words: str = ""
    """The last report about the task."""

    checks: tuple[TriedCheck, ...] = ()
    """The newest results that are no passes; of a review, all that count for it."""

    findings: int = 0
    """In how many places a change in review changes what judges it."""

    review: ReviewEntry | None = None
    tree: str = ""
    """Of the change in review: what exactly is accepted."""

    ended: EndedRun | None = None


class CauseAnswer(Struct, frozen=True, kw_only=True):
    """How something that waited was answered, and by whom."""

    id: str
    kind: AttentionKind
    title: str
    answer: str
    """Empty if its cause was gone before anybody answered."""

    answered_by: str = ""
    answered_at: datetime | None = None


class OpenCount(NamedTuple):
    """How many causes are open."""

    total: int
    newest: str
    """When the newest of them began; empty if there is none."""


_SOURCES = (("attention a", _OPEN_ENTRY), ("question q", _LONE_QUESTION), ("review r", _LONE_REVIEW))


def count_open(tx: Reader) -> OpenCount:
    """How many causes are open, by indexes on what is open."""
    rows = [tx.row(f"select count(*), max(created_at) from {table} where {where}") for table, where in _SOURCES]
    found = [(int(row[0]), row[1] or "") for row in rows if row is not None]
    return OpenCount(sum(count for count, _ in found), max(newest for _, newest in found))


def list_open(tx: Reader) -> list[OpenCause]:
    """The open causes, the most urgent first, and the oldest of these first."""
    ids = f"select a.id from attention a where {_OPEN_ENTRY} order by {_urgency()}, a.number limit {MAX_CAUSES}"
    entries = ATTENTIONS.select(tx, f"where id in ({ids})")
    lone = f"where id in (select q.id from question q where {_LONE_QUESTION} order by q.number limit {MAX_CAUSES})"
    left = f"where id in (select r.id from review r where {_LONE_REVIEW} order by r.number limit {MAX_CAUSES})"
    found = [
        *(_describe_entry(tx, one) for one in entries),
        *(_describe_question(tx, one) for one in QUESTIONS.select(tx, lone)),
        *(_describe_review(tx, one) for one in REVIEWS.select(tx, left)),
    ]
    return sorted(found, key=lambda one: (URGENCY.index(one.kind), not one.is_blocking, one.at, one.id))[:MAX_CAUSES]


def find_answers(tx: Reader, ids: Sequence[str]) -> list[CauseAnswer]:
    """How those of these causes that are over were answered."""
    wanted = list(ids)[:MAX_CAUSES]
    if not wanted:
        return []
    marks = placeholders(wanted)
    closed = ATTENTIONS.select(tx, f"where answered_at is not null and id in {marks}", *wanted)
    asked = QUESTIONS.select(tx, f"where answered_at is not null and id in {marks}", *wanted)
    ended = REVIEWS.select(tx, f"where status <> 'open' and id in {marks}", *wanted)
    return [
        *(_describe_answer(one, one.kind, one.title) for one in closed),
        *(_describe_answer(one, "question", one.text.partition("\n")[0]) for one in asked),
        *(_describe_decision(tx, one) for one in ended),
    ]


def _describe_answer(found: Attention | Question, kind: AttentionKind, title: str) -> CauseAnswer:
    return CauseAnswer(
        id=found.id,
        kind=kind,
        title=title,
        answer=found.answer,
        answered_by=found.answered_by or "",
        answered_at=found.answered_at,
    )


def _describe_decision(tx: Reader, review: Review) -> CauseAnswer:
    said = VERDICTS.select(tx, "where review = ? order by number desc limit 1", review.id)
    return CauseAnswer(
        id=review.id,
        kind="review",
        title=tasks.get(tx, review.task_id).title,
        answer=review.status,
        answered_by=said[0].author if said else "",
        answered_at=review.ended_at,
    )


def _urgency() -> str:
    ranks = " ".join(f"when '{kind}' then {rank}" for rank, kind in enumerate(URGENCY))
    return f"case a.kind {ranks} end"


def _describe_entry(tx: Reader, entry: Attention) -> OpenCause:
    asked = questions.get(tx, entry.question) if entry.question is not None else None
    review = reviews.find_open(tx, entry.task_id) if entry.kind == "review" and entry.task_id else None
    ended = runs.get(tx, entry.run) if entry.kind == "ended" and entry.run else None
    made = OpenCause(
        id=entry.id,
        kind=entry.kind,
        title=entry.title,
        body=entry.body,
        at=entry.created_at,
        agent=asked.asked_by if asked else "",
        session=entry.session or "",
        run=_name_run(tx, entry.run),
        options=entry.options,
        preferred=asked.preferred if asked else "",
        is_blocking=asked.blocking if asked else False,
        ended=_describe_end(ended.id, ended.name, ended.why) if ended else None,
    )
    return _add_tried(tx, made, entry.task_id, review)


def _describe_end(run_id: str, name: str, why: str) -> EndedRun:
    resume = f"bn report {name}" if why == "unproven" else f"bn run --resume --name {name}"
    return EndedRun(id=run_id, name=name, why=why, resume=resume)


def _describe_question(tx: Reader, asked: Question) -> OpenCause:
    made = OpenCause(
        id=asked.id,
        kind="question",
        title=asked.text.partition("\n")[0],
        body=asked.text,
        at=asked.created_at,
        agent=asked.asked_by,
        session=asked.session or "",
        options=asked.options,
        preferred=asked.preferred,
        is_blocking=asked.blocking,
    )
    return _add_tried(tx, made, asked.task_id, None)


def _describe_review(tx: Reader, review: Review) -> OpenCause:
    made = OpenCause(
        id=review.id,
        kind="review",
        title=tasks.get(tx, review.task_id).title,
        body="; ".join(review.reasons),
        at=review.created_at,
        agent=review.asked_by,
        session=review.session or "",
        run=_name_run(tx, review.run),
    )
    return _add_tried(tx, made, review.task_id, review)


def _name_run(tx: Reader, run_id: str | None) -> str:
    return runs.get(tx, run_id).name if run_id else ""


def _add_tried(tx: Reader, made: OpenCause, task_id: str | None, review: Review | None) -> OpenCause:
    """The entry with its task, and what was tried at it."""
    if task_id is None:
        return made
    task = tasks.get(tx, task_id)
    tried = [one for one in attempts.list_attempts(tx, task.id) if one.outcome]
    results = evidence.get_many(tx, review.evidence) if review else evidence.list_of_task(tx, task.id, limit=20)
    shown = results if review else [one for one in results if one.verdict != "pass"]
    report = REPORTS.first(tx, "where task_id = ? order by number desc", task.id)
    return replace(
        made,
        task=brief(task),
        description=task.description[:MAX_DESCRIPTION_CHARACTERS],
        attempts=tuple(
            TriedAttempt(
                at=one.started_at,
                agent=one.agent,
                outcome=one.outcome,
                reason=one.reason,
                commit=one.commit_id,
                seconds=one.seconds,
                cost=one.cost,
                currency=one.currency,
            )
            for one in tried[-MAX_TRIED:]
        ),
        attempts_total=len(tried),
        last_words=words_of(report) if report and report.body.get("summary") != "" else "",
        checks=tuple(
            TriedCheck(
                evidence=one.id,
                name=one.check_name,
                verdict=one.verdict,
                words=describe_verdict(one),
                commit=one.commit_id,
                at=one.created_at,
                excerpt=one.log_excerpt,
                failed=(one.new_failed or one.failed)[:10],
            )
            for one in shown[:MAX_TRIED]
        ),
        findings=len({finding for one in results for finding in one.findings}) if review else 0,
        review=describe_entry(tx, task, review) if review else None,
        tree=review.tree if review else "",
    )
