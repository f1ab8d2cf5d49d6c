"""The process at the other end of a TCP connection of this machine.

A client of HTTP does not say which process it is, but on loopback the system knows: the other end of the connection
is a socket, and a process holds it open. Linux tells by `/proc/net/tcp`, which gives the socket's inode, and by the
descriptors of each process; elsewhere `lsof` is asked. Nothing that cannot be told is guessed.
"""

import contextlib
import os
import socket
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from binnacle.lifecycle.processes import Process, look

LOOK_TIMEOUT_SECONDS = 5.0
"""How long `lsof` may take."""

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


class Address(NamedTuple):
    """One end of a connection."""

    host: str
    port: int


def find_peer(peer: Address, own: Address, *, likely: Iterable[int] = ()) -> Process | None:
    """The process whose end of the connection is `peer`, while ours is `own`; None if that cannot be told.

    `likely` are ids of processes to look at first.
    """
    if not _is_loopback(peer.host):
        return None
    if not os.path.exists(_TABLES[0]):
        return _ask_lsof(peer, own)
    inode = _inode_of(peer, own)
    if inode is None:
        return None
    wanted = f"socket:[{inode}]"
    pid = next((pid for pid in (*likely, *_pids()) if _has_open(pid, wanted)), None)
    return look(pid) if pid is not None else None


def _is_loopback(host: str) -> bool:
    return host.startswith(("127.", "::ffff:127.")) or host == "::1"


def _inode_of(peer: Address, own: Address) -> int | None:
    """The inode of the socket that is bound to `peer` and connected to `own`."""
    ends = {f"{local} {remote}" for local, remote in zip(_forms(peer), _forms(own), strict=True)}
    for table in _TABLES:
        with contextlib.suppress(OSError), open(table, encoding="ascii") as file:
            next(file, None)
            for line in file:
                fields = line.split()
                if f"{fields[1]} {fields[2]}" in ends and fields[9] != "0":
                    return int(fields[9])
    return None


def _forms(address: Address) -> tuple[str, str]:
    """An address as the two tables write it: words of four bytes, each as this machine keeps a number."""
    host = address.host.removeprefix("::ffff:")
    if ":" in host:
        packed = socket.inet_pton(socket.AF_INET6, host)
        return "", f"{_words(packed)}:{address.port:04X}"
    packed = socket.inet_pton(socket.AF_INET, host)
    mapped = socket.inet_pton(socket.AF_INET6, f"::ffff:{host}")
    return f"{_words(packed)}:{address.port:04X}", f"{_words(mapped)}:{address.port:04X}"


def _words(packed: bytes) -> str:
    import sys

    parts = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(part, sys.byteorder):08X}" for part in parts)


def _pids() -> Iterator[int]:
    """Every process, the youngest first: a client is younger than what runs the machine."""
    with contextlib.suppress(OSError):
        yield from sorted((int(name) for name in os.listdir("/proc") if name.isdecimal()), reverse=True)


def _has_open(pid: int, wanted: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if os.readlink(entry.path) == wanted:
                        return True
    except OSError:
        pass  # it is gone, or another user's, and then it is not ours to know
    return False


def _ask_lsof(peer: Address, own: Address) -> Process | None:
    import subprocess

    where = f"-iTCP@{peer.host}:{peer.port}"
    try:
        done = subprocess.run(
            ["lsof", "-nP", "-a", where, "-sTCP:ESTABLISHED", "-Fpn"],
            capture_output=True,
            text=True,
            timeout=LOOK_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    pid = 0
    for line in done.stdout.splitlines():
        if line.startswith("p"):
            pid = int(line[1:])
        elif line.startswith("n") and line.endswith(f":{peer.port}->{own.host}:{own.port}"):
            return look(pid)
    return None
