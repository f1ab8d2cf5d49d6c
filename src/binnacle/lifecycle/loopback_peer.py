"""Finds the process at the other end of a TCP connection on this machine.

An HTTP client does not say which process it is, but on loopback the system knows which process has the other end of
the connection open. If that is unclear, nothing is guessed.
"""

from collections.abc import Iterable
from typing import NamedTuple

from binnacle.lifecycle.process import Process, find_process
from binnacle.processes.tcp_owner import find_connection_owner, find_connection_user


class PeerAddress(NamedTuple):
    """One end of a connection."""

    host: str
    port: int


def find_peer(peer: PeerAddress, own: PeerAddress, *, likely: Iterable[int] = ()) -> Process | None:
    """The process whose end of the connection is `peer`, while ours is `own`; None if unknown.

    `likely` are ids of processes to check first.
    """
    if not _is_loopback(peer.host):
        return None
    pid = find_connection_owner(peer, own, likely=likely)
    return find_process(pid) if pid is not None else None


def find_user(peer: PeerAddress, own: PeerAddress) -> int | None:
    """The user of the process whose end of the connection is `peer`, while ours is `own`; None if unknown."""
    return find_connection_user(peer, own) if _is_loopback(peer.host) else None


def _is_loopback(host: str) -> bool:
    return host.startswith(("127.", "::ffff:127.")) or host == "::1"
