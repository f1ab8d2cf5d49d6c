"""Work that nobody does any more: claims that ran out, and tasks and sessions of agents that are gone.

It is given back when somebody looks: there is no process whose only task is to watch the clock.
"""

from collections.abc import Generator
from contextlib import contextmanager, suppress

from binnacle.errors import StoreBusy, StoreReadOnly
from binnacle.store import claim_holders, lapsed_claims
from binnacle.store.store import Store
from binnacle.store.transaction import Reader, Writer
from binnacle.work.actor import SYSTEM


@contextmanager
def read_current(store: Store) -> Generator[Reader]:
    """A consistent view of the store, in which no lapsed claim is left standing if the store can be written."""
    with store.read() as tx:
        has_lapsed = lapsed_claims.has_lapsed(tx)
        if not has_lapsed:
            yield tx
    if has_lapsed:
        # Where nobody can write now, the lapsed claim stands a while longer; reading goes on.
        with suppress(StoreBusy, StoreReadOnly), store.write(by=SYSTEM) as writer:
            give_back(writer)
        with store.read() as tx:
            yield tx


def give_back(tx: Writer) -> None:
    """Settles planned sessions whose server was killed, then gives back every claim that has lapsed."""
    from binnacle.store import reports, sessions  # seldom needed, and every command comes by here

    for agent in claim_holders.list_gone(tx):
        session = sessions.SESSIONS.first(tx, "where id = ?", agent.id)
        if session is not None and session.task_id and session.status == "active":
            # What it reported before it was killed counts; without a report it was stuck.
            reports.settle(tx, session.id)
            sessions.abort(tx, session.id, reason="its server was killed")
    lapsed_claims.release_lapsed(tx)
