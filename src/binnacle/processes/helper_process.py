"""Starts a helper process in a new session, which we speak with over a socket and which ends with the socket."""

import os
import socket
import subprocess
from collections.abc import Callable, Sequence

from binnacle.config.child_environment import for_helper


def start_helper(words: Callable[[int], Sequence[str]]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A new process and the socket to it; `words` makes its command from the descriptor of its end."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    try:
        process = subprocess.Popen(
            words(theirs.fileno()),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=for_helper(os.environ),
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours
