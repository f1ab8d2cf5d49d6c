"""The group `page`: the board of `bn gui` next to Cline's and Backlog.md's, in Chromium, and what open pages cost.

Every first view is that of a browser that has never been there. A view counts once a card has been painted where a
person sees it, and only if the page has all the tasks: one that forgets some would win every round.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from math import nan
from statistics import median

from bench import board_calls, board_events
from bench.board_peers import BACKLOG, OURS, Board, Place, boards, install, served
from bench.browser import Browser, Tab, TooLate, open_browser
from bench.commands import turn
from bench.environment import nothing
from bench.isolation import loopback_only
from bench.measure import Failed, Taken, quartiles, take_readings
from bench.plan import Plan
from bench.report import Result, count, timed
from bench.servers import descendants, resident, website

SIZES = (10, 1_000, 10_000)

VIEW_ROUNDS = {10: 3, 1_000: 3, 10_000: 3}
"""A peer takes half a minute for the most tasks."""

VIEW_SECONDS = 60.0
"""After which a page without a card is given up, and not tried again at this size."""

START_ROUNDS = 3
START_SIZE = 1_000

FIRST_VIEW_BUDGET = 1 / 5
"""Of the time of Backlog.md's page, among the most tasks."""

AFTER_ANSWER_BUDGET_MS = 1000.0
"""From the answer of the server until a card has been painted."""

NODES_BUDGET = 2000

CARD, SENT, NODES, HEAP, AFTER_ANSWER = range(5)
"""The columns of what a first view takes: ms, kB, nodes, MB, and ms where the tasks are an answer of their own."""

FIRST_CARD = """
(() => {
  if (location.protocol === 'about:') return;
  %(storage)s;
  const look = () => {
    const card = document.querySelector('%(card)s');
    const box = card?.getBoundingClientRect();
    if (box?.width && box.height && box.top < innerHeight && box.bottom > 0) {
      const middle = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
      const above = document.elementFromPoint(box.left + box.width / 2, middle);
      if (card.contains(above) && card.innerText.trim())
        return requestAnimationFrame(() => setTimeout(() => { window.firstCardAt = performance.now(); }));
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
"""Notes when a card is on the screen, with a text and nothing above it, and the frame with it has been painted."""

COUNT_NODES = """
(() => {
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  let nodes = 1;
  while (walker.nextNode()) nodes++;
  return nodes;
})()
"""

ANSWERED = """
Math.max(0, ...performance.getEntriesByType('resource')
  .filter((one) => one.name.includes('%s') && one.responseEnd < firstCardAt).map((one) => one.responseEnd))
"""


def measure(plan: Plan) -> Generator[Result]:
    """First views at every size, then an hour of events, then the calls of agents while pages are open."""
    if absent := install(plan):
        yield Result(group="page, first card", name="Cline's board, Backlog.md", note=absent)
        return
    with loopback_only() as prefix:
        with open_browser(prefix, plan.folder) as browser:
            for size in SIZES:
                yield from _first_views(plan, browser, prefix, size)
        yield from _starts(plan, prefix)
    # No peer from here on, and a browser and servers that this process reaches, too.
    with open_browser((), plan.folder) as browser:
        yield from board_events.measure(plan, browser, SIZES[-1])
        yield from board_calls.measure(plan, browser, START_SIZE)


class FirstViews:
    """Visits to the boards of one size, each by a browser that was never there."""

    def __init__(self, browser: Browser, size: int) -> None:
        self._browser, self._size = browser, size
        self.elsewhere: dict[str, set[str]] = {}
        """Hosts beyond this machine that a board has asked for, by its name."""

        self.given_up: dict[str, Sequence[float]] = {}
        """What was read of boards that had no card in time."""

    def visit(self, name: str, board: Board, place: Place, _: int) -> Sequence[float]:
        """The columns of one visit.

        Raises:
            Failed: the board does not have all the tasks.
        """
        if name in self.given_up:
            return self.given_up[name]
        with self._browser.new_profile() as profile:
            profile.set_cookies(place.cookies)
            tab = profile.open_tab(script=FIRST_CARD % {"card": board.card, "storage": board.storage})
            tab.go(place.url)
            try:
                tab.wait_for("window.firstCardAt", seconds=VIEW_SECONDS)
            except TooLate:
                # A page that is busy for a minute says nothing about itself either.
                self.given_up[name] = [VIEW_SECONDS * 1000, self._traffic(name, tab) / 1000, nan, nan]
                return self.given_up[name]
            tab.settle()
            if (shown := tab.evaluate(board.total)) != self._size:
                raise Failed(f"{name} shows {shown} of {count(self._size)}")
            first = tab.evaluate("firstCardAt")
            readings = [first, self._traffic(name, tab) / 1000, tab.evaluate(COUNT_NODES), tab.heap()]
            if board.answer:
                readings.append(first - tab.evaluate(ANSWERED % board.answer))
            return readings

    def _traffic(self, name: str, tab: Tab) -> int:
        """The bytes that a page was sent; whom else it has asked is noted."""
        traffic = tab.traffic()
        self.elsewhere.setdefault(name, set()).update(traffic.elsewhere)
        return traffic.bytes


def _first_views(plan: Plan, browser: Browser, prefix: tuple[str, ...], size: int) -> Iterator[Result]:
    views = FirstViews(browser, size)
    with ExitStack() as stack:
        plan.say(f"page: boards with {count(size)}")
        contestants: dict[str, Callable[[int], Sequence[float]]] = {}
        servers: dict[str, int] = {}
        for name, board in boards(plan, size, prefix).items():
            place = stack.enter_context(served(browser, board))
            contestants[name], servers[name] = partial(views.visit, name, board, place), place.pid
        plan.say(f"page: first views, {count(size)}")
        taken = take_readings(contestants, rounds=VIEW_ROUNDS[size], yardstick=turn(nothing(plan)))
        memory = {name: sum(map(resident, (pid, *descendants(pid)))) for name, pid in servers.items()}
    for name in taken:
        limit = FIRST_VIEW_BUDGET if name == OURS and size == SIZES[-1] else None
        reference = taken[BACKLOG][CARD] if name != BACKLOG else None
        row = timed("page, first card", f"{count(size)}, {name}", taken[name][CARD], reference, of=BACKLOG, limit=limit)
        yield replace(row, note=f"none within {VIEW_SECONDS:g} s" if name in views.given_up else "")
    yield _after_answer(taken[OURS][AFTER_ANSWER], size)
    for name in taken:
        hosts = ", ".join(sorted(views.elsewhere.get(name, ())))
        note = f"it also asks {hosts}, which it cannot reach here" if hosts else ""
        yield _compared("page, sent for the first view", f"{count(size)}, {name}", taken, name, SENT, "kB", note=note)
    if size == SIZES[-1]:
        in_time = {name: columns for name, columns in taken.items() if name not in views.given_up}
        yield from _weights(in_time, memory, size)


def _weights(taken: Mapping[str, list[Taken]], memory: Mapping[str, float], size: int) -> Iterator[Result]:
    """What the boards are in the browser, and what their servers take."""
    for name in taken:
        most, note = (NODES_BUDGET, "the cards in view, and some around them") if name == OURS else (None, "")
        title = f"{count(size)}, {name}"
        yield _compared("page, nodes", title, taken, name, NODES, "nodes", note=note, most=most)
    for name in taken:
        yield _compared("page, JavaScript heap", f"{count(size)}, {name}", taken, name, HEAP, "MB")
    for name, value in memory.items():
        ratio, of = (value / memory[BACKLOG], BACKLOG) if name != BACKLOG else (None, "")
        group = "page, memory of the server"
        yield Result(group=group, name=f"{count(size)}, {name}", value=value, unit="MB", ratio=ratio, of=of)


def _compared(
    group: str,
    name: str,
    taken: Mapping[str, list[Taken]],
    contestant: str,
    column: int,
    unit: str,
    *,
    note: str = "",
    most: float | None = None,
) -> Result:
    """What is no time, next to the same of Backlog.md."""
    values, reference = taken[contestant][column].times, taken[BACKLOG][column].times
    value = median(values)
    ratio, of = (value / median(reference), BACKLOG) if contestant != BACKLOG else (None, "")
    budget, met = (f"≤ {most:g} {unit}", value <= most) if most else ("", None)
    return Result(
        group=group,
        name=name,
        value=value,
        spread=quartiles(values),
        unit=unit,
        ratio=ratio,
        of=of,
        budget=budget,
        met=met,
        note=note,
    )


def _after_answer(taken: Taken, size: int) -> Result:
    value = median(taken.times)
    budget, met = "", None
    if size == SIZES[-1]:
        budget, met = f"≤ {AFTER_ANSWER_BUDGET_MS:g} ms", value <= AFTER_ANSWER_BUDGET_MS
    name = f"{count(size)}, {OURS}, from the answer with the tasks"
    return Result(
        group="page, first card", name=name, value=value, spread=quartiles(taken.times), budget=budget, met=met
    )


def _starts(plan: Plan, prefix: tuple[str, ...]) -> Iterator[Result]:
    """From starting a server until it says where it is."""

    def start(board: Board, _: int) -> tuple[float]:
        began = time.perf_counter()
        with website(board.server):
            return ((time.perf_counter() - began) * 1000,)

    plan.say("page: starting the servers")
    contestants = {name: partial(start, board) for name, board in boards(plan, START_SIZE, prefix).items()}
    taken = take_readings(contestants, rounds=START_ROUNDS, yardstick=turn(nothing(plan)))
    for name, (values,) in taken.items():
        reference = taken[BACKLOG][0] if name != BACKLOG else None
        yield timed("page, start of the server", f"{count(START_SIZE)}, {name}", values, reference, of=BACKLOG)
