"""What needs a person: each kind with what happened, what was tried and the one decision, made right there."""

import re

import pytest

from binnacle.store import attention, questions, reviews
from binnacle.work.gaming import ChangeFinding
from page.browsing import Page, expect
from page.screens import SCREENS, find_faults
from page.stocked_project import HOSTILE_LINE, HOSTILE_TEXT, PERSON, StockedProject
from web.served_gui import ServedGui

SKIPPED = ChangeFinding(kind="test_skipped", path="tests/test_cart.py", line=5, text="@pytest.mark.skip")
PATCH = "kind: edit\n--- a/tax.py\n+++ b/tax.py\n@@ -1 +1 @@\n-RATE = 19\n+RATE = 7\n"

RECORD_NOTIFICATIONS = """
window.Notification = class extends Notification {
  constructor(title, options) {
    super(title, options);
    const { dataset } = document.documentElement;
    dataset.shown = `${dataset.shown ?? ""}${title}, ${options.tag}; `;
  }
};
"""
"""The browser's own notifications, with a note of each in the page."""


@pytest.fixture
def project(repo):
    return StockedProject(repo)


def card(page: Page, text: str):
    return page.get_by_role("article").filter(has_text=text)


def fill(project: StockedProject) -> None:
    """One of each kind."""
    project.use_up_attempts()
    project.ask_permission("edit: tax.py", PATCH)
    project.ask_question("Which tax?\n\nThe list has **both**.", options=["net", "gross"], preferred="net")
    project.put_up({"tax.py": "RATE = 7\n"}, title="Set the rate", findings=[SKIPPED])
    project.end_run()
    project.write_checks()
    project.configure_login()


def test_nothing_that_waits_is_said_so(gui, visit):
    page = visit(gui).open()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    expect(page).to_have_title("shop · Binnacle")
    expect(page.get_by_role("article")).to_have_count(0)


def test_every_kind_says_what_happened_what_was_tried_and_what_is_to_decide(project, gui, visit):
    fill(project)
    page = visit(gui).open()
    expect(page.get_by_role("article")).to_have_count(7)
    kinds = page.locator(".cause-card > header .badge").all_inner_texts()
    assert kinds == ["Permission", "Question", "Stuck", "Review", "Run ended", "Trust", "Login"]
    expect(page).to_have_title("(7) shop · Binnacle")
    expect(page.get_by_role("link", name=re.compile("Needs you"))).to_contain_text("7")
    permission = card(page, "edit: tax.py")
    expect(permission.locator(".diff-text-line.added")).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")
    expect(permission.get_by_role("button")).to_have_text(["Allow once", "Refuse", "Always allow this"])
    question = card(page, "Which tax?")
    expect(question).to_contain_text("The agent would choose: net")
    expect(question.locator("strong")).to_have_text("both")
    stuck = card(page, "agents gave up")
    expect(stuck.get_by_role("list", name="Attempts").get_by_role("listitem")).to_have_count(2)
    expect(stuck).to_contain_text("attempt 2: a test fails")
    expect(stuck).to_contain_text("E       assert 19 == 7")
    review = card(page, "Set the rate")
    expect(review).to_contain_text("money is involved")
    expect(review).to_contain_text("Changes what judges it in 1 place")
    ended = card(page, "the run auth ended")
    expect(ended).to_contain_text("bn run --resume --name auth")
    expect(card(page, "no effect until you trust it")).to_contain_text("check:tests")
    expect(card(page, "tickets wants a login")).to_contain_text("bn upstream login tickets --no-browser")
    assert find_faults(page) == []


@pytest.mark.parametrize("screen", [name for name in SCREENS if name != "desktop"])
def test_every_kind_is_in_reach_on_any_screen(project, gui, visit, screen):
    fill(project)
    page = visit(gui, **SCREENS[screen]).open()
    expect(page.get_by_role("article")).to_have_count(7)
    for button in page.get_by_role("article").get_by_role("button").all():
        button.scroll_into_view_if_needed()
        assert button.is_visible()
    assert find_faults(page) == []


@pytest.mark.parametrize(
    ("button", "answer"), [("Allow once", "yes"), ("Refuse", "no"), ("Always allow this", "always")]
)
def test_a_permission_is_answered_in_its_card(project, gui, visit, button, answer):
    entry = project.ask_permission()
    page = visit(gui).open()
    card(page, "run: make release").get_by_role("button", name=button).click()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    expect(page).to_have_title("shop · Binnacle")
    kept = project.read(lambda tx: attention.get(tx, entry))
    assert (kept.answer, kept.answered_by) == (answer, "ann")


def test_a_question_is_answered_by_an_option_or_in_ones_own_words(project, gui, visit):
    first = project.ask_question("Which tax?", options=["net", "gross"])
    second = project.ask_question("What is it called?", title="Name the shop")
    page = visit(gui).open()
    card(page, "Which tax?").get_by_role("button", name="gross").click()
    expect(card(page, "Which tax?")).to_have_count(0)
    field = card(page, "What is it called?").get_by_label("Your answer")
    field.fill("Corner shop")
    field.press("Control+Enter")
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    answers = [project.read(lambda tx, one=one: questions.get(tx, one)) for one in (first, second)]
    assert [one.answer for one in answers] == ["gross", "Corner shop"]
    assert {project.task(one.task_id).status for one in answers} == {"pending"}


def test_a_stuck_task_is_tried_again_with_a_hint_or_cancelled_for_a_reason(project, gui, visit):
    again, never = project.use_up_attempts(), project.use_up_attempts("Import the orders")
    page = visit(gui).open()
    first = card(page, "Export the orders")
    first.get_by_label("A hint").fill("use the csv module")
    first.get_by_role("button", name="Try again with this hint").click()
    expect(first).to_have_count(0)
    assert project.task(again).status == "pending"
    assert project.read(lambda tx: questions.list_task_questions(tx, again))[0].answer == "use the csv module"
    card(page, "Import the orders").get_by_role("button", name="Cancel the task…").click()
    dialog = page.get_by_role("dialog")
    confirm = dialog.get_by_role("button", name="Cancel the task")
    expect(confirm).to_be_disabled()
    dialog.get_by_label("Why it will not be done").fill("nobody needs it")
    confirm.click()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    assert project.task(never).status == "cancelled"


def test_accepting_a_change_asks_again_with_exactly_what_is_accepted(project, gui, visit):
    review = project.put_up({"tax.py": "RATE = 7\n"}, findings=[SKIPPED])
    commit = project.code.git("rev-parse", "HEAD")
    page = visit(gui).open()
    card(page, "Compute the tax").get_by_role("button", name="Accept…").click()
    dialog = page.get_by_role("dialog", name="Accept exactly this?")
    expect(dialog).to_contain_text(commit)
    expect(dialog).to_contain_text(project.code.git("rev-parse", "HEAD^{tree}"))
    expect(dialog).to_contain_text("It changes what judges it in 1 place.")
    assert project.read(lambda tx: reviews.get(tx, review)).status == "open"
    dialog.get_by_role("button", name="Accept this commit").click()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    kept = project.read(lambda tx: reviews.get(tx, review))
    assert (kept.status, project.task(kept.task_id).status) == ("accepted", "done")


def test_changes_are_asked_for_in_the_card_of_a_review(project, gui, visit):
    review = project.put_up({"tax.py": "RATE = 7\n"})
    page = visit(gui).open()
    card(page, "Compute the tax").get_by_role("button", name="Ask for changes…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What has to be another way").fill("the rate belongs into the settings")
    dialog.get_by_role("button", name="Ask for changes").click()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    kept = project.read(lambda tx: reviews.get(tx, review))
    assert (kept.status, project.task(kept.task_id).status) == ("changes", "pending")


def test_an_ended_run_is_over_when_somebody_has_seen_it(project, gui, visit):
    project.end_run()
    page = visit(gui).open()
    expect(page.get_by_role("link", name="Look at the run")).to_have_attribute("href", re.compile(r"/runs/auth$"))
    page.get_by_role("button", name="Mark as seen").click()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    assert project.read(attention.list_open) == []


def test_trust_is_asked_for_again_with_what_will_run_and_only_for_what_was_seen(project, gui, visit):
    project.write_checks("make test")
    one = visit(gui)
    one.expected_faults.append("status of 4")
    page = one.open()
    button = page.get_by_role("button", name="Trust what is chosen…")
    expect(button).to_be_disabled()
    page.get_by_label("Trust check:tests").check()
    button.click()
    dialog = page.get_by_role("dialog", name="Trust exactly this?")
    expect(dialog).to_contain_text("make test")
    project.write_checks("make evil")
    dialog.get_by_role("button", name="Trust it").click()
    expect(dialog).to_contain_text("it was changed")
    dialog.get_by_role("button", name="Cancel").click()
    page.reload()
    page.get_by_label("Trust check:tests").check()
    button.click()
    expect(dialog).to_contain_text("make evil")
    dialog.get_by_role("button", name="Trust it").click()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()


def test_what_others_answer_goes_away_and_who_answered_is_said(project, gui, visit):
    entry = project.ask_permission()
    page = visit(gui).open()
    expect(card(page, "run: make release")).to_be_visible()
    project.write(lambda tx: attention.close(tx, entry, answer="no", by="bob"), by=PERSON)
    expect(page.get_by_role("list", name="Answered elsewhere")).to_contain_text("bob answered: no")
    expect(card(page, "run: make release")).to_have_count(0)


def test_what_is_asked_now_appears_and_one_cause_alerts_once_and_only_while_nobody_looks(project, gui, visit):
    one = visit(gui, permissions=["notifications"])
    one.context.add_init_script(RECORD_NOTIFICATIONS)
    page = one.open()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    page.evaluate("localStorage.setItem('binnacle.settings', JSON.stringify({notifies: true}))")
    page.reload()
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    project.ask_permission()
    expect(page).to_have_title("(1) shop · Binnacle")
    expect(page.get_by_test_id("announcement")).to_have_text("1 thing needs you")
    root = page.locator("html")
    expect(root).not_to_have_attribute("data-shown", re.compile("."))
    hide(page, is_hidden=True)
    question = project.ask_question("Which tax?")
    expect(page).to_have_title("(2) shop · Binnacle")
    expect(root).to_have_attribute("data-shown", "2 things need you, binnacle-shop; ")
    project.ask_permission()  # asked already
    project.write(lambda tx: questions.answer(tx, question, "net"), by=PERSON)
    expect(page).to_have_title("(1) shop · Binnacle")
    hide(page, is_hidden=False)
    expect(page.get_by_role("article")).to_have_count(1)
    expect(root).to_have_attribute("data-shown", "2 things need you, binnacle-shop; ")


def test_a_cause_that_takes_the_place_of_another_alerts_too(project, gui, visit):
    one = visit(gui, permissions=["notifications"])
    one.context.add_init_script(RECORD_NOTIFICATIONS)
    entry = project.ask_permission()
    page = one.open()
    page.evaluate("localStorage.setItem('binnacle.settings', JSON.stringify({notifies: true}))")
    page.reload()
    expect(page.get_by_role("article")).to_have_count(1)
    hide(page, is_hidden=True)

    def replace(tx):
        attention.close(tx, entry, answer="no", by="bob")
        attention.open_entry(tx, "permission", "run: make clean", options=("yes", "no"))

    project.write(replace, by=PERSON)
    expect(page.locator("html")).to_have_attribute("data-shown", "1 thing needs you, binnacle-shop; ")


def hide(page: Page, *, is_hidden: bool) -> None:
    """What a browser says of a tab that nobody sees. One without windows never says it."""
    value = str(is_hidden).lower()
    page.evaluate(f"Object.defineProperty(document, 'hidden', {{value: {value}, configurable: true}})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_everything_is_decided_by_keys_and_the_focus_goes_on_to_the_next(project, gui, visit):
    first = project.ask_permission("run: make one", "kind: execute\nmake one")
    second = project.ask_permission("run: make two", "kind: execute\nmake two")
    page = visit(gui).open()
    expect(page.get_by_role("article")).to_have_count(2)
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="run: make one")).to_be_focused()
    press_until(page, "Allow once")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="run: make two")).to_be_focused()
    press_until(page, "Refuse")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Needs you")).to_be_focused()
    assert [project.attention(one).answer for one in (first, second)] == ["yes", "no"]


def press_until(page: Page, name: str) -> None:
    """Presses Tab until a button has the focus: a few times at most."""
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == name:
            return
    raise AssertionError(f"{name} is not in reach")


def test_the_focus_and_what_somebody_types_stay_while_others_answer(project, gui, visit):
    entry = project.ask_permission()
    project.ask_question("Which tax?")
    page = visit(gui).open()
    field = page.get_by_label("Your answer")
    field.fill("net, I th")
    project.write(lambda tx: attention.close(tx, entry, answer="no", by="bob"), by=PERSON)
    expect(page.get_by_role("article")).to_have_count(1)
    expect(field).to_be_focused()
    page.keyboard.type("ink")
    expect(field).to_have_value("net, I think")


def test_an_answer_that_comes_too_late_is_refused_with_who_was_first(project, gui, visit):
    entry = project.ask_permission()
    one = visit(gui)
    one.expected_faults += ["ERR_FAILED", "status of 4"]
    page = one.open()
    expect(page.get_by_role("article")).to_be_visible()
    page.route(re.compile("needs_you$|needs_you[?]"), lambda route: route.abort())  # the page does not hear of it
    project.write(lambda tx: attention.close(tx, entry, answer="no", by="bob"), by=PERSON)
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_role("article")).to_contain_text("was answered by bob: no")
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()


def test_hostile_words_stay_words(project, gui, visit):
    project.ask_permission(HOSTILE_LINE, f"kind: execute\n{HOSTILE_TEXT}")
    project.ask_question(f"{HOSTILE_LINE}\n{HOSTILE_TEXT}", options=[HOSTILE_LINE], preferred=HOSTILE_LINE)
    project.end_run(said=HOSTILE_TEXT)
    page = visit(gui).open()
    expect(page.get_by_role("article")).to_have_count(3)
    expect(page.locator(".cause-card h2 .hidden-mark").first).to_have_text("U+200B")
    assert page.locator("#content :is(img, iframe, script)").count() == 0
    targets = {one.get_attribute("href") or "" for one in page.locator("#content .cause-card a").all()}
    assert {target.partition(":")[0] for target in targets if not target.startswith("/")} <= {"http", "https"}
    assert find_faults(page) == []


@pytest.fixture
def readonly_gui(repo):
    with ServedGui(repo, "--readonly") as gui:
        yield gui


def test_a_page_that_is_only_read_decides_nothing(project, readonly_gui, visit):
    fill(project)
    page = visit(readonly_gui).open()
    expect(page.get_by_role("article")).to_have_count(7)
    for name in ("Allow once", "net", "Send answer", "Try again", "Cancel the task…", "Accept…", "Mark as seen"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
