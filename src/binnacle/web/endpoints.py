"""What the page can read and do in a project: functions with a name, typed arguments and a typed answer.

    @reads("board")                       GET  /api/<project>/board?status=pending&limit=50
    async def read_board(project: PageProject, asked: BoardQuery) -> BoardPage: ...

    @acts("move_task")                    POST /api/<project>/move_task   {"id": "bn-1f3a", "status": "done"}
    async def move_task(project: PageProject, asked: MoveTask) -> MovedTask: ...

Arguments and answers are msgspec structs: requests are checked against them, and the types of the page are made from
them. Reading changes nothing. An action of a page that is only for reading is refused before its function is called.
"""

from collections.abc import Awaitable, Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal, TypeVar, get_type_hints

from msgspec import Struct

from binnacle.web import api
from binnacle.web.page_project import PageProject

Asked = TypeVar("Asked", bound=Struct)
Answer = TypeVar("Answer", bound=Struct)
Function = Callable[[PageProject, Asked], Awaitable[Answer]]


class PageEndpoint(Struct, frozen=True, kw_only=True):
    """Something that the page can read or do."""

    name: str
    kind: Literal["read", "action"]
    asked: type[Struct]
    """The type of its arguments."""

    answer: type[Struct]
    function: Callable[[PageProject, Any], Awaitable[Struct]]  # the type of the second argument is `asked`


class NoArguments(Struct, frozen=True):
    """The arguments of what needs none."""


ENDPOINTS: dict[str, PageEndpoint] = {}
"""Every endpoint that was loaded, by name."""


def reads(name: str) -> Callable[[Function[Asked, Answer]], Function[Asked, Answer]]:
    """Lets the page read what a function returns."""
    return lambda function: _register(name, "read", function)


def acts(name: str) -> Callable[[Function[Asked, Answer]], Function[Asked, Answer]]:
    """Lets a person do on the page what a function does."""
    return lambda function: _register(name, "action", function)


def load_all() -> dict[str, PageEndpoint]:
    """Every endpoint, by name: those of all modules in `api`."""
    for module in iter_modules(api.__path__):
        import_module(f"{api.__name__}.{module.name}")
    return ENDPOINTS


def _register(name: str, kind: Literal["read", "action"], function: Function[Asked, Answer]) -> Function[Asked, Answer]:
    if name in ENDPOINTS:
        raise ValueError(f"two endpoints are called {name!r}")
    hints = get_type_hints(function)
    asked, answer = next(hint for key, hint in hints.items() if key not in ("project", "return")), hints["return"]
    ENDPOINTS[name] = PageEndpoint(name=name, kind=kind, asked=asked, answer=answer, function=function)
    return function
