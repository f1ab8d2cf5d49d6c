"""Abandoned work: lapsed claims, and tasks, sessions and requests of agents that are gone.

It is given back when the store is read next: no process exists only to watch the clock.
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
    """A read transaction. Lapsed claims are given back before it, if the store can be written."""
    with store.read() as tx:
        has_lapsed = lapsed_claims.has_lapsed(tx) or bool(_list_abandoned_askers(tx))
        if not has_lapsed:
            yield tx
    if has_lapsed:
        # If the store cannot be written now, the lapsed claim stays until later, and the read continues.
        with suppress(StoreBusy, StoreReadOnly), store.write(by=SYSTEM) as writer:
            give_back(writer)
        with store.read() as tx:
            yield tx


def give_back(tx: Writer) -> None:
    """Settles planned sessions whose server was killed, then gives back every claim that has lapsed.

    The sessions of a run stay: the run resumes them, and only it decides what their reports lead to.
    """
    from binnacle.store import reports, sessions  # rarely needed, and every command loads this module

    for agent in claim_holders.list_gone(tx):
        session = sessions.SESSIONS.first(tx, "where id = ?", agent.id)
        if session is not None and session.run is None and session.task_id and session.status == "active":
            # Its reports before it was killed count; without a closing report it was stuck.
            reports.settle(tx, session.id)
            sessions.abort(tx, session.id, reason="its server was killed")
    if askers := _list_abandoned_askers(tx):
        from binnacle.store import attention

        attention.close_permissions(tx, askers)
    lapsed_claims.release_lapsed(tx)


def _list_abandoned_askers(tx: Reader) -> list[str]:
    """The sessions in which a permission is waited for, although no process drives them any more."""
    rows = tx.rows("select distinct session from attention where answered_at is null and kind = 'permission'")
    if not rows:
        return []
    from binnacle.store import run_messages

    return [row[0] for row in rows if not run_messages.is_driven(tx, row[0])]
