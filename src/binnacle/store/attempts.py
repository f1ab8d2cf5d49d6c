"""Attempts of runs at tasks: begun with a claim, ended with what they led to and cost.

An attempt is an iteration of a session that a run drives. How a task moves at its end is decided here: closed, given
back for the next attempt, or handed to a person after too many.
"""

from collections.abc import Sequence
from typing import NamedTuple

from binnacle.errors import Refused
from binnacle.store import comments, done_requests, events, questions, reports, sessions, task_moves, tasks
from binnacle.store.done_requests import REPORTS
from binnacle.store.sessions import ITERATIONS
from binnacle.store.table import placeholders
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader, Writer
from binnacle.work.actor import Actor
from binnacle.work.done_gate import DoneProof
from binnacle.work.report import Report, reason_of
from binnacle.work.run import AttemptOutcome
from binnacle.work.session import Iteration
from binnacle.work.status import is_closed
from binnacle.work.task import Task
from binnacle.work.text import clean_optional_line

COUNTED: tuple[AttemptOutcome, ...] = (
    "partial", "unfinished", "unproven", "failed", "conflict", "repeating", "limit"
)  # fmt: skip
"""Outcomes that use up an attempt. A task that was blocked or asked about waits for others, not for an agent."""

MAX_REASON_CHARACTERS = 2000

MAX_MODEL_CHARACTERS = 200

SILENT = "the agent ended without calling it done"
"""The reason of an attempt whose agent said nothing."""


class ClaimedAttempt(NamedTuple):
    """An attempt under way."""

    number: int
    """Of its iteration."""

    task: Task
    attempt: int
    """How many attempts at the task this is, since a person last looked at it."""

    goes_on: bool
    """Whether it began earlier and was interrupted."""

    is_over: bool
    """Whether its agent has ended, so that only its changes are to be taken over."""

    before: Iteration | None
    """The last attempt at the task that ended."""


class Spending(NamedTuple):
    """What attempts took."""

    iterations: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0
    currency: str = ""
    """Of the cost; empty if no agent reported one."""


class AttemptEnd(NamedTuple):
    """What an attempt led to, as far as the store shows it."""

    outcome: AttemptOutcome
    """`done` if the agent calls the task done, which the run has to grant, or if the task is closed already."""

    reason: str = ""
    is_closed: bool = False


class LostRace(Exception):
    """Another worker took the last ready task at the same moment; nothing was changed."""


def claim(tx: Writer, session_id: str, which: TaskFilter) -> ClaimedAttempt | None:
    """Takes the next task for a session and begins its attempt; None if nothing is ready.

    An interrupted attempt goes on. A task that the session still holds comes before any other.

    Raises:
        LostRace: another worker was faster; the transaction is to be rolled back.
    """
    sessions.reopen(tx, session_id)
    left = ITERATIONS.first(
        tx, "where session = ? and number > 0 and plans = '' and outcome = '' order by number desc", session_id
    )
    held = next(iter(tasks.list_held_by(tx, session_id)), None)
    if left is not None and held is not None and left.task_started == held.id:
        sessions.bind(tx, session_id, held.id)
        return _claimed(tx, left, held, goes_on=True)
    if left is not None:
        why = f"{left.task_started or 'its task'} was given back meanwhile"
        done_requests.withdraw(tx, session_id, str(left.task_started), why)
        finish(tx, left, outcome="stopped", reason=why)
    if held is None and tasks.find_next_ready(tx, which) is None:
        return None
    iteration = sessions.begin_iteration(tx, session_id, first=1)
    if held is None:
        with tx.acting_as(Actor(session_id, "agent"), session=session_id):
            taken = task_moves.claim_next(tx, which)
        if taken is None:
            raise LostRace
        held = taken.task
    else:
        sessions.note_task(tx, session_id, held.id)
    sessions.bind(tx, session_id, held.id)
    return _claimed(tx, iteration, held, goes_on=False)


def _claimed(tx: Reader, iteration: Iteration, task: Task, *, goes_on: bool) -> ClaimedAttempt:
    ended = [one for one in list_attempts(tx, task.id) if one.outcome]
    used = count_used(tx, task.id)
    is_over = goes_on and iteration.ended_at is not None
    return ClaimedAttempt(iteration.number, task, used + 1, goes_on, is_over, ended[-1] if ended else None)


def list_attempts(tx: Reader, task_id: str) -> list[Iteration]:
    """The attempts at a task, oldest first."""
    return ITERATIONS.select(tx, "where task_started = ? order by started_at, number", task_id)


def count_used(tx: Reader, task_id: str) -> int:
    """The attempts that a task has used up since a person last reopened it or answered a question about it."""
    return tx.count(
        f"select count(*) from iteration where task_started = ? and outcome in {placeholders(COUNTED)} "
        "and started_at > ?",
        task_id,
        *COUNTED,
        events.find_last_look(tx, task_id),
    )


def spent_on_task(tx: Reader, task_id: str) -> Spending:
    """What the attempts at a task took so far."""
    return _spending(tx, "task_started = ?", task_id)


def spent_in_run(tx: Reader, run_id: str) -> Spending:
    """What a run took so far, over all machines and resumes."""
    return _spending(tx, "session in (select id from session where run = ?)", run_id)


def spent_elsewhere(tx: Reader, run_id: str, session_ids: Sequence[str]) -> Spending:
    """What a run took in other sessions than these: on other machines, and before it had as many workers."""
    where = f"session in (select id from session where run = ?) and session not in {placeholders(session_ids)}"
    return _spending(tx, where, run_id, *session_ids)


def spent_in_iteration(tx: Reader, session_id: str, number: int) -> Spending:
    """What one iteration took so far."""
    return _spending(tx, "session = ? and number = ?", session_id, number)


def _spending(tx: Reader, where: str, *values: str | int) -> Spending:
    row = tx.row(
        "select sum(case when number > 0 and plans = '' and outcome <> 'stopped' and ended_at is not null then 1 "
        f"else 0 end), sum(seconds), sum(tokens), sum(cost), max(currency) from iteration where {where}",
        *values,
    )
    assert row is not None
    return Spending(int(row[0] or 0), float(row[1] or 0), int(row[2] or 0), float(row[3] or 0), row[4] or "")


def note_spending(tx: Writer, session_id: str, number: int, spent: Spending) -> None:
    """Notes what an attempt took so far."""
    columns = {
        "seconds": round(spent.seconds, 3),
        "tokens": spent.tokens,
        "cost": spent.cost,
        "currency": spent.currency,
    }
    ITERATIONS.update(tx, columns, "session = ? and number = ?", session_id, number)


def note_agent(tx: Writer, session_id: str, number: int, agent: str, model: str) -> None:
    """Notes which agent makes an attempt. Its model may be in the agent's words."""
    model = clean_optional_line(model[:MAX_MODEL_CHARACTERS], what="model")
    ITERATIONS.update(tx, {"agent": agent, "model": model}, "session = ? and number = ?", session_id, number)


def note_commit(tx: Writer, session_id: str, number: int, commit: str, files: int) -> None:
    """Notes the commit of an attempt's changes."""
    ITERATIONS.update(tx, {"commit_id": commit, "files": files}, "session = ? and number = ?", session_id, number)


def read_end(tx: Reader, session_id: str, task_id: str) -> AttemptEnd:
    """What the agent of an attempt left: its report, or the status that it set."""
    task = tasks.get(tx, task_id)
    if is_closed(task.status):
        return AttemptEnd("done", task.closed_reason, is_closed=True)
    closing = REPORTS.select(
        tx, "where session = ? and task_id = ? and settled_at is null order by number desc", session_id, task_id
    )
    if closing:
        return _end_of_report(closing[0])
    return _end_of_status(tx, session_id, task)


def is_silent(tx: Reader, session_id: str, task_id: str) -> bool:
    """Whether the agent of an attempt has not said how it ended: no report, and its task in progress as before.

    What it said before its checks failed does not count.
    """
    end = read_end(tx, session_id, task_id)
    return end == AttemptEnd("unfinished", SILENT) or end.outcome == "unproven"


def _end_of_status(tx: Reader, session_id: str, task: Task) -> AttemptEnd:
    match task.status:
        case "blocked":
            said = next((one.body for one in comments.list_comments(tx, task.id, limit=1)), "")
            return AttemptEnd("blocked", said.removeprefix("Blocked: "))
        case "partial":
            return AttemptEnd("partial", _last_words(tx, session_id, task.id) or "the agent called it partly done")
        case "pending":
            is_waiting = task.open_dependencies > 0
            said = "it waits for other tasks now" if is_waiting else "the agent gave it back"
            return AttemptEnd("blocked" if is_waiting else "unfinished", said)
    asks = task.status == "needs_input" or any(
        one.session == session_id for one in questions.list_blocking(tx, task.id)
    )
    if asks:
        return AttemptEnd("question", "it waits for an answer")
    since = sessions.list_iterations(tx, session_id)[-1].started_at
    if refused := done_requests.find_refused(tx, session_id, task.id, since=since):
        return AttemptEnd("unproven", refused)
    return AttemptEnd("unfinished", SILENT)


def _last_words(tx: Reader, session_id: str, task_id: str) -> str:
    """What a session wrote last about its task in its current iteration."""
    since = sessions.list_iterations(tx, session_id)[-1].started_at
    found = comments.list_comments(tx, task_id, limit=1)
    return next((one.body for one in found if one.author == session_id and one.created_at >= since), "")


def _end_of_report(report: Report) -> AttemptEnd:
    match report.kind:
        case "done":
            return AttemptEnd("done", str(report.body.get("summary", "")))
        case "partial":
            return AttemptEnd("partial", str(report.body["remaining"]))
        case "blocked":
            return AttemptEnd("blocked", reason_of(report))
    return AttemptEnd("unfinished", reason_of(report))


def settle(
    tx: Writer,
    session_id: str,
    number: int,
    outcome: AttemptOutcome,
    reason: str,
    *,
    max_attempts: int,
    proof: DoneProof | None = None,
) -> Task | None:
    """Ends an attempt and moves its task accordingly. Returns the task, None if it is gone.

    A task whose branch has a conflict, or that is not proven, stays with the session, for its next attempt. One that
    needs checks is done with a `proof` only; without it, the attempt is unfinished.
    """
    (iteration,) = ITERATIONS.select(tx, "where session = ? and number = ?", session_id, number)
    task = tasks.TASKS.first(tx, "where id = ?", iteration.task_started)
    if task is None:
        finish(tx, iteration, outcome=outcome, reason=reason)
        return None
    outcome, reason = _move(tx, session_id, task, outcome, reason, proof)
    if outcome == "question":
        _ask_person(tx, iteration, task.id)
    finish(tx, iteration, outcome=outcome, reason=reason)
    task = tasks.get(tx, task.id)
    task = hand_over_after(tx, task, outcome, max_attempts)
    if task.claimed_by != session_id:
        sessions.bind(tx, session_id, None)
    return task


def hand_over_after(tx: Writer, task: Task, outcome: AttemptOutcome, max_attempts: int) -> Task:
    """Hands a task to a person if its attempts are used up by one with this outcome. Returns the task."""
    is_open = task.status in ("pending", "partial", "in_progress", "blocked")
    if outcome in COUNTED and is_open and count_used(tx, task.id) >= max_attempts:
        return _hand_over(tx, task, max_attempts)
    return task


def finish(tx: Writer, iteration: Iteration, *, outcome: AttemptOutcome, reason: str) -> None:
    """Notes what an attempt led to."""
    columns: dict[str, object] = {"outcome": outcome, "reason": reason[:MAX_REASON_CHARACTERS]}
    if iteration.ended_at is None:
        columns["ended_at"] = tx.now
    ITERATIONS.update(tx, columns, "session = ? and number = ?", iteration.session, iteration.number)
    said = {"number": iteration.number, "task": iteration.task_started, "outcome": outcome}
    tx.record("session", iteration.session, "attempt", said)


def _move(
    tx: Writer, session_id: str, task: Task, outcome: AttemptOutcome, reason: str, proof: DoneProof | None
) -> tuple[AttemptOutcome, str]:
    """Moves the task at the end of an attempt. Returns what it led to in fact."""
    if outcome == "done":
        return _close(tx, session_id, task, reason, proof)
    if outcome == "review":  # it has been put up
        return outcome, reason
    if outcome in ("conflict", "unproven"):
        done_requests.withdraw(tx, session_id, task.id, reason)
        return outcome, reason
    has_report = any(
        one.kind != "done"
        for one in REPORTS.select(
            tx, "where session = ? and task_id = ? and settled_at is null order by number desc limit 1",
            session_id, task.id,
        )
    )  # fmt: skip
    if has_report and outcome in ("partial", "blocked", "unfinished"):
        reports.settle(tx, session_id)
        return outcome, reason
    done_requests.withdraw(tx, session_id, task.id, reason)
    if task.status == "in_progress" and task.claimed_by == session_id:
        if outcome == "question":
            task_moves.set_status(tx, task.id, "needs_input", force=True)
        else:
            task_moves.release(tx, task.id, force=True)
    elif task.status == "partial":
        task_moves.reopen(tx, task.id, force=True)
    return outcome, reason


def _close(tx: Writer, session_id: str, task: Task, reason: str, proof: DoneProof | None) -> tuple[AttemptOutcome, str]:
    """Closes a task whose change the run has taken over."""
    if is_closed(task.status):
        return "done", task.closed_reason
    if task.claimed_by not in (session_id, None):
        return "stopped", f"{task.claimed_by} holds it now"
    try:
        if done_requests.is_pending(tx, session_id, task.id):
            settled = reports.settle(tx, session_id, proof=proof)
            if settled is not None and settled.outcome != "done":
                return "unfinished", settled.note
        else:
            task_moves.finish(tx, task.id, reason=reason, force=True, proof=proof, may_request=False)
    except Refused as error:
        task_moves.release(tx, task.id, force=True)
        return "unfinished", error.message
    return "done", reason


def _ask_person(tx: Writer, iteration: Iteration, task_id: str) -> None:
    """Asks what an agent wants to know that only let its task wait for an answer: nobody would be told otherwise."""
    if tasks.get(tx, task_id).status != "needs_input" or questions.list_blocking(tx, task_id):
        return
    words = _last_words(tx, iteration.session, task_id) or "The agent waits for an answer, and did not say to what."
    asked = questions.ask(tx, task_id, words[:MAX_REASON_CHARACTERS], blocking=True)
    if asked.answered_at is not None:
        again = f"(Asked again in iteration {iteration.number} of {iteration.session}.)"
        questions.ask(tx, task_id, f"{words[:MAX_REASON_CHARACTERS]}\n{again}", blocking=True)


def _hand_over(tx: Writer, task: Task, max_attempts: int) -> Task:
    """Hands a task to a person, with the history of its attempts as a question."""
    history = [one for one in list_attempts(tx, task.id) if one.outcome in COUNTED]
    lines = [f"- {_describe(one)}" for one in history[-max_attempts:]]
    words = f"{len(history)} attempts did not finish this task:\n" + "\n".join(lines)
    if task.status == "in_progress":
        task_moves.release(tx, task.id, force=True)
    questions.ask(tx, task.id, f"{words}\nWhat should the next attempt do?"[:2000], blocking=True, kind="stuck")
    return task_moves.set_status(tx, task.id, "needs_input", force=True).task


def _describe(attempt: Iteration) -> str:
    at = attempt.started_at.strftime("%Y-%m-%d %H:%M")
    return f"{at}, {attempt.agent or 'an agent'}: {attempt.outcome}; {' '.join(attempt.reason.split())[:300]}"
