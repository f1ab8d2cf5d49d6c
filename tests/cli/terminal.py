"""`bn` in front of a person: some of its streams are a real terminal."""

import os
import pty
import select
import subprocess
import time
from typing import NamedTuple

from cli.conftest import BN, Bn


class Shown(NamedTuple):
    """How a run ended, what the terminal showed, and what went into the pipes."""

    code: int
    screen: str
    out: str
    err: str


def run_on_terminal(
    bn: Bn, *words: str, columns: int = 80, env: dict[str, str] | None = None, piped: tuple[str, ...] = ()
) -> Shown:
    """Runs `bn` on a terminal of so many columns; `piped` are the streams that lead elsewhere."""
    leader, follower = pty.openpty()
    subprocess.run(["stty", "cols", str(columns), "rows", "24"], stdin=follower, check=True, timeout=60)
    environment = {name: value for name, value in bn.env.items() if name != "NO_COLOR"}
    streams = {name: subprocess.PIPE if name in piped else follower for name in ("stdout", "stderr")}
    child = subprocess.Popen(
        [BN, *words], cwd=bn.repo, env=environment | {"TERM": "xterm-256color"} | (env or {}), stdin=follower, **streams
    )
    os.close(follower)
    screen = _read_all(leader)
    out, err = child.communicate(timeout=60)
    os.close(leader)
    return Shown(child.returncode, screen.replace("\r\n", "\n"), (out or b"").decode(), (err or b"").decode())


def _read_all(leader: int) -> str:
    """What a terminal shows until nobody has it open any more."""
    output = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([leader], [], [], 1)[0]:
            try:
                output += os.read(leader, 65536)
            except OSError:  # how Linux says that the other side is closed
                break
    return output.decode()
