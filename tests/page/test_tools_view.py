"""Tools: the catalog with its costs, which recipe has what and why not, and calls of any tool by a form."""

import re

import pytest

from binnacle.project.project import find_project
from binnacle.project.store_opening import open_store
from binnacle.store import features, tasks
from binnacle.work.task import NewTask
from page.browsing import expect
from page.filled_stores import HOSTILE, add_tasks, change_store, configure_person, misbehaving_server
from page.screens import SCREENS, find_faults


def titles_of(repo) -> list[str]:
    with open_store(find_project(str(repo))) as store, store.read() as tx:
        return [task.title for task in tasks.list_tasks(tx, tasks.TaskFilter(), limit=50)[0]]


def rows_of(page):
    return page.get_by_role("group", name="Tools", exact=True).locator("tbody tr")


def open_catalog(browser, filters: str = ""):
    page = browser.open(f"tools{filters}")
    rows_of(page).first.wait_for()
    return page


def number_of(row, column: int) -> int:
    return int(row.locator("td").nth(column).inner_text())


def test_every_tool_has_its_cost_and_their_sum_is_said(gui, visit):
    page = open_catalog(visit(gui))
    costs = [number_of(row, 3) for row in rows_of(page).all()]
    assert min(costs) > 10
    expect(page.locator(".tool-sum")).to_contain_text(f"{len(costs)} tools, about {sum(costs):,} tokens")
    page.get_by_label("Order").select_option("tokens")
    expect(page).to_have_url(re.compile("order=tokens"))
    assert [number_of(row, 3) for row in rows_of(page).all()] == sorted(costs, reverse=True)
    page.get_by_label("Text").fill("task_add")
    expect(rows_of(page)).to_have_count(1)
    page.reload()
    expect(rows_of(page)).to_have_count(1)
    page.get_by_label("Text").fill("no such tool at all")
    expect(page.get_by_text("No tool fits.")).to_be_visible()


def test_which_recipe_sees_what_and_why_not(gui, visit):
    change_store(gui.repo, lambda tx: features.add_discipline(tx, "testing", {"denied_tools": ["task_add"]}))
    page = open_catalog(visit(gui))
    page.get_by_label("Recipe").select_option("default")
    having = rows_of(page).count()
    page.get_by_label("Show").select_option("lacks")
    lacking = rows_of(page).count()
    page.get_by_label("Show").select_option("all")
    expect(rows_of(page)).to_have_count(having + lacking)
    assert lacking > 0
    page.get_by_label("Discipline").select_option("testing")
    page.get_by_role("link", name="task_add", exact=True).click()
    expect(page.get_by_role("heading", name="task_add")).to_be_visible()
    why = page.get_by_role("group", name="Recipes and whether they have task_add").locator("tbody tr")
    expect(why.filter(has_text="denied to the discipline testing").first).to_contain_text("no")
    assert all(row.locator("td").nth(2).inner_text() for row in why.all())


def test_a_tool_that_reads_is_called_at_once_and_says_what_it_answered_in_which_time(gui, visit):
    (task,) = add_tasks(gui.repo, NewTask(title=HOSTILE))
    page = visit(gui).open("tools/task_get")
    page.get_by_label("id (needed)").fill(task)
    page.get_by_role("button", name="Call", exact=True).click()
    result = page.get_by_role("group", name="Result")
    expect(result).to_contain_text(re.compile(r"answered in \d+"))
    expect(result.get_by_label("What it answered")).to_contain_text("<img src=x")
    expect(page.locator("#content img")).to_have_count(0)
    page.get_by_label("id (needed)").fill("bn-ffff")
    page.get_by_label("id (needed)").press("Enter")
    expect(result).to_contain_text("failed in")
    expect(result).to_contain_text("no task")


def test_a_tool_that_changes_something_is_asked_about_with_what_it_gets(gui, visit):
    page = visit(gui).open("tools/task_add")
    page.get_by_label("title (needed)").fill("Sort the basket")
    page.get_by_text("17 more").click()
    page.get_by_label("description", exact=True).fill("by price")
    call = page.get_by_role("button", name="Call…")
    call.click()
    dialog = page.get_by_role("dialog", name="Call task_add?")
    expect(dialog).to_contain_text('"title": "Sort the basket"')
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(call).to_be_focused()
    assert titles_of(gui.repo) == []
    page.get_by_label("description", exact=True).press("Control+Enter")
    dialog.get_by_role("button", name="Call it").click()
    expect(page.get_by_role("group", name="Result")).to_contain_text("answered in")
    assert titles_of(gui.repo) == ["Sort the basket"]


def test_arguments_can_be_written_as_json_and_what_is_no_json_is_not_sent(gui, visit):
    page = visit(gui).open("tools/task_add")
    page.get_by_label("title (needed)").fill("Sort the basket")
    as_json = page.get_by_label("Write the arguments as JSON")
    as_json.check()
    written = page.get_by_label("Arguments (JSON)")
    expect(written).to_have_value(re.compile("Sort the basket"))
    written.fill('{"tasks": [')
    expect(page.get_by_text("Not JSON:")).to_be_visible()
    expect(page.get_by_role("button", name="Call…")).to_be_disabled()
    as_json.uncheck()
    expect(page.get_by_label("title (needed)")).to_have_value("Sort the basket")
    expect(page.get_by_role("button", name="Call…")).to_be_enabled()
    as_json.check()
    written.fill('{"tasks": [{"title": "one"}, {"title": "two"}]}')
    as_json.uncheck()
    expect(page.get_by_label("title (needed)")).to_have_count(2)
    page.get_by_role("button", name="Remove tasks 2").click()
    expect(page.get_by_label("title (needed)")).to_have_count(1)
    page.get_by_role("button", name="Add to tasks").click()
    expect(page.get_by_label("title (needed)")).to_have_count(2)


def test_the_palette_calls_the_tool_that_is_shown(gui, visit):
    page = visit(gui).open("tools/task_list")
    page.get_by_role("heading", name="Call it").wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("call task_list")
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="Result")).to_contain_text("answered in")


def test_what_belongs_to_an_agents_session_is_not_offered(gui, visit):
    page = visit(gui).open("tools/bn_run")
    expect(page.get_by_text("a person cannot call it")).to_be_visible()
    expect(page.get_by_role("button", name="Call…")).to_have_count(0)


def test_an_unknown_tool_is_said_with_where_to_look(gui, visit):
    browser = visit(gui)
    browser.expected_faults = ["404"]
    page = browser.open("tools/mcp_one_echo")
    expect(page.get_by_role("alert")).to_contain_text("mcp_one_echo")
    page.locator("#content").get_by_role("link", name="Upstreams").click()
    expect(page.get_by_role("heading", name="Upstream servers")).to_be_visible()


def test_tools_of_a_tested_server_are_called_and_cancelled_and_their_texts_stay_text(gui, visit, tmp_path):
    says = tmp_path / "says"
    says.write_text(HOSTILE)
    configure_person(one=misbehaving_server(f"says={says}"))
    page = visit(gui).open("upstreams/one")
    page.get_by_role("button", name="Test one").click()
    page.get_by_role("link", name="echo", exact=True).click()
    expect(page.locator(".tool-description")).to_contain_text("<img src=x")
    expect(page.locator(".tool-description")).not_to_contain_text("\u202e")
    page.get_by_label("text", exact=True).fill("<b>hello</b>")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_label("What it answered")).to_contain_text("<b>hello</b>")
    expect(page.locator("#content :is(b, img)")).to_have_count(0)
    page.get_by_role("link", name="All tools").click()
    page.get_by_label("Text").fill("mcp_one_hang")
    page.get_by_role("link", name="mcp_one_hang").click()
    page.get_by_role("button", name="Call…").click()
    page.get_by_role("button", name="Call it").click()
    expect(page.get_by_text("It runs…")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("It runs…")).to_have_count(0)
    expect(page.get_by_role("button", name="Call…")).to_be_enabled()
    page.go_back()
    expect(page.get_by_label("Text")).to_have_value("mcp_one_hang")


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("view", ["tools", "tools?recipe=default&show=all", "tools/task_add"])
def test_tools_can_be_seen_by_everybody_on_any_screen(gui, visit, screen, view):
    page = visit(gui, **SCREENS[screen]).open(view)
    page.locator(".tool-sum, .tool-parts").first.wait_for()
    assert find_faults(page) == []
