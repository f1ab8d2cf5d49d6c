"""The graph: drawn, moved and zoomed by mouse and keys, the same as a list, with two thousand tasks, and live."""

import re

import pytest

from binnacle.store import task_moves
from binnacle.work.task import NewTask
from page.browsing import expect
from page.filled_stores import HOSTILE, add_layered_tasks, add_tasks, change_store
from page.screens import MAX_NODES, SCREENS, count_nodes, find_faults

NODE_WIDTH = 196
COLUMN = 268


@pytest.fixture
def chain(gui):
    """A cart that shipping waits for, which an invoice waits for."""
    return add_tasks(
        gui.repo,
        NewTask(title="Fill the cart"),
        NewTask(title="Ship it", depends_on=("#1",)),
        NewTask(title="Write the invoice", depends_on=("#2",)),
    )


def open_canvas(page):
    canvas = page.locator(".graph-canvas")
    canvas.wait_for()
    return canvas


def place_of(canvas, column: int) -> tuple[float, float]:
    """Where a task of a graph of one row and three columns is drawn at first: in the middle, at its own size."""
    box = canvas.bounding_box()
    left = box["x"] + (box["width"] - 2 * COLUMN - NODE_WIDTH) / 2
    return left + column * COLUMN + NODE_WIDTH / 2, box["y"] + box["height"] / 2 - 7


def hover(page, canvas, x: float, y: float) -> str:
    """What is drawn there: the canvas names it."""
    page.mouse.move(x + 400, y + 150)
    page.mouse.move(x, y)
    return canvas.get_attribute("title") or ""


def test_tasks_stand_in_layers_and_a_click_opens_one(gui, visit, chain):
    page = visit(gui).open("graph")
    canvas = open_canvas(page)
    expect(page.get_by_text("3 tasks, 1 ready.")).to_be_visible()
    titles = [hover(page, canvas, *place_of(canvas, column)) for column in range(3)]
    assert titles == ["Fill the cart", "Ship it", "Write the invoice"]
    page.mouse.click(*place_of(canvas, 1))
    expect(page).to_have_url(re.compile(f"/task/{chain[1]}"))


def test_dragging_moves_the_graph_and_opens_nothing(gui, visit, chain):
    page = visit(gui).open("graph")
    canvas = open_canvas(page)
    x, y = place_of(canvas, 0)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=4)
    page.mouse.move(x + 120, y + 80, steps=4)
    page.mouse.up()
    assert hover(page, canvas, x + 120, y + 80) == "Fill the cart"
    assert hover(page, canvas, x, y) == ""
    expect(page).to_have_url(re.compile("/graph$"))


def test_the_wheel_zooms_where_the_mouse_is_and_all_shows_all(gui, visit, chain):
    page = visit(gui).open("graph")
    canvas = open_canvas(page)
    (x, y), (other, _) = place_of(canvas, 0), place_of(canvas, 1)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    assert hover(page, canvas, x, y) == "Fill the cart"
    assert hover(page, canvas, x + NODE_WIDTH / 2 + 20, y) == "Fill the cart"  # it is larger now
    page.get_by_role("button", name="All", exact=True).click()
    assert hover(page, canvas, other, y) == "Ship it"
    page.get_by_role("button", name="Zoom out").click(click_count=2)
    assert hover(page, canvas, x, y) == ""
    page.get_by_role("button", name="Zoom in").click(click_count=2)
    assert hover(page, canvas, x, y) == "Fill the cart"


def test_two_fingers_zoom(gui, visit, chain):
    page = visit(gui, has_touch=True).open("graph")
    canvas = open_canvas(page)
    x, y = place_of(canvas, 0)
    touch = page.context.new_cdp_session(page)

    def send(kind, *points):
        places = [{"x": px, "y": py, "id": number} for number, (px, py) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    send("touchStart", (x - 20, y), (x + 20, y))
    for apart in range(20, 61, 10):
        send("touchMove", (x - apart, y), (x + apart, y))
    send("touchEnd")
    expect(page).to_have_url(re.compile("/graph$"))
    assert hover(page, canvas, x + NODE_WIDTH, y) == "Fill the cart"  # three times as large


def test_keys_go_from_task_to_task_and_open_one(gui, visit, chain):
    page = visit(gui).open("graph")
    canvas = open_canvas(page)
    said = page.get_by_test_id("announcement")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text("Fill the cart, ready, blocks 2")
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text("Ship it, Pending, waits for 1, blocks 1")
    page.keyboard.press("ArrowLeft")
    expect(said).to_have_text("Fill the cart, ready, blocks 2")
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text("Write the invoice, Pending, waits for 1")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/task/{chain[2]}"))


def test_keys_zoom_and_move_from_anywhere_in_the_view_and_are_shown(gui, visit, chain):
    page = visit(gui).open("graph")
    canvas = open_canvas(page)
    x, y = place_of(canvas, 0)
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert hover(page, canvas, x, y) == ""
    page.keyboard.press("0")
    assert hover(page, canvas, x, y) == "Fill the cart"
    canvas.focus()
    page.keyboard.press("Shift+ArrowLeft")  # looks further to the left: what is drawn moves to the right
    assert hover(page, canvas, x + 160, y) == "Fill the cart"
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    for words in ("Zoom in", "Zoom out", "Go from task to task", "Move the graph"):
        expect(keys.get_by_text(words)).to_be_visible()


def test_the_list_says_the_same_and_is_in_the_address(gui, visit, chain):
    page = visit(gui).open("graph")
    open_canvas(page)
    page.get_by_role("button", name="List").click()
    expect(page).to_have_url(re.compile("as=list"))
    rows = page.get_by_role("listitem").filter(has=page.locator(".tree-row"))
    expect(rows).to_have_count(3)
    assert [" ".join(row.inner_text().split()) for row in rows.all()] == [
        f"Level 1: Write the invoice Pending waits for 1 {chain[2]}",
        f"Level 2: Ship it Pending waits for 1 blocks 1 {chain[1]}",
        f"Level 3: Fill the cart Ready blocks 2 {chain[0]}",
    ]
    page.reload()
    expect(rows).to_have_count(3)
    page.keyboard.press("v")
    open_canvas(page)


def test_what_blocks_most_is_named_and_leads_to_its_task(gui, visit, chain):
    page = visit(gui).open("graph")
    blocking = page.locator("p", has_text="Blocks most:")
    expect(blocking).to_have_text("Blocks most: Fill the cart (2), Ship it (1)")
    blocking.get_by_role("link", name="Ship it").click()
    expect(page).to_have_url(re.compile(f"/task/{chain[1]}"))


def test_a_part_of_the_graph_is_chosen_and_stays_in_the_address(gui, visit, chain):
    alone, other = add_tasks(gui.repo, NewTask(title="Paint it"), NewTask(title="Rinse", depends_on=("#1",)))
    change_store(gui.repo, lambda tx: task_moves.finish(tx, chain[0]))
    browser = visit(gui)
    browser.expected_faults = ["404"]  # a task that is not there is asked about
    page = browser.open("graph")
    expect(page.get_by_text("4 tasks, 2 ready.")).to_be_visible()
    page.get_by_label("Closed tasks, too").check()
    expect(page.get_by_text("5 tasks, 2 ready.")).to_be_visible()
    page.get_by_label("Around the task").fill(alone)
    expect(page.get_by_text("2 tasks, 1 ready.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("2 tasks, 1 ready.")).to_be_visible()
    page.get_by_label("Around the task").fill("bn-ffffffff")
    expect(page.get_by_role("alert")).to_contain_text("bn-ffffffff")
    page.get_by_label("Around the task").fill("")
    page.get_by_label("Status").select_option("done")
    expect(page.get_by_text("No task waits for another.")).to_be_visible()
    page.get_by_role("button", name="Show tasks that stand alone").click()
    expect(page.get_by_text("1 task, 0 ready.")).to_be_visible()
    assert other


def test_a_change_of_another_process_is_drawn_without_moving_what_is_seen(gui, visit, chain):
    page = visit(gui).open("graph")
    canvas = open_canvas(page)
    page.get_by_role("button", name="Zoom in").click()
    box = canvas.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 - 7)
    assert hover(page, canvas, *middle) == "Ship it"
    change_store(gui.repo, lambda tx: task_moves.finish(tx, chain[0]))
    expect(page.get_by_text("2 tasks, 1 ready.")).to_be_visible()
    add_tasks(gui.repo, NewTask(title="Send a receipt", depends_on=(chain[2],)))
    expect(page.get_by_text("3 tasks, 1 ready.")).to_be_visible()


def test_a_long_chain_is_listed_to_its_end(gui, visit):
    count = 60
    chain = [NewTask(title=f"Step {at}", depends_on=(f"#{at}",) if at else ()) for at in range(count)]
    add_tasks(gui.repo, *chain)
    page = visit(gui).open("graph?as=list")
    rows = page.locator(".tree-row")
    rows.first.wait_for()
    assert page.locator("[aria-setsize]").first.get_attribute("aria-setsize") == str(count)
    page.locator(".task-tree").focus()
    page.keyboard.press("End")
    expect(rows.get_by_role("link", name="Step 0", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_two_thousand_tasks_need_few_nodes_as_drawing_and_as_list(gui, visit):
    add_layered_tasks(gui.repo, 2_000)
    page = visit(gui).open("graph")
    open_canvas(page)
    expect(page.get_by_text("2000 tasks, 40 ready.")).to_be_visible()
    assert count_nodes(page) <= MAX_NODES
    page.get_by_role("button", name="List").click()
    page.locator(".tree-row").first.wait_for()
    rows = int(page.locator("[aria-setsize]").first.get_attribute("aria-setsize"))
    assert rows >= 2_000
    page.locator(".task-tree").focus()
    page.keyboard.press("End")
    expect(page.locator(f"[aria-posinset='{rows}']")).to_be_visible()
    assert count_nodes(page) <= MAX_NODES


def test_hostile_titles_are_text(gui, visit):
    add_tasks(gui.repo, NewTask(title=HOSTILE), NewTask(title="Wait", depends_on=("#1",)))
    page = visit(gui).open("graph?as=list")
    expect(page.locator(".tree-row", has_text="<img src=x onerror")).to_be_visible()
    expect(page.locator("#content img")).to_have_count(0)
    expect(page.locator("a[href^='javascript']")).to_have_count(0)


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("shown", ["", "?as=list"])
def test_a_graph_can_be_seen_by_everybody_on_any_screen(gui, visit, shown, screen):
    add_layered_tasks(gui.repo, 60, width=6)
    page = visit(gui, **SCREENS[screen]).open(f"graph{shown}")
    page.locator(".graph-canvas, .tree-row").first.wait_for()
    assert find_faults(page) == []
    stage = page.locator(".graph-stage, .task-tree").bounding_box()
    assert stage["height"] < page.viewport_size["height"], "there is nothing left to scroll by"
