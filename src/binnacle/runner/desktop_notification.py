"""Notifications on the desktop of the person who runs us, where there is one.

Texts come from agents and tasks, so they are arguments of a program and never part of a command or a script.
"""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence

from binnacle.config.child_environment import for_development
from binnacle.processes.keeper import CannotStart, Keeper

NOTIFY_SECONDS = 5.0
"""How long the program that notifies may take."""

MAX_CHARACTERS = 200

_APPLESCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)


def find_notifier(environ: Mapping[str, str], title: str, body: str, *, platform: str = sys.platform) -> list[str]:
    """The command that shows a notification; empty if there is no desktop or no such program."""
    path = environ.get("PATH")
    title, body = _plain(title), _plain(body)
    if platform == "darwin":
        if program := shutil.which("terminal-notifier", path=path):
            return [program, "-title", title, "-message", body]
        if program := shutil.which("osascript", path=path):
            script = [word for line in _APPLESCRIPT for word in ("-e", line)]
            return [program, *script, title, body]
        return []
    has_desktop = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    if has_desktop and (program := shutil.which("notify-send", path=path)):
        # Servers may read the body as markup.
        safe = body.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return [program, "--app-name=Binnacle", "--", title, safe]
    return []


def _plain(text: str) -> str:
    """A text that no program takes for an option or a control sequence."""
    shown = "".join(one if one.isprintable() else " " for one in text)
    flat = " ".join(shown.split())[:MAX_CHARACTERS]
    return f"\u2009{flat}" if flat.startswith(("-", "[", "(", "{", "<", "\\")) else flat


async def notify_desktop(keeper: Keeper, title: str, body: str, *, cwd: str) -> None:
    """Shows a notification if that is possible. It never fails: a run does not depend on it."""
    command = find_notifier(os.environ, title, body)
    if command:
        with contextlib.suppress(CannotStart, TimeoutError, OSError):
            await _run(keeper, command, cwd)


async def _run(keeper: Keeper, command: Sequence[str], cwd: str) -> None:
    with open(os.devnull, "r+b") as nowhere:
        silent = nowhere.fileno()
        async with asyncio.timeout(NOTIFY_SECONDS):
            process = await keeper.start(
                command, env=for_development(os.environ), cwd=cwd, stdin=silent, stdout=silent, stderr=silent
            )
            try:
                await process.wait()
            finally:
                await process.end(grace=0)
