"""Runs `bn` and writes down which files of a repository it opens: `python watched.py LOG COMMAND ...`."""

import os
import sys

from binnacle.cli.main import main as run_bn

OPENING = ("open", "os.listdir", "os.scandir")
OURS = "binnacle.inside"


def watch(log: int, repo: str) -> None:
    def note(event: str, args: tuple) -> None:
        if event == OURS:
            path = os.path.join(args[0], args[1])
        elif event in OPENING and isinstance(args[0], str | bytes):
            path = os.fsdecode(args[0])  # one that is not absolute is a part of a walk that we were told of
        else:
            return
        if path.startswith(repo + os.sep):
            os.write(log, os.fsencode(path.removeprefix(repo + os.sep)) + b"\n")

    sys.addaudithook(note)


def main() -> None:
    watch(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), os.getcwd())
    sys.exit(run_bn(sys.argv[2:]))


if __name__ == "__main__":
    main()
