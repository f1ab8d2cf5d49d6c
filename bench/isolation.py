"""A network with nothing in it but this machine's own address, for programs that would call home."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench.measure import Failed, run

_HOLDER = """
import fcntl, socket, struct, sys
with socket.socket() as any_socket:
    UP, SIOCGIFFLAGS, SIOCSIFFLAGS = 1, 0x8913, 0x8914
    name, flags = struct.unpack("16sh", fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sh", b"lo", 0)))
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | UP))
print("up", flush=True)
sys.stdin.read()
"""
"""Keeps the network for as long as its standard input is open."""


@contextmanager
def loopback_only() -> Iterator[tuple[str, ...]]:
    """What to start programs with that share a network without a way out; nothing where the system does not let us.

    Leaving the block ends the network; what runs in it then is the caller's to end.
    """
    unshare = ("unshare", "--map-root-user", "--net")
    try:
        run([*unshare, "true"])
    except Failed:
        yield ()
        return
    holder = subprocess.Popen(
        [*unshare, sys.executable, "-I", "-S", "-c", _HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
    )
    with holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        if holder.stdout.readline().strip() != b"up":
            raise Failed("a network of our own has no loopback address")
        yield ("nsenter", "--target", str(holder.pid), "--user", "--net", "--preserve-credentials")
        holder.stdin.close()
