"""The log: what happened as sentences, as it happens, filtered, and to its beginning."""

import re

import pytest

from binnacle.store import task_moves, tasks
from binnacle.work.task import NewTask
from page.browsing import expect
from page.filled_stores import HOSTILE, add_tasks, change_store, start_work
from page.screens import MAX_NODES, SCREENS, count_nodes, find_faults


def rows_of(page):
    return page.locator(".log-row")


def titles_of(page) -> list[str]:
    return [re.sub(r"\s+", " ", one).strip() for one in page.locator(".log-what").all_inner_texts()]


def add(repo, *titles: str) -> list[str]:
    return add_tasks(repo, *(NewTask(title=title) for title in titles))


def test_what_another_process_does_appears_at_the_top(gui, visit):
    (first,) = add(gui.repo, "Sort the basket")
    page = visit(gui).open("log")
    expect(rows_of(page)).to_have_count(1)
    expect(rows_of(page).first).to_contain_text("ann")
    expect(rows_of(page).first).to_contain_text("Sort the basket")
    change_store(gui.repo, lambda tx: task_moves.start(tx, first))
    expect(rows_of(page)).to_have_count(2)
    expect(rows_of(page).first).to_contain_text("started")
    rows_of(page).first.get_by_role("link", name=first).click()
    expect(page).to_have_url(re.compile(f"/task/{first}"))


def test_a_paused_log_stands_still_and_then_catches_up(gui, visit):
    add(gui.repo, "Sort the basket")
    page = visit(gui).open("log")
    expect(rows_of(page)).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    add(gui.repo, "Paint it")
    expect(page.get_by_role("link", name="Board")).to_contain_text("2")  # the page has heard of it
    expect(rows_of(page)).to_have_count(1)
    page.keyboard.press("p")
    expect(rows_of(page)).to_have_count(2)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_filters_are_in_the_address_and_hold_for_what_comes(gui, visit):
    agent, task = start_work(gui.repo, "Sort the basket")
    add(gui.repo, "Paint it")
    page = visit(gui).open("log")
    everything = rows_of(page)
    expect(everything).to_have_count(4)
    page.get_by_label("By").select_option(agent)
    expect(everything).to_have_count(1)
    expect(everything.first).to_contain_text("rivet started")
    page.get_by_label("By").select_option("")
    page.get_by_label("What", exact=True).select_option("task")
    page.get_by_label("Done with it").select_option("added")
    expect(everything).to_have_count(2)
    expect(page).to_have_url(re.compile(r"entity=task&action=added"))
    add(gui.repo, "Iron it")
    expect(everything).to_have_count(3)
    change_store(gui.repo, lambda tx: task_moves.release(tx, task))
    page.get_by_label("Text").fill("iron")
    expect(everything).to_have_count(1)
    page.reload()
    expect(everything).to_have_count(1)
    page.get_by_role("button", name="Show everything").click()
    expect(everything).to_have_count(6)
    page.get_by_label("About").fill(task)
    expect(everything).to_have_count(3)
    page.get_by_label("About").fill("")
    page.get_by_label("When").select_option("1h")
    expect(everything).to_have_count(6)
    page.get_by_label("Text").fill("nothing has these words")
    expect(page.get_by_text("Nothing in the log fits.")).to_be_visible()


def test_details_show_exactly_what_was_recorded(gui, visit):
    add(gui.repo, "Sort the basket")
    page = visit(gui).open("log")
    details = page.get_by_role("button", name="Details of event")
    details.click()
    expect(page.get_by_label("What event")).to_contain_text('"title": "Sort the basket"')
    details.click()
    expect(page.get_by_label("What event")).to_have_count(0)


def test_a_name_filters_by_who_did_it(gui, visit):
    start_work(gui.repo, "Sort the basket")
    page = visit(gui).open("log")
    rows_of(page).first.get_by_role("button", name="rivet").click()
    expect(rows_of(page)).to_have_count(1)
    expect(page).to_have_url(re.compile("actor=bna-"))


def test_thousands_of_events_are_read_in_parts_to_the_first_one(gui, visit):
    for part in range(3):
        add(gui.repo, *(f"Task {part * 500 + at}" for at in range(500)))
    page = visit(gui).open("log")
    rows_of(page).first.wait_for()
    page.wait_for_function(
        """() => {
          const list = document.querySelector('.log-list');
          list.scrollTop = list.scrollHeight;
          return /Task 0\\b/.test(list.textContent);
        }""",
        timeout=60_000,
    )
    first = rows_of(page).filter(has_text=re.compile(r"Task 0\b"))
    expect(first).to_be_visible()
    assert count_nodes(page) <= MAX_NODES
    top = page.locator(".log-list").evaluate("list => list.scrollTop")
    change_store(gui.repo, lambda tx: tasks.add(tx, [NewTask(title="Meanwhile")]))
    expect(page.get_by_role("link", name="Board")).to_contain_text("1501")
    expect(first).to_be_visible()
    assert top > 0


def test_hostile_texts_stay_text(gui, visit):
    start_work(gui.repo, HOSTILE, agent=HOSTILE)
    page = visit(gui).open("log")
    expect(rows_of(page).first).to_contain_text("<img src=x")
    page.get_by_role("button", name="Details of event").last.click()
    page.get_by_label("What event").wait_for()
    expect(page.locator("#content img")).to_have_count(0)
    expect(page.locator("a[href^='javascript']")).to_have_count(0)


@pytest.mark.parametrize("screen", SCREENS)
def test_the_log_can_be_seen_by_everybody_on_any_screen(gui, visit, screen):
    start_work(gui.repo, HOSTILE)
    page = visit(gui, **SCREENS[screen]).open("log")
    page.get_by_role("button", name="Details of event").first.click()
    page.get_by_label("What event").wait_for()
    assert find_faults(page) == []
