"""Runs a command as a person would: with no agent above it.

    python tests/as_person.py COMMAND ...

The tests do what only people may, and whether a person is at work shows in the processes above
(`lifecycle.agent_detection`). So where an agent runs the tests, they are run by a process that has left it, which ends
when this one does.
"""

import os
import select
import signal
import subprocess
import sys
import time

from binnacle.lifecycle.agent_detection import MARKS, find_agent_above


def main(command: list[str]) -> int:
    if find_agent_above() is None:
        os.execvp(command[0], command)
    alive, our_end = os.pipe()
    result, theirs = os.pipe()
    if os.fork() == 0:
        parent = os.getpid()
        if os.fork():
            os._exit(0)
        while os.getppid() == parent:
            time.sleep(0.01)
        os.close(our_end)
        os.close(result)
        os.write(theirs, b"%d" % _watch(command, alive))
        os._exit(0)
    os.close(theirs)
    os.wait()
    return int(os.read(result, 20) or b"1")


def _watch(command: list[str], alive: int) -> int:
    """Runs the command to its end, or until whoever asked for it is gone; its exit code."""
    env = {name: value for name, value in os.environ.items() if name not in MARKS}
    process = subprocess.Popen(command, env=env)
    watched = os.pidfd_open(process.pid)
    ready, _, _ = select.select([watched, alive], [], [])
    if watched not in ready:
        process.send_signal(signal.SIGTERM)
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
