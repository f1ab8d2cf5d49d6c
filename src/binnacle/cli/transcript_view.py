"""A transcript as a conversation: what was said, and each tool call with its arguments, its change and its result.

Long parts are cut, with the command that shows all of them.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec.structs import replace

from binnacle.cli.run_footer import style_of_diff
from binnacle.cli.screen import Screen
from binnacle.cli.wrapping import wrap_words
from binnacle.runner.transcript import TranscriptEntry

MAX_LINES = {"prompt": 6, "message": 60, "thought": 4, "input": 8, "output": 10, "diff": 40}
"""Lines of each part that are shown, unless everything is."""

MAX_LINE_CHARACTERS = 500

MARKS = {"completed": ("✓", "green"), "failed": ("✗", "red")}
SPEAKERS = {"prompt": ("prompt", "cyan"), "message": ("agent", "bold"), "thought": ("thought", "dim")}


def show_entries(entries: Iterable[TranscriptEntry], screen: Screen, *, session: str, is_full: bool) -> None:
    """Shows what was said and done in a session."""
    for entry in _join_calls(entries):
        _TranscriptPart(entry, screen, session=session, is_full=is_full).show()


def _join_calls(entries: Iterable[TranscriptEntry]) -> Iterator[TranscriptEntry]:
    """The entries, with everything about a tool call where the call begins."""
    order: list[TranscriptEntry | tuple[int, str]] = []
    calls: dict[tuple[int, str], TranscriptEntry] = {}
    for entry in entries:
        key = (entry.iteration, entry.id)
        if entry.kind not in ("tool", "permission"):
            order.append(entry)
        elif key in calls:
            calls[key] = _join(calls[key], entry)
        else:
            order.append(key)
            calls[key] = entry
    for one in order:
        yield calls[one] if isinstance(one, tuple) else one


def _join(call: TranscriptEntry, later: TranscriptEntry) -> TranscriptEntry:
    names = ("title", "tool", "status", "paths", "input", "output", "diff", "is_allowed", "by")
    news = {name: value for name in names if (value := getattr(later, name)) not in ("", (), None)}
    if later.kind == "permission":
        news.pop("title", None)  # some agents give the request another title
    return replace(call, **news)


class _TranscriptPart:
    """One entry on a screen."""

    def __init__(self, entry: TranscriptEntry, screen: Screen, *, session: str, is_full: bool) -> None:
        self._entry = entry
        self._screen = screen
        self._all = f"bn session transcript {session} --iteration {entry.iteration} --full"
        self._is_full = is_full

    def show(self) -> None:
        entry = self._entry
        match entry.kind:
            case "iteration":
                what = "planning" if entry.iteration == 0 else f"iteration {entry.iteration}"
                self._screen.line()
                self._screen.heading(f"── {what}, {_local(entry.at, '%Y-%m-%d %H:%M:%S')}")
            case "prompt" | "message" | "thought":
                name, style = SPEAKERS[entry.kind]
                self._head(name, style)
                self._block(entry.text, entry.kind, wraps=True)
            case "tool" | "permission":
                self._call()
            case "plan":
                self._head("plan", "dim")
                for step, status in entry.steps:
                    self._line(f"{status}: {step}", "dim")
            case "end":
                self._head(f"end of the turn: {entry.text}", "dim")
            case "cut":
                self._head(entry.text, "yellow")

    def _call(self) -> None:
        entry = self._entry
        mark, style = MARKS.get(entry.status, ("·", ""))
        kind = f"{entry.tool}: " if entry.tool else ""
        self._head(f"{mark} {kind}{entry.title or entry.id}", style)
        if entry.is_allowed is not None:
            said = "allowed" if entry.is_allowed else "refused"
            self._line(f"{said} by {entry.by}", "" if entry.is_allowed else "yellow")
        self._block(_arguments(entry.input), "input")
        self._block(entry.diff, "diff")
        if entry.output:
            self._line("result:", "dim")
            self._block(entry.output, "output")

    def _head(self, text: str, style: str) -> None:
        self._screen.line(self._screen.styled(f"{_local(self._entry.at, '%H:%M:%S')} {text}", style))

    def _block(self, text: str, kind: str, *, wraps: bool = False) -> None:
        lines = text.strip("\n").expandtabs(4).split("\n") if text.strip() else []
        most = len(lines) if self._is_full else MAX_LINES[kind]
        is_cut = len(lines) > most
        for line in lines[:most]:
            is_cut = is_cut or (len(line) > MAX_LINE_CHARACTERS and not self._is_full)
            shown = line if self._is_full else line[:MAX_LINE_CHARACTERS]
            style = style_of_diff(line) if kind == "diff" else ""
            width = self._screen.width - 2
            for piece in wrap_words(shown, width) if wraps and self._screen.is_terminal else [shown]:
                self._line(piece, style)
        if is_cut:
            rest = len(lines) - most
            self._line(f"… {f'{rest} more lines' if rest > 0 else 'long lines are cut'}; all: {self._all}", "dim")

    def _line(self, text: str, style: str) -> None:
        self._screen.line(self._screen.styled(f"  {text}".rstrip(), style))


def _arguments(text: str) -> str:
    """The arguments of a call, one below the other if they are an object."""
    import msgspec

    from binnacle.runner.agents.call_details import describe_input

    try:
        return describe_input(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        return text


def _local(moment: str, form: str) -> str:
    try:
        return datetime.fromisoformat(moment).astimezone().strftime(form)
    except ValueError:
        return moment
