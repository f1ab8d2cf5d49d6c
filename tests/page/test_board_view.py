"""The board: columns with counts, filters in the address, moves by hand and by keys, and changes as they happen."""

import re

import pytest

from binnacle.store import attempts as attempt_store
from binnacle.store import comments, features, queue, runs, sessions, task_moves
from binnacle.store.attempts import Spending
from binnacle.store.tasks import TaskFilter
from binnacle.work.actor import SYSTEM, Actor
from page.browsing import Page, expect
from page.screens import MAX_NODES, SCREENS, ZOOMED, count_nodes, find_faults
from page.stocked_project import HOSTILE_LINE, PERSON, StockedProject
from web.served_gui import ServedGui, bn

MANY = 10_000


@pytest.fixture
def project(repo):
    return StockedProject(repo)


def column(page: Page, name: str):
    return page.get_by_role("region", name=name, exact=True)


def card(page: Page, title: str):
    return page.get_by_role("article").filter(has=page.get_by_role("link", name=title, exact=True))


def fill(project: StockedProject) -> list[str]:
    """Some of everything; the ids of the pending tasks."""
    pending = project.add("Take orders", "Ship parcels", "Print labels", tags=("api",))
    project.add("A sketch", status="draft")
    (urgent,) = project.add("Repair the till", priority=0, kind="bug")
    project.write(lambda tx: task_moves.start(tx, urgent))
    (done,) = project.add("Open the shop")
    project.write(lambda tx: task_moves.finish(tx, done), by=PERSON)
    project.add(HOSTILE_LINE, "word" * 60)
    return pending


def test_every_status_is_a_column_with_its_count_and_what_is_done_but_not_proven_too(project, gui, visit):
    fill(project)
    page = visit(gui).open("board")
    expect(column(page, "Pending").locator(".count")).to_have_text("5")
    expect(column(page, "In progress").locator(".count")).to_have_text("1")
    expect(page.locator(".column-head").first).to_have_text(re.compile("Draft"))
    expect(column(page, "Done, not proven").locator(".count")).to_have_text("1")
    expect(column(page, "Done").locator(".count")).to_have_text("0")
    expect(page.locator(".board-column")).to_have_count(10)
    expect(page.get_by_text("8 tasks")).to_be_visible()
    assert find_faults(page) == []


@pytest.mark.parametrize("screen", [name for name in SCREENS if name != "desktop"])
def test_the_board_is_in_reach_on_any_screen(project, gui, visit, screen):
    fill(project)
    page = visit(gui, **SCREENS[screen]).open("board")
    expect(card(page, "Take orders")).to_have_count(1)
    card(page, "Take orders").scroll_into_view_if_needed()
    card(page, "Take orders").get_by_role("button", name="Move Take orders").click()
    expect(page.get_by_role("menuitemradio", name="Done")).to_be_visible()
    assert find_faults(page) == []


def test_a_card_says_what_its_agent_did_last_what_it_cost_and_how_well_it_is_known(project, gui, visit):
    (task, other) = project.add("Take orders", "Ship parcels", tags=("api", "web"), priority=0)

    def work(tx):
        run = runs.start(tx, "auth", feature=None, asked="", asked_file="")
        session = sessions.start(tx)
        sessions.join_run(tx, session.id, run.id, "here")
        with tx.acting_as(SYSTEM, session=None):
            claimed = attempt_store.claim(tx, session.id, TaskFilter(tag="api"))
        spent = Spending(seconds=60.0, tokens=5200, cost=0.31, currency="USD")
        attempt_store.note_spending(tx, session.id, claimed.number, spent)
        with tx.acting_as(Actor(session.id, "agent"), session=session.id):
            comments.add(tx, task, "I read the code\nof the cart")

    project.write(work)
    project.write(lambda tx: comments.add(tx, task, "well done"), by=PERSON)
    project.write(lambda tx: task_moves.finish(tx, other), by=PERSON)
    page = visit(gui).open("board")
    shown = card(page, "Take orders")
    expect(shown.locator(".card-step")).to_contain_text("I read the code of the cart")
    for words in ("0.31 USD", "critical", "#api", "now", task):
        expect(shown).to_contain_text(words)
    expect(card(page, "Ship parcels").locator(".badge").filter(has_text="said")).to_be_visible()


FILTERS = {
    "Feature": ("feature", "auth"),
    "Discipline": ("discipline", "backend"),
    "Held by": ("agent", "helper"),
    "Tag": ("tag", "api"),
    "Known as": ("level", "said"),
    "Priority": ("priority", "1"),
}


@pytest.mark.parametrize("label", FILTERS)
def test_a_filter_is_in_the_address_and_stays_in_a_reload_and_in_a_link(project, gui, visit, label):
    name, value = FILTERS[label]
    project.write(lambda tx: [features.add(tx, "auth", {}), features.add_discipline(tx, "backend", {})], by=PERSON)
    (wanted,) = project.add("The one", feature="auth", discipline="backend", tags=("api",), priority=1)
    project.add("Another one", "A third one")
    project.write(lambda tx: task_moves.start(tx, wanted))
    if name == "level":
        project.write(lambda tx: task_moves.finish(tx, wanted))
    one = visit(gui)
    page = one.open("board")
    page.get_by_role("button", name="Filters").click()
    page.get_by_label(label, exact=True).select_option(value)
    expect(page.locator(".card-title")).to_have_text(["The one"])
    expect(page.get_by_text("1 task", exact=True)).to_be_visible()
    assert page.url.endswith(f"/board?{name}={value}")
    page.reload()
    expect(page.locator(".card-title")).to_have_text(["The one"])
    expect(page.get_by_label(label, exact=True)).to_have_value(value)
    other = one.open(f"board?{name}={value}")
    expect(other.locator(".card-title")).to_have_text(["The one"])
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".card-title")).to_have_count(3)
    assert page.url.endswith("/board")


def test_words_of_the_title_filter_as_they_are_typed(project, gui, visit):
    fill(project)
    page = visit(gui).open("board")
    expect(page.get_by_text("8 tasks")).to_be_visible()
    page.keyboard.press("f")
    page.keyboard.type("take ord")
    expect(page.locator(".card-title")).to_have_text(["Take orders"])
    expect(page).to_have_url(re.compile(r"/board\?text=take\+ord$"))
    page.reload()
    expect(page.get_by_label("Words of the title")).to_have_value("take ord")
    page.get_by_label("Words of the title").fill("nothing has this")
    expect(page.get_by_text("No task matches these filters.")).to_be_visible()


def test_an_empty_board_says_what_to_do(gui, visit):
    page = visit(gui).open("board")
    expect(page.get_by_text("There is no task yet.")).to_be_visible()
    page.keyboard.press("n")
    page.get_by_label("Title", exact=True).fill("Take orders")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Take orders")).to_be_visible()
    assert "/task/bn-" in page.url


def test_a_card_is_dragged_to_another_column(project, gui, visit):
    wanted, *_ = fill(project)
    page = visit(gui).open("board")
    card(page, "Take orders").drag_to(column(page, "In progress"))
    expect(card(page, "Take orders").and_(column(page, "In progress").get_by_role("article"))).to_be_visible()
    expect(column(page, "In progress").locator(".count")).to_have_text("2")
    assert (project.task(wanted).status, project.task(wanted).claimed_by) == ("in_progress", "ann")


def test_cards_of_a_column_are_dragged_into_the_order_of_the_queue(project, gui, visit):
    first, second, third = fill(project)
    page = visit(gui).open("board")
    place = {"x": 40, "y": 10}
    card(page, "Print labels").drag_to(card(page, "Take orders"), target_position=place)
    expect(column(page, "Pending").locator(".card-title").first).to_have_text("Print labels")
    card(page, "Ship parcels").drag_to(card(page, "Print labels"), target_position=place)
    expect(column(page, "Pending").locator(".card-title").first).to_have_text("Ship parcels")
    assert [one.id for one in project.read(queue.list_queue)] == [second, third]
    assert first not in [one.id for one in project.read(queue.list_queue)]


def test_everything_of_a_board_is_done_by_keys_and_the_focus_goes_with_the_card(project, gui, visit):
    first, second, _ = fill(project)
    page = visit(gui).open("board")
    expect(card(page, "Take orders")).to_be_visible()
    stops = press_tab_until(page, lambda: page.evaluate("!!document.activeElement.closest('.skip-link')"))
    page.keyboard.press("Enter")
    stops += press_tab_until(page, lambda: page.evaluate("document.activeElement.matches('.card-title')"))
    assert stops <= 3
    while page.evaluate("document.activeElement.textContent") != "Take orders":
        page.keyboard.press("ArrowRight" if page.evaluate("!!document.activeElement.closest('[data-status=draft]')")
                            else "ArrowDown")  # fmt: skip
    page.keyboard.press("m")
    expect(page.get_by_role("menu", name="Move Take orders")).to_be_visible()
    page.keyboard.press("i")
    expect(page.get_by_role("menuitemradio", name="In progress")).to_be_focused()
    page.keyboard.press("Enter")
    moved = column(page, "In progress").get_by_role("link", name="Take orders")
    expect(moved).to_be_focused()
    assert project.task(first).status == "in_progress"
    page.keyboard.press("m")
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="What blocks it?")
    expect(dialog.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("no telephone")
    dialog.get_by_role("button", name="Block it").press("Enter")
    expect(column(page, "Blocked").get_by_role("link", name="Take orders")).to_be_focused()
    assert project.task(first).status == "blocked"
    card(page, "Ship parcels").get_by_role("link").focus()
    page.keyboard.press("m")
    page.keyboard.press("l")
    page.keyboard.press("Enter")
    expect(card(page, "Ship parcels")).to_contain_text("in the queue")
    assert [one.id for one in project.read(queue.list_queue)] == [second]
    page.keyboard.press("Escape")
    card(page, "Ship parcels").get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ship parcels")).to_be_visible()


def press_tab_until(page: Page, is_there) -> int:
    for stops in range(1, 6):
        page.keyboard.press("Tab")
        if is_there():
            return stops
    raise AssertionError("it is not in reach")


def test_what_other_processes_do_is_shown_and_takes_away_no_focus(project, gui, visit):
    first, second, _ = fill(project)
    page = visit(gui).open("board")
    link = card(page, "Ship parcels").get_by_role("link")
    link.focus()
    bn(project.repo, "task", "add", "Count the money")
    expect(card(page, "Count the money")).to_be_visible()
    expect(link).to_be_focused()
    bn(project.repo, "task", "start", first)
    expect(column(page, "In progress").get_by_role("link", name="Take orders")).to_be_visible()
    expect(link).to_be_focused()
    bn(project.repo, "task", "start", second)
    expect(column(page, "In progress").get_by_role("link", name="Ship parcels")).to_be_focused()
    bn(project.repo, "task", "comment", second, "they are heavy")
    expect(card(page, "Ship parcels")).to_contain_text("they are heavy")


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, {"width": 2560, "height": 1440}, ZOOMED])
def test_ten_thousand_tasks_are_a_page_of_few_elements(many, visit, viewport):
    page = visit(many, viewport=viewport).open("board")
    expect(column(page, "Pending").locator(".count")).to_have_text("10,000")
    expect(card(page, "Task number 0")).to_be_visible()
    assert count_nodes(page) <= MAX_NODES
    page.locator(".column-cards").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    expect(card(page, f"Task number {MANY - 1}")).to_have_count(1)
    page.locator(".column-cards").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    expect(card(page, f"Task number {MANY - 1}")).to_be_visible()
    assert count_nodes(page) <= MAX_NODES


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """The page of a project with ten thousand tasks. Tests do not change it."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("many")
        repo = folder / "shop"
        patch.setenv("BN_DATA_DIR", str(folder / "data"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        project = StockedProject.new(repo)
        project.add(*(f"Task number {number}" for number in range(MANY)))
        with ServedGui(repo) as gui:
            yield gui


def test_hostile_titles_stay_words(project, gui, visit):
    project.add(HOSTILE_LINE, status="draft")
    (held,) = project.add("Take orders")
    project.write(lambda tx: [task_moves.start(tx, held), comments.add(tx, held, HOSTILE_LINE)])
    page = visit(gui).open("board")
    title = column(page, "Draft").locator(".card-title")
    expect(title).to_contain_text("<img src=x onerror=alert(1)> U+200Bzero U+061Cwidth [a](javascript:alert(1))")
    expect(card(page, "Take orders").locator(".card-step")).to_contain_text("<b>bold</b>")
    assert page.locator("#content :is(img, script, .card b b)").count() == 0
    assert find_faults(page) == []


@pytest.fixture
def readonly_gui(repo):
    with ServedGui(repo, "--readonly") as gui:
        yield gui


def test_a_board_that_is_only_read_offers_no_moves(project, readonly_gui, visit):
    fill(project)
    page = visit(readonly_gui).open("board")
    expect(card(page, "Take orders")).to_have_attribute("draggable", "false")
    expect(page.get_by_role("button", name=re.compile("Move|Add"))).to_have_count(0)
