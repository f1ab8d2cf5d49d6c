"""A task's page: what it asks, what shows that it is done, what was tried, and everything changed in place."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from binnacle.store import attempts, comments, dependencies, evidence, features, runs, sessions, task_moves
from binnacle.store.attempts import Spending
from binnacle.store.tasks import TaskFilter
from binnacle.work.actor import SYSTEM, Actor
from page.browsing import Page, expect
from page.screens import SCREENS, find_faults
from page.stocked_project import FAILED, FAILED_TEST, HOSTILE_LINE, HOSTILE_TEXT, PASSED, PERSON, StockedProject
from web.served_gui import ServedGui, bn


@pytest.fixture
def project(repo):
    return StockedProject(repo)


def section(page: Page, name: str):
    return page.get_by_role("region", name=name, exact=True)


def fill(project: StockedProject) -> str:
    """A task with everything that one can have; its id."""
    project.write(lambda tx: [features.add(tx, "auth", {}), features.add_discipline(tx, "backend", {})], by=PERSON)
    base = project.code.commit("first", {"orders.py": "def order():\n    return 1\n"})
    whole, before, after = project.add("Sell abroad", "Make the table", "Send the invoice")
    (task,) = project.add(
        "Take orders by phone",
        description="Somebody calls, and **we write it down**.",
        acceptance_criteria=("a call makes an order [check: tests]", f"tax [test: {FAILED_TEST}]", "it is friendly"),
        pseudocode="1. answer",
        hints="See `orders.py`.",
        tags=("phone",),
        feature="auth",
        discipline="backend",
        parent=whole,
    )
    (part,) = project.add("Buy a telephone", parent=task)
    commit = project.code.commit("phone", {"orders.py": "def order():\n    return 2\n"})
    log = Path(project.project.data_dir) / "logs" / "tests.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(f"tests/test_{number}.py \x1b[31mF\n" for number in range(60)) + "1 failed\n")
    ran = {"task_id": task, "commit_id": commit, "base": base, "log": str(log), "log_bytes": 1, "machine": "here"}

    def work(tx):
        dependencies.add(tx, task, before, reason="it writes into it")
        dependencies.add(tx, after, task)
        task_moves.skip(tx, before, reason="it is there", force=True)
        task_moves.skip(tx, part, reason="there is one", force=True)
        session = sessions.start(tx)
        run = runs.start(tx, "phones", feature=None, asked="", asked_file="")
        sessions.join_run(tx, session.id, run.id, "here")
        with tx.acting_as(SYSTEM, session=None):
            claimed = attempts.claim(tx, session.id, TaskFilter(tag="phone"))
        attempts.note_spending(
            tx, session.id, claimed.number, Spending(seconds=125, tokens=520, cost=0.5, currency="USD")
        )
        attempts.note_agent(tx, session.id, claimed.number, "claude", "opus")
        with tx.acting_as(Actor(session.id, "agent"), session=session.id):
            comments.add(tx, task, "I read the **code**.")
        evidence.add(tx, replace(FAILED, **ran))
        evidence.add(tx, replace(PASSED, check_name="types", is_merged=True, **ran))
        attempts.settle(tx, session.id, claimed.number, "unproven", "tests: 1 new failure", max_attempts=3)

    project.write(work, by=PERSON)
    return task


def test_a_task_shows_everything_about_it(project, gui, visit):
    task = fill(project)
    page = visit(gui).open(f"task/{task}")
    expect(page.get_by_role("heading", name="Take orders by phone")).to_be_visible()
    expect(section(page, "Description").locator("strong")).to_have_text("we write it down")
    criteria = section(page, "Acceptance criteria").get_by_role("listitem")
    expect(criteria).to_have_text(
        [re.compile("not true yet.*check tests"), re.compile("not true yet|proven"), "it is friendly"]
    )
    others = section(page, "Other tasks")
    expect(others).to_contain_text("it writes into it")
    expect(others.get_by_role("link")).to_have_text(["Make the table", "Send the invoice", "Buy a telephone"])
    attempt = section(page, "Attempts").get_by_role("row").nth(1)
    for words in ("claude opus", "unproven", "tests: 1 new failure", "2 min 5 s", "520", "0.50 USD"):
        expect(attempt).to_contain_text(words)
    expect(attempt.get_by_role("link")).to_have_attribute("href", re.compile("/runs/"))
    expect(section(page, "Activity").locator("strong")).to_have_text("code")
    facts = section(page, "Facts")
    for words in ("1 attempt, 2 min 5 s, 0.50 USD", "phone", "Part of"):
        expect(facts).to_contain_text(words)
    assert find_faults(page) == []


def test_the_results_of_checks_have_their_failed_tests_and_their_logs(project, gui, visit):
    task = fill(project)
    page = visit(gui).open(f"task/{task}")
    found = section(page, "Evidence").get_by_role("listitem")
    expect(found.first).to_contain_text("types")
    expect(found.first).to_contain_text("as merged")
    failed = found.filter(has_text="tests at")
    failed.locator("summary").click()
    expect(failed).to_contain_text(FAILED_TEST)
    log = failed.get_by_label("Log of tests")
    expect(log).to_contain_text("tests/test_0.py")
    expect(log).not_to_contain_text("1 failed")
    failed.get_by_role("button", name="Show all").click()
    expect(log).to_contain_text("1 failed")
    assert find_faults(page) == []


def test_what_the_work_changed_is_shown_as_a_difference(project, gui, visit):
    task = fill(project)
    page = visit(gui).open(f"task/{task}")
    page.get_by_role("heading", name="Change", exact=True).click()
    table = page.get_by_role("table", name="Changes of orders.py")
    expect(table.locator(".diff-code.removed")).to_have_text("    return 1")
    expect(table.locator(".diff-code.added")).to_have_text("    return 2")
    assert find_faults(page) == []


def test_the_history_has_an_address(project, gui, visit):
    task = fill(project)
    page = visit(gui).open(f"task/{task}")
    page.get_by_role("tab", name="History").click()
    expect(page.locator(".history li").last).to_contain_text("added")
    assert page.url.endswith("?tab=history")
    page.reload()
    expect(page.locator(".history li").last).to_contain_text("added")


@pytest.mark.parametrize("screen", [name for name in SCREENS if name != "desktop"])
def test_a_task_is_in_reach_on_any_screen(project, gui, visit, screen):
    task = fill(project)
    page = visit(gui, **SCREENS[screen]).open(f"task/{task}")
    page.get_by_role("heading", name="Change", exact=True).click()
    expect(page.get_by_role("table", name="Changes of orders.py")).to_be_attached()
    page.get_by_role("button", name="Edit tags").click()
    expect(page.get_by_label("Tags", exact=True)).to_be_focused()
    assert find_faults(page) == []


def test_every_text_is_edited_in_place(project, gui, visit):
    (task,) = project.add("Take orders")
    page = visit(gui).open(f"task/{task}")
    expect(page.get_by_role("heading", name="Take orders")).to_be_visible()
    page.keyboard.press("e")
    expect(page.get_by_label("Title", exact=True)).to_be_focused()
    page.get_by_label("Title", exact=True).fill("Take all orders")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Take all orders")).to_be_visible()
    for button, label, text in (
        ("Add description", "Description", "by *phone*"),
        ("Add steps", "Steps", "1. answer"),
        ("Add hints", "Hints", "be kind"),
        ("Edit acceptance criteria", "Acceptance criteria", "it rings\nit is red [check: tests]"),
        ("Edit tags", "Tags", "api, web"),
        ("Edit estimated turns", "Estimated turns", "12"),
        ("Edit files to read first", "Files to read first", "a.py\nb.py"),
    ):
        page.get_by_role("button", name=button, exact=True).click()
        page.get_by_label(label, exact=True).and_(page.locator("input, textarea")).fill(text)
        page.keyboard.press("Control+Enter")
        expect(page.locator("form.form").filter(has=page.get_by_role("button", name="Save"))).to_have_count(0)
    page.get_by_label("Priority").select_option("0")
    page.get_by_label("Kind").select_option("bug")
    expect(section(page, "Description").locator("em")).to_have_text("phone")
    expect(page.get_by_label("Kind")).to_have_value("bug")
    kept = project.task(task)
    assert (kept.title, kept.description, kept.pseudocode, kept.hints) == (
        "Take all orders", "by *phone*", "1. answer", "be kind",
    )  # fmt: skip
    assert kept.acceptance_criteria == ("it rings", "it is red [check: tests]")
    assert (kept.tags, kept.estimated_turns, kept.context_files) == (("api", "web"), 12, ("a.py", "b.py"))


def test_comments_and_dependencies_are_added_and_taken_away(project, gui, visit):
    first, second = project.add("Make the table", "Take orders")
    page = visit(gui).open(f"task/{second}")
    page.get_by_label("Comment", exact=True).fill("ask the **shop**")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".comments strong")).to_have_text("shop")
    expect(page.get_by_label("Comment", exact=True)).to_have_value("")
    others = section(page, "Other tasks")
    others.get_by_role("button", name="Add one").click()
    others.get_by_label("Task").fill(first)
    others.get_by_label("Why").fill("it writes into it")
    others.get_by_role("button", name="Wait for it").click()
    expect(others.get_by_role("link", name="Make the table")).to_be_visible()
    assert project.task(second).open_dependencies == 1
    others.get_by_role("button", name="Do not wait for Make the table").click()
    expect(others.get_by_role("link", name="Make the table")).to_have_count(0)
    assert project.task(second).open_dependencies == 0


def test_the_second_of_two_browsers_is_told_who_changed_what_and_keeps_its_own_words(project, gui, visit):
    (task,) = project.add("Take orders", description="by phone")
    ann, bob = visit(gui), visit(gui)
    bob.expected_faults.append("status of 4")
    pages = [one.open(f"task/{task}") for one in (ann, bob)]
    for page in pages:
        page.get_by_role("button", name="Edit description").click()
    for page, text in zip(pages, ("by mail", "by pigeon"), strict=True):
        page.get_by_role("textbox", name="Description").fill(text)
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
    second = pages[1]
    form = second.get_by_role("form", name="Edit description")
    expect(form.get_by_role("alert")).to_contain_text("ann")
    expect(form.locator("blockquote")).to_have_text("by mail")
    expect(form.get_by_role("textbox")).to_have_value("by pigeon")
    assert project.task(task).description == "by mail"
    form.get_by_role("button", name="Begin from theirs").click()
    expect(form.get_by_role("textbox")).to_have_value("by mail")
    form.get_by_role("textbox").fill("by mail or by pigeon")
    form.get_by_role("button", name="Save").click()
    for page in pages:
        expect(section(page, "Description")).to_contain_text("by mail or by pigeon")
    assert project.task(task).description == "by mail or by pigeon"


def test_who_saves_second_may_replace_what_the_other_wrote(project, gui, visit):
    (task,) = project.add("Take orders", description="by phone")
    one = visit(gui)
    one.expected_faults.append("status of 4")
    page = one.open(f"task/{task}")
    page.get_by_role("button", name="Edit description").click()
    bn(project.repo, "task", "update", task, "--description", "by mail")
    page.get_by_role("textbox", name="Description").fill("by pigeon")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("blockquote")).to_have_text("by mail")
    page.get_by_role("button", name="Replace it by mine").click()
    expect(section(page, "Description")).to_contain_text("by pigeon")
    assert project.task(task).description == "by pigeon"


def test_what_others_do_is_shown_while_somebody_writes(project, gui, visit):
    (task,) = project.add("Take orders")
    page = visit(gui).open(f"task/{task}")
    field = page.get_by_label("Comment", exact=True)
    field.fill("I thi")
    bn(project.repo, "task", "comment", task, "it is raining")
    expect(page.locator(".comments")).to_contain_text("it is raining")
    bn(project.repo, "task", "start", task)
    expect(page.locator(".task-head")).to_contain_text("In progress")
    expect(field).to_be_focused()
    page.keyboard.type("nk")
    expect(field).to_have_value("I think")


def test_a_task_is_done_when_its_checks_have_passed_and_not_before(project, gui, visit):
    check = "test -e done.txt"
    project.write_checks(check)
    project.code.commit("checks", {".binnacle/checks.yaml": project.code.read(".binnacle/checks.yaml")})
    bn(project.repo, "trust", "--yes")
    (task,) = project.add("Take orders", checks=("tests",))
    page = visit(gui).open(f"task/{task}")
    page.get_by_role("button", name="Done", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="The task is not done")).to_be_visible()
    dialog.get_by_role("button", name="Leave it open").click()
    assert project.task(task).status == "pending"
    project.code.commit("work", {"done.txt": "yes\n"})
    page.get_by_role("button", name="Done", exact=True).click()
    expect(page.locator(".task-head")).to_contain_text("checked")
    assert project.task(task).status == "done"


def test_a_task_that_waits_is_started_anyway_only_when_asked_again(project, gui, visit):
    first, second = project.add("Make the table", "Take orders")
    project.write(lambda tx: dependencies.add(tx, second, first))
    one = visit(gui)
    one.expected_faults.append("status of 4")
    page = one.open(f"task/{second}")
    page.get_by_role("button", name="Move to").click()
    page.get_by_role("menuitemradio", name="In progress").click()
    dialog = page.get_by_role("dialog", name="Move it to in progress anyway?")
    expect(dialog).to_contain_text("waits for 1 unfinished task")
    assert project.task(second).status == "pending"
    dialog.get_by_role("button", name="Move it anyway").click()
    expect(page.locator(".task-head")).to_contain_text("In progress")


def test_deleting_asks_again_and_leads_to_the_board(project, gui, visit):
    (task,) = project.add("Take orders")
    page = visit(gui).open(f"task/{task}")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the task").click()
    expect(page.get_by_text("There is no task yet.")).to_be_visible()


def test_a_task_is_saved_as_one_file(project, gui, visit):
    task = fill(project)
    page = visit(gui).open(f"task/{task}")
    page.get_by_role("button", name="More").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=re.compile("Save as a file")).click()
    assert download.value.suggested_filename == f"{task}.html"
    assert "Take orders by phone" in Path(download.value.path()).read_text()


def test_hostile_words_stay_words(project, gui, visit):
    (task,) = project.add(
        HOSTILE_LINE, description=HOSTILE_TEXT, acceptance_criteria=(HOSTILE_LINE,), hints=HOSTILE_TEXT
    )
    (other,) = project.add(f"{HOSTILE_LINE} again")
    project.write(
        lambda tx: [dependencies.add(tx, task, other, reason=HOSTILE_LINE), comments.add(tx, task, HOSTILE_TEXT)]
    )
    page = visit(gui).open(f"task/{task}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x onerror=alert(1)> U+200Bzero U+061Cwidth")
    expect(section(page, "Description")).to_contain_text("<script>alert(1)</script>")
    assert page.locator("#content :is(img, iframe, script, picture, object)").count() == 0
    links = page.locator("#content .markdown a").all()
    targets = {link.get_attribute("href") for link in links}
    assert all(target.startswith(("https://example.org/", "http://127.0.0.1/track.gif")) for target in targets)
    assert {link.get_attribute("target") for link in links} == {"_blank"}
    expect(section(page, "Description").locator(".link-target").first).to_have_text(" (example.org)")
    page.get_by_role("tab", name="History").click()
    expect(page.locator(".history")).to_contain_text("<img")
    assert find_faults(page) == []


@pytest.fixture
def readonly_gui(repo):
    with ServedGui(repo, "--readonly") as gui:
        yield gui


def test_a_task_that_is_only_read_offers_no_changes(project, readonly_gui, visit):
    task = fill(project)
    page = visit(readonly_gui).open(f"task/{task}")
    expect(section(page, "Description")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Edit|Done|Move|Delete|Add|Comment"))).to_have_count(0)
    assert find_faults(page) == []
