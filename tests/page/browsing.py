"""A real browser on the page: Debian's Chromium, driven by Playwright.

Playwright's synchronous calls keep an event loop running in the thread of the tests for as long as the browser is open.
So tests here do what needs a loop of its own (runs, endpoints) in other processes, as people do.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from server.peers import installed
from web.served_gui import ServedGui

HERE = Path(__file__).parent
DEBIAN = ("chromium", "firefox-esr", "fonts-dejavu-core")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
)
WAIT_MILLISECONDS = 20_000
"""The bound of every wait for the page on a machine that does much else."""

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}

sys.path.append(str(installed.python_packages(HERE / "requirements.txt")))
from playwright.sync_api import (  # noqa: E402 - it is kept out of our own environment
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

expect.set_options(timeout=WAIT_MILLISECONDS)


def need_browsers() -> None:
    """Installs the browsers, where we may.

    Raises:
        RuntimeError: we may not; says what to install.
    """
    if all(shutil.which(name) for name in DEBIAN[:2]):
        return
    words = ["apt-get", "install", "-y", "--no-install-recommends", *DEBIAN]
    if os.geteuid() or not shutil.which("apt-get"):
        raise RuntimeError(f"the tests of the page need browsers; install them: {' '.join(words)}")
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=env, capture_output=True, timeout=900, check=False)
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise RuntimeError(f"cannot install the browsers: {' '.join(words)}\n{done.stderr[-2000:]}")


@contextmanager
def open_browser(*arguments: str) -> Iterator[Browser]:
    """Chromium without a window. Leaving the block ends it."""
    need_browsers()
    load_axe()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=[*QUIET, *arguments], timeout=60_000
        )
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A person's browser that is signed in at a page. What went wrong in it is kept, for the end of the test."""

    def __init__(self, browser: Browser, gui: ServedGui, **options: Any) -> None:
        self.gui = gui
        options = {"viewport": DESKTOP, "reduced_motion": "reduce", **options}
        self.context: BrowserContext = browser.new_context(**options)
        self.context.set_default_timeout(WAIT_MILLISECONDS)
        self.faults: list[str] = []
        self.expected_faults: list[str] = []
        """Parts of messages that the test brings about itself, such as of a server that it has killed."""

        self.context.on("console", self._hear)
        self.context.on("weberror", lambda error: self.faults.append(str(error.error)))
        self.context.on("request", self._check_host)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def _check_host(self, request: Request) -> None:
        if not request.url.startswith((self.gui.base, "blob:", "data:")):
            self.faults.append(f"a request to elsewhere: {request.url}")

    def open(self, view: str = "", *, project: str | None = None) -> Page:
        """A tab that shows a view: `board?text=cart`, `task/bn-1f3a`; the first one signs the browser in."""
        page = self.context.new_page()
        self.show(page, view, project=project)
        return page

    def show(self, page: Page, view: str = "", *, project: str | None = None) -> None:
        """Opens an address in a tab."""
        address = f"{self.gui.base}/{project or self.gui.project}/{view}"
        if not self.context.cookies():
            key = self.gui.make_link().partition("?")[2]
            address += f"{'&' if '?' in view else '?'}{key}"
        page.goto(address)
        page.locator("#content").wait_for()

    def close(self) -> None:
        """Ends the browser's session, and fails if something went wrong in it."""
        self.context.close()
        left = [fault for fault in self.faults if not any(part in fault for part in self.expected_faults)]
        assert left == [], left


@cache
def load_axe() -> str:
    """The script that finds what is wrong. Tests with a home of their own find it loaded with the browser."""
    return (installed.node_modules(HERE / "package.json") / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def find_violations(page: Page) -> list[str]:
    """What axe finds wrong for people who do not see, hear or point, by rule and place."""
    page.evaluate(load_axe())
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:200]} {json.dumps(node.get('any', [])[:1])[:300]}"
        for one in result["violations"]
        for node in one["nodes"]
    ]
