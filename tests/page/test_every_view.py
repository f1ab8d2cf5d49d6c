"""What holds for every view: it shows without faults, for everybody, on any screen."""

import pytest

from page.browsing import PHONE, find_violations

VIEWS = (
    "needs_you", "board", "runs", "review", "graph", "agents", "tools", "upstreams", "log", "charts",
)  # fmt: skip
"""The views of the navigation, by their addresses."""


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shows_what_a_run_left(demo, visit, view):
    page = visit(demo.gui).open(view)
    page.locator("#content h1").first.wait_for()
    assert find_violations(page) == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_fits_a_phone_in_the_dark(demo, visit, view):
    page = visit(demo.gui, viewport=PHONE, color_scheme="dark").open(view)
    page.locator("#content h1").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert find_violations(page) == []
