"""What the page can read and do in a project: functions with a name, typed arguments and a typed answer.

    @reads("board")                       GET  /api/<project>/board?status=pending&limit=50
    async def read_board(project: PageProject, asked: BoardQuery) -> BoardPage: ...

    @acts("move_task")                    POST /api/<project>/move_task   {"id": "bn-1f3a", "status": "done"}
    async def move_task(project: PageProject, asked: MoveTask) -> MovedTask: ...

    @streams("transcript")                GET  /api/stream?watch=<project>:transcript:bns-12
    async def watch_transcript(project: PageProject, what: str) -> AsyncIterator[TranscriptPart]: ...

Arguments and answers are msgspec structs: requests are checked against them, and the types of the page are made from
them. Reading changes nothing. An action of a page that is only for reading is refused before its function is called.

A topic adds messages to the stream of a page that watches it, besides the changes that every page gets. Its function
is called once for each page and is closed when the page no longer watches.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from msgspec import Struct

from binnacle.web import api
from binnacle.web.page_project import PageProject

Asked = TypeVar("Asked", bound=Struct)
Answer = TypeVar("Answer", bound=Struct)
Function = Callable[[PageProject, Asked], Awaitable[Answer]]
Source = Callable[[PageProject, str], AsyncIterator[Answer]]

READ_SECONDS = 15.0
"""Seconds that reading may take, if the endpoint says nothing else."""

ACT_SECONDS = 60.0
"""Seconds that an action may take, if the endpoint says nothing else."""


class PageEndpoint(Struct, frozen=True, kw_only=True):
    """Something that the page can read or do."""

    name: str
    kind: Literal["read", "action"]
    asked: type[Struct]
    """The type of its arguments."""

    answer: type[Struct]
    function: Callable[[PageProject, Any], Awaitable[Struct]]  # the type of the second argument is `asked`
    within: float
    """Seconds that it may take."""


class PageTopic(Struct, frozen=True, kw_only=True):
    """Something that a page can watch."""

    name: str
    message: type[Struct]
    function: Callable[[PageProject, str], AsyncIterator[Struct]]


class NoArguments(Struct, frozen=True):
    """The arguments of what needs none."""


ENDPOINTS: dict[str, PageEndpoint] = {}
"""Every endpoint that was loaded, by name."""


TOPICS: dict[str, PageTopic] = {}
"""Every topic that was loaded, by name."""


def reads(name: str, *, within: float = READ_SECONDS) -> Callable[[Function[Asked, Answer]], Function[Asked, Answer]]:
    """Lets the page read what a function returns."""
    return lambda function: _register(name, "read", function, within)


def acts(name: str, *, within: float = ACT_SECONDS) -> Callable[[Function[Asked, Answer]], Function[Asked, Answer]]:
    """Lets a person do on the page what a function does."""
    return lambda function: _register(name, "action", function, within)


def streams(name: str) -> Callable[[Source[Answer]], Source[Answer]]:
    """Lets a page watch what a function yields."""

    def register(function: Source[Answer]) -> Source[Answer]:
        if name in TOPICS:
            raise ValueError(f"two topics are called {name!r}")
        message = get_args(get_type_hints(function)["return"])[0]
        TOPICS[name] = PageTopic(name=name, message=message, function=function)
        return function

    return register


def load_all() -> dict[str, PageEndpoint]:
    """Every endpoint, by name: those of all modules in `api`."""
    for module in iter_modules(api.__path__):
        import_module(f"{api.__name__}.{module.name}")
    return ENDPOINTS


def _register(
    name: str, kind: Literal["read", "action"], function: Function[Asked, Answer], within: float
) -> Function[Asked, Answer]:
    if name in ENDPOINTS:
        raise ValueError(f"two endpoints are called {name!r}")
    hints = get_type_hints(function)
    asked, answer = next(hint for key, hint in hints.items() if key not in ("project", "return")), hints["return"]
    ENDPOINTS[name] = PageEndpoint(name=name, kind=kind, asked=asked, answer=answer, function=function, within=within)
    return function
