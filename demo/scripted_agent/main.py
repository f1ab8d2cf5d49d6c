"""The command `python demo/agent.py`."""

import argparse
import asyncio
import contextlib
import os
import stat
import sys

from binnacle import __version__
from scripted_agent.acp_agent import DemoAgent
from scripted_agent.saved_sessions import state_folder

HINT = "a client starts it: bn run SPEC --agent 'python demo/agent.py'"


def run() -> None:
    """Parses the command line and serves."""
    parser = new_parser()
    parser.parse_args()
    serve(DemoAgent(state_folder()), parser)


def new_parser() -> argparse.ArgumentParser:
    """The parser of the command line, which takes no arguments but these."""
    parser = argparse.ArgumentParser(
        description="A scripted coding agent that speaks ACP on standard input and output. There is no model in it.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"demo-agent {__version__}")
    return parser


def serve(agent: DemoAgent, parser: argparse.ArgumentParser) -> None:
    """Serves ACP on standard input and output until the input ends."""
    if not all(_can_be_watched(stream) for stream in (0, 1)):
        parser.exit(2, f"error: standard input and output must be pipes of a client, not files\nhint: {HINT}\n")
    if sys.stdin.isatty():
        sys.stderr.write(f"the demo agent speaks ACP with a client, not with people; {HINT}\n")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(agent.serve())


def _can_be_watched(stream: int) -> bool:
    """Whether an event loop can wait for a stream, which it cannot for a file or a device like /dev/null."""
    mode = os.fstat(stream).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(stream)
