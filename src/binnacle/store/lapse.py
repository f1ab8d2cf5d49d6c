"""Gives back what is held by nobody any more: claims that ran out, and claims of agents that are gone."""

from binnacle.store import flow, holders, reports, sessions
from binnacle.store.store import Writer


def lapse(tx: Writer) -> None:
    """Settles planned sessions whose server was killed, then gives back every claim that has lapsed."""
    for agent in holders.gone(tx):
        session = sessions.SESSIONS.first(tx, "where id = ?", agent.id)
        if session is not None and session.task_id and session.status == "active":
            # What it reported before it was killed counts; without a report it was stuck.
            reports.settle(tx, session.id)
            sessions.abort(tx, session.id, reason="its server was killed")
    flow.expire(tx)
