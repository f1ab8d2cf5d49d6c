"""Tasks and runs as files that a person saves from the page and sends to others, who have nothing but a browser."""

import re
from pathlib import Path

import pytest

from binnacle.work.task import NewTask
from page.browsing import PHONE, Page, expect, find_violations
from page.played_runs import PlayedRuns, press
from page.stocked_project import HOSTILE_LINE, HOSTILE_TEXT

SCREENS = {"light": {}, "dark phone": {"color_scheme": "dark", "viewport": PHONE}}


@pytest.fixture
def task(repo, tmp_path):
    """A task that a run has done, with everything in it that somebody could write to do harm."""
    with PlayedRuns(repo, tmp_path) as play:
        (task,) = play.add(NewTask(title=HOSTILE_LINE, description=HOSTILE_TEXT, acceptance_criteria=[HOSTILE_LINE]))
        script = f"agent.cost(0.5)\nagent.write('work.txt', 'x')\nagent.done({HOSTILE_LINE!r})"
        with play.begin(script, "--approve", "all", "--budget", "cost=2") as run:
            run.until("run_ended")
        yield task


def save(page: Page, folder: Path, name: str) -> Path:
    """Saves what the page offers when a button or an entry of a menu is pressed."""
    with page.expect_download() as saved:
        page.get_by_role("button", name=name).or_(page.get_by_role("menuitem", name=name)).click()
    path = folder / saved.value.suggested_filename
    saved.value.save_as(path)
    return path


def check_file(browser, path: Path, *words: str) -> None:
    """It says what it should to somebody who is offline, and does nothing else."""
    text = path.read_text()
    assert "default-src 'none'; style-src 'sha256-" in text
    for screen in SCREENS.values():
        with browser.new_context(offline=True, java_script_enabled=True, **screen) as context:
            asked: list[str] = []
            faults: list[str] = []
            context.on("request", lambda request, asked=asked: asked.append(request.url))
            context.on("console", lambda said, faults=faults: faults.append(said.text))
            page = context.new_page()
            page.goto(path.as_uri())
            for word in words:
                expect(page.locator("main")).to_contain_text(word)
            assert page.locator("script, img, iframe, a, link, [onerror], [style]").count() == 0
            assert (asked, faults) == ([path.as_uri()], [])
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert find_violations(page) == []


def test_a_run_is_saved_as_one_file(task, gui, visit, browser, tmp_path):
    page = visit(gui).open("runs/words")
    path = save(page, tmp_path, "Share")
    expect(page.get_by_text(re.compile(r"Saved as words-run-\w+\.html"))).to_be_visible()
    check_file(browser, path, "Run words", task, "<img src=x onerror=alert(1)>", "0.50 USD", "Tasks closed")


def test_a_task_is_saved_as_one_file(task, gui, visit, browser, tmp_path):
    page = visit(gui).open(f"task/{task}")
    press(page, "More")
    path = save(page, tmp_path, "Save as a file")
    assert path.name == f"{task}.html"
    check_file(browser, path, task, "<script>alert(1)</script>", "Acceptance criteria", "Attempts")
