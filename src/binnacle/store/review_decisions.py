"""What follows from a review: the task is closed, or goes back to be worked on again.

A person's word decides at once. Agents decide by majority, and only what agents may decide: where a person is needed,
their acceptance is one part of two. When agents have asked for changes often enough, a person decides.

In a run, the merge queue closes tasks. There, an acceptance is only kept.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from binnacle.errors import InvalidInput, NextStep, PersonNeeded, Unproven
from binnacle.store import (
    done_requests,
    questions,
    review_remarks,
    reviewed_attempts,
    reviews,
    task_moves,
    task_requirements,
    tasks,
)
from binnacle.store.task_moves import TaskMove
from binnacle.store.transaction import Writer
from binnacle.work.actor import SYSTEM
from binnacle.work.done_gate import DoneProof, DoneRequest
from binnacle.work.ids import TaskId
from binnacle.work.review import (
    MAX_REMARKS,
    Acceptance,
    CriterionVerdict,
    Review,
    ReviewDecision,
    ReviewVerdict,
    check_criteria,
    name_criteria,
    parse_place,
)
from binnacle.work.status import is_closed
from binnacle.work.task import Task


class RemarkDraft(NamedTuple):
    """A comment of a reviewer, with the line that it is about."""

    body: str
    path: str = ""
    line: int = 0
    code: str = ""


class ReviewResult(NamedTuple):
    """What a verdict led to."""

    review: Review
    verdict: ReviewVerdict
    task: Task
    sent: int = 0
    """Comments that were sent to the next agent."""

    warnings: tuple[str, ...] = ()
    unblocked: tuple[TaskId, ...] = ()
    """Tasks that no longer wait for anything."""

    request: DoneRequest | None = None
    """What has to pass before the task is done: it was accepted, and not proven, or no longer."""


def accept(tx: Writer, found: Review, *, message: str = "") -> ReviewResult:
    """Keeps that a person accepts exactly the tree of a review. With everybody's acceptance, the task is closed."""
    _require_person(tx, found, "accept")
    verdict = reviews.add_verdict(tx, found, "accept", message=message)
    return _conclude_accepted(tx, found, verdict)


def reject(tx: Writer, found: Review, *, message: str) -> ReviewResult:
    """Keeps that a person asks for changes. What they wrote is sent to the next agent, and the task is pending."""
    _require_person(tx, found, "ask for changes of")
    if not message.strip() and not _has_drafts(tx, found):
        raise InvalidInput("a reason is needed to ask for changes", hint="say what has to be another way")
    verdict = reviews.add_verdict(tx, found, "changes", message=message)
    if verdict.message:
        review_remarks.add(tx, found, verdict.message)
    sent = review_remarks.send(tx, found.task_id, of_person=tx.by.name)
    ended = reviews.end(tx, found, "changes", message=verdict.message[:200], comments=sent)
    task = tasks.get(tx, found.task_id)
    warnings: tuple[str, ...] = ()
    if is_closed(task.status) or task.status == "in_review":
        moved = task_moves.reopen(tx, task.id, force=True)
        task, warnings = moved.task, moved.warnings
    return ReviewResult(ended, verdict, task, sent, warnings)


def judge(
    tx: Writer,
    found: Review,
    decision: ReviewDecision,
    *,
    criteria: Sequence[CriterionVerdict],
    remarks: Sequence[RemarkDraft] = (),
    message: str = "",
) -> ReviewResult:
    """Keeps the verdict of an agent, and does what the majority of them decided.

    Raises:
        PersonNeeded: the actor is no agent.
        InvalidInput: an acceptance that leaves out a criterion, or a wish for changes without saying which.
    """
    if tx.by.kind != "agent":
        step = NextStep("decide as a person", f"review show {found.task_id}", for_person=True)
        raise PersonNeeded("this is the verdict of an agent", hint=step)
    task = tasks.get(tx, found.task_id)
    wanted = name_criteria(task.acceptance_criteria)
    check_criteria(wanted, criteria, decision)
    _check_says_something(decision, criteria, remarks, message, has_criteria=bool(wanted))
    verdict = reviews.add_verdict(tx, found, decision, criteria=criteria, message=message)
    for one in (*remarks, *(_describe_unmet(verdict) if decision == "changes" else ())):
        review_remarks.add(tx, found, one.body, path=one.path, line=one.line, code=one.code)
    match reviews.count_agents(tx, found).decision:
        case "accept":
            return _conclude_accepted(tx, found, verdict)
        case "changes" if found.require != "person":
            return _return_to_agents(tx, found, verdict)
    return ReviewResult(found, verdict, task)


def _check_says_something(
    decision: ReviewDecision,
    criteria: Sequence[CriterionVerdict],
    remarks: Sequence[RemarkDraft],
    message: str,
    *,
    has_criteria: bool,
) -> None:
    said = bool(message.strip())
    if decision == "accept" and not has_criteria and not said:
        raise InvalidInput("the acceptance says nothing", hint="say in 'message' what you looked at and what shows it")
    if decision == "changes" and not (remarks or said or any(not one.met for one in criteria)):
        raise InvalidInput("nothing says what has to change", hint="comment on lines, or say it in 'message'")
    if len(remarks) > MAX_REMARKS:
        raise InvalidInput(f"{len(remarks)} comments, at most {MAX_REMARKS}", hint="keep the most important ones")


def _describe_unmet(verdict: ReviewVerdict) -> list[RemarkDraft]:
    """What a verdict says beyond its comments, as comments, so that the next agent reads all of it."""
    said = []
    for one in verdict.criteria:
        if not one.met:
            path, line = parse_place(one.place) if one.place else ("", 0)
            words = f"not met: {one.criterion}{': ' + one.note if one.note else ''}"
            said.append(RemarkDraft(words[:2000], path, line))
    return [*said, *([RemarkDraft(verdict.message)] if verdict.message else [])]


def _return_to_agents(tx: Writer, found: Review, verdict: ReviewVerdict) -> ReviewResult:
    """Gives a task back for another attempt, or to a person after too many."""
    sent = review_remarks.send(tx, found.task_id)
    ended = reviews.end(tx, found, "changes", comments=sent)
    with tx.acting_as(SYSTEM, session=None):
        if found.round < found.rounds:
            task = tasks.get(tx, found.task_id)
            if task.status == "in_review":
                task = task_moves.reopen(tx, task.id, force=True).task
            return ReviewResult(ended, verdict, task, sent)
        said = verdict.message or "see its comments"
        # With the review's id, these words are another question than those of an earlier round.
        words = f"reviewers asked for changes {found.round} times, now in {found.id}; the last words: {said}"
        questions.ask(
            tx, found.task_id, f"{words}\nWhat should the next attempt do?"[:2000], blocking=True, kind="stuck"
        )
        task = task_moves.set_status(tx, found.task_id, "needs_input", force=True).task
    return ReviewResult(ended, verdict, task, sent, ("a person has to decide how it goes on",))


def _conclude_accepted(tx: Writer, found: Review, verdict: ReviewVerdict) -> ReviewResult:
    """Ends a review that everybody accepted who has to, and closes its task outside of a run."""
    acceptance = reviews.find_acceptance(tx, found.task_id, found.tree)
    task = tasks.get(tx, found.task_id)
    if not acceptance.suffices(found.require):
        if verdict.is_by_person:
            reviews.note_accepted(tx, found, verdict)
        elif found.run is not None and found.need.needs_person and not acceptance.people:
            reviewed_attempts.ask_person(tx, found)
        return ReviewResult(found, verdict, task, warnings=(f"it still waits for {_name_missing(found, acceptance)}",))
    ended = reviews.end(tx, found, "accepted", by=acceptance.describe(), message=verdict.message[:200])
    review_remarks.settle_open(tx, found.task_id, "addressed", commit=found.commit_id)
    if found.run is not None or is_closed(task.status):
        return ReviewResult(ended, verdict, task)
    by = tx.by if tx.by.kind == "human" else SYSTEM
    with tx.acting_as(by, session=None if by is SYSTEM else tx.session):
        moved = _close(tx, found, task, f"accepted by {acceptance.describe()}")
    return ReviewResult(ended, verdict, moved.task, 0, moved.warnings, moved.unblocked, moved.request)


def _close(tx: Writer, found: Review, task: Task, reason: str) -> TaskMove:
    """Closes an accepted task with the proof of its review. What is no longer proven by it is a request."""
    said = done_requests.find_words(tx, task.id)
    words = f"{said[:1500]} ({reason})" if said else reason
    proof = msgspec.convert(found.proof, DoneProof) if found.proof else None
    if proof is None and not task_requirements.find_requirements(tx, task, parts=tasks.list_parts(tx, task.id)):
        proof = DoneProof(commit_id=found.commit_id, tree=found.tree, base=found.base, evidence=())
    if proof is not None:
        with suppress(Unproven):  # a check is another one now, for instance
            return task_moves.finish(tx, task.id, reason=words, proof=proof, force=True, may_request=False)
    return task_moves.finish(tx, task.id, reason=words, force=True)


def _name_missing(found: Review, acceptance: Acceptance) -> str:
    agents = found.need.needs_agents and not acceptance.settles_agents
    return "agents that did not work on it" if agents else "a person"


def _has_drafts(tx: Writer, found: Review) -> bool:
    drafts = (one for one in review_remarks.list_remarks(tx, found.task_id) if one.state == "draft")
    return any(not one.is_by_person or one.author == tx.by.name for one in drafts)


def _require_person(tx: Writer, found: Review, what: str) -> None:
    if tx.by.kind != "human":
        step = NextStep("look at it", f"review show {found.task_id}", for_person=True)
        raise PersonNeeded(f"only a person may {what} a change by this command", hint=step)
