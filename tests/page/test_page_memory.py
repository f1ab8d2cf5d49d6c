"""What the page keeps while the work goes on: no more than it shows."""

import pytest

from binnacle.store import comments, task_moves
from page.browsing import Page, expect
from page.stocked_project import PERSON, StockedProject

CHANGES = 40
SPARE_NODES = 200
"""Less than a tenth of the cards that the changes replace."""


@pytest.fixture
def project(repo):
    return StockedProject(repo)


def test_the_board_lets_go_of_the_cards_that_it_no_longer_shows(project, gui, visit):
    pending = project.add(*(f"Task number {number}" for number in range(2 * CHANGES)))
    page = visit(gui).open("board")
    done = page.get_by_role("region", name="Done, not proven").locator(".count")

    def finish(first: int, last: int) -> None:
        for number in range(first, last):
            project.write(lambda tx, task=pending[number]: task_moves.finish(tx, task), by=PERSON)
            expect(done).to_have_text(str(number + 1))

    finish(0, CHANGES // 2)
    before = count_kept_nodes(page)
    finish(CHANGES // 2, CHANGES + CHANGES // 2)
    assert count_kept_nodes(page) <= before + SPARE_NODES


def test_the_page_of_a_task_lets_go_of_what_it_showed_before(project, gui, visit):
    (task,) = project.add("Repair the till")
    page = visit(gui).open(f"task/{task}")

    def comment(first: int, last: int) -> None:
        for number in range(first, last):
            written = project.write(lambda tx, body=f"remark {number}": comments.add(tx, task, body), by=PERSON)
            expect(page.get_by_text(f"remark {number}", exact=True).first).to_be_visible()
            project.write(lambda tx, one=written.id: comments.delete(tx, one), by=PERSON)
            expect(page.get_by_text(f"remark {number}", exact=True)).to_have_count(0)

    comment(0, CHANGES // 4)
    before = count_kept_nodes(page)
    comment(CHANGES // 4, CHANGES)
    assert count_kept_nodes(page) <= before + SPARE_NODES


def count_kept_nodes(page: Page) -> int:
    """Nodes in memory after the garbage is gone, also of what is no longer on the page."""
    session = page.context.new_cdp_session(page)
    for _ in range(2):  # what the first one lets go of, the second one finds
        session.send("HeapProfiler.collectGarbage")
    counted = session.send("Memory.getDOMCounters")["nodes"]
    session.detach()
    return counted
