"""An agent in a process of its own, which does what it is told: `agent_process.py`.

Each line on standard input is the words and variables of a `bn` in its shell; a variable that is null is unset. Every
`bn` is a child of this process, as in a shell, and runs the real `main`. It is forked instead of started, so that the
product of all recipes and commands takes seconds.
"""

import contextlib
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

from fork_server import preload  # noqa: E402 - found by the line above

LONGEST_SECONDS = 60
PRELOADED_FROM = 4
"""Commands that are run before all of it is loaded once: loading it takes as long as a few of them."""


def become(words: list, env: dict, out: int, err: int) -> int:
    from binnacle.cli.main import main

    signal.alarm(LONGEST_SECONDS)
    for name, value in env.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    try:
        return main(words)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()


def run(words: list, env: dict) -> dict:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            code = 70
            try:
                code = become(words, env, out.fileno(), err.fileno())
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode(errors="replace"))
    return {"code": os.waitstatus_to_exitcode(status), "out": said[0], "err": said[1]}


for number, line in enumerate(sys.stdin):
    if number == PRELOADED_FROM:
        preload()
    asked = json.loads(line)
    sys.stdout.write(json.dumps(run(asked["words"], asked["env"])) + "\n")
    sys.stdout.flush()
