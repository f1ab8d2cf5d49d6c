"""A run on a terminal: events scroll by above a few lines with its state, and keys control it.

The lines below, the footer, are drawn again whenever they change: the cursor goes up to their first row and everything
from there on is erased. Most terminals wrap the lines again when they are made narrower, so the rows of the footer are
counted in the current width. (One that cuts lines off instead loses as many lines above the footer as it has cut.)
"""

import asyncio
import os
import signal
import sys
import termios
import time
import tty
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from binnacle.cli.run_footer import SHOW_ALL, FooterLine, FooterQuestion, FooterState, footer, lines_of_detail
from binnacle.cli.run_lines import RunLines
from binnacle.cli.screen import Screen
from binnacle.cli.wrapping import count_rows
from binnacle.errors import BinnacleError
from binnacle.runner import run_events
from binnacle.runner.agents.call_details import describe_request
from binnacle.runner.agents.permissions import (
    EDIT_KINDS,
    PermissionAnswer,
    PermissionRequest,
    same_request,
)
from binnacle.runner.run_control import RunControl
from binnacle.runner.run_events import RunEvent

REDRAW_SECONDS = 0.2
"""Seconds between two drawings while nothing happens, so that the clock goes on."""

INPUT_LIMIT = 2000
"""Characters of a line that a person types."""

ENTER, BACKSPACE, ESCAPE, INTERRUPT = ("\r", "\n"), ("\x7f", "\b"), "\x1b", "\x03"

ANSWERS: dict[str, PermissionAnswer] = {"y": "yes", "n": "no", "a": "always"}
"""What a person says to a request for permission, by key."""

MIN_COLUMNS = 10
"""Columns that are used even on a narrower terminal."""

Add = Callable[[str], Awaitable[None]]
"""Adds a task or a note to the run."""


class LiveView:
    """Shows a run and takes a person's keys."""

    def __init__(self, control: RunControl, *, add_task: Add, add_note: Add) -> None:
        self._control = control
        self._adding = {"t": ("new task:", add_task), "n": ("new note:", add_note), "m": ("to the agent:", self._say)}
        self._screen = Screen(sys.stderr)
        self._known = FooterState()
        self._lines = RunLines(self._screen, self._print)
        self._begun = time.monotonic()
        self._drawn: list[FooterLine] = []
        """The lines of the footer that stand on the terminal."""

        self._asking = asyncio.Lock()
        self._answer: asyncio.Future[str] | None = None
        """Of the question that waits for a key or a line."""

        self._works: set[asyncio.Task[None]] = set()

    def tell(self, event: RunEvent) -> None:
        """Shows that something happened."""
        self._note(event)
        if not isinstance(event, run_events.TasksProgressed):  # the bar shows it
            self._lines.tell(event)
        self._draw()

    async def ask(self, request: PermissionRequest) -> PermissionAnswer:
        """Asks the person whether an agent may do something."""
        async with self._asking:
            key = await self._wait(_question(request))
        return ANSWERS[key]

    async def confirm(self, question: str) -> bool:
        """Asks the person a question about the run."""
        async with self._asking:
            return await self._wait(FooterQuestion(question, keys=("y yes", "n no"))) == "y"

    async def _wait(self, question: FooterQuestion) -> str:
        self._answer = asyncio.get_running_loop().create_future()
        self._known.question, self._known.entry = question, ""
        self._draw()
        try:
            return await self._answer
        finally:
            self._answer, self._known.question, self._known.entry = None, None, ""
            self._draw()

    def _note(self, event: RunEvent) -> None:
        known = self._known
        match event:
            case run_events.RunStarted():
                known.name, known.agent = event.name, event.agent
            case run_events.IterationStarted():
                known.iterations[event.worker] = 0 if event.is_planning else event.number
            case run_events.IterationEnded() | run_events.CheckEnded():
                known.tools.pop(event.worker, None)
            case run_events.ToolCalled() if event.title:
                known.tools[event.worker] = event.title
            case run_events.CheckStarted() | run_events.CheckProgressed():
                known.tools[event.worker] = _running_check(event)
            case run_events.TaskMoved():
                known.tasks.pop(event.task, None)
                if event.status == "in_progress":
                    known.tasks[event.task] = event.title
            case run_events.TasksProgressed():
                known.closed, known.total = event.closed, event.total
            case run_events.CostReported():
                known.tokens, known.cost = event.tokens, event.cost

    def _print(self, line: str) -> None:
        self._erase()
        self._screen.line(line)

    def _erase(self) -> None:
        if self._drawn:
            columns = self._measure().columns
            rows = sum(count_rows(line.text, columns) for line in self._drawn)
            sys.stderr.write(f"\x1b[{rows}F\x1b[J")
            self._drawn = []

    def _measure(self) -> os.terminal_size:
        """The size of the terminal now."""
        try:
            found = os.get_terminal_size(sys.stderr.fileno())
        except OSError:
            found = os.terminal_size((0, 0))
        size = os.terminal_size((found.columns or 80, found.lines or 24))  # 0 where nobody told the terminal
        self._screen.width = max(MIN_COLUMNS, size.columns)
        return size

    def _draw(self) -> None:
        self._known.seconds = time.monotonic() - self._begun
        self._known.is_paused, self._known.is_stopping = self._control.is_paused, self._control.is_stopped
        size = self._measure()
        lines = footer(self._known, width=max(MIN_COLUMNS, size.columns - 1), height=size.lines)
        if lines != self._drawn:
            self._erase()
            for line in lines:
                self._screen.line(self._screen.styled(line.text, line.style))
            self._drawn = lines
        sys.stderr.flush()

    def _read(self) -> None:
        typed = os.read(sys.stdin.fileno(), 1024).decode(errors="replace")
        if not typed:  # the terminal is gone, and would be readable for ever
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        if typed.startswith(ESCAPE) and len(typed) > 1:
            return  # an arrow or the like
        for key in typed:
            self._press(key)
        self._draw()

    def _press(self, key: str) -> None:
        question = self._known.question
        if key == INTERRUPT:
            self._control.stop()
        elif self._answer is not None and question is not None and not self._answer.done():
            self._type(key, question, self._answer)
        elif key in self._adding:
            self._begin(key)
        else:
            self._steer(key)

    def _steer(self, key: str) -> None:
        if key == "p":
            (self._control.go_on if self._control.is_paused else self._control.pause)()
        elif key == "s":
            self._control.stop()

    def _type(self, key: str, question: FooterQuestion, answer: "asyncio.Future[str]") -> None:
        if question.keys:
            self._choose(key, question, answer)
        elif key in ENTER:
            answer.set_result(self._known.entry)
        elif key == ESCAPE:
            answer.set_result("")
        elif key in BACKSPACE:
            self._known.entry = self._known.entry[:-1]
        elif key.isprintable() and len(self._known.entry) < INPUT_LIMIT:
            self._known.entry += key

    def _choose(self, key: str, question: FooterQuestion, answer: "asyncio.Future[str]") -> None:
        if any(one.startswith(f"{key} ") for one in question.keys):
            answer.set_result(key)
        elif key == SHOW_ALL[0]:
            for line in lines_of_detail(question, self._screen.width):
                self._print(self._screen.styled(line.text, line.style))
        else:
            self._steer(key)

    def _begin(self, key: str) -> None:
        """Has the person type a line, which is then a task, a note or a message."""
        question, take = self._adding[key]

        async def work() -> None:
            async with self._asking:
                line = (await self._wait(FooterQuestion(f"{question} (enter · esc)"))).strip()
            try:
                if line:
                    await take(line)
            except BinnacleError as error:
                self._print(f"not added: {error.message}{f' ({error.hint})' if error.hint else ''}")

        task = asyncio.get_running_loop().create_task(work())
        self._works.add(task)
        task.add_done_callback(self._works.discard)

    async def _say(self, text: str) -> None:
        self._control.say(text)
        self._print(f"to the agent, after its turn: {text}")

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Takes the terminal. Leaving it gives it back as it was, with the last lines still there."""
        loop = asyncio.get_running_loop()
        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
        ticking = loop.create_task(self._tick())
        try:
            tty.setcbreak(keyboard)
            loop.add_reader(keyboard, self._read)
            loop.add_signal_handler(signal.SIGWINCH, self._draw)
            yield
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)
            loop.remove_reader(keyboard)
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
            for task in (ticking, *self._works):
                task.cancel()
            await asyncio.gather(ticking, *self._works, return_exceptions=True)
            self._erase()
            sys.stderr.flush()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(REDRAW_SECONDS)
            self._draw()


def _running_check(event: run_events.CheckStarted | run_events.CheckProgressed) -> str:
    said = f": {event.said}" if isinstance(event, run_events.CheckProgressed) else ""
    return f"check {event.check}{said}"


def _question(request: PermissionRequest) -> FooterQuestion:
    """The question whether an agent may do something: what exactly, and by which keys it is answered."""
    title = request.title or request.name or request.kind
    what = "run this command" if request.command and title.strip() in request.command else title
    where = f" ({', '.join(request.paths)})" if request.paths and not request.diff else ""
    task = f" · {request.task}" if request.task else ""
    always = () if same_request(request) is None else (f"a always ({_reach(request)})",)
    return FooterQuestion(
        f"may the agent do this? {what}{where}{task}",
        detail=describe_request(request),
        is_diff=bool(request.diff),
        keys=("y yes", "n no", *always),
    )


def _reach(request: PermissionRequest) -> str:
    """What the answer "always" allows (`same_request`), in words."""
    if request.is_named and request.kind in EDIT_KINDS:
        return f"everything with {request.name}"
    return "this command" if request.kind == "execute" else "the same again"
