"""The command `bn-demo-agent`."""

import argparse
import asyncio
import contextlib
import os
import stat
import sys

from binnacle import __version__
from binnacle.demo_agent.face import DemoAgent
from binnacle.demo_agent.memory import state_folder
from binnacle.demo_agent.misbehaviour import WORDS, Misbehaviour, parse
from binnacle.errors import UsageError

HINT = "have it run with: bn run SPEC --agent demo"


def run() -> None:
    """Serves ACP on standard input and output until the input ends."""
    words = "\n".join(f"  {word:16} {about}" for word, about in WORDS.items())
    parser = argparse.ArgumentParser(
        "bn-demo-agent",
        description="A scripted coding agent that speaks ACP on standard input and output. There is no model in it.",
        epilog=f"misbehaviour, as WORD[=ARGUMENT][@TURN][:once]:\n{words}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--misbehave", metavar="WORD", action="append", default=[], help="for tests; see below")
    parser.add_argument("--version", action="version", version=f"bn-demo-agent {__version__}")
    given = parser.parse_args()
    try:
        misdeeds = parse(",".join([*given.misbehave, os.environ.get("BN_DEMO_MISBEHAVE", "")]))
    except UsageError as error:
        parser.exit(2, f"error: {error.message}\nhint: {error.hint}\n")
    misbehaviour = Misbehaviour(misdeeds, state_folder())
    misbehaviour.at_start()
    if not all(_can_be_watched(stream) for stream in (0, 1)):
        parser.exit(2, f"error: standard input and output are pipes of a client, not files\nhint: {HINT}\n")
    if sys.stdin.isatty():
        sys.stderr.write(f"bn-demo-agent speaks ACP, not with people; {HINT}\n")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(DemoAgent(misbehaviour, state_folder()).serve())


def _can_be_watched(stream: int) -> bool:
    """Whether an event loop can wait for a stream, as it can for none of a file or a device like /dev/null."""
    mode = os.fstat(stream).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(stream)
