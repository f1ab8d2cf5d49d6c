"""Reviewers that a run starts: for each a session of its own, with one iteration, and what it led to.

The session is bound to the task and has the id of the review in its name. Its iteration is no attempt at the task: who
reviews is not among those who worked on it. The verdict is in `reviews`; here is what a run needs to know to start no
reviewer twice, and to stop when reviewers only fail.
"""

from typing import NamedTuple

from binnacle.store import attempts, reviewed_attempts, reviews, sessions
from binnacle.store.sessions import ITERATIONS, SESSIONS
from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader, Writer
from binnacle.work.review import Review, ReviewVerdict
from binnacle.work.run import AttemptOutcome
from binnacle.work.session import Iteration, SessionRecord, SessionTerms

MAX_FAILED_REVIEWERS = 3
"""Reviewers of one change that may end without a verdict. Then a person is asked."""

FAILED: tuple[AttemptOutcome, ...] = ("unfinished", "failed", "repeating", "limit")
"""What a reviewer led to who gave no verdict."""

NO_VERDICT = "the reviewer ended without a verdict"

MAX_WHY_CHARACTERS = 300
"""Characters of why one reviewer failed, in what a person reads."""


class BegunReviewer(NamedTuple):
    """A reviewer that can be started."""

    session: str
    number: int
    """Which reviewer of the change it is."""

    goes_on: bool
    """Whether it was interrupted before."""


def session_name(found: Review) -> str:
    """The name of the sessions in which a change is reviewed."""
    return f"review {found.id}"


def begin(tx: Writer, found: Review, terms: SessionTerms, *, place: str) -> BegunReviewer | None:
    """Begins the next reviewer of a change, or resumes the interrupted one; None if too many have failed.

    What an interrupted one had finished is settled. One that was begun at another place cannot be resumed here.
    """
    known = _list_sessions(tx, found)
    for session in known:
        if session.status != "active":
            continue
        iteration = sessions.list_iterations(tx, session.id)[-1]
        is_over = iteration.ended_at is not None or find_verdict(tx, found, session.id) is not None
        if not is_over and session.place == place:
            return BegunReviewer(session.id, 1 + known.index(session), goes_on=True)
        if is_over:
            settle(tx, found, session.id, "unfinished", NO_VERDICT)
        else:
            settle(tx, found, session.id, "stopped", "another machine goes on with the review")
    if len(list_failures(tx, found)) >= MAX_FAILED_REVIEWERS:
        return None
    session = sessions.start(
        tx,
        name=session_name(found),
        recipe=terms.recipe,
        discipline=terms.discipline,
        feature=terms.feature,
        task_id=found.task_id,
    )
    assert found.run is not None, "it was put up by a run"
    sessions.join_run(tx, session.id, found.run, place)
    sessions.begin_iteration(tx, session.id, first=1)
    return BegunReviewer(session.id, 1 + len(known), goes_on=False)


def settle(
    tx: Writer, found: Review, session_id: str, outcome: AttemptOutcome, reason: str
) -> tuple[AttemptOutcome, ReviewVerdict | None]:
    """Ends the session of a reviewer, and notes what it led to: its verdict, or else `outcome`."""
    verdict = find_verdict(tx, found, session_id)
    outcome, reason = ("done", verdict.decision) if verdict is not None else (outcome, reason)
    if sessions.get(tx, session_id).status == "active":
        attempts.finish(tx, sessions.list_iterations(tx, session_id)[-1], outcome=outcome, reason=reason)
        (sessions.conclude if verdict is not None else sessions.abort)(tx, session_id, reason=reason)
    return outcome, verdict


def end_others(tx: Writer, run: str, *, place: str) -> None:
    """Ends the sessions of reviewers at this place whose reviews are over: they were interrupted, and decided since."""
    where = "where run = ? and place = ? and status = 'active' and name like 'review bnv-%'"
    for session in SESSIONS.select(tx, where, run, place):
        found = reviews.get(tx, session.name.partition(" ")[2])
        if found.status != "open":
            settle(tx, found, session.id, "stopped", f"the review is over: {found.status}")


def find_verdict(tx: Reader, found: Review, session_id: str) -> ReviewVerdict | None:
    """What a reviewer has said in a review."""
    said = reviews.list_of_reviews(tx, [found.id])[found.id]
    return next((one for one in said if one.session == session_id), None)


def list_failures(tx: Reader, found: Review) -> list[Iteration]:
    """The reviewers of a change who ended without a verdict, oldest first."""
    ids = [one.id for one in _list_sessions(tx, found)]
    if not ids:
        return []
    where = f"where session in {placeholders(ids)} and outcome in {placeholders(FAILED)} order by started_at"
    return ITERATIONS.select(tx, where, *ids, *FAILED)


def hand_over(tx: Writer, found: Review) -> Review:
    """Asks a person to decide in place of the agents, and says what happened. Agents are not started for it again."""
    current = reviews.get(tx, found.id)
    if current.status != "open" or current.handed_over:
        return current
    failures = list_failures(tx, found)
    said = "; ".join(f"{one.agent or 'an agent'}: {one.outcome}, {_shorten(one.reason)}" for one in failures)
    why = f"{len(failures)} reviewers gave no verdict ({said}), so a person decides in their place"
    handed = reviews.hand_over(tx, current, why)
    reviewed_attempts.ask_person(tx, handed, why=why)
    return handed


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_WHY_CHARACTERS else f"{words[: MAX_WHY_CHARACTERS - 1]}…"


def _list_sessions(tx: Reader, found: Review) -> list[SessionRecord]:
    return SESSIONS.select(tx, "where run = ? and name = ? order by number", found.run, session_name(found))
