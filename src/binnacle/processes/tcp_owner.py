"""Which process holds one end of a TCP connection of this machine.

On Linux, `/proc/net/tcp` has the inode of a socket, and each process its descriptors. Elsewhere we ask psutil, process
by process. A process of another user is not found.
"""

import contextlib
import os
import socket
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from binnacle.processes.linux import HAS_PROC

Address = tuple[str, int]
"""Host and port."""

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def find_connection_owner(local: Address, remote: Address, *, likely: Iterable[int] = ()) -> int | None:
    """The process with the end at `local` of the connection to `remote`; those in `likely` are checked first."""
    if not HAS_PROC:
        return _find_by_psutil(local, remote, likely)
    entry = _find_entry(local, remote)
    if entry is None:
        return None
    wanted = f"socket:[{entry.inode}]"
    return next((pid for pid in (*likely, *_pids()) if _has_open(pid, wanted)), None)


def find_connection_user(local: Address, remote: Address) -> int | None:
    """The user whose process has the end at `local` of the connection to `remote`; None where the system hides it."""
    entry = _find_entry(local, remote) if HAS_PROC else None
    return entry.user if entry else None


class _SocketEntry(NamedTuple):
    """What the tables say of a socket."""

    inode: int
    user: int


def _find_entry(local: Address, remote: Address) -> _SocketEntry | None:
    """The socket that is bound to `local` and connected to `remote`."""
    ends = {f"{mine} {other}" for mine, other in zip(_forms(local), _forms(remote), strict=True)}
    for table in _TABLES:
        with contextlib.suppress(OSError), open(table, encoding="ascii") as file:
            next(file, None)
            for line in file:
                fields = line.split()
                if f"{fields[1]} {fields[2]}" in ends and fields[9] != "0":
                    return _SocketEntry(int(fields[9]), int(fields[7]))
    return None


def _forms(address: Address) -> tuple[str, str]:
    """An address as the two tables write it: words of four bytes, each in the machine's byte order."""
    host, port = _without_prefix(address)
    if ":" in host:
        return "", f"{_words(socket.inet_pton(socket.AF_INET6, host))}:{port:04X}"
    packed = socket.inet_pton(socket.AF_INET, host)
    mapped = socket.inet_pton(socket.AF_INET6, f"::ffff:{host}")
    return f"{_words(packed)}:{port:04X}", f"{_words(mapped)}:{port:04X}"


def _words(packed: bytes) -> str:
    parts = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(part, sys.byteorder):08X}" for part in parts)


def _without_prefix(address: Address) -> Address:
    """An IPv4-mapped IPv6 address as IPv4; any other unchanged."""
    return address[0].removeprefix("::ffff:"), address[1]


def _pids() -> Iterator[int]:
    """Every process, the youngest first: a client is younger than system services."""
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
        pass  # it is gone, or another user's
    return False


def _find_by_psutil(local: Address, remote: Address, likely: Iterable[int]) -> int | None:
    import psutil

    ends = _without_prefix(local), _without_prefix(remote)
    wanted = (ends, tuple((f"::ffff:{host}", port) for host, port in ends))
    for pid in (*likely, *sorted(psutil.pids(), reverse=True)):
        with contextlib.suppress(psutil.Error, OSError):
            connections = psutil.Process(pid).net_connections("tcp")
            if any((tuple(one.laddr), tuple(one.raddr)) in wanted for one in connections):
                return pid
    return None
