"""Opens the page in the browser of the person, if there is one, without waiting for it."""

import asyncio
import contextlib

from binnacle.upstream.auth.browser import is_there, open_in_browser

OPEN_SECONDS = 15.0
"""How long the program that opens the browser may take."""

_opening: set["asyncio.Task[None]"] = set()
"""The event loop keeps no reference to its tasks."""


def open_page(link: str) -> None:
    """Starts to open a page. Nothing happens where no browser can show it."""
    if is_there():
        task = asyncio.get_running_loop().create_task(_open(link))
        _opening.add(task)
        task.add_done_callback(_opening.discard)


async def _open(link: str) -> None:
    async with open_in_browser(link) as program:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OPEN_SECONDS):
                await program.wait()
