"""What changes in the shown projects, sent to every open page as it happens.

    thread of a project ── events.follow ──► ProjectFeed ──► PageStream of each page ──► its connection
                                             topics that a page watches ──┘

A `ProjectFeed` belongs to the `EventStreams` of the server. Its thread starts with the first page, reads the log once
for all of them, and ends with the server. A `PageStream` belongs to one connection; it ends when that does.

No event is lost or comes twice. A stream first hears its feed and keeps what comes aside, then reads the log up to its
newest event, sends that, and only then what it kept aside with higher numbers. The feed starts at a number that was
read before, under the same lock. The `id` of every message has the newest number of each project, and a page that
comes back gives it: it gets what it missed, or, after more than `MAX_BACKLOG_EVENTS`, the request to read all again.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from binnacle.errors import BinnacleError, InvalidInput
from binnacle.project.store_opening import open_store
from binnacle.server.http_exchange import HttpExchange, HttpReply
from binnacle.store.events import follow, last_number, list_events_after
from binnacle.store.transaction import Reader
from binnacle.web.endpoint_calls import PageError, describe_error
from binnacle.web.endpoints import TOPICS, PageTopic
from binnacle.web.page_project import PageProject
from binnacle.web.page_projects import PageProjects
from binnacle.work.journal import Event

_log = logging.getLogger(__name__)

MAX_STREAMS = 32
"""Streams open at once. The tabs of one browser share one."""

MAX_BACKLOG_EVENTS = 3000
"""Events that a page that comes back is sent one after the other; beyond that it reads everything again."""

MAX_WATCHES = 16
"""Topics that one page watches."""

MAX_CHANGES_BYTES = 2000
MAX_VALUE_BYTES = 200
"""Size of the changes of one event, and of one value in larger ones: of more, only the name is sent."""

SIGN_OF_LIFE = b"event: alive\ndata: {}\n\n"
"""What a page hears of a silent stream, so that it notices a dead one. A comment would not reach it."""

BATCH_EVENTS = 100
FOLLOW_SECONDS = 0.5
"""How long a thread that follows a log waits before it looks whether to end."""

RETRY_SECONDS = 2.0
"""Pause before a store that failed is opened again."""

MAX_CURSORS_CHARACTERS = 8000

STOP_SECONDS = 3.0
"""How long the end of a thread is waited for."""


NO_MESSAGE = msgspec.Raw(b"null")


class ChangeMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Events of one project, in their order; or that the page has to read everything again."""

    project: str
    cursor: int
    """Number of the newest event that this page has of the project."""

    events: list[Event] = []
    reset: bool = False
    """Whether too much was missed to be sent."""

    problem: PageError | None = None
    """Why no events of the project can be read now; an empty one says that they can be again."""


class TopicMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message of a topic that the page watches. The `message` is of the topic's type."""

    project: str
    what: str
    message: msgspec.Raw = NO_MESSAGE
    error: PageError | None = None
    """Why the topic ended. It is not watched any more."""

    is_over: bool = False
    """Whether nothing follows."""


class WatchedTopic(NamedTuple):
    """A topic that a page watches."""

    project: str
    topic: PageTopic
    what: str


class ProjectFeed:
    """Follows the event log of one project in a thread, from the first `start` to `stop`."""

    def __init__(self, project: PageProject, tell: Callable[[Sequence[Event], PageError | None], None]) -> None:
        """`tell` is called in the event loop with new events, or with a problem that began or ended."""
        self.project = project
        self.starting = asyncio.Lock()
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._after = 0
        self._thread: threading.Thread | None = None

    def start(self, after: int) -> None:
        """Tells every event after number `after`, if it was not started before."""
        if self._thread is None and not self._stopping.is_set():
            self._after = after
            self._thread = threading.Thread(target=self._run, name=f"events-{self.project.key}", daemon=True)
            self._thread.start()

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def wait_stopped(self) -> None:
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except BinnacleError as error:
                self._hand_over([], describe_error(error))
            except Exception as error:  # noqa: BLE001 - the thread goes on, and the page is told
                _log.exception("cannot follow the events of %s", self.project.key)
                self._hand_over([], PageError(code="E_INTERNAL", message=f"unexpected {type(error).__name__}: {error}"))
            self._stopping.wait(RETRY_SECONDS)

    def _follow(self) -> None:
        with open_store(self.project.project, workspace=self.project.workspace) as store:
            self._hand_over([], None)
            for events in follow(store, after=self._after, wait=FOLLOW_SECONDS):
                if self._stopping.is_set():
                    return
                if events:
                    self._after = events[-1].seq
                    self._hand_over(events, None)

    def _hand_over(self, events: Sequence[Event], problem: PageError | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._tell, events, problem)


class PageStream:
    """The stream of one page."""

    def __init__(self, exchange: HttpExchange, cursors: Mapping[str, int] | None) -> None:
        """`cursors` are the newest events that the page has, by project; without them it wants no events."""
        self._exchange = exchange
        self.wants_events = cursors is not None
        self._asked = cursors or {}
        self._sent: dict[str, int] = {}
        self._early: dict[str, list[Event]] = {}
        """What a feed told while the stream reads the log."""

        self._problems: dict[str, str] = {}
        """The codes of what was said to be wrong, by project."""

    @property
    def is_open(self) -> bool:
        return not self._exchange.is_answered

    async def join(self, feed: ProjectFeed) -> None:
        """Sends what the page has missed of a project, and from then on what happens in it."""
        key, project = feed.project.key, feed.project
        self._early[key] = []
        while self.is_open:
            try:
                async with feed.starting:
                    newest = await project.read(last_number)
                    feed.start(newest)
                await self._catch_up(project, newest)
                break
            except BinnacleError as error:
                self.report(key, describe_error(error))
                await asyncio.sleep(RETRY_SECONDS)
        self.report(key, None)
        self._send(key, self._early.pop(key))

    async def _catch_up(self, project: PageProject, newest: int) -> None:
        key, after = project.key, self._asked.get(project.key)
        is_lost = after is not None and not newest - MAX_BACKLOG_EVENTS <= after <= newest
        self._sent[key] = newest if after is None or is_lost else after
        if after is None or is_lost:
            self._say(ChangeMessage(project=key, cursor=newest, reset=is_lost))
            return
        while self.is_open and self._sent[key] < newest:

            def look(tx: Reader) -> list[Event]:
                return list_events_after(tx, self._sent[key], limit=BATCH_EVENTS)

            if not (events := await project.read(look)):
                break
            self._send(key, events)
        self._say(ChangeMessage(project=key, cursor=self._sent[key]))

    def hear(self, key: str, events: Sequence[Event]) -> None:
        """Sends new events of a project, now or after those that come before."""
        if key in self._early:
            self._early[key] += events
        else:
            self._send(key, events)

    def report(self, key: str, problem: PageError | None) -> None:
        """Says that a project's events cannot be read, or can be again."""
        told = problem or PageError(code="", message="")
        if told.code != self._problems.get(key, ""):
            self._problems[key] = told.code
            self._say(ChangeMessage(project=key, cursor=self._sent.get(key, 0), problem=told))

    def _send(self, key: str, events: Sequence[Event]) -> None:
        new = [event for event in events if event.seq > self._sent.get(key, 0)]
        for start in range(0, len(new), BATCH_EVENTS):
            batch = [_shorten(event) for event in new[start : start + BATCH_EVENTS]]
            self._sent[key] = batch[-1].seq
            self._say(ChangeMessage(project=key, cursor=batch[-1].seq, events=batch))

    def _say(self, message: ChangeMessage) -> None:
        number = ",".join(f"{key}:{seq}" for key, seq in self._sent.items())
        self._exchange.announce(msgspec.json.encode(message), event_id=number)

    async def watch(self, project: PageProject, watched: WatchedTopic) -> None:
        """Sends the messages of a topic until it ends or is cancelled."""
        source = watched.topic.function(project, watched.what)
        try:
            async for message in source:
                self._say_topic(watched, message=msgspec.Raw(msgspec.json.encode(message)))
            self._say_topic(watched, is_over=True)
        except BinnacleError as error:
            self._say_topic(watched, error=describe_error(error), is_over=True)
        except Exception as error:  # noqa: BLE001 - the other messages of the stream go on
            _log.exception("the topic %s failed", watched.topic.name)
            problem = PageError(code="E_INTERNAL", message=f"unexpected {type(error).__name__}: {error}")
            self._say_topic(watched, error=problem, is_over=True)
        finally:
            if (close := getattr(source, "aclose", None)) is not None:
                await close()

    def _say_topic(
        self,
        watched: WatchedTopic,
        *,
        message: msgspec.Raw = NO_MESSAGE,
        error: PageError | None = None,
        is_over: bool = False,
    ) -> None:
        told = TopicMessage(project=watched.project, what=watched.what, message=message, error=error, is_over=is_over)
        self._exchange.announce(msgspec.json.encode(told), name=watched.topic.name)


class EventStreams:
    """Every open stream, and the feeds of the shown projects. `aclose` ends all of them."""

    def __init__(self, projects: PageProjects) -> None:
        self._projects = projects
        self._feeds: dict[str, ProjectFeed] = {}
        self._streams: dict[PageStream, set[asyncio.Task[None]]] = {}
        self._exchanges: set[HttpExchange] = set()
        self._is_closed = False
        projects.on_open = self._add_project

    def open(self, exchange: HttpExchange, cursors: Mapping[str, int] | None, watched: Sequence[WatchedTopic]) -> None:
        """Begins the stream of a page; without `cursors`, only of what it watches.

        Raises:
            HttpReply: too many are open.
        """
        if self._is_closed or len(self._streams) >= MAX_STREAMS:
            raise HttpReply(503, retry_after="5")
        stream = PageStream(exchange, cursors)
        self._streams[stream] = set()
        self._exchanges.add(exchange)

        def forget() -> None:
            self._exchanges.discard(exchange)
            for task in self._streams.pop(stream, ()):
                task.cancel()

        exchange.on_gone = forget
        exchange.sign_of_life = SIGN_OF_LIFE
        exchange.open()
        for project in self._projects.shown.values():
            self._join(stream, project)
        for one in watched:
            self._begin(stream, self._watch(stream, one))

    def end_streams(self) -> None:
        """Ends every stream, so that the server can stop."""
        self._is_closed = True
        for feed in self._feeds.values():
            feed.ask_to_stop()
        for exchange in list(self._exchanges):
            exchange.end()
            exchange.on_gone()

    async def aclose(self) -> None:
        self.end_streams()
        for feed in self._feeds.values():
            await asyncio.to_thread(feed.wait_stopped)

    async def _watch(self, stream: PageStream, watched: WatchedTopic) -> None:
        await stream.watch(await self._projects.find(watched.project), watched)

    def _feed_of(self, project: PageProject) -> ProjectFeed:
        key = project.key
        if key not in self._feeds:
            self._feeds[key] = ProjectFeed(project, lambda events, problem: self._tell(key, events, problem))
        return self._feeds[key]

    def _add_project(self, project: PageProject) -> None:
        for stream in self._streams:
            self._join(stream, project)

    def _join(self, stream: PageStream, project: PageProject) -> None:
        if stream.wants_events:
            self._begin(stream, stream.join(self._feed_of(project)))

    def _tell(self, key: str, events: Sequence[Event], problem: PageError | None) -> None:
        for stream in [stream for stream in self._streams if stream.wants_events]:
            stream.report(key, problem)
            if events:
                stream.hear(key, events)

    def _begin(self, stream: PageStream, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._streams[stream].add(task)
        task.add_done_callback(lambda done: self._end(stream, done))

    def _end(self, stream: PageStream, task: "asyncio.Task[None]") -> None:
        self._streams.get(stream, set()).discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a stream of the page failed", exc_info=error)


def parse_cursors(text: str) -> dict[str, int]:
    """The cursors in an event id, `shop-1f3a:12,blog-22bb:7`. What is not one is left out: its project starts now."""
    pairs = (part.rpartition(":") for part in text[:MAX_CURSORS_CHARACTERS].split(","))
    return {key: int(number) for key, _, number in pairs if key and number.isdecimal() and len(number) < 19}


def parse_watch(text: str) -> WatchedTopic:
    """What `<project>:<topic>:<what>` asks to watch.

    Raises:
        InvalidInput: there is no such topic.
    """
    key, _, rest = text.partition(":")
    name, _, what = rest.partition(":")
    if name not in TOPICS:
        hint = f"one of: {', '.join(sorted(TOPICS))}" if TOPICS else ""
        raise InvalidInput(f"no topic {name[:100]!r} to watch", hint=hint)
    return WatchedTopic(key, TOPICS[name], what)


def _shorten(event: Event) -> Event:
    if len(msgspec.json.encode(event.changes)) <= MAX_CHANGES_BYTES:
        return event
    short = {name: value if _is_short(value) else None for name, value in event.changes.items()}
    return msgspec.structs.replace(event, changes=short)


def _is_short(value: object) -> bool:
    return len(msgspec.json.encode(value)) <= MAX_VALUE_BYTES
