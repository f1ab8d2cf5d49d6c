"""Reviews, and what reviewers said about exactly one tree. `review_decisions` has what follows for the task."""

from collections.abc import Sequence
from typing import Any

import msgspec

from binnacle.errors import NextStep, NotFound, NotReady, PersonNeeded, Refused
from binnacle.store import attention
from binnacle.store.fresh_ids import fresh_id
from binnacle.store.table import Table, placeholders
from binnacle.store.transaction import Reader, Writer
from binnacle.work import review, steps
from binnacle.work.ids import TaskId
from binnacle.work.review import (
    REVIEW_PREFIX,
    VERDICT_PREFIX,
    Acceptance,
    CriterionVerdict,
    Identity,
    Review,
    ReviewDecision,
    ReviewStatus,
    ReviewVerdict,
    VerdictCount,
    count_verdicts,
    is_independent,
)
from binnacle.work.review_policy import ReviewNeed, combine_needs
from binnacle.work.text import clean_text

REVIEWS = Table(
    "review",
    Review,
    json=("reasons", "evidence", "proof"),
    times=("created_at", "ended_at"),
    key=("id",),
)
VERDICTS = Table("review_verdict", ReviewVerdict, json=("criteria",), times=("created_at",), key=("id",))

MAX_REASONS = 20
MAX_EVIDENCE_IDS = 200
MAX_MESSAGE_CHARACTERS = 5000

_ANSWERS: dict[ReviewStatus, str] = {"accepted": "accepted", "changes": "changes asked for"}
"""The answers to a review that waits for a person."""

_WORKED = ("started", "done", "in_review", "partial", "released")
"""What someone does with a task who works on it."""


def open_review(
    tx: Writer,
    task_id: TaskId,
    *,
    commit: str,
    tree: str,
    base: str = "",
    need: ReviewNeed | None = None,
    evidence: Sequence[str] = (),
    proof: dict[str, Any] | None = None,
    run: str | None = None,
    session: str | None = None,
) -> Review:
    """Puts a change up for review. An open review of the same tree is kept, one of another tree is replaced.

    Who was asked to look at the same tree before still has to.
    """
    asked = need or ReviewNeed(require="person", reasons=("somebody asked for it",))
    before = find_open(tx, task_id)
    is_same = before is not None and before.tree == tree
    if is_same and before is not None:
        asked = combine_needs(before.need, asked)
    columns: dict[str, Any] = {
        "commit_id": commit,
        "base": base,
        "require": asked.require,
        "reasons": tuple(asked.reasons[:MAX_REASONS]),
        "reviewers": asked.reviewers,
        "rounds": asked.rounds,
        "run": run,
    }
    if evidence or not is_same:
        columns["evidence"] = tuple(evidence[:MAX_EVIDENCE_IDS])
    if proof or not is_same:
        columns["proof"] = proof or {}
    if before is not None and is_same:
        REVIEWS.update(tx, columns, "id = ?", before.id)
        tx.record("review", before.id, "updated", {"task": task_id, "require": asked.require})
        return get(tx, before.id)
    if before is not None:
        end(tx, before, "replaced")
    made = Review(
        id=fresh_id(tx, "review", REVIEW_PREFIX),
        task_id=task_id,
        tree=tree,
        round=1 + count_refused(tx, task_id),
        session=session,
        status="open",
        asked_by=tx.by.name,
        created_at=tx.now,
        **columns,
    )
    row = REVIEWS.row(made)
    del row["number"]
    REVIEWS.insert(tx, [row])
    said = {"task": task_id, "commit": commit, "require": made.require, "reason": "; ".join(made.reasons)}
    tx.record("review", made.id, "opened", said)
    return get(tx, made.id)


def get(tx: Reader, review_id: str) -> Review:
    """The review with this id."""
    found = REVIEWS.first(tx, "where id = ?", review_id.strip().casefold())
    if found is None:
        raise NotFound(f"no review {review_id[:60]!r}", hint=steps.LIST_REVIEWS)
    return found


def find_open(tx: Reader, task_id: str) -> Review | None:
    """The review that a task waits for."""
    return REVIEWS.first(tx, "where task_id = ? and status = 'open' order by number desc", task_id)


def get_open(tx: Reader, task_id: str) -> Review:
    """The same, which must exist."""
    found = find_open(tx, task_id)
    if found is None:
        raise NotFound(f"{task_id} waits for no review", hint=steps.LIST_REVIEWS)
    return found


def list_open(tx: Reader) -> list[Review]:
    """Every review that somebody has to make, oldest first."""
    return REVIEWS.select(tx, "where status = 'open' order by number")


def list_open_of_run(tx: Reader, run: str) -> list[Review]:
    """The reviews of a run that somebody has to make, oldest first."""
    return REVIEWS.select(tx, "where run = ? and status = 'open' order by number", run)


def list_accepted_of_run(tx: Reader, run: str) -> list[Review]:
    """The accepted reviews of a run whose tasks still wait to be closed, oldest first."""
    waiting = "task_id in (select id from task where status = 'in_review')"
    return REVIEWS.select(tx, f"where run = ? and status = 'accepted' and {waiting} order by number", run)


def list_of_task(tx: Reader, task_id: str, *, limit: int = 50) -> list[Review]:
    """The newest reviews of a task, newest first."""
    return REVIEWS.select(tx, "where task_id = ? order by number desc limit ?", task_id, limit)


def list_of_reviews(tx: Reader, ids: Sequence[str]) -> dict[str, list[ReviewVerdict]]:
    """What was said in reviews, by review, oldest first."""
    found: dict[str, list[ReviewVerdict]] = {one: [] for one in ids}
    if ids:
        for verdict in VERDICTS.select(tx, f"where review in {placeholders(ids)} order by number", *ids):
            found[verdict.review].append(verdict)
    return found


def list_verdicts(tx: Reader, task_id: str, *, tree: str | None = None) -> list[ReviewVerdict]:
    """What reviewers said about a task, or about one tree of it, oldest first."""
    where, values = (" and tree = ?", [tree]) if tree is not None else ("", [])
    return VERDICTS.select(tx, f"where task_id = ?{where} order by number", task_id, *values)


def find_acceptance(tx: Reader, task_id: str, tree: str, *, reviewers: int = 1) -> Acceptance:
    """Who accepted exactly this tree of a task. At least `reviewers` agents count, or as many as were asked for it."""
    asked = tx.row("select max(reviewers), max(handed_over) from review where task_id = ? and tree = ?", task_id, tree)
    wanted = max(reviewers, int(asked[0]) if asked and asked[0] else 1)
    verdicts = list_verdicts(tx, task_id, tree=tree)
    is_handed_over = bool(asked and asked[1])
    return review.find_acceptance(tree, verdicts, reviewers=wanted, is_handed_over=is_handed_over)


def count_agents(tx: Reader, found: Review) -> VerdictCount:
    """How agents decided in a review so far."""
    return count_verdicts(list_verdicts(tx, found.task_id, tree=found.tree), reviewers=found.reviewers)


def count_refused(tx: Reader, task_id: str) -> int:
    """How many rounds of review agents ended with a wish for changes, since a person last had a look at the task."""
    row = tx.row("select max(v.number) from review_verdict v where v.task_id = ? and v.is_by_person = 1", task_id)
    since = row[0] if row and row[0] else 0
    return tx.count(
        "select count(distinct v.review) from review_verdict v join review r on r.id = v.review "
        "where v.task_id = ? and v.is_by_person = 0 and r.status = 'changes' and v.number > ?",
        task_id,
        since,
    )


def add_verdict(
    tx: Writer,
    found: Review,
    decision: ReviewDecision,
    *,
    criteria: Sequence[CriterionVerdict] = (),
    message: str = "",
) -> ReviewVerdict:
    """Keeps what the actor says about the tree of a review.

    Raises:
        Refused: the actor worked on the task, or the review is over.
        NotReady: nothing distinguishes the actor from others.
        PersonNeeded: the actor is neither a person nor an agent.
    """
    if found.status != "open":
        raise Refused(f"review {found.id} is over: {found.status}", hint=steps.LIST_REVIEWS)
    check_may_judge(tx, found)
    verdict = ReviewVerdict(
        id=fresh_id(tx, "review_verdict", VERDICT_PREFIX),
        review=found.id,
        task_id=found.task_id,
        commit_id=found.commit_id,
        tree=found.tree,
        author=tx.by.name,
        is_by_person=tx.by.kind == "human",
        decision=decision,
        criteria=tuple(criteria),
        message=clean_text(message, what="message", limit=MAX_MESSAGE_CHARACTERS),
        session=tx.session,
        created_at=tx.now,
    )
    VERDICTS.insert(tx, [VERDICTS.row(verdict) | {"criteria": _encode_criteria(verdict.criteria)}])
    said = {"task": found.task_id, "commit": found.commit_id, "tree": found.tree, "message": verdict.message[:200]}
    # A person's verdict ends the review, which is the event that can be undone.
    if not verdict.is_by_person:
        tx.record("review", found.id, "accept" if decision == "accept" else "refuse", said)
    return verdict


def note_accepted(tx: Writer, found: Review, verdict: ReviewVerdict) -> None:
    """Records a person's acceptance of a review that goes on, so that it can be undone like one that ends it."""
    REVIEWS.update(tx, {"status": found.status}, "id = ?", found.id)
    said = {"task": found.task_id, "commit": found.commit_id, "message": verdict.message[:200]}
    tx.record("review", found.id, "accept", said)
    attention.close_review(tx, found.task_id, "accepted")


def _encode_criteria(criteria: Sequence[CriterionVerdict]) -> list[Any]:
    return [msgspec.to_builtins(one) for one in criteria]


def check_may_judge(tx: Reader, found: Review) -> None:
    """Refuses a reviewer who did the work, or who cannot be told from others.

    Raises:
        Refused: an agent that worked on the task.
        NotReady: nothing distinguishes the agent from others.
        PersonNeeded: neither a person nor an agent.
    """
    assert isinstance(tx, Writer)
    if tx.by.kind == "human":
        return
    if tx.by.kind != "agent":
        step = NextStep("look at it", f"review show {found.task_id}", for_person=True)
        raise PersonNeeded("a review is made by a person or an agent", hint=step)
    if tx.by.is_shared:
        raise NotReady("several clients may be calling here, and nothing distinguishes them", hint=steps.OPEN_SESSION)
    if not is_independent(identity_of(tx, tx.by.name, tx.session), workers_of(tx, found)):
        hint = ("another agent or a person reviews it", steps.comment(found.task_id))
        raise Refused(f"you worked on {found.task_id}, so you cannot review it", hint=hint)


def identity_of(tx: Reader, name: str, session: str | None = None) -> Identity:
    """By what an agent is known."""
    return _identify(tx, {name, *((session,) if session else ())})


def workers_of(tx: Reader, found: Review) -> Identity:
    """By what those are known who worked on the task of a review."""
    task_id = found.task_id
    names = {found.session, *(row[0] for row in tx.rows("select claimed_by from task where id = ?", task_id))}
    moved = f"entity = 'task' and entity_id = ? and action in {placeholders(_WORKED)}"
    for sql, values in (
        (f"select distinct actor, session from event where {moved}", (task_id, *_WORKED)),
        ("select distinct author, session from report where task_id = ?", (task_id,)),
        ("select distinct session, session from iteration where task_started = ?", (task_id,)),
    ):
        names.update(name for row in tx.rows(sql, *values) for name in row)
    return _identify(tx, {name for name in names if name})


def _identify(tx: Reader, names: set[str]) -> Identity:
    """Names with those of the same sessions, and the processes behind them."""
    rows: list[Sequence[Any]] = []
    known = sorted(names)
    for start in range(0, len(known), 500):
        part = known[start : start + 500]
        marks = placeholders(part)
        columns = "select id, session, pid, process_started from agent"
        rows += tx.rows(f"{columns} where id in {marks} or session in {marks}", *part, *part)
    return Identity(
        names=frozenset(names | {name for row in rows for name in row[:2] if name}),
        processes=frozenset((int(row[2]), row[3]) for row in rows if row[2] is not None and row[3]),
    )


def end(tx: Writer, found: Review, status: ReviewStatus, **said: object) -> Review:
    """Ends a review."""
    REVIEWS.update(tx, {"status": status, "ended_at": tx.now}, "id = ?", found.id)
    tx.record("review", found.id, status, {"task": found.task_id, "commit": found.commit_id, **said})
    attention.close_review(tx, found.task_id, _ANSWERS.get(status, ""))
    return get(tx, found.id)


def hand_over(tx: Writer, found: Review, why: str) -> Review:
    """Notes that a person decides in place of the agents, who gave no verdict."""
    said = clean_text(why, what="reason", limit=MAX_MESSAGE_CHARACTERS)
    REVIEWS.update(tx, {"handed_over": said}, "id = ?", found.id)
    tx.record(
        "review", found.id, "handed_over", {"task": found.task_id, "commit": found.commit_id, "reason": said[:200]}
    )
    return get(tx, found.id)


def note_proof(tx: Writer, found: Review, proof: dict[str, Any]) -> None:
    """Notes what is proven of the tree that an accepted change is about to be merged into."""
    REVIEWS.update(tx, {"proof": proof}, "id = ?", found.id)


def withdraw(tx: Writer, task_id: str) -> None:
    """Ends the review of a task that no longer waits for it."""
    if (found := find_open(tx, task_id)) is not None:
        end(tx, found, "withdrawn")
