"""Tries upstream servers for the page, and remembers for a while how that went.

A test connects to real servers, so it begins only when a person asks for it. It owns what it starts: when it is over,
takes too long, or the page goes away, every process that it started has ended.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from binnacle.app.upstream_probe import ServerCheckup, ToolSummary, UpstreamProbe, probe_servers
from binnacle.errors import Refused, TimedOut
from binnacle.serving.upstream_connections import UpstreamConnections
from binnacle.tools.tool_spec import ToolSpec
from binnacle.tools.upstream_tools import upstream_tools
from binnacle.web.page_project import PageProject

TEST_SECONDS = 90.0
"""Seconds that a test may take: a first start may fetch packages."""

MAX_TESTS = 4
"""Tests of one page that run at once."""

Found = TypeVar("Found")


class TestedServer(NamedTuple):
    """How a server stood when it was last tried."""

    at: datetime
    checkup: ServerCheckup
    tools: list[ToolSummary]
    specs: list[ToolSpec]
    """The same tools, as the catalog of a session has them. They cannot be called: the connection has ended."""


class UpstreamTests:
    """The tests of one project's servers."""

    def __init__(self) -> None:
        self._last: dict[str, TestedServer] = {}
        self._running: set[str] = set()
        self._logins: dict[str, list[str]] = {}
        """What a person is to do, for each login that is under way."""

    def find(self, name: str) -> TestedServer | None:
        """How the last test of a server went."""
        return self._last.get(name)

    @property
    def last(self) -> Mapping[str, TestedServer]:
        """The last tests, by server."""
        return self._last

    def is_running(self, name: str) -> bool:
        """Whether the server is being tried now."""
        return name in self._running

    def forget(self, name: str) -> None:
        """Drops what is known of a server, because it is configured differently now."""
        self._last.pop(name, None)

    def login_lines(self, name: str) -> list[str]:
        """What a person is to do to sign in; empty if no login is under way."""
        return list(self._logins.get(name, ()))

    @contextmanager
    def showing_login(self, name: str) -> Generator[Callable[[str], None]]:
        """Keeps what a login tells the person, as long as the block runs.

        Raises:
            Refused: somebody is signing in already.
        """
        if name in self._logins:
            raise Refused(f"somebody is signing in to {name} already", hint="finish that, or cancel it")
        lines = self._logins[name] = []
        try:
            yield lines.append
        finally:
            del self._logins[name]
            self.forget(name)

    async def test(self, project: PageProject, name: str, brought: Mapping[str, Any]) -> TestedServer:
        """Connects to a server, makes a round trip, lists its tools, and ends what was started."""

        async def work(probe: UpstreamProbe) -> TestedServer:
            checkup = (await probe.examine())[name]
            offers = [offer for offer in probe.gateway.offers().values() if offer.server == name]
            specs = list(upstream_tools(probe.gateway, _ignore_use))
            return TestedServer(datetime.now(UTC), checkup, [probe.describe(offer) for offer in offers], specs)

        self._last[name] = await self.use(project, name, brought, work, within=TEST_SECONDS)
        return self._last[name]

    async def use(
        self,
        project: PageProject,
        name: str,
        brought: Mapping[str, Any],
        work: Callable[[UpstreamProbe], Awaitable[Found]],
        *,
        within: float,
    ) -> Found:
        """Does something with a server that is connected for it.

        Raises:
            Refused: it is being tried already, or too many are.
            TimedOut: it took too long.
        """
        if name in self._running:
            raise Refused(f"{name} is being connected already", hint="wait for that, or cancel it")
        if len(self._running) >= MAX_TESTS:
            raise Refused(f"{MAX_TESTS} servers are being connected", hint="wait for one of them")
        self._running.add(name)

        async def connect_and_work() -> Found:
            shared, advance = _find_connections(project, name), _ignore_progress
            async with probe_servers(project.project, brought, only=[name], advance=advance, shared=shared) as probe:
                return await work(probe)

        try:
            async with asyncio.timeout(within):
                return await project.with_upstreams(connect_and_work)
        except TimeoutError:
            raise TimedOut(f"{name} took longer than {within:g} s", hint="see its log, then try again") from None
        finally:
            self._running.discard(name)


def _find_connections(project: PageProject, name: str) -> UpstreamConnections | None:
    """The connections of the sessions that this process serves, if one of them uses the server."""
    shared = project.shared_upstreams
    return shared.get() if shared is not None and shared.find_live(name) is not None else None


def _ignore_progress(done: int, waits_for: str) -> None:
    """The page shows only that a test runs."""


def _ignore_use(name: str) -> None:
    """No session has used the tool."""


_tests: WeakKeyDictionary[PageProject, UpstreamTests] = WeakKeyDictionary()


def upstream_tests_of(project: PageProject) -> UpstreamTests:
    """The tests of a project's servers, as long as the page has it open."""
    return _tests.setdefault(project, UpstreamTests())
