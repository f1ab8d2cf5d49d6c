"""A run as lines: for logs and pipes, above the live view, and its last words for everyone."""

import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from binnacle.cli.escaping import escape_for_terminal
from binnacle.cli.screen import Screen
from binnacle.runner import run_events
from binnacle.runner.run_events import RunEnded, RunEvent

ENDINGS = {
    "complete": ("✓", "green"),
    "interrupted": ("■", "yellow"),
    "budget": ("■", "yellow"),
    "needs_input": ("?", "magenta"),
    "no_ready_task": ("■", "yellow"),
    "stagnation": ("✗", "red"),
    "agent_failing": ("✗", "red"),
    "hook_failed": ("✗", "red"),
    "aborted": ("✗", "red"),
    "error": ("✗", "red"),
}

Styled = tuple[str, str]
"""A text and its style."""


def print_json(event: RunEvent) -> None:
    """Prints an event as one line of JSON."""
    sys.stdout.buffer.write(escape_for_terminal(msgspec.json.encode(event)) + b"\n")
    sys.stdout.buffer.flush()


class RunLines:
    """Says what happens, a line for each thing that a person may want to know."""

    def __init__(self, screen: Screen, write: Callable[[str], None] | None = None) -> None:
        """Lines are printed on `screen`, unless there is another way to `write` them."""
        self._screen = screen
        self._write = write or screen.line
        self._titles: dict[tuple[int, str], str] = {}
        """Of the tool calls, by worker and id."""

        self.unfinished: dict[int, str] = {}
        """What each agent has said of its last line."""

    def tell(self, event: RunEvent) -> None:
        """Says what an event is about."""
        if isinstance(event, run_events.AgentSaid):
            self._say(event)
            return
        self._line(event.worker, f"  {self.unfinished.pop(event.worker, '')}", "dim")
        if isinstance(event, run_events.ToolCalled):
            self._line(event.worker, *self._tool(event))
        elif said := _SAID.get(type(event)):
            self._line(event.worker, *said(event))
        if isinstance(event, run_events.AgentStarted):
            self._titles.clear()

    def _say(self, event: run_events.AgentSaid) -> None:
        """What an agent says, by whole lines; its thoughts are left out."""
        if event.is_thought:
            return
        *whole, self.unfinished[event.worker] = (self.unfinished.get(event.worker, "") + event.text).split("\n")
        for line in whole:
            self._line(event.worker, f"  {line}".rstrip(), "dim")

    def _line(self, worker: int, text: str, style: str) -> None:
        if text.strip():
            at = f"[{worker}] " if worker > 1 else ""
            self._write(self._screen.styled(at + text, style))

    def _tool(self, event: run_events.ToolCalled) -> Styled:
        """A line when a tool call begins, and one if it fails."""
        key = (event.worker, event.id)
        is_new = key not in self._titles
        title = self._titles[key] = event.title or self._titles.get(key, "")
        if event.status == "failed":
            return f"✗ {title}", "yellow"
        return (f"· {title}", "") if is_new else ("", "")


def _started(event: run_events.RunStarted) -> Styled:
    how = "goes on" if event.goes_on else "begins"
    return f"run {event.name} {how}: {event.agent}, recipe {event.recipe}, session {event.session}", "bold"


def _iteration(event: run_events.IterationStarted) -> Styled:
    what = "planning" if event.number == 0 else f"iteration {event.number}"
    held = f", with {event.task}" if event.task else ""
    return f"── {what}{' goes on' if event.goes_on else ''}{held}", "bold"


def _merged(event: run_events.BranchMerged) -> Styled:
    if event.conflicts:
        return f"{event.branch} conflicts in {', '.join(event.conflicts)}; {event.task} settles it", "yellow"
    return f"{event.branch} is merged into {event.into}", ""


def _permission(event: run_events.PermissionDecided) -> Styled:
    said = "allowed" if event.is_allowed else "refused"
    return (f"{said} ({event.by}): {event.title}", "") if event.by != "own tool" else ("", "")


def _hook(event: run_events.HookRan) -> Styled:
    return (f"hook {event.hook}: {event.command}", "") if event.is_ok else (f"hook {event.said}", "yellow")


def _waiting(event: run_events.WorkerWaiting) -> Styled:
    return f"waiting{f' {event.seconds:.0f} s' if event.seconds else ''}: {event.why}", "yellow"


def _warned(event: run_events.WarningReported) -> Styled:
    return f"{event.message}{f' ({event.hint})' if event.hint else ''}", "yellow"


_SAID: dict[type[RunEvent], Callable[[Any], Styled]] = {
    run_events.RunStarted: _started,
    run_events.IterationStarted: _iteration,
    run_events.AgentStarted: lambda event: (f"{event.agent} works{', and remembers' if event.was_loaded else ''}", ""),
    run_events.PermissionDecided: _permission,
    run_events.HookRan: _hook,
    run_events.TaskMoved: lambda event: (f"{event.task} {event.status}: {event.title}", "cyan"),
    run_events.TasksProgressed: lambda event: (f"{event.closed} of {event.total} tasks closed", ""),
    run_events.ChangesCommitted: lambda event: (f"committed {event.files} file(s) as {event.commit[:10]}", ""),
    run_events.BranchMerged: _merged,
    run_events.WorkerWaiting: _waiting,
    run_events.WarningReported: _warned,
    run_events.IterationEnded: lambda event: (f"   {event.summary}", "green"),
}


def show_end(ended: RunEnded, screen: Screen) -> None:
    """The last words of a run."""
    mark, style = ENDINGS[ended.why]
    screen.line(f"{screen.styled(f'{mark} {ended.why}', style)}: {ended.said}")
    rest = f"{ended.iterations} iteration(s), {ended.closed} task(s) closed, {ended.left} left, {ended.seconds:g} s"
    rest += f", {ended.tokens} tokens" if ended.tokens else ""
    rest += f", cost {ended.cost:.2f}" if ended.cost else ""
    screen.line(rest)
    for branch in ended.kept:
        screen.line(f"{'left' if os.path.isabs(branch) else 'not merged'}: {branch}")
    if ended.behind:
        screen.line(ended.behind)
    if ended.hint:
        screen.line(f"{screen.styled('hint:', 'cyan')} {ended.hint}")
