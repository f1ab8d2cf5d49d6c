"""The lines that stand below a run while it goes on: pure, from what is known to what is shown.

They fit the terminal: a line that is cut says so with `…`, and what a person has to read or press is wrapped. The
keys are the last lines, so that they are never cut off.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from binnacle.cli.screen import pad, printable
from binnacle.cli.wrapping import wrap_units, wrap_words

BAR_COLUMNS = 24
MAX_QUESTION_LINES = 4
KEYS = ("p pause", "m message", "t task", "n note", "s stop")
PAUSED_KEYS = ("PAUSED after this iteration", "p resume")
STOPPING_KEYS = ("stopping …", "s again ends it at once")
SHOW_ALL = "v shows all"


class FooterLine(NamedTuple):
    """A line of the footer."""

    text: str
    style: str = ""


class FooterQuestion(NamedTuple):
    """What a person is asked."""

    text: str
    detail: str = ""
    """What it is about, in several lines."""

    is_diff: bool = False
    """Whether the detail is a diff."""

    keys: tuple[str, ...] = ()
    """The keys that answer it, each with a word; none if the person types a line."""


class FooterState(Struct, kw_only=True):
    """What the footer shows."""

    name: str = ""
    agent: str = ""
    iterations: dict[int, int] = {}
    """The number that each worker is at."""

    tasks: dict[str, str] = {}
    """Those in progress, with their titles."""

    tools: dict[int, str] = {}
    """The last tool call of each worker."""

    closed: int = 0
    total: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    is_paused: bool = False
    is_stopping: bool = False
    question: FooterQuestion | None = None
    """What a person is asked now."""

    entry: str = ""
    """What they have typed."""


def footer(known: FooterState, *, width: int, height: int = 24) -> list[FooterLine]:
    """The lines of the footer: none wider than the terminal, and fewer than its rows."""
    head = [FooterLine("─" * width), FooterLine(_head(known))]
    if known.question is None:
        keys = STOPPING_KEYS if known.is_stopping else PAUSED_KEYS if known.is_paused else KEYS
        below = [FooterLine(line) for line in _indented(wrap_units(keys, width - 1))]
        lines = [*head, *_work(known), FooterLine(_bar(known, width)), *below]
    else:
        below = _ask(known.question, known.entry, width=width, rows=max(2, height - 1 - len(head)))
        lines = [*head, *below]
    return [FooterLine(pad(line.text, width).rstrip(), line.style) for line in lines[-max(1, height - 1) :]]


def style_of_diff(line: str) -> str:
    """The style of a line of a diff."""
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def lines_of_detail(question: FooterQuestion, width: int) -> Iterator[FooterLine]:
    """What a question is about, wrapped."""
    for line in question.detail.split("\n"):
        style = style_of_diff(line) if question.is_diff else ""
        for piece in wrap_words(line.expandtabs(4), width - 3, indent=2):
            yield FooterLine(f" │ {piece}", style)


def _ask(question: FooterQuestion, entry: str, *, width: int, rows: int) -> list[FooterLine]:
    asked = wrap_words(question.text, width - 1, indent=2)
    if not question.keys:
        typed = wrap_words(f"{question.text} {printable(entry)}▏", width - 1, indent=2)
        return [FooterLine(line) for line in _indented(typed[-rows:])]
    keys = wrap_units(question.keys, width - 1)
    more = wrap_units((*question.keys, SHOW_ALL), width - 1)
    asked = _cut(asked, max(1, min(MAX_QUESTION_LINES, rows - len(keys))))
    room = rows - len(asked) - len(keys)
    shown = list(islice(lines_of_detail(question, width), max(0, room) + 1)) if question.detail else []
    if len(shown) > room:
        room = max(0, rows - len(asked) - len(more) - 1)
        keys, shown = more, [*shown[:room], FooterLine(f" … {_count_lines(question.detail)} lines in all")]
    return [*_lines(asked, "bold"), *shown, *_lines(keys, "cyan")]


def _count_lines(text: str) -> int:
    return text.count("\n") + 1


def _cut(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1][:-1]}…"]


def _lines(texts: Iterable[str], style: str) -> list[FooterLine]:
    return [FooterLine(line, style) for line in _indented(texts)]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f" {line}" for line in lines]


def _head(known: FooterState) -> str:
    numbers = sorted(known.iterations.items())
    at = ", ".join(_iteration(number) for _, number in numbers) if len(numbers) < 2 else _several(numbers)
    facts = [known.name, at, elapsed(known.seconds), known.agent]
    facts += [f"{thousands(known.tokens)} tokens"] if known.tokens else []
    facts += [f"cost {known.cost:.2f}"] if known.cost else []
    return f" {' · '.join(printable(fact) for fact in facts if fact)}"


def _iteration(number: int) -> str:
    return "planning" if number == 0 else f"iteration {number}"


def _several(numbers: list[tuple[int, int]]) -> str:
    return "iterations " + " ".join(f"[{worker}] {number}" for worker, number in numbers)


def _work(known: FooterState) -> list[FooterLine]:
    doing = [f" ◐ {task} {printable(title)}" for task, title in known.tasks.items()] or [" ○ no task in progress"]
    tools = [f" · {printable(title)}" for _, title in sorted(known.tools.items()) if title]
    return [FooterLine(line) for line in (*doing[:4], *tools[:4])]


def _bar(known: FooterState, width: int) -> str:
    count = f"{known.closed}/{known.total} tasks"
    columns = max(4, min(BAR_COLUMNS, width - 2 - len(count)))
    filled = round(columns * known.closed / known.total) if known.total else 0
    return f" {'█' * filled}{'░' * (columns - filled)} {count}"


def elapsed(seconds: float) -> str:
    """A duration as people say it: `4:07`, `1:02:09`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def thousands(number: int) -> str:
    """A number in few letters: `950`, `12.3k`, `1.2M`."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)
