"""A browser, and pages for it: on an empty project, and on what a real run leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from page.demo_project import DemoProject
from web.conftest import repo  # noqa: F401 - the fixture
from web.served_gui import ServedGui

if TYPE_CHECKING:
    from page.browsing import Browser, Visit


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leaves these tests alone where peers are left out: to import them fetches what drives the browser."""
    return True if "not peers" in config.getoption("markexpr") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Any test here may be the first to ask for the browser, and then waits for its installation."""
    for item in items:
        if item.path.parent.name == "page":
            item.add_marker(pytest.mark.peers)
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    from page.browsing import open_browser

    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def demo() -> Iterator[DemoProject]:
    """The project that a run of the demo left, and its page. Tests do not change it."""
    with DemoProject() as demo:
        yield demo


@pytest.fixture
def gui(repo) -> Iterator[ServedGui]:  # noqa: F811
    """The page of an empty project."""
    with ServedGui(repo) as gui:
        yield gui


@pytest.fixture
def visit(browser) -> Iterator[Callable[..., Visit]]:
    """Opens a browser of a person at a page. At the end nothing may have gone wrong in any of them."""
    from page.browsing import Visit

    visits: list[Visit] = []

    def open_visit(gui: ServedGui, **options: object) -> Visit:
        visits.append(Visit(browser, gui, **options))
        return visits[-1]

    yield open_visit
    for one in visits:
        one.close()
