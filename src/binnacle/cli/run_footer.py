"""The lines that stand below a run while it goes on: pure, from what is known to what is shown."""

from msgspec import Struct

from binnacle.cli.screen import pad, printable

BAR_COLUMNS = 24
KEYS = "p pause · m message · t task · n note · s stop"


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
    question: str = ""
    """What a person is asked for now."""

    entry: str = ""
    """What they have typed."""


def footer(known: FooterState, *, width: int) -> list[str]:
    """The lines of the footer, each no wider than the terminal."""
    lines = ["─" * width, _head(known), *_work(known), _bar(known)]
    if known.question:
        lines += [f" {printable(known.question)} {printable(known.entry)}▏"]
    elif known.is_stopping:
        lines += [" stopping … (again to end at once)"]
    else:
        lines += [f" {'PAUSED after this iteration · p resume' if known.is_paused else KEYS}"]
    return [pad(line, width).rstrip() for line in lines]


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


def _work(known: FooterState) -> list[str]:
    doing = [f" ◐ {task} {printable(title)}" for task, title in known.tasks.items()] or [" ○ no task in progress"]
    tools = [f" · {printable(title)}" for _, title in sorted(known.tools.items()) if title]
    return [*doing[:4], *tools[:4]]


def _bar(known: FooterState) -> str:
    filled = round(BAR_COLUMNS * known.closed / known.total) if known.total else 0
    return f" {'█' * filled}{'░' * (BAR_COLUMNS - filled)} {known.closed}/{known.total} tasks"


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
