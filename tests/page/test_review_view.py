"""Reviews: what judges a change first, its code in parts, comments that follow it, and decisions about one commit."""

import re

import pytest

from binnacle.store import review_decisions, review_remarks, reviews, runs, task_moves
from binnacle.work.gaming import ChangeFinding
from page.browsing import Page, expect
from page.screens import MAX_NODES, SCREENS, ZOOMED, count_nodes, find_faults
from page.stocked_project import FAILED, HOSTILE_LINE, PASSED, PERSON, StockedProject, replace
from web.served_gui import ServedGui

BILL = """import os


def bill(orders):
    total = 0
    for one in orders:
        total += one.price
    return total
"""
TEST = "def test_bill():\n    assert bill([]) == 0\n    assert bill([7]) == 7\n"
FINDING = ChangeFinding(kind="fewer_assertions", path="tests/test_bill.py", line=2, text="assert bill([])")
HOSTILE_NAME = "a\nb \u202e<script>.txt"


@pytest.fixture
def project(repo):
    project = StockedProject(repo)
    old = "".join(f"{number}\n" for number in range(30))
    project.code.commit("first", {"src/bill.py": BILL, "tests/test_bill.py": TEST, "old name.txt": old})
    return project


def fill(project: StockedProject) -> str:
    """A change of some files, with what judges it; the id of its review."""
    base = project.code.git("rev-parse", "HEAD")
    project.code.git("mv", "old name.txt", "new name.txt")
    files = {
        "src/bill.py": BILL.replace("bill(orders)", "bill(orders, rate)").replace(
            "one.price", "one.price * rate // 100"
        ),
        "tests/test_bill.py": "def test_bill():\n    assert bill([])\n",
        "new name.txt": "".join(f"{number}\n" for number in range(31)),
        "uv.lock": "".join(f"package {number}\n" for number in range(300)),
        "long.txt": "".join(f"line {number}\n" for number in range(5000)),
        HOSTILE_NAME: "x\r\n\u202eevil\u202c\x1b[31m <script>alert(1)</script>\n",
    }
    failed = replace(FAILED, check_name="types", log_excerpt="src/bill.py:4: error: no type", new_failed=(), failed=())
    criteria = ("the tax is 7 % [check: tests]", "it is friendly")
    return project.put_up(files, base=base, findings=[FINDING], results=[PASSED, failed], criteria=criteria)


def file(page: Page, name: str):
    return page.get_by_role("region", name=name, exact=True)


def line(page: Page, name: str, number: int):
    return file(page, name).locator(f'tr[data-line="{number}"]:not(.diff-hunk)')


def text_of(where) -> list[str]:
    return [" ".join(text.split()) for text in where.all_inner_texts()]


def test_what_judges_a_change_comes_before_its_code_and_its_tests_before_other_files(project, gui, visit):
    page = visit(gui).open(f"review/{fill(project)}")
    expect(line(page, "tests/test_bill.py", 2)).to_be_visible()
    heads = text_of(page.locator("#content h2"))
    assert heads[:3] == ["Look at this first: it changes what judges it", "Evidence", "Description"]
    assert heads[-1] == "Code"
    expect(page.get_by_role("group", name="Look at this first")).to_contain_text("tests/test_bill.py:2")
    evidence = page.get_by_role("region", name="Evidence")
    expect(evidence).to_contain_text("tests pass")
    expect(evidence).to_contain_text("src/bill.py:4: error: no type")
    expect(evidence.get_by_role("listitem").filter(has_text="the tax is 7 %")).to_contain_text("shown by check tests")
    expect(evidence.get_by_role("listitem").filter(has_text="friendly")).to_contain_text("no check or test shows it")
    names = text_of(page.get_by_role("navigation", name="Files").locator(".file-link-name"))
    assert names[:2] == ["test_bill.py tests/", "uv.lock"]
    expect(file(page, "tests/test_bill.py").locator(".badge")).to_have_text("test")
    assert find_faults(page) == []


@pytest.mark.parametrize("screen", [name for name in SCREENS if name != "desktop"])
def test_a_change_is_in_reach_on_any_screen(project, gui, visit, screen):
    page = visit(gui, **SCREENS[screen]).open(f"review/{fill(project)}")
    expect(page.get_by_role("button", name="Accept…")).to_be_visible()
    expect(file(page, "tests/test_bill.py")).to_be_attached()
    page.keyboard.press("n")
    expect(file(page, "tests/test_bill.py")).to_be_focused()
    expect(line(page, "tests/test_bill.py", 2)).to_be_in_viewport()
    page.get_by_role("button", name="bill.py src/").click()
    expect(file(page, "src/bill.py")).to_be_focused()
    expect(line(page, "src/bill.py", 4)).to_be_in_viewport()
    assert find_faults(page) == []


def test_lines_have_their_numbers_and_the_changed_words_are_marked(project, gui, visit):
    page = visit(gui).open(f"review/{fill(project)}")
    page.get_by_role("button", name="bill.py src/").click()
    bill = file(page, "src/bill.py")
    expect(bill.locator("tr.removed .diff-code").first).to_have_text("def bill(orders):")
    expect(line(page, "src/bill.py", 4).locator("mark")).to_have_text(", rate")
    expect(line(page, "src/bill.py", 4).locator(".diff-number").last).to_have_text("4")
    renamed = file(page, "new name.txt")
    expect(renamed.get_by_role("heading")).to_contain_text("old name.txt → new name.txt")
    expect(renamed.locator("tr.added .diff-code")).to_have_text("30")


def test_old_and_new_are_side_by_side_where_there_is_room(project, gui, visit):
    page = visit(gui, viewport={"width": 1600, "height": 900}).open(f"review/{fill(project)}")
    page.get_by_role("button", name="Side by side").click()
    page.get_by_role("button", name="bill.py src/").click()
    row = line(page, "src/bill.py", 4)
    expect(row.locator(".diff-code")).to_have_text(["def bill(orders):", "def bill(orders, rate):"])
    page.reload()
    expect(page.get_by_role("button", name="Side by side")).to_have_attribute("aria-pressed", "true")
    assert find_faults(page) == []


def test_generated_and_long_files_are_folded_and_five_thousand_lines_are_few_elements(project, gui, visit):
    page = visit(gui).open(f"review/{fill(project)}")
    expect(file(page, "uv.lock")).to_contain_text("Folded: generated")
    page.get_by_role("button", name="long.txt +").click()
    long = file(page, "long.txt")
    expect(long).to_contain_text("Folded: 5,000 changed lines")
    long.locator(".file-toggle").click()
    expect(line(page, "long.txt", 1)).to_be_visible()
    assert count_nodes(page) <= MAX_NODES
    end = line(page, "long.txt", 5000)
    long.locator("tbody").last.scroll_into_view_if_needed()
    expect(end).to_be_visible()
    expect(end).to_contain_text("line 4999")
    assert count_nodes(page) <= MAX_NODES
    assert find_faults(page) == []


def test_hundreds_of_files_are_few_elements(project, gui, visit):
    files = {f"src/part_{number}/file_{number}.py": f"VALUE = {number}\n" for number in range(450)}
    page = visit(gui).open(f"review/{project.put_up(files)}")
    expect(line(page, "src/part_0/file_0.py", 1)).to_be_visible()
    expect(page.locator(".code-head")).to_contain_text("450 files")
    assert count_nodes(page) <= MAX_NODES
    page.get_by_role("button", name="Show 200 more files").click()
    expect(page.get_by_role("button", name="Show 50 more files")).to_be_attached()
    assert count_nodes(page) <= MAX_NODES


def test_hostile_names_and_lines_stay_text(project, gui, visit):
    review = fill(project)
    page = visit(gui).open(f"review/{review}")
    link = page.get_by_role("navigation", name="Files").get_by_role("button", name=re.compile("script"))
    expect(link).to_contain_text("U+202E<script>.txt")
    link.click()
    hostile = page.locator(".file-section").filter(has_text="U+202E")
    expect(hostile.get_by_role("heading")).to_contain_text("U+202E<script>.txt")
    expect(hostile.locator("tr.added .diff-code")).to_have_text(
        ["x\\r", "U+202EevilU+202C\\x1b[31m <script>alert(1)</script>"]
    )
    assert page.locator("#content :is(img, script)").count() == 0
    assert find_faults(page) == []


def test_hostile_words_of_agents_stay_text(project, gui, visit):
    review = project.put_up({"a.py": "1\n"}, title=HOSTILE_LINE, findings=[replace_path(FINDING, HOSTILE_LINE)])
    project.write(
        lambda tx: review_remarks.add(tx, reviews.get(tx, review), f"![x](http://127.0.0.1/x) {HOSTILE_LINE}")
    )
    page = visit(gui).open(f"review/{review}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x onerror=alert(1)> U+200Bzero")
    expect(page.get_by_role("region", name="Comments")).to_contain_text("<b>bold</b>")
    assert page.locator("#content :is(img, script)").count() == 0
    assert page.locator("#content a[href^='javascript']").count() == 0


def replace_path(finding: ChangeFinding, path: str) -> ChangeFinding:
    return ChangeFinding(kind=finding.kind, path=path, line=1, text=path)


def reject(project: StockedProject, review: str, message: str = "more") -> None:
    project.write(lambda tx: review_decisions.reject(tx, reviews.get(tx, review), message=message), by=PERSON)


def test_the_code_is_shown_since_its_base_or_since_the_last_review_which_is_in_the_address(project, gui, visit):
    first = fill(project)
    task = project.read(lambda tx: reviews.get(tx, first))
    reject(project, first)
    second = project.put_up({"src/more.py": "MORE = 1\n"}, task=task.task_id, base=task.base)
    page = visit(gui).open(f"review/{second}")
    expect(page.locator(".code-head")).to_contain_text("7 files")
    page.get_by_label("Since").select_option("review")
    expect(page.locator(".code-head")).to_contain_text("1 file")
    expect(line(page, "src/more.py", 1)).to_be_visible()
    assert page.url.endswith("?since=review")
    page.reload()
    expect(page.locator(".code-head")).to_contain_text("which was judged last")
    expect(page.get_by_label("Since")).to_have_value("review")


def test_everything_that_a_run_changed_is_shown_with_its_commits(project, gui, visit):
    base = project.code.git("rev-parse", "HEAD")
    head = project.code.commit("the first part", {"one.py": "ONE = 1\n"})

    def run(tx):
        made = runs.start(tx, "auth", feature=None, asked="", asked_file="")
        runs.update(tx, made.id, base=base, head=head)
        runs.end(tx, made.id, why="done", said="done", seconds=1)

    project.write(run)
    page = visit(gui).open("review/run/auth")
    expect(line(page, "one.py", 1)).to_be_visible()
    page.get_by_text("1 commit", exact=True).click()
    expect(page.locator(".commit-list")).to_contain_text("the first part")
    expect(page.get_by_role("button", name=re.compile("Accept|Comment"))).to_have_count(0)
    assert find_faults(page) == []


def test_a_comment_on_a_line_survives_a_reload_before_and_after_it_is_kept(project, gui, visit):
    review = fill(project)
    page = visit(gui).open(f"review/{review}")
    line(page, "tests/test_bill.py", 2).get_by_role("button", name="2").click()
    field = page.get_by_role("textbox", name="Comment on line 2")
    expect(field).to_be_focused()
    field.fill("one test is **gone**")
    page.reload()
    expect(field).to_have_value("one test is **gone**")
    field.press("Control+Enter")
    draft = file(page, "tests/test_bill.py").locator(".remark")
    expect(draft).to_contain_text("draft")
    expect(draft.locator("strong").last).to_have_text("gone")
    page.reload()
    expect(draft.get_by_role("button")).to_have_text(["Edit", "Delete draft"])
    expect(page.get_by_role("group", name="Decision")).to_contain_text("1 draft not sent")
    draft.get_by_role("button", name="Edit").click()
    draft.get_by_role("textbox").fill("a test is gone")
    draft.get_by_role("button", name="Save draft").click()
    expect(draft).to_contain_text("a test is gone")
    (kept,) = project.read(lambda tx: review_remarks.list_remarks(tx, reviews.get(tx, review).task_id))
    assert (kept.place, kept.body, kept.code.strip(), kept.state) == (
        "tests/test_bill.py:2", "a test is gone", "assert bill([])", "draft",
    )  # fmt: skip
    draft.get_by_role("button", name="Delete draft").click()
    expect(page.locator(".remark")).to_have_count(0)


def test_comments_on_a_file_and_on_the_change_are_sent_and_followed(project, gui, visit):
    review = fill(project)
    task = project.read(lambda tx: reviews.get(tx, review)).task_id
    page = visit(gui).open(f"review/{review}")
    page.get_by_role("button", name="Comment on the whole change").click()
    page.get_by_role("textbox", name="Comment on the whole change").fill("too much at once")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Comments")).to_contain_text("too much at once")
    head = file(page, "tests/test_bill.py")
    head.get_by_role("button", name="Comment", exact=True).click()
    head.get_by_role("textbox", name="Comment on this file").fill("keep the old test")
    page.keyboard.press("Control+Enter")
    expect(head.locator(".remark")).to_contain_text("keep the old test")
    page.get_by_role("button", name="Ask for changes…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Your 2 drafts are sent with it.")
    dialog.get_by_role("button", name="Ask for changes").click()
    expect(page.get_by_text("The review is over")).to_contain_text("changes were asked for")
    states = page.get_by_role("region", name="Comments").locator(".remark .badge")
    expect(states).to_have_text(["sent", "sent"])
    project.write(lambda tx: task_moves.start(tx, task))
    expect(states).to_have_text(["seen", "seen"])
    first, second = project.read(lambda tx: review_remarks.list_remarks(tx, task))
    project.write(lambda tx: review_remarks.settle(tx, first, "outdated", commit="c" * 40))
    expect(states).to_have_text(["seen", "outdated"])
    page.get_by_role("region", name="Comments").get_by_role("button", name="Nothing is left to do").click()
    page.get_by_text("2 addressed or outdated").click()
    expect(states).to_have_text(["outdated", "addressed"])
    assert project.read(lambda tx: review_remarks.get(tx, second.id)).state == "addressed"
    assert find_faults(page) == []


def test_comments_follow_their_line_into_the_next_commit(project, gui, visit):
    first = fill(project)
    found = project.read(lambda tx: reviews.get(tx, first))

    def comment(tx):
        code = "    for one in orders:"
        review_remarks.add(tx, found, "name it", path="src/bill.py", line=6, code=code)
        review_decisions.reject(tx, found, message="see the comment")

    project.write(comment, by=PERSON)
    text = "# the bill\n" + project.code.read("src/bill.py")
    second = project.put_up({"src/bill.py": text}, task=found.task_id, base=found.base)
    page = visit(gui).open(f"review/{second}")
    page.get_by_role("region", name="Comments").get_by_role("button", name="src/bill.py:6").click()
    expect(file(page, "src/bill.py").locator(".remark")).to_contain_text("name it")
    below = file(page, "src/bill.py").locator("tr:has(+ tr.diff-below)")
    expect(below).to_have_attribute("data-line", "7")


def test_a_change_is_accepted_by_keys_with_exactly_its_commit_and_tree(project, gui, visit):
    review = project.put_up({"src/more.py": "MORE = 1\n"})
    found = project.read(lambda tx: reviews.get(tx, review))
    page = visit(gui).open("review")
    page.get_by_role("link", name="Compute the tax").press("Enter")
    expect(page.get_by_role("button", name="Accept…")).to_be_visible()
    page.keyboard.press("a")
    dialog = page.get_by_role("dialog", name="Accept exactly this?")
    expect(dialog).to_contain_text(found.commit_id)
    expect(dialog).to_contain_text(found.tree)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert project.read(lambda tx: reviews.get(tx, review)).status == "open"
    page.keyboard.press("a")
    dialog.get_by_role("button", name="Accept this commit").press("Enter")
    expect(page.get_by_text("The review is over")).to_contain_text("it was accepted")
    expect(page.get_by_role("button", name="Accept…")).to_have_count(0)
    assert project.task(found.task_id).status == "done"


def test_a_newer_commit_is_not_accepted_with_it(project, gui, visit):
    review = project.put_up({"src/more.py": "MORE = 1\n"})
    one = visit(gui)
    one.expected_faults.append("status of 4")
    page = one.open(f"review/{review}")
    page.get_by_role("button", name="Accept…").click()
    project.code.commit("sneaked in", {"src/more.py": "MORE = 2\n"})
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Accept this commit").click()
    expect(dialog.get_by_role("alert")).to_contain_text("newer commit")
    assert project.read(lambda tx: reviews.get(tx, review)).status == "open"


def test_files_that_are_right_are_kept_and_the_next_attempt_is_told(project, gui, visit):
    review = project.put_up({"src/bill.py": "BROKEN\n", "src/fine.py": "FINE = 1\n"})
    page = visit(gui).open(f"review/{review}")
    fine = file(page, "src/fine.py")
    fine.get_by_label("Right as it is").check()
    expect(fine.get_by_role("table")).to_have_count(0)
    page.reload()
    expect(fine.get_by_label("Right as it is")).to_be_checked()
    expect(page.get_by_role("group", name="Decision")).to_contain_text("1 file is right.")
    page.keyboard.press("r")
    dialog = page.get_by_role("dialog", name="Ask for changes")
    expect(dialog).to_contain_text("1 file is right and stays as it is")
    expect(dialog.get_by_role("button", name="Ask for changes")).to_be_disabled()
    page.keyboard.type("bill.py is broken")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("The review is over")).to_contain_text("changes were asked for")
    task = project.read(lambda tx: reviews.get(tx, review)).task_id
    (remark,) = project.read(lambda tx: review_remarks.list_remarks(tx, task))
    assert "bill.py is broken" in remark.body
    assert "- src/fine.py" in remark.body


def test_keys_lead_from_place_to_place_and_from_line_to_line(project, gui, visit):
    page = visit(gui).open(f"review/{fill(project)}")
    expect(line(page, "tests/test_bill.py", 2)).to_be_attached()
    page.keyboard.press("j")
    expect(file(page, "tests/test_bill.py").locator(".diff-hunk")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    focused = page.locator("tr:focus")
    expect(focused).to_contain_text("assert bill([]) == 0")
    page.keyboard.press("ArrowUp")
    expect(focused).to_contain_text("def test_bill():")
    page.keyboard.press("c")
    expect(page.get_by_role("textbox", name="Comment on line 1")).to_be_focused()
    page.keyboard.type("why?")
    page.keyboard.press("Control+Enter")
    expect(file(page, "tests/test_bill.py").locator(".remark")).to_contain_text("why?")
    page.keyboard.press("n")
    expect(page.locator(".file-section:focus")).to_have_count(1)
    page.keyboard.press("p")
    expect(page.locator(".file-section:focus")).to_have_count(1)
    for _ in range(6):
        page.keyboard.press("n")
    expect(file(page, "src/bill.py")).to_be_focused()
    page.keyboard.press("j")
    expect(file(page, "src/bill.py").locator(".diff-hunk").first).to_be_focused()


def test_what_somebody_writes_stays_while_others_go_on(project, gui, visit):
    review = fill(project)
    found = project.read(lambda tx: reviews.get(tx, review))
    page = visit(gui).open(f"review/{review}")
    line(page, "tests/test_bill.py", 2).get_by_role("button", name="2").click()
    field = page.get_by_role("textbox", name="Comment on line 2")
    field.fill("one test is")
    project.write(lambda tx: review_remarks.add(tx, found, "I looked at it"))
    expect(page.get_by_role("region", name="Comments")).to_contain_text("I looked at it")
    expect(field).to_be_focused()
    page.keyboard.type(" gone")
    expect(field).to_have_value("one test is gone")
    project.put_up({"src/more.py": "MORE = 1\n"}, task=found.task_id, base=found.base)
    expect(page.get_by_text("A newer change was put up.")).to_be_visible()
    page.get_by_role("link", name="Look at that one").click()
    expect(page.get_by_role("button", name="more.py src/")).to_be_visible()


def test_the_list_has_what_waits_and_all_reviews_with_an_address(project, gui, visit):
    first = fill(project)
    reject(project, first)
    project.put_up({"src/more.py": "MORE = 1\n"}, title="Ship parcels")
    page = visit(gui).open("review")
    links = page.get_by_role("table").get_by_role("link")
    expect(links).to_have_text(["Ship parcels"])
    page.get_by_role("tab", name="All").click()
    expect(links).to_have_text(["Ship parcels", "Compute the tax"])
    assert page.url.endswith("/review?show=all")
    page.reload()
    expect(links).to_have_count(2)
    assert find_faults(page) == []


def test_a_commit_that_git_no_longer_has_is_said_so(project, gui, visit):
    review = project.put_up({"src/more.py": "MORE = 1\n"})
    project.write(lambda tx: reviews.REVIEWS.update(tx, {"commit_id": "d" * 40}, "id = ?", review))
    page = visit(gui).open(f"review/{review}")
    expect(page.get_by_role("alert")).to_contain_text("is not in this repository")
    expect(page.get_by_role("region", name="Evidence")).to_contain_text("tests pass")


def test_zoomed_in_the_keys_reach_every_place_too(project, gui, visit):
    page = visit(gui, viewport=ZOOMED).open(f"review/{fill(project)}")
    expect(page.get_by_role("button", name="Accept…")).to_be_visible()
    expect(file(page, "tests/test_bill.py")).to_be_attached()
    page.keyboard.press("j")
    hunk = file(page, "tests/test_bill.py").locator(".diff-hunk")
    expect(hunk).to_be_focused()
    expect(hunk).to_be_in_viewport()


@pytest.fixture
def readonly_gui(repo):
    with ServedGui(repo, "--readonly") as gui:
        yield gui


def test_a_change_that_is_only_read_can_neither_be_commented_nor_decided(project, readonly_gui, visit):
    page = visit(readonly_gui).open(f"review/{fill(project)}")
    expect(line(page, "tests/test_bill.py", 2)).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Accept|Ask for|Comment"))).to_have_count(0)
    page.keyboard.press("a")
    expect(page.get_by_role("dialog")).to_have_count(0)
