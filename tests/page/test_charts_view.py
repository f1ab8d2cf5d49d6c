"""The charts: what was done and spent in the last days, drawn and as tables that agree with what is drawn."""

import re

import pytest

from binnacle.store import task_moves
from binnacle.work.task import NewTask
from page.browsing import expect
from page.filled_stores import add_tasks, add_weeks_of_work, change_store
from page.screens import SCREENS, find_faults

TITLES = ("Done and proven a day", "Burn-down", "Time in status", "Tools: time and errors", "Cost")


def section_of(page, title: str):
    return page.locator(".chart").filter(has=page.get_by_role("heading", name=title, exact=True))


def table_of(section, label: str) -> list[list[str]]:
    rows = section.get_by_role("group", name=label, exact=True).locator("tbody tr")
    return [row.locator("td").all_inner_texts() for row in rows.all()]


def test_every_chart_has_a_table_that_says_the_same(gui, visit):
    add_weeks_of_work(gui.repo)
    page = visit(gui).open("charts")
    for title in TITLES:
        expect(section_of(page, title).locator("table").first).to_be_attached()
    done = section_of(page, "Done and proven a day")
    done.get_by_text("Table").click()
    days = table_of(done, "Done and proven a day")
    assert len(days) == 30
    sums = [sum(int(day[column]) for day in days) for column in (1, 2)]
    assert 0 < sums[1] < sums[0]
    expect(done).to_contain_text(f"{sums[0]} done, {sums[1]} of them proven.")
    slider = done.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    oldest = days[-1]
    said = f"{oldest[2]} proven, {int(oldest[1]) - int(oldest[2])} only said"
    expect(slider).to_have_attribute("aria-valuetext", re.compile(f": {said}$"))
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("PageUp")
    expect(slider).to_have_attribute("aria-valuenow", "8")


def test_the_mouse_chooses_a_day(gui, visit):
    add_weeks_of_work(gui.repo)
    page = visit(gui).open("charts")
    slider = page.get_by_role("slider", name="Open tasks: day")
    expect(slider).to_have_attribute("aria-valuenow", "29")
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 60, box["y"] + 20)
    expect(slider).to_have_attribute("aria-valuenow", "0")


def test_cost_is_split_by_agent_model_and_recipe(gui, visit):
    add_weeks_of_work(gui.repo)
    page = visit(gui).open("charts")
    cost = section_of(page, "Cost")
    page.get_by_role("group", name="Tool calls by kind").wait_for()
    for by, names in (
        ("agent", {"goose", "claude"}),
        ("model", {"small", "large"}),
        ("recipe", {"loop", "task_execution", "loop_debug"}),
    ):
        rows = table_of(cost, f"Cost by {by}")
        assert {row[0] for row in rows} == names
        assert sum(int(row[1]) for row in rows) == 15
        assert all("USD" in row[4] for row in rows)
    tools = table_of(section_of(page, "Tools: time and errors"), "Tool calls by kind")
    assert {row[0]: row[1:4] for row in tools} == {
        "read": ["15", "0", "100 ms"],
        "execute": ["15", "15 (100 %)", "2.5 s"],
    }


def test_how_far_back_is_in_the_address(gui, visit):
    add_weeks_of_work(gui.repo)
    page = visit(gui).open("charts")
    page.get_by_label("How far back").select_option("7")
    expect(page).to_have_url(re.compile(r"\?days=7$"))
    expect(page.get_by_role("slider", name="Open tasks: day")).to_have_attribute("aria-valuemax", "6")
    page.reload()
    expect(page.get_by_label("How far back")).to_have_value("7")
    page.keyboard.press("Control+k")
    page.keyboard.type("365")
    page.keyboard.press("Enter")
    expect(page.get_by_role("slider", name="Open tasks: day")).to_have_attribute("aria-valuemax", "364")
    page.goto(page.url.replace("365", "many"))
    expect(page.get_by_label("How far back")).to_have_value("30")


def test_what_is_done_meanwhile_is_counted(gui, visit):
    (task,) = add_tasks(gui.repo, NewTask(title="Sort the basket"))
    page = visit(gui).open("charts")
    expect(section_of(page, "Done and proven a day")).to_contain_text("0 done")
    expect(section_of(page, "Cost")).to_contain_text("No run worked in these days.")
    change_store(gui.repo, lambda tx: task_moves.finish(tx, task))
    expect(section_of(page, "Done and proven a day")).to_contain_text("1 done, 0 of them proven.")
    expect(section_of(page, "Burn-down")).to_contain_text("0 open; 1 were added and 1 closed.")


def test_a_table_is_copied_for_a_spreadsheet(gui, visit):
    add_weeks_of_work(gui.repo)
    browser = visit(gui, permissions=["clipboard-read", "clipboard-write"])
    page = browser.open("charts")
    page.get_by_role("button", name="Copy the table: Cost by model").click()
    expect(page.get_by_role("region", name="Messages")).to_contain_text("Copied.")
    lines = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert lines[0] == "Model\tIterations\tTime\tTokens\tCost"
    assert {line.partition("\t")[0] for line in lines[1:]} == {"small", "large"}


@pytest.mark.parametrize("screen", SCREENS)
def test_charts_can_be_seen_by_everybody_on_any_screen(gui, visit, screen):
    add_weeks_of_work(gui.repo)
    page = visit(gui, **SCREENS[screen]).open("charts")
    section_of(page, "Cost").locator("table").first.wait_for(state="attached")
    for table in page.get_by_text("Table", exact=True).all():
        table.click()
    assert find_faults(page) == []
