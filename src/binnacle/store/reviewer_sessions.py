"""Sessions of agents that review: begun by a person or a run for one task, and never by an agent.

An agent can start servers and other agents, so that another name or another process alone makes no reviewer: whoever
did the work could ask for it. So a verdict counts from a session only that someone else opened.
"""

from binnacle.errors import NextStep, PersonNeeded, Refused
from binnacle.store.events import EVENTS
from binnacle.store.sessions import SESSIONS
from binnacle.store.transaction import Reader, Writer
from binnacle.work.actor import SYSTEM
from binnacle.work.review import Review
from binnacle.work.session import SessionRecord

REVIEW_RECIPE = "code_review"
"""The recipe of sessions that review one change."""


def check_is_reviewer(tx: Writer, found: Review) -> None:
    """Refuses a verdict of anyone but an agent in a session that was opened to review this task.

    Raises:
        PersonNeeded: the actor is no agent.
        Refused: its session is not one of a reviewer of this task.
    """
    if tx.by.kind != "agent":
        step = NextStep("decide as a person", f"review show {found.task_id}", for_person=True)
        raise PersonNeeded("this is the verdict of an agent", hint=step)
    session = SESSIONS.first(tx, "where id = ?", tx.session) if tx.session else None
    if session is None or session.task_id != found.task_id or not _is_given(tx, session):
        start = f"plan launch CLIENT --recipe {REVIEW_RECIPE} --task {found.task_id}"
        step = NextStep("start a reviewer", start, for_person=True)
        raise Refused(f"this session was not opened to review {found.task_id}", hint=step)


def _is_given(tx: Reader, session: SessionRecord) -> bool:
    """Whether a run or a person opened a session. An agent can start a server, whose session Binnacle opens."""
    if session.run is not None:
        return True
    began = EVENTS.first(tx, "where entity_id = ? and action = 'started' order by seq", session.id)
    return began is not None and began.actor != SYSTEM.name
