"""The group `page`, last part: whether the calls of agents take longer while people look at the board.

Rounds without a page come twice in each turn, so that what two runs of the same differ by stands next to the result.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count as numbers
from statistics import median

from bench.board_peers import Place, ours, served, sign_in
from bench.browser import Browser, Tab
from bench.clients import call
from bench.environment import project
from bench.measure import take_readings
from bench.plan import Plan
from bench.report import Result, timed
from bench.servers import Served, on_http, on_stdio

PAGES = 3
"""Browsers that look at the board, each with a stream of its own."""

ROUNDS = 5
BURST_CALLS = 100
PACED_CALLS = 20

PACE_SECONDS = 0.03
"""Between two calls of an agent in a great hurry."""

SETTLED_SECONDS = 0.3

BUDGET = 1.1
"""Times as long as without a page. Two runs of the same differ by as much."""

_NUMBERS = numbers()

NONE, AGAIN, OPEN = "no page", "no page, once more", f"{PAGES} pages open"

TOOLS: Mapping[str, Callable[[int, Sequence[str]], Mapping[str, object]]] = {
    "task_get": lambda number, ids: {"id": ids[number % len(ids)]},
    "task_add": lambda number, _: {"tasks": [{"title": f"{number} more, while people look"}]},
}
"""What a tool is called with, by a number that is never used twice."""


def measure(plan: Plan, browser: Browser, size: int) -> Iterator[Result]:
    """Calls of a server on stdio beside `bn gui`, and of one on HTTP that serves the page itself."""
    plan.say("page: calls while pages are open")
    bn = project(plan, size, suffix="-calls")
    ids = [task["id"] for task in json.loads(bn("task", "list", "--all", "-n", str(size)))["tasks"]]
    with ExitStack() as stack:
        place = stack.enter_context(served(browser, ours(plan, size, suffix="-calls")))
        agent = stack.enter_context(on_stdio(bn._replace(argv=(*bn.argv, "mcp", "serve"))))
        tabs = [stack.enter_context(_tab(browser, place)) for _ in range(PAGES)]
        yield from _rounds("page, calls on stdio", agent, tabs, place, ids)
    with ExitStack() as stack:
        serve = (*bn.argv, "mcp", "serve", "--http", "127.0.0.1:0", "--no-auth", "--gui")
        agent = stack.enter_context(on_http(bn._replace(argv=serve)))
        place = sign_in(browser, agent.page, agent.pid)
        tabs = [stack.enter_context(_tab(browser, place)) for _ in range(PAGES)]
        yield from _rounds("page, calls on HTTP of the process that serves it", agent, tabs, place, ids)


@contextmanager
def _tab(browser: Browser, place: Place) -> Iterator[Tab]:
    """An empty tab of a browser that is signed in."""
    with browser.new_profile() as profile:
        profile.set_cookies(place.cookies)
        tab = profile.open_tab()
        # Nobody reads what the protocol would say during the calls.
        tab.ask("Network.disable")
        yield tab


def _rounds(group: str, agent: Served, tabs: Sequence[Tab], place: Place, ids: Sequence[str]) -> Iterator[Result]:
    readings = [(tool, pace) for tool in TOOLS for pace in ("one after the other", "with pauses")]

    def latency(tool: str, pace: str) -> float:
        """Milliseconds until the answer to the median call."""
        amount = BURST_CALLS if pace == "one after the other" else PACED_CALLS
        made = [next(_NUMBERS) for _ in range(amount)]
        calls = [call("tools/call", name=tool, arguments=TOOLS[tool](one, ids)) for one in made]
        if pace == "one after the other":
            exchange = agent.client.exchange(calls, at_once=1)
            exchange.results()
            return median(exchange.latencies) * 1000
        latencies: list[float] = []
        for one in calls:
            exchange = agent.client.exchange([one], at_once=1)
            exchange.results()
            latencies += exchange.latencies
            time.sleep(PACE_SECONDS)
        return median(latencies) * 1000

    def with_pages(url: str, condition: str, _: int) -> Sequence[float]:
        for tab in tabs:
            tab.go(url)
        for tab in tabs:
            tab.wait_for(condition)
        time.sleep(SETTLED_SECONDS)
        return [latency(*one) for one in readings]

    closed = partial(with_pages, "about:blank", "location.protocol === 'about:'")
    opened = partial(
        with_pages, place.url, "document.querySelector('.connection.live') && document.querySelector('[data-task]')"
    )
    taken = take_readings({NONE: closed, AGAIN: closed, OPEN: opened}, rounds=ROUNDS)
    for column, (tool, pace) in enumerate(readings):
        for name in (NONE, AGAIN, OPEN):
            reference = taken[NONE][column] if name != NONE else None
            limit = BUDGET if name == OPEN and pace == "with pauses" else None
            title = f"{tool}, {pace}, p50, {name}"
            yield timed(group, title, taken[name][column], reference, of=NONE, limit=limit)
