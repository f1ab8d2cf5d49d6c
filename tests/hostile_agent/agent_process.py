"""An agent in a process of its own, which does what it is told: `agent_process.py`.

Each line on standard input is the words and variables of a `bn` in its shell; a variable that is null is unset. Every
`bn` is a child of this process, as in a shell. It is forked instead of started, so that the product of all recipes and
commands takes seconds.
"""

import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import forked_bn

TIMEOUT_SECONDS = 60


def run(words: list, env: dict) -> dict:
    wanted = {name: value for name, value in (os.environ | env).items() if value is not None}
    done = forked_bn.run([forked_bn.BN, *words], env=wanted, timeout=TIMEOUT_SECONDS)
    return {
        "code": done.returncode,
        "out": done.stdout.decode(errors="replace"),
        "err": done.stderr.decode(errors="replace"),
    }


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps(run(asked["words"], asked["env"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
