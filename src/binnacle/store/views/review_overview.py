"""Reviews as a person sees them: which changes wait for whom, and everything that is known of one."""

from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from binnacle.errors import Ambiguous, NotFound
from binnacle.store import evidence, review_remarks, reviews, runs, tasks
from binnacle.store.reviews import REVIEWS
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader, stamp
from binnacle.work import steps
from binnacle.work.evidence import Evidence, EvidenceLevel
from binnacle.work.ids import TaskId
from binnacle.work.review import REVIEW_PREFIX, Review, ReviewRemark, ReviewVerdict
from binnacle.work.review_material import JudgedCriterion, judge_criteria
from binnacle.work.status import is_closed
from binnacle.work.task import Task

PERSON = "a person"
"""Who waits, in `ReviewEntry.waits_for`: the reader."""

MAX_WAITING = 1000
"""Tasks that wait for a review which are looked at."""


class ReviewSubject(NamedTuple):
    """What a person means: a task, and the review of it."""

    task: Task
    review: Review | None


class ReviewEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A review as one line of a list."""

    task_id: TaskId
    title: str
    priority: int
    review: str = ""
    """Empty for a task that waits for a review although no commit was put up."""

    state: str
    waits_for: tuple[str, ...] = ()
    """Who has to do something, and what."""

    reasons: tuple[str, ...] = ()
    round: int = 1
    level: EvidenceLevel = ""
    """What the checks of its commit have shown."""

    commit: str = ""
    run: str = ""
    """The name of the run that made the change."""

    at: datetime
    """When it was put up, or the task was changed last."""


class ReviewDetails(NamedTuple):
    """Everything that is known of a change that was put up for review, or of one that is done."""

    task: Task
    review: Review | None
    evidence: tuple[Evidence, ...]
    criteria: tuple[JudgedCriterion, ...]
    level: EvidenceLevel
    waits_for: tuple[str, ...]
    verdicts: tuple[ReviewVerdict, ...]
    remarks: tuple[ReviewRemark, ...]
    previous: Review | None
    """The newest other review in which somebody said something."""

    run: str = ""


def find_subject(tx: Reader, text: str, *, run: str | None = None) -> ReviewSubject:
    """The review that `text` means: by its id, or by its task, of which the open or else the newest one is meant.

    `run` limits it to what that run put up.
    """
    if text.strip().casefold().startswith(REVIEW_PREFIX):
        review = _resolve(tx, text.strip().casefold())
        return ReviewSubject(tasks.get(tx, review.task_id), review)
    task = tasks.get(tx, text)
    known = [one for one in reviews.list_of_task(tx, task.id) if run is None or one.run == run]
    found = next((one for one in known if one.status == "open"), known[0] if known else None)
    return ReviewSubject(task, found)


def _resolve(tx: Reader, wanted: str) -> Review:
    found = REVIEWS.select(tx, "where id >= ? and id < ? order by id limit 6", wanted, f"{wanted}g")
    exact = [one for one in found if one.id == wanted] or found
    if len(exact) > 1:
        raise Ambiguous(f"several reviews begin with {wanted!r}", hint=f"one of: {', '.join(one.id for one in exact)}")
    if not exact:
        raise NotFound(f"no review {wanted[:60]!r}", hint=steps.LIST_REVIEWS)
    return exact[0]


def list_waiting(tx: Reader, *, limit: int, offset: int = 0) -> tuple[list[ReviewEntry], int]:
    """What waits for somebody, oldest first, and how much: open reviews, then tasks in review without one."""
    found = reviews.list_open(tx)
    waiting, _ = tasks.list_tasks(tx, TaskFilter(status=("in_review",)), limit=MAX_WAITING)
    reviewed = {one.task_id for one in found}
    others = [one for one in waiting if one.id not in reviewed]
    open_ones = found[offset : offset + limit]
    start = max(0, offset - len(found))
    left = others[start : start + limit - len(open_ones)]
    known = tasks.get_many(tx, [one.task_id for one in open_ones])
    entries = [describe_entry(tx, known[one.task_id], one) for one in open_ones]
    entries += [describe_entry(tx, one, _find_newest(tx, one.id)) for one in left]
    return entries, len(found) + len(others)


def list_all(tx: Reader, *, limit: int, offset: int = 0) -> tuple[list[ReviewEntry], int]:
    """Every review, newest first, and how many there are."""
    found = REVIEWS.select(tx, "order by number desc limit ? offset ?", limit, offset)
    known = tasks.get_many(tx, list(dict.fromkeys(one.task_id for one in found)))
    return [describe_entry(tx, known[one.task_id], one) for one in found], tx.count("select count(*) from review")


def load_details(tx: Reader, subject: ReviewSubject, *, viewer: str) -> ReviewDetails:
    """Everything about a change. Drafts of comments are shown to who wrote them, and those of agents to everybody."""
    task, review = subject
    results = evidence.get_many(tx, review.evidence) if review else _find_proof(tx, task)
    remarks = review_remarks.list_remarks(tx, task.id)
    return ReviewDetails(
        task=task,
        review=review,
        evidence=tuple(results),
        criteria=judge_criteria(task.acceptance_criteria, results),
        level=_find_level(tx, task, review, results),
        waits_for=_find_waits(tx, task, review),
        verdicts=tuple(reviews.list_verdicts(tx, task.id)),
        remarks=tuple(one for one in remarks if one.state != "draft" or not one.is_by_person or one.author == viewer),
        previous=_find_previous(tx, task.id, review),
        run=_name_run(tx, review),
    )


def _find_level(tx: Reader, task: Task, review: Review | None, results: list[Evidence]) -> EvidenceLevel:
    """How well it is known that a change is right; empty if nobody has said so and nothing shows it."""
    if is_closed(task.status) and _is_last(tx, review):
        return task.evidence_level
    return level_of(results) if review or results else ""


def level_of(results: list[Evidence]) -> EvidenceLevel:
    """What the results of checks show of a change that nobody has accepted yet."""
    if not results:
        return "said"
    if any(one.verdict != "pass" for one in results):
        return ""
    return "merged" if all(one.is_merged for one in results) else "checked"


def _is_last(tx: Reader, review: Review | None) -> bool:
    return review is None or _find_newest(tx, review.task_id) == review


def _find_newest(tx: Reader, task_id: str) -> Review | None:
    found = reviews.list_of_task(tx, task_id, limit=1)
    return found[0] if found else None


def _find_proof(tx: Reader, task: Task) -> list[Evidence]:
    """The results with which a task was closed without a review, or the last that are known about it."""
    newest = evidence.list_of_task(tx, task.id, limit=10)
    commit = task.evidence_commit or (newest[0].commit_id if newest else "")
    return evidence.list_of_commit(tx, commit)[::-1] if commit else []


def _find_previous(tx: Reader, task_id: str, review: Review | None) -> Review | None:
    if review is None:
        return None
    others = [
        one for one in reviews.list_of_task(tx, task_id) if one.number < review.number and one.tree != review.tree
    ]
    said = reviews.list_of_reviews(tx, [one.id for one in others])
    return next((one for one in others if said[one.id]), None)


def describe_entry(tx: Reader, task: Task, review: Review | None) -> ReviewEntry:
    """A task and its review as one line of a list."""
    results = evidence.get_many(tx, review.evidence) if review else []
    return ReviewEntry(
        task_id=task.id,
        title=task.title,
        priority=task.priority,
        review=review.id if review else "",
        state=review.status if review else "",
        waits_for=_find_waits(tx, task, review),
        reasons=review.reasons if review else (),
        round=review.round if review else 1,
        level=level_of(list(results)) if review else "",
        commit=review.commit_id if review else "",
        run=_name_run(tx, review),
        at=review.created_at if review else task.updated_at,
    )


def _name_run(tx: Reader, review: Review | None) -> str:
    return runs.get(tx, review.run).name if review is not None and review.run else ""


def _find_waits(tx: Reader, task: Task, review: Review | None) -> tuple[str, ...]:
    """Who has to do something before the task is done."""
    if review is None or review.status not in ("open", "accepted"):
        return ("a commit to look at",) if task.status == "in_review" else ()
    if review.status == "accepted":
        if task.status != "in_review":
            return ()
        return ("the run, which merges it",) if review.run else ("its checks",)
    accepted = reviews.find_acceptance(tx, task.id, review.tree, reviewers=review.reviewers)
    waits = [PERSON] if (review.need.needs_person or review.handed_over) and not accepted.people else []
    if review.need.needs_agents and not accepted.agents and not review.handed_over:
        waits.append("an agent" if review.reviewers == 1 else f"{review.reviewers} agents")
    return tuple(waits)


def find_unseen(tx: Reader, review: Review, *, person: str) -> Review | None:
    """The review whose place this one took while nobody but agents decided: a person may still look at that one."""
    earlier = [one for one in reviews.list_of_task(tx, review.task_id) if one.number < review.number]
    if not earlier or earlier[0].tree == review.tree:
        return None
    before = earlier[0]
    own = [one for one in reviews.list_of_reviews(tx, [before.id])[before.id] if one.author == person]
    return before if before.status in ("replaced", "changes") and not own else None


def has_other_work(tx: Reader, review: Review) -> bool:
    """Whether somebody works on other tasks, or has begun to since a change was put up for review."""
    if tx.count("select count(*) from task where status = 'in_progress' and id <> ?", review.task_id):
        return True
    began = "entity = 'task' and action = 'started' and entity_id <> ? and at >= ?"
    return tx.count(f"select count(*) from event where {began}", review.task_id, stamp(review.created_at)) > 0
