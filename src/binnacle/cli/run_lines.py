"""A run as lines: for logs and pipes, and its last words for everyone."""

import sys

import msgspec

from binnacle.cli.screen import Screen, printable
from binnacle.runner import events
from binnacle.runner.events import Event, RunEnded

ENDINGS = {
    "complete": ("✓", "green"),
    "interrupted": ("■", "yellow"),
    "budget": ("■", "yellow"),
    "needs_input": ("?", "magenta"),
    "no_ready_task": ("■", "yellow"),
    "stagnation": ("✗", "red"),
    "agent_failing": ("✗", "red"),
    "hook_failed": ("✗", "red"),
}


def print_json(event: Event) -> None:
    """Prints an event as one line of JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(event) + b"\n")
    sys.stdout.buffer.flush()


class Lines:
    """Prints what happens, a line for each thing, to standard error."""

    def __init__(self) -> None:
        self._screen = Screen(sys.stderr)
        self._titles: dict[str, str] = {}
        self._said = ""

    def tell(self, event: Event) -> None:
        """Prints an event."""
        if isinstance(event, events.Said):
            self._say(event)
            return
        self._flush()
        text, style = self._text(event)
        if text:
            self._line(event.worker, text, style)

    def _say(self, event: events.Said) -> None:
        """What an agent says, by whole lines; its thoughts are left out."""
        if event.is_thought:
            return
        *whole, self._said = (self._said + event.text).split("\n")
        for line in whole:
            self._line(event.worker, f"  {line}".rstrip(), "dim")

    def _flush(self) -> None:
        if self._said.strip():
            self._line(1, f"  {self._said}", "dim")
        self._said = ""

    def _line(self, worker: int, text: str, style: str) -> None:
        if text.strip():
            at = f"[{worker}] " if worker > 1 else ""
            self._screen.line(self._screen.styled(at + printable(text), style))

    def _text(self, event: Event) -> tuple[str, str]:  # noqa: C901, PLR0911, PLR0912 - one case for each event
        match event:
            case events.RunStarted():
                how = "goes on" if event.goes_on else "begins"
                return f"run {event.name} {how}: {event.agent}, recipe {event.recipe}, session {event.session}", "bold"
            case events.IterationStarted():
                how = " goes on" if event.goes_on else ""
                what = "planning" if event.number == 0 else f"iteration {event.number}"
                return f"── {what}{how}{f', with {event.task}' if event.task else ''}", "bold"
            case events.AgentStarted():
                self._titles.clear()
                return f"{event.agent} works{', and remembers' if event.was_loaded else ''}", ""
            case events.ToolCalled():
                return self._tool(event)
            case events.PermissionDecided():
                said = "allowed" if event.is_allowed else "refused"
                return f"{said} ({event.by}): {event.title}", "" if event.is_allowed else "yellow"
            case events.HookRan():
                said = "ok" if event.is_ok else f"failed: {event.said}"
                return f"hook {event.hook}: {event.command}: {said}", "" if event.is_ok else "yellow"
            case events.TaskMoved():
                return f"{event.task} {event.status}: {event.title}", "cyan"
            case events.Progressed():
                return f"{event.closed} of {event.total} tasks closed", ""
            case events.Committed():
                return f"committed {event.files} file(s) as {event.commit[:10]}", ""
            case events.Merged() if event.conflicts:
                return f"{event.branch} conflicts in {', '.join(event.conflicts)}; {event.task} settles it", "yellow"
            case events.Merged():
                return f"{event.branch} is merged into {event.into}", ""
            case events.Waiting():
                return f"waiting{f' {event.seconds:.0f} s' if event.seconds else ''}: {event.why}", "yellow"
            case events.Warned():
                return f"{event.message}{f' ({event.hint})' if event.hint else ''}", "yellow"
            case events.IterationEnded():
                return f"   {event.summary}", "green"
        return "", ""

    def _tool(self, event: events.ToolCalled) -> tuple[str, str]:
        """A line when a tool call begins, and one if it fails."""
        is_new = event.id not in self._titles
        title = self._titles[event.id] = event.title or self._titles.get(event.id, "")
        if event.status == "failed":
            return f"✗ {title}", "yellow"
        return (f"· {title}", "") if is_new else ("", "")


def show_end(ended: RunEnded, screen: Screen) -> None:
    """The last words of a run."""
    mark, style = ENDINGS[ended.why]
    screen.line(f"{screen.styled(f'{mark} {ended.why}', style)}: {printable(ended.said)}")
    rest = f"{ended.iterations} iteration(s), {ended.closed} task(s) closed, {ended.left} left, {ended.seconds:g} s"
    rest += f", {ended.tokens} tokens" if ended.tokens else ""
    rest += f", cost {ended.cost:.2f}" if ended.cost else ""
    screen.line(rest)
    for branch in ended.kept:
        screen.line(f"not merged: {branch}")
    if ended.hint:
        screen.line(f"{screen.styled('hint:', 'cyan')} {printable(ended.hint)}")
