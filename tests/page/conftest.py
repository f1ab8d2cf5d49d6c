"""A browser, and pages for it: on an empty project, and on what a real run leaves."""

from collections.abc import Callable, Iterator

import pytest

from page.browsing import Browser, Visit, open_browser
from page.demo_project import DemoProject
from web.conftest import repo  # noqa: F401 - the fixture
from web.served_gui import ServedGui


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Any test here may be the first to ask for the browser, and then waits for its installation."""
    for item in items:
        if item.path.parent.name == "page":
            item.add_marker(pytest.mark.peers)
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
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
    visits: list[Visit] = []

    def open_visit(gui: ServedGui, **options: object) -> Visit:
        visits.append(Visit(browser, gui, **options))
        return visits[-1]

    yield open_visit
    for one in visits:
        one.close()
