"""The group `page`, second part: what an hour of events leaves in the memory of our page and of its server."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median

from bench.board_peers import Place, ours, served
from bench.browser import Browser, Tab
from bench.environment import project, store_file
from bench.measure import Failed
from bench.plan import Plan
from bench.report import Result
from bench.servers import descendants, resident
from binnacle.store import comments, events, task_moves, tasks
from binnacle.store.opening import open_sqlite
from binnacle.store.store import Store
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask

EVENTS = 3600
"""One a second: several times what four agents cause that are never idle."""

SECONDS = 45.0
"""In which those of an hour come here."""

MAX_SECONDS = 120.0
"""A machine that cannot keep up is measured with the events that there were."""

FASTER = 20
"""How many times as fast the page's own timers run, so that it reads and draws about as often as in an hour."""

VIEWS = ("board", "log", "needs_you")

NODES_BUDGET = 2000

GROUP = "page, an hour of events"

READINGS = 10

AGENTS = 4

BUDGET = 1.1
"""Times what there was at the beginning, at the end."""

ENDS = 3
"""Readings of which the median is the beginning, and the end."""

TIMERS = f"""
const plainTimeout = window.setTimeout;
window.setTimeout = (run, delay, ...rest) => plainTimeout(run, (delay ?? 0) / {FASTER}, ...rest);
"""

LAST = "the last one of this hour"


def measure(plan: Plan, browser: Browser, size: int) -> Iterator[Result]:
    """Agents take tasks, comment on them and finish them, while people look."""
    plan.say("page: an hour of events")
    board = ours(plan, size, suffix="-hour")
    path = store_file(project(plan, size, suffix="-hour"))
    with ExitStack() as stack:
        place = stack.enter_context(served(browser, board))
        profile = stack.enter_context(browser.new_profile())
        profile.set_cookies(place.cookies)
        tabs = {view: profile.open_tab(script=TIMERS) for view in VIEWS}
        for view, tab in tabs.items():
            tab.go(place.url.removesuffix("board") + view)
            tab.wait_for("document.querySelector('.connection.live') && document.querySelector('#content h1')")
            tab.settle()
            if tab.evaluate("document.hidden"):
                raise Failed("a tab that has to be seen is hidden: it would read nothing")
            # From here on the protocol would keep every answer for us.
            tab.ask("Network.disable")
            tab.ask("Runtime.disable")
        store = stack.enter_context(open_sqlite(path))
        yield from _hour(browser, tabs, place, store)


def _hour(browser: Browser, tabs: dict[str, Tab], place: Place, store: Store) -> Iterator[Result]:
    heaps: dict[str, list[float]] = {view: [] for view in tabs}
    nodes: dict[str, list[float]] = {view: [] for view in tabs}
    servers: list[float] = []
    began, first = time.monotonic(), _newest(store)
    turn = 0
    for reading in range(1, READINGS + 1):
        while (so_far := _newest(store) - first) < EVENTS * reading / READINGS:
            if time.monotonic() - began > MAX_SECONDS:
                break
            _work(store, turn)
            turn += 1
            browser.listen(max(0.0, began + so_far / EVENTS * SECONDS - time.monotonic()))
        _let_catch_up(tabs, store, reading)
        for view, tab in tabs.items():
            heaps[view].append(tab.heap())
            nodes[view].append(tab.ask("Memory.getDOMCounters")["nodes"])
        servers.append(sum(map(resident, (place.pid, *descendants(place.pid)))))
    seconds, caused = time.monotonic() - began, _newest(store) - first
    note = f"{caused} events in {seconds:.0f} s; after each tenth of them: "
    for view, values in heaps.items():
        yield _grown(f"JavaScript heap, {view}", values, note)
        yield _nodes(f"nodes in memory, {view}", nodes[view])
    yield _grown("memory of the server", servers, note)


def _work(store: Store, turn: int) -> None:
    """What an agent does for a task, as it does it: in transactions of their own."""
    agent = Actor(f"agent-{turn % AGENTS}", "agent")
    with store.claim(by=agent) as tx:
        move = task_moves.claim_next(tx)
    if move is None:
        raise Failed("there is no task left to take")
    with store.write(by=agent) as tx:
        comments.add(tx, move.task.id, f"Turn {turn}: read it, changed it, and the tests pass.")
    with store.write(by=agent) as tx:
        task_moves.finish(tx, move.task.id, reason="as described")


def _let_catch_up(tabs: dict[str, Tab], store: Store, reading: int) -> None:
    """Waits until the pages show a task that was added just now."""
    title = f"{LAST}, {reading}"
    with store.write(by=Actor("ann")) as tx:
        tasks.add(tx, [NewTask(title=title, priority=0)])
    tabs["log"].wait_for(f"document.querySelector('#content').innerText.includes({title!r})")
    for tab in tabs.values():
        tab.evaluate(f"new Promise((done) => setTimeout(() => requestAnimationFrame(done), {FASTER * 1000}))")


def _newest(store: Store) -> int:
    with store.read() as tx:
        return events.last_number(tx)


def _grown(name: str, values: list[float], note: str) -> Result:
    """Megabytes at the end, against those at the beginning."""
    before, after = median(values[:ENDS]), median(values[-ENDS:])
    ratio = after / before
    return Result(
        group=GROUP,
        name=name,
        value=after,
        unit="MB",
        ratio=ratio,
        of="at the beginning",
        budget=f"≤ {BUDGET:g}×",
        met=ratio <= BUDGET,
        note=note + ", ".join(f"{one:.2f}" for one in values),
    )


def _nodes(name: str, values: list[float]) -> Result:
    """Nodes at the end, with those that something keeps although they are no longer shown."""
    after = median(values[-ENDS:])
    budget = f"≤ {NODES_BUDGET} nodes"
    return Result(group=GROUP, name=name, value=after, unit="nodes", budget=budget, met=after <= NODES_BUDGET)
