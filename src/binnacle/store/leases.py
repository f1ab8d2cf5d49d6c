"""Leases: what only one process may do at a time, on whatever machine, until a moment."""

from datetime import timedelta

from binnacle.store.transaction import Reader, Writer, stamp


def take(tx: Writer, name: str, holder: str, seconds: float) -> bool:
    """Takes a lease, or renews it. Returns whether the holder has it."""
    until, now = stamp(tx.now + timedelta(seconds=seconds)), stamp(tx.now)
    tx.run(
        "insert into lease (name, holder, fence, expires_at) values (?, ?, 1, ?) on conflict (name) do update "
        "set holder = excluded.holder, fence = lease.fence + 1, expires_at = excluded.expires_at "
        "where lease.holder = excluded.holder or lease.expires_at < ?",
        name,
        holder,
        until,
        now,
    )
    row = tx.row("select holder from lease where name = ?", name)
    return row is not None and row[0] == holder


def release(tx: Writer, name: str, holder: str) -> None:
    """Gives a lease back, if it is still the holder's."""
    tx.run("delete from lease where name = ? and holder = ?", name, holder)


def is_held(tx: Reader, name: str) -> bool:
    """Whether somebody has a lease now."""
    return tx.row("select 1 from lease where name = ? and expires_at > ?", name, stamp(tx.now)) is not None
