"""Agents: who is alive, where, on what and since when, as it changes, and how a person ends one."""

import re
import signal
import subprocess
import sys

import pytest

from binnacle.lifecycle.process import find_process
from binnacle.project.project import find_project
from binnacle.project.store_opening import open_store
from binnacle.store import agents, sessions, tasks
from page.browsing import expect
from page.filled_stores import HOSTILE, change_store, start_work
from page.screens import SCREENS, find_faults


@pytest.fixture
def process(tmp_path):
    """A program that runs until it is ended."""
    words = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]
    with subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        started.stdout.readline()
        yield started
        started.kill()


@pytest.fixture
def at_work(gui, process):
    """An agent in a shell of its own that has started a task: their ids."""
    found = find_process(process.pid)
    return start_work(gui.repo, "Sort the basket", pid=found.pid, process_started=found.started)


def card_of(page, name: str):
    return page.locator(".agent-card").filter(has=page.get_by_role("heading", name=name, exact=True))


def test_says_who_is_alive_where_on_what_and_since_when(gui, visit, at_work, process, tmp_path):
    page = visit(gui).open("agents")
    card = card_of(page, "rivet")
    expect(card.locator(".badge").first).to_have_text("active")
    expect(card).to_contain_text("works on Sort the basket for a moment")
    expect(card).to_contain_text(re.compile(rf"process {process.pid} \(.*python"))
    expect(card).to_contain_text(str(tmp_path))
    expect(page.get_by_role("link", name="Agents")).to_contain_text("1")
    card.get_by_role("link", name="Sort the basket").click()
    expect(page).to_have_url(re.compile(at_work[1]))
    page.go_back()
    card.get_by_role("link", name="What it did").click()
    expect(page).to_have_url(re.compile(rf"/log\?actor={at_work[0]}"))
    expect(page.locator(".log-row").first).to_contain_text("Sort the basket")


def test_another_agent_comes_and_goes_while_the_page_is_open(gui, visit, at_work):
    page = visit(gui).open("agents")
    card_of(page, "rivet").wait_for()
    other, _ = start_work(gui.repo, "Paint it", agent="second")
    expect(card_of(page, "second")).to_contain_text("Paint it")
    change_store(gui.repo, lambda tx: agents.end(tx, other, reason="over"))
    expect(page.get_by_text("Ended lately (1)")).to_be_visible()
    page.get_by_text("Ended lately (1)").click()
    expect(card_of(page, "second").locator(".badge").first).to_have_text("ended")
    expect(card_of(page, "second").get_by_role("button")).to_have_count(0)


def test_a_person_ends_one_once_they_confirm_it(gui, visit, at_work, process):
    page = visit(gui).open("agents")
    button = page.get_by_role("button", name="End rivet")
    button.click()
    dialog = page.get_by_role("dialog", name="End rivet?")
    expect(dialog).to_contain_text(f"Its process {process.pid}")
    expect(dialog).to_contain_text("gives back “Sort the basket”")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
    button.click()
    dialog.get_by_role("button", name="Cancel").click()
    assert process.poll() is None
    button.click()
    dialog.get_by_label("Why (kept in the log)").fill("went in circles")
    dialog.get_by_role("button", name="End the agent").click()
    assert process.wait(timeout=60) == -signal.SIGTERM
    expect(page.get_by_role("region", name="Messages")).to_contain_text(f"gave back {at_work[1]}")
    expect(page.get_by_text("No agent is registered.")).to_be_visible()
    expect(page.locator("#content")).to_be_focused()
    with open_store(find_project(str(gui.repo))) as store, store.read() as tx:
        assert tasks.get(tx, at_work[1]).status == "pending"
    page.get_by_role("link", name="Log").click()
    expect(page.locator(".log-row").filter(has_text="went in circles")).to_have_count(1)


def test_one_whose_process_ends_is_stale_without_a_reload_and_can_be_removed(gui, visit, at_work, process):
    page = visit(gui).open("agents")
    expect(card_of(page, "rivet").locator(".badge").first).to_have_text("active")
    process.kill()
    process.wait(timeout=60)
    expect(card_of(page, "rivet").locator(".badge").first).to_have_text("stale")
    expect(card_of(page, "rivet")).to_contain_text("(gone)")
    page.get_by_role("button", name="Remove 1 stale").click()
    dialog = page.get_by_role("dialog", name="Remove stale agents?")
    expect(dialog).to_contain_text("rivet")
    dialog.get_by_role("button", name="Remove them").click()
    expect(page.get_by_role("region", name="Messages")).to_contain_text("Removed rivet.")
    expect(page.get_by_text("No agent is registered.")).to_be_visible()


def test_the_palette_ends_one_too(gui, visit, at_work, process):
    page = visit(gui).open("agents")
    card_of(page, "rivet").wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("end riv")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="End rivet?")).to_be_visible()


def test_planned_sessions_are_listed_with_their_recipe(gui, visit):
    change_store(gui.repo, lambda tx: sessions.start(tx, name="night", recipe="task_execution"))
    page = visit(gui).open("agents")
    row = page.get_by_role("row").filter(has_text="night")
    expect(row).to_contain_text("active")
    expect(row).to_contain_text("task_execution")


def test_an_address_names_one_agent(gui, visit, at_work):
    page = visit(gui).open(f"agents/{at_work[0]}")
    expect(page.locator(".agent-card.chosen")).to_contain_text("rivet")


@pytest.mark.parametrize("screen", SCREENS)
def test_agents_can_be_seen_by_everybody_on_any_screen(gui, visit, at_work, screen):
    start_work(gui.repo, HOSTILE, agent=HOSTILE)
    change_store(gui.repo, lambda tx: sessions.start(tx, name=HOSTILE, recipe="task_execution"))
    page = visit(gui, **SCREENS[screen]).open("agents")
    expect(page.locator(".agent-card")).to_have_count(2)
    expect(page.get_by_role("heading", name="<img src=x")).to_be_visible()
    expect(page.locator("#content img")).to_have_count(0)
    assert find_faults(page) == []
    page.get_by_role("button", name="End rivet").click()
    page.get_by_role("dialog").wait_for()
    assert find_faults(page) == []
