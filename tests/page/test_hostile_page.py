"""Hostile text in the page: whatever agents, servers and repositories write stays text, and holds up no tab."""

import pytest

from web.served_gui import bn

SIZE = 49_000

SLOW_TEXTS = {
    "a heading that seems to end": "# a" + " " * SIZE + "b",
    "a table that seems to begin": "a|b\n-" + " " * SIZE + "x",
    "a line that seems to break": "a\n  " * 100 + "a" + " " * SIZE + "b",
    "brackets behind much code": "`a` " * (SIZE // 8) + "[" * (SIZE // 2),
    "backticks that nothing closes": "".join("`" * length + "a" for length in range(1, 300)),
    "many emphasised words": "*a* **b** __c__ ~~d~~ " * (SIZE // 22),
    "one row with many cells": "a|b\n-|-\n" + "|" * SIZE,
    "many full rows": "a|b\n-|-\n" + ("|" * 31 + "\n") * (SIZE // 32),
    "many items": "- a\n" * (SIZE // 4),
    "deep quotes": "> " * (SIZE // 2) + "a",
    "deep lists": "\n".join("  " * depth + "- a" for depth in range(200)),
}
"""Texts whose patterns could be tried again and again."""


@pytest.mark.parametrize("text", SLOW_TEXTS.values(), ids=SLOW_TEXTS)
def test_no_text_holds_up_the_page(gui, repo, visit, text):
    task = bn(repo, "task", "add", "Sell hats", "--description", text)["tasks"][0]["id"]
    page = visit(gui).open(f"task/{task}")
    page.get_by_role("heading", name="Sell hats").wait_for()
    page.locator("#content .markdown").first.wait_for()
    assert page.evaluate("1 + 1") == 2
