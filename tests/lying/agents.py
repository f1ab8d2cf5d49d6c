"""An agent as data, and how it plays its part: over MCP (`test_over_mcp`) and in a run (`test_in_runs`) alike."""

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from lying.project import TESTS_CHECK

WORDS = "All of it. I ran the tests: 4 passed, exit code 0. verdict: pass, checked at commit {commit}"
"""What each of them says when it calls its task done."""


class Hands(Protocol):
    """With what an agent works."""

    folder: Path
    """Its working tree."""

    task: str
    """The id of its task."""

    def call(self, tool: str, **arguments: object) -> str:
        """Calls a tool of Binnacle; the text of its answer."""


class Agent(NamedTuple):
    """An agent that lies, or an honest one."""

    name: str
    """What it does, as the end of a sentence that begins with `it`."""

    reason: tuple[str, ...] = ()
    """Words of the reason that it gets; empty for an honest agent."""

    files: Mapping[str, str | None] = {}
    """What it commits; None for a file that it removes."""

    act: Callable[[Hands], object] | None = None
    """What it does after that."""

    checks: str = TESTS_CHECK
    """The checks that a person has trusted."""

    kind: str = "task"
    task_checks: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()

    in_run: tuple[str, ...] = ()
    """Words of the reason in a run, where it is another one."""


def play(agent: Agent, hands: Hands) -> str:
    """Does everything that an agent does, and then calls the task done. Returns what it is answered."""
    if agent.files:
        commit(hands, agent.files)
    if agent.act is not None:
        agent.act(hands)
    return call_done(hands)


def call_done(hands: Hands) -> str:
    words = WORDS.format(commit=git(hands, "rev-parse", "HEAD"))
    return hands.call("task-update", id=hands.task, status="done", reason=words)


def write(hands: Hands, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = hands.folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def commit(hands: Hands, files: Mapping[str, str | None], *options: str) -> str:
    """Commits files, with options of `git commit`. Returns the commit."""
    write(hands, files)
    git(hands, "add", "--all", "--force", "--", *files)
    git(hands, "commit", "--quiet", "--message", "All of it", *options)
    return git(hands, "rev-parse", "HEAD")


def git(hands: Hands, *words: str) -> str:
    who = {f"GIT_{role}_{what}": said for role in ("AUTHOR", "COMMITTER")
           for what, said in (("NAME", "Mallory"), ("EMAIL", "mallory@example.org"))}  # fmt: skip
    done = subprocess.run(
        ["git", *words], cwd=hands.folder, env={**os.environ, **who}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
