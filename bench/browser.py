"""Chromium without a window, driven over its own protocol on two pipes: nothing is between it and what is measured.

Everything but this machine is out of its reach: no name is looked up, and what starts it may take its network away.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

from bench.measure import Failed, undisturbed

PATIENCE_SECONDS = 120.0
"""How long one answer, or one condition of a page, may take. Ten thousand cards take some pages half a minute."""

QUIET_SECONDS = 0.7
"""A page that has asked for nothing during this time has its first view."""

SETTLE_SECONDS = 15.0
"""The longest wait for that: a page that asks for something again and again is measured as it is then."""

POLL_SECONDS = 0.05
STOP_SECONDS = 10.0

WINDOW = (1280, 800)

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
    f"--window-size={WINDOW[0]},{WINDOW[1]}",
)

_WITH_PIPES = """
import fcntl, os, sys
# Out of the way first: either may be 3 or 4 already.
reads, writes = (fcntl.fcntl(int(pipe), fcntl.F_DUPFD, 10) for pipe in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads its commands from descriptor 3 and answers on 4."""


class Refused(Failed):
    """The browser does not do what it was told, for one because the page has just been replaced by another."""


class TooLate(Failed):
    """The browser or a page did not get as far as it should in time."""


class Traffic(NamedTuple):
    """What a tab has received from servers."""

    bytes: int
    """As sent: compressed where the server compresses. A socket's messages count by their length."""

    elsewhere: tuple[str, ...]
    """Hosts beyond this machine that the page has asked for, in vain."""


class Browser:
    """A running Chromium."""

    def __init__(self, *, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._poll = select.poll()
        self._poll.register(from_browser, select.POLLIN)
        self._rest = b""
        self._number = 0
        self._tabs: dict[str, Tab] = {}

    def new_profile(self) -> "Profile":
        """One without a cache, a cookie or anything stored."""
        return Profile(self, self.ask("Target.createBrowserContext")["browserContextId"])

    def ask(
        self, method: str, *, session: str = "", seconds: float = PATIENCE_SECONDS, **parameters: object
    ) -> dict[str, Any]:
        """One command and its result.

        Raises:
            Refused: the browser does not do it.
            TooLate: it does not answer.
        """
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        self._send({**message, "sessionId": session} if session else message)
        end = time.monotonic() + seconds
        while (found := self._hear(end - time.monotonic())) is not None:
            if found.get("id") == number:
                if "error" in found:
                    raise Refused(f"the browser refuses {method}: {found['error']}")
                return found["result"]
        raise TooLate(f"the browser has not answered {method} within {seconds:g} s")

    def listen(self, seconds: float) -> None:
        """Takes note of what happens in the tabs during this time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._hear(left)

    def add(self, tab: "Tab") -> None:
        self._tabs[tab.session] = tab

    def remove(self, tab: "Tab") -> None:
        self._tabs.pop(tab.session, None)

    def _send(self, message: Mapping[str, object]) -> None:
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]

    def _hear(self, seconds: float) -> dict[str, Any] | None:
        """The next message, or none in time. Events of tabs have been passed on to them."""
        end = time.monotonic() + max(seconds, 0)
        while b"\0" not in self._rest:
            if not self._poll.poll(max(end - time.monotonic(), 0) * 1000):
                return None
            if not (chunk := os.read(self._from, 1 << 20)):
                raise Failed("the browser has ended")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if tab := self._tabs.get(message.get("sessionId", "")):
            tab.take(message.get("method", ""), message.get("params", {}))
        return message


class Profile:
    """Tabs that share cookies and storage. Leaving the block closes them and forgets all of it."""

    def __init__(self, browser: Browser, context: str) -> None:
        self.browser, self._context = browser, context

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.ask("Target.disposeBrowserContext", browserContextId=self._context)

    def open_tab(self, *, script: str = "") -> "Tab":
        """An empty tab, in which every page starts with `script`."""
        # In a window of its own it is never hidden by another one.
        where = {"browserContextId": self._context, "newWindow": True}
        made = self.browser.ask("Target.createTarget", url="about:blank", **where)
        attached = self.browser.ask("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        tab = Tab(self.browser, attached["sessionId"])
        self.browser.add(tab)
        width, height = WINDOW
        tab.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        for domain in ("Page", "Network", "Runtime"):
            tab.ask(f"{domain}.enable")
        if script:
            tab.ask("Page.addScriptToEvaluateOnNewDocument", source=script)
        return tab

    def cookies(self) -> list[dict[str, Any]]:
        """All of them, to sign another profile in."""
        return self.browser.ask("Storage.getCookies", browserContextId=self._context)["cookies"]

    def set_cookies(self, cookies: Sequence[Mapping[str, Any]]) -> None:
        known = ("name", "value", "domain", "path", "secure", "httpOnly", "sameSite", "expires")
        given = [{key: one[key] for key in known if key in one} for one in cookies]
        self.browser.ask("Storage.setCookies", cookies=given, browserContextId=self._context)


class Tab:
    """One page, and what it has received."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self.session = browser, session
        self._bytes: dict[str, int] = {}
        self._elsewhere: set[str] = set()
        self._active = 0.0

    def ask(self, method: str, *, seconds: float = PATIENCE_SECONDS, **parameters: object) -> dict[str, Any]:
        return self._browser.ask(method, session=self.session, seconds=seconds, **parameters)

    def go(self, url: str) -> None:
        """Begins to load a page. What an earlier one has received no longer counts."""
        self._bytes.clear()
        self._elsewhere.clear()
        self._active = time.monotonic()
        if error := self.ask("Page.navigate", url=url).get("errorText"):
            raise Failed(f"cannot open {url.partition('?')[0]}: {error}")

    def evaluate(self, expression: str, *, seconds: float = PATIENCE_SECONDS) -> Any:
        """The value of an expression in the page."""
        how = {"returnByValue": True, "awaitPromise": True}
        found = self.ask("Runtime.evaluate", expression=expression, seconds=seconds, **how)
        if "exceptionDetails" in found:
            raise Failed(f"the page cannot say {expression[:200]}: {found['exceptionDetails']}"[:800])
        return found["result"].get("value")

    def wait_for(self, condition: str, *, seconds: float = PATIENCE_SECONDS) -> None:
        """Waits until an expression in the page is true.

        Raises:
            TooLate: it does not become so, or the page is too busy to say.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with suppress(Refused):  # a page that is being replaced says nothing
                if self.evaluate(f"Boolean({condition})", seconds=left):
                    return
            self._browser.listen(POLL_SECONDS)
        raise TooLate(f"a page does not get as far as {condition} within {seconds:g} s")

    def settle(self) -> None:
        """Waits until the page asks for nothing more."""
        end = time.monotonic() + SETTLE_SECONDS
        while (left := self._active + QUIET_SECONDS - time.monotonic()) > 0 and time.monotonic() < end:
            self._browser.listen(left)

    def traffic(self) -> Traffic:
        return Traffic(sum(self._bytes.values()), tuple(sorted(self._elsewhere)))

    def heap(self) -> float:
        """Megabytes of JavaScript's objects that something still refers to."""
        for _ in range(2):  # what the first one lets go of, the second one finds
            self.ask("HeapProfiler.collectGarbage")
        return self.ask("Runtime.getHeapUsage")["usedSize"] / 1e6

    def take(self, method: str, event: Mapping[str, Any]) -> None:
        """Takes note of what has happened in the page."""
        match method:
            case "Network.requestWillBeSent":
                url: str = event["request"]["url"]
                if url.startswith(("http://", "https://", "ws://", "wss://")):
                    host = url.split("/", 3)[2]
                    if host.partition(":")[0] == "127.0.0.1":
                        self._active = time.monotonic()
                    else:
                        self._elsewhere.add(host)
            case "Network.dataReceived":
                # Replaced at the end by all that was sent, with the head. A stream has no end.
                self._count(event["requestId"], event.get("encodedDataLength", 0))
            case "Network.loadingFinished":
                self._active = time.monotonic()
                self._bytes[event["requestId"]] = int(event["encodedDataLength"])
            case "Network.webSocketFrameReceived":
                self._count(event["requestId"], len(event["response"]["payloadData"].encode()))

    def _count(self, request: str, length: int) -> None:
        self._active = time.monotonic()
        self._bytes[request] = self._bytes.get(request, 0) + length


def find_browser() -> str | None:
    """The path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def open_browser(prefix: Sequence[str], folder: str) -> Iterator[Browser]:
    """Chromium in a folder of its own, started by `prefix`. Leaving the block ends it with all its processes.

    Raises:
        Failed: there is none.
    """
    program = find_browser()
    if program is None:
        raise Failed("chromium not found")
    commands, to_browser = os.pipe()
    from_browser, answers = os.pipe()
    pipes = (commands, to_browser, from_browser, answers)
    home = tempfile.mkdtemp(prefix="browser-", dir=folder)
    process = None
    try:
        with undisturbed():
            process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", "-c", _WITH_PIPES, str(commands), str(answers), *prefix, program),
                    *(*ARGUMENTS, f"--user-data-dir={home}"),
                ],
                env={"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(commands, answers),
                start_new_session=True,
            )
        browser = Browser(to_browser=to_browser, from_browser=from_browser)
        browser.ask("Browser.getVersion")
        yield browser
        with suppress(Failed):
            browser.ask("Browser.close")
    finally:
        with undisturbed():
            if process is not None:
                _end(process)
            for pipe in pipes:
                os.close(pipe)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Gives it time to end by itself, then ends its group."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STOP_SECONDS)
