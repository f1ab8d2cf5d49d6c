"""The screens on which people see a view, and what holds on each."""

from typing import Any

from page.browsing import PHONE, Page, find_violations

ZOOMED = {"width": 320, "height": 256}
"""What is left of 1280 by 1024 pixels at 400 %."""

SCREENS: dict[str, dict[str, Any]] = {
    "desktop": {},
    "dark": {"color_scheme": "dark"},
    "contrast": {"contrast": "more"},
    "phone": {"viewport": PHONE, "color_scheme": "dark"},
    "zoomed": {"viewport": ZOOMED},
}

MAX_NODES = 2000
"""Elements of a page, however much there is to see."""


def find_faults(page: Page) -> list[str]:
    """What is wrong with what a page shows, for people of any ability: axe's findings, and what is out of reach."""
    wide = page.evaluate(
        "Math.max(...[document.documentElement, document.getElementById('content')]"
        ".map((one) => one.scrollWidth - one.clientWidth))"
    )
    return [*find_violations(page), *([f"it is {wide} pixels wider than the screen"] if wide > 0 else [])]


def count_nodes(page: Page) -> int:
    return int(page.evaluate("document.querySelectorAll('*').length"))
