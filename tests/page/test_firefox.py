"""The page in Debian's Firefox: sign-in, every view, a live change, keys, and nothing that its console complains of."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from binnacle.work.task import NewTask
from page.filled_stores import add_layered_tasks, add_tasks, add_weeks_of_work, start_work
from page.firefox import CONTROL, Firefox, open_firefox
from page.test_every_view import VIEWS
from web.served_gui import ServedGui

BOUND_SECONDS = 600
LAST_WORDS = "faults are heard"

IS_SHOWN = (
    "document.querySelector('#content h1')?.checkVisibility()"
    " && !document.querySelector('#content .loading-note, #content [role=alert]')"
)


def test_every_view_is_shown_by_firefox_and_is_live(gui, tmp_path):
    add_layered_tasks(gui.repo, 60, width=6)
    add_weeks_of_work(gui.repo, days=10)
    start_work(gui.repo, "Sort the basket")
    # Playwright keeps a loop of events in this thread for the other tests.
    with ThreadPoolExecutor(1) as thread:
        visit = thread.submit(lambda: asyncio.run(look_at_everything(gui, tmp_path / "profile")))
        faults, elsewhere = visit.result(BOUND_SECONDS)
    assert faults == [f"error: {LAST_WORDS}"]
    assert elsewhere == []


async def look_at_everything(gui: ServedGui, profile: Path) -> tuple[list[str], list[str]]:
    """What went wrong, and the addresses outside of the page that were asked."""
    async with open_firefox(profile) as firefox:
        await firefox.show(gui.link)
        await firefox.wait_until("document.querySelector('.connection')?.textContent === 'Live'")
        for view in VIEWS:
            await firefox.show(f"{gui.base}/{gui.project}/{view}")
            await firefox.wait_until(IS_SHOWN)
            assert not await firefox.evaluate("() => document.documentElement.scrollWidth > innerWidth"), view
        await see_a_change(firefox, gui)
        await use_keys(firefox)
        await firefox.evaluate(f"() => console.error({LAST_WORDS!r})")
        ours = (gui.base, "data:", "blob:", "about:")
        return firefox.faults, [one for one in firefox.requests if not one.startswith(ours)]


async def see_a_change(firefox: Firefox, gui: ServedGui) -> None:
    await firefox.show(f"{gui.base}/{gui.project}/log")
    await firefox.wait_until("document.querySelector('.log-row')")
    add_tasks(gui.repo, NewTask(title="Paint the fence"))
    await firefox.wait_until("document.querySelector('.log-row').textContent.includes('Paint the fence')")


async def use_keys(firefox: Firefox) -> None:
    await firefox.press("k", held=CONTROL)
    await firefox.wait_until("document.activeElement.matches('.palette-input')")
    await firefox.press(*"paint the")
    await firefox.wait_until("document.querySelector('[role=option]').textContent.includes('Paint the fence')")
    await firefox.press("\ue007")
    await firefox.wait_until("location.pathname.includes('/task/') && document.querySelector('#content h1')")
    await firefox.press("g", "d")
    await firefox.wait_until("location.pathname.endsWith('/graph') && document.querySelector('.graph-canvas')")
    await firefox.press("?")
    await firefox.wait_until("document.querySelector('dialog[open]').textContent.includes('Zoom in')")
    await firefox.press("\ue00c")
    await firefox.wait_until("!document.querySelector('dialog[open]')")
