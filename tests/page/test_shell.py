"""What is around every view: palette, keys, settings, projects, reading only, sign-in, and connections that break."""

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from binnacle.work.task import NewTask
from page.browsing import PHONE, expect
from page.filled_stores import (
    HOSTILE,
    add_tasks,
    configure_person,
    misbehaving_server,
    start_work,
)
from page.screens import SCREENS, find_faults
from page.test_every_view import VIEWS
from web.served_gui import ServedGui, bn

BACKLOG = 3_500
"""More events than a page that comes back is told one by one."""


def add(repo: Path, *titles: str) -> list[str]:
    return add_tasks(repo, *(NewTask(title=title) for title in titles))


def connection(page):
    return page.locator(".connection")


def open_palette(page, text: str = ""):
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Find a task or an action")
    palette.wait_for()
    page.keyboard.type(text)
    return palette


# The palette


def test_the_palette_finds_tasks_by_words_and_by_id(gui, visit):
    basket, _ = add(gui.repo, "Sort the basket", HOSTILE)
    page = visit(gui).open("log")
    palette = open_palette(page, "basket")
    expect(palette.get_by_role("option", name="Sort the basket")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/task/{basket}"))
    palette = open_palette(page, basket[:6])
    expect(palette.get_by_role("option").first).to_contain_text("Sort the basket")
    page.keyboard.press("Escape")
    palette = open_palette(page, "img")
    expect(palette.get_by_role("option", name="<img src=x")).to_be_visible()
    expect(palette.locator("img")).to_have_count(0)
    palette.get_by_role("combobox").fill("no task is called like this")
    expect(palette.get_by_text("Nothing is called like this.")).to_be_visible()


def test_the_palette_has_the_actions_of_the_view_before_those_of_every_view(gui, visit):
    configure_person(one=misbehaving_server())
    page = visit(gui).open("upstreams")
    page.get_by_role("button", name="Test one").wait_for()
    options = open_palette(page).get_by_role("option")
    assert [one.split("\n")[1] for one in options.all_inner_texts()][:2] == ["Test one", "Disable one"]
    for view in ("Needs you", "Board", "Runs", "Review", "Graph", "Agents", "Tools", "Upstreams", "Log", "Charts"):
        expect(options.filter(has_text=re.compile(rf"Go to\s*{view}"))).to_have_count(1)
    for action in ("Show the keys", "Settings"):
        expect(options.filter(has_text=action)).to_have_count(1)


def test_the_palette_is_used_by_keys_and_gives_the_focus_back(gui, visit):
    page = visit(gui).open("graph")
    root = page.get_by_label("Around the task")
    root.focus()
    palette = open_palette(page, "go to")
    options = palette.get_by_role("option")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    chosen = palette.get_by_role("combobox").get_attribute("aria-activedescendant")
    assert options.nth(1).get_attribute("id") == chosen
    page.keyboard.press("Escape")
    expect(palette).to_have_count(0)
    expect(root).to_be_focused()


def test_an_action_of_the_palette_is_done_and_its_view_has_the_focus(gui, visit):
    page = visit(gui).open("graph")
    open_palette(page, "charts")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/charts$"))
    expect(page.locator("#content")).to_be_focused()


# Keys


def test_keys_go_to_every_view_but_not_while_somebody_types(gui, visit):
    page = visit(gui).open("needs_you")
    page.locator("#content h1").wait_for()
    for key, view in zip("brvdatulcn", (*VIEWS[1:], VIEWS[0]), strict=True):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(f"/{view}$"))
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.get_by_label("Text").focus()
    page.keyboard.type("gb?")
    expect(page.get_by_label("Text")).to_have_value("gb?")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_keys_are_shown_with_those_of_the_view(gui, visit):
    page = visit(gui).open("log")
    page.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Pause the log")
    expect(dialog).to_contain_text("Find a task or an action")
    page.keyboard.press("g")
    page.keyboard.press("b")
    expect(page).to_have_url(re.compile("/log$"))  # keys do nothing below a dialog
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Keys").click()
    expect(dialog).to_be_visible()


def is_focus_visible(page) -> bool:
    """Whether what has the focus shows it: by an outline of its own, or by one around it."""
    return page.evaluate(
        """() => {
          const all = [];
          for (let one = document.activeElement; one; one = one.parentElement) all.push(one);
          return all.slice(0, 3).some((one) => {
            const { outlineStyle, outlineWidth } = getComputedStyle(one);
            return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1;
          });
        }"""
    )


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_used_by_tab_and_shows_where_the_focus_is(gui, visit, view):
    add(gui.repo, "Sort the basket", "Paint it")
    start_work(gui.repo, "Iron it")
    configure_person(one=misbehaving_server())
    page = visit(gui).open(view)
    page.locator("#content h1").wait_for()
    expect(page.locator("#content .loading-note")).to_have_count(0)
    seen, places = [], 0
    for _ in range(60):
        page.keyboard.press("Tab")
        place = page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        if place.startswith("<body"):
            break
        seen += [] if is_focus_visible(page) else [place]
        places += page.evaluate("!!document.activeElement.closest('#content')")
    assert seen == []
    assert places > 0 or view in ("needs_you", "review")


def test_the_skip_link_leads_to_the_content(gui, visit):
    page = visit(gui).open("log")
    page.locator("#content h1").wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()


# Settings


@pytest.mark.parametrize(("words", "value"), [("Dark", "dark"), ("High contrast", "contrast"), ("Light", "light")])
def test_the_theme_is_kept_over_a_reload(gui, visit, words, value):
    page = visit(gui).open("log")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Theme").select_option(label=words)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Settings")).to_be_focused()
    now = page.evaluate(ground)
    assert (now != before) is (value != "light")
    page.reload()
    page.locator("#content h1").wait_for()
    assert page.evaluate(ground) == now
    expect(page.locator("html")).to_have_attribute("data-theme", value)
    assert find_faults(page) == []


def test_the_density_is_kept_over_a_reload_and_makes_more_fit(gui, visit):
    add(gui.repo, *(f"Task {at}" for at in range(60)))
    page = visit(gui).open("log")
    page.locator(".log-row").first.wait_for()
    height = page.locator(".log-row").nth(3).bounding_box()["height"]
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Density").select_option("compact")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-density", "compact")
    page.locator(".log-row").first.wait_for()
    assert page.locator(".log-row").nth(3).bounding_box()["height"] < height
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_label("Density")).to_have_value("compact")


def test_the_wish_of_the_system_for_more_contrast_is_heard(gui, visit):
    page = visit(gui, contrast="more").open("log")
    expect(page.locator("html")).to_have_attribute("data-theme", "contrast")


@pytest.mark.parametrize("screen", SCREENS)
def test_dialogs_can_be_seen_by_everybody_on_any_screen(gui, visit, screen):
    add(gui.repo, "Sort the basket", HOSTILE)
    page = visit(gui, **SCREENS[screen]).open("graph")
    page.locator("#content h1").wait_for()
    palette = open_palette(page, "sort")
    palette.get_by_role("option", name="Sort the basket").wait_for()
    assert find_faults(page) == []
    page.keyboard.press("Escape")
    page.locator("#content").focus()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    assert find_faults(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("dialog", name="Settings").wait_for()
    assert find_faults(page) == []


def test_a_phone_shows_every_view_in_its_navigation(gui, visit):
    page = visit(gui, viewport=PHONE).open("charts")
    for link in page.get_by_role("navigation").get_by_role("link").all():
        box = link.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        assert min(box["width"], box["height"]) >= 24


# Projects


@pytest.fixture
def other(repo) -> Path:
    """Another repository of the same person."""
    other = repo.parent / "garden"
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(other)], check=True, timeout=60)
    command = ["git", "-C", str(other), *who, "commit", "--quiet", "--allow-empty", "-m", "Begin"]
    subprocess.run(command, check=True, timeout=60)
    return other


@pytest.fixture
def both(repo, other) -> Iterator[ServedGui]:
    """One page for both projects."""
    with ServedGui(repo, "--project", str(other)) as gui:
        yield gui


def test_several_projects_are_in_one_page_and_each_is_live(both, repo, other, visit):
    add(repo, "Sort the basket")
    add(other, "Water the roses")
    page = visit(both).open("log")
    expect(page.locator(".log-row")).to_contain_text("Sort the basket")
    page.get_by_role("button", name="Project: shop").click()
    page.get_by_role("menuitemradio", name="garden").click()
    expect(page.locator(".log-row")).to_contain_text("Water the roses")
    expect(page).to_have_title(re.compile("garden"))
    add(other, "Cut the hedge")
    expect(page.locator(".log-row")).to_have_count(2)
    add(repo, "Paint it")
    open_palette(page, "project shop")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Log").click()
    expect(page.locator(".log-row")).to_have_count(2)
    expect(page.locator("#content")).not_to_contain_text("hedge")


def test_a_project_that_is_not_there_is_said_with_those_that_are(gui, visit):
    browser = visit(gui)
    browser.open()
    page = browser.context.new_page()
    page.goto(f"{gui.base}/nowhere/log")
    expect(page.get_by_role("heading", name="There is no project nowhere here")).to_be_visible()
    page.get_by_role("link", name="shop").click()
    expect(page.locator("#content")).to_be_visible()


# Reading only


ACTIONS = re.compile(
    "^(End|Remove|Test|Reconnect|Disable|Enable|Sign|Approve|Accept|Call|Start|Add|New|Move|Answer|Allow)\\b"
)


@pytest.fixture
def for_reading(repo) -> Iterator[ServedGui]:
    with ServedGui(repo, "--readonly") as gui:
        yield gui


def test_a_page_for_reading_offers_no_action_and_does_none(for_reading, repo, visit):
    agent, task = start_work(repo, "Sort the basket")
    configure_person(one=misbehaving_server())
    browser = visit(for_reading)
    page = browser.open("agents")
    expect(page.get_by_text("read only")).to_be_visible()
    page.locator(".agent-card").wait_for()
    for view in (*VIEWS, "upstreams/one", "tools/task_add", f"task/{task}"):
        browser.show(page, view)
        page.locator("#content h1").first.wait_for()
        names = page.locator("#content button").all_inner_texts()
        assert [name for name in names if ACTIONS.match(name)] == [], view
        options = open_palette(page).get_by_role("option")
        assert [one for one in options.all_inner_texts() if ACTIONS.match(one.split("\n")[1])] == [], view
        page.keyboard.press("Escape")
    browser.expected_faults = ["403"]
    answer = page.evaluate(
        """([project, id]) => fetch(`/api/${project}/end_agent`, {method: 'POST', body: JSON.stringify({id}),
        headers: {'content-type': 'application/json', 'x-binnacle-page': '1'}}).then((one) => one.status)""",
        [for_reading.project, agent],
    )
    assert answer == 403
    browser.show(page, "agents")
    expect(page.locator(".agent-card")).to_contain_text("rivet")


# Signing in


def test_who_is_not_signed_in_is_told_what_to_do(gui, visit):
    browser = visit(gui)
    browser.expected_faults = ["401"]
    page = browser.context.new_page()
    answer = page.goto(f"{gui.base}/{gui.project}/log")
    assert answer.status == 401
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.locator("pre")).to_have_text("bn gui --link")


def test_who_is_signed_out_meanwhile_is_told_and_goes_on_after_another_link(gui, visit):
    browser = visit(gui)
    browser.expected_faults = ["401", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE", "ERR_EMPTY"]
    page = browser.open("log")
    expect(connection(page)).to_have_text("Live")
    browser.context.clear_cookies()
    page.get_by_role("link", name="Agents").click()
    expect(page.get_by_role("alert")).to_contain_text("bn gui --link")
    gui.stop()
    with ServedGui(gui.repo, port=gui.port) as again:
        expect(connection(page)).to_contain_text("Signed out")
        expect(connection(page)).to_contain_text("bn gui --link")
        second = browser.context.new_page()
        second.goto(again.link)
        second.locator("#content").wait_for()
        second.close()
        expect(connection(page)).to_have_text("Live", timeout=40_000)
        expect(page.get_by_text("No agent is registered.")).to_be_visible()


# Connections that break


def test_a_server_that_is_killed_and_started_again_is_found_and_nothing_has_moved(gui, visit):
    tasks = add(gui.repo, *(f"Task {at}" for at in range(60)))
    browser = visit(gui)
    browser.expected_faults = ["ERR_"]
    page = browser.open("log?entity=task")
    page.locator(".log-row").first.wait_for()
    page.locator(".log-list").evaluate("list => list.scrollTo(0, 800)")
    page.get_by_label("About").focus()
    gui.stop(signal.SIGKILL)
    expect(connection(page)).to_have_text("Reconnecting")
    top = page.locator(".log-list").evaluate("list => list.scrollTop")
    expect(page.locator(".log-row").first).to_be_attached()  # what was there stays
    bn(gui.repo, "task", "start", tasks[0])
    with ServedGui(gui.repo, port=gui.port):
        expect(connection(page)).to_have_text("Live")
        expect(page.get_by_label("About")).to_be_focused()
        page.locator(".log-list").evaluate("list => list.scrollTo(0, 0)")
        expect(page.locator(".log-row").first).to_contain_text("started")
        assert top > 700
        expect(page).to_have_url(re.compile(r"log\?entity=task$"))


@pytest.mark.parametrize("view", ["log", "graph", "agents", "charts"])
def test_a_view_that_could_not_be_read_is_read_once_the_server_is_back(gui, visit, view):
    start_work(gui.repo, "Sort the basket")
    browser = visit(gui)
    browser.expected_faults = ["ERR_"]
    page = browser.open("tools")
    page.locator(".tool-name").first.wait_for()
    gui.stop(signal.SIGKILL)
    expect(connection(page)).to_have_text("Reconnecting")
    navigation = page.get_by_role("navigation")
    navigation.get_by_role("link", name=view.capitalize()).click()
    expect(page.get_by_role("alert").first).to_contain_text("the server does not answer")
    with ServedGui(gui.repo, port=gui.port):
        expect(connection(page)).to_have_text("Live")
        expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("count", [3, BACKLOG])
def test_a_page_that_was_cut_off_shows_what_happened_meanwhile(gui, visit, count):
    add(gui.repo, "Sort the basket")
    browser = visit(gui)
    browser.expected_faults = ["ERR_"]
    page = browser.open("log")
    expect(page.locator(".log-row")).to_have_count(1)
    gui.stop(signal.SIGKILL)
    expect(connection(page)).to_have_text("Reconnecting")
    add(gui.repo, *(f"Meanwhile {at}" for at in range(count)))
    with ServedGui(gui.repo, port=gui.port):
        expect(page.locator(".log-row").first).to_contain_text(f"Meanwhile {count - 1}")
        expect(page.get_by_role("link", name="Board")).to_contain_text(str(count + 1))
        expect(connection(page)).to_have_text("Live")


def test_after_an_hour_of_sleep_a_page_asks_for_a_new_stream_and_misses_nothing(gui, visit):
    add(gui.repo, "Sort the basket")
    browser = visit(gui)
    browser.context.clock.install()
    page = browser.open("log")
    expect(page.locator(".log-row")).to_have_count(1)
    with page.expect_request(re.compile("/api/stream")):
        browser.context.clock.fast_forward("01:00:00")
    expect(page.locator(".log-when")).to_have_text("1 h")
    add(gui.repo, "Paint it")
    expect(page.locator(".log-row")).to_have_count(2)
    expect(connection(page)).to_have_text("Live")


def test_a_frozen_page_catches_up_when_it_goes_on(gui, visit):
    add(gui.repo, "Sort the basket")
    page = visit(gui).open("log")
    expect(page.locator(".log-row")).to_have_count(1)
    life = page.context.new_cdp_session(page)
    life.send("Page.setWebLifecycleState", {"state": "frozen"})
    add(gui.repo, "Paint it", "Iron it")
    life.send("Page.setWebLifecycleState", {"state": "active"})
    expect(page.locator(".log-row")).to_have_count(3)


def test_tabs_share_what_they_hear_and_the_next_one_goes_on_when_one_is_closed(gui, visit):
    browser = visit(gui)
    first, second = browser.open("log"), browser.open("log")
    add(gui.repo, "Sort the basket")
    for page in (first, second):
        expect(page.locator(".log-row")).to_have_count(1)
    first.close()
    add(gui.repo, "Paint it")
    expect(second.locator(".log-row")).to_have_count(2)
    expect(connection(second)).to_have_text("Live")
