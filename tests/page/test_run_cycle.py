"""The work of a person in one sitting, on the page alone: from an idea to a commit that they have accepted."""

import re

import pytest

from page.browsing import Page, expect
from page.played_runs import PlayedRuns, expect_state, press, step
from runner.reviewed_plays import ReviewedPlay

SCRIPT = """
turn = agent.times("turn")
if turn == 1:
    agent.say("I need to know how totals are rounded.")
    agent.call("task-update", id=agent.task, status="needs_input", reason="How are totals rounded?")
    agent.call("iteration-summary", summary="asked how totals are rounded")
elif turn == 2:
    agent.say("I round to the cent.")
    if agent.may({"command": "pip install money"}, title="pip install money"):
        agent.say("It is installed.")
    agent.write("work.txt", "good\\nTotal rounds somehow\\nend\\n")
    agent.done("a first total")
else:
    agent.say("I make line 2 exact.")
    agent.write("work.txt", "good\\nTotal rounds to the cent\\nend\\n")
    agent.done("an exact total")
"""
"""It asks a question, then for permission, is sent back once, and then does it right."""


@pytest.fixture
def reviewed(repo, tmp_path):
    """A repository whose changes a check judges, and a person."""
    with PlayedRuns(repo, tmp_path) as play:
        yield ReviewedPlay(play, "person")


class Person:
    """What a person does on the page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.waiting = page.get_by_role("region", name="Waits for you")

    def go(self, view: str) -> None:
        self.page.get_by_role("navigation").get_by_role("link", name=re.compile(f"^{view}")).click()

    def show_tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=re.compile(f"^{name}")).click()

    def show_run(self) -> None:
        self.page.get_by_role("link", name="totals", exact=True).click()

    def add_task(self, title: str) -> None:
        press(self.page, "Add task")
        self.page.get_by_role("textbox", name="Title").fill(title)
        self.page.keyboard.press("Control+Enter")
        expect(self.page.get_by_role("heading", name=title)).to_be_visible()

    def start_run(self, agent: str) -> None:
        self.page.get_by_role("link", name="Start a run").click()
        self.page.get_by_label("Name of the run").fill("totals")
        self.page.get_by_label("Agent").fill(agent)
        self.page.get_by_label("In a tree and on a branch of its own").check()
        self.confirm_start()

    def resume_run(self) -> None:
        """With the agent and everything else that it was started with."""
        press(self.page, "Resume the run")
        self.confirm_start()

    def confirm_start(self) -> None:
        """Sees the command that the form makes, and starts it."""
        press(self.page, "Show the command")
        self.page.get_by_role("dialog").get_by_label("Command").wait_for()
        press(self.page, "Start the run")
        expect(self.page).to_have_url(re.compile("/runs/run-"))

    def answer(self, question: str, words: str) -> None:
        card = self.page.get_by_role("article").filter(has_text=question)
        card.get_by_role("textbox").fill(words)
        self.page.keyboard.press("Control+Enter")
        expect(card).to_have_count(0)

    def look_at_change(self, line: str) -> None:
        self.waiting.get_by_role("link", name="Look at the change").click()
        expect(self.page.get_by_text(line)).to_be_visible()

    def comment(self, line: int, words: str) -> None:
        self.page.get_by_title(f"Comment on line {line}").click()
        self.page.get_by_role("textbox", name=f"Comment on line {line}").fill(words)
        press(self.page, "Save draft")
        expect(self.page.get_by_text("1 draft not sent.")).to_be_visible()

    def send_back(self) -> None:
        self.page.keyboard.press("r")
        dialog = self.page.get_by_role("dialog", name="Ask for changes")
        dialog.get_by_role("button", name="Ask for changes").click()
        expect(dialog).to_have_count(0)
        expect(self.page.get_by_text("changes were asked for")).to_be_visible()

    def accept(self) -> None:
        self.page.keyboard.press("a")
        press(self.page, "Accept this commit")
        expect(self.page.get_by_role("dialog")).to_have_count(0)


def test_a_run_is_started_questioned_sent_back_accepted_and_merged_on_the_page(reviewed, gui, visit):
    page = visit(gui).open("board")
    person = Person(page)
    person.add_task("Show totals")
    person.go("Runs")
    person.start_run(reviewed.play.agent(SCRIPT))
    expect_state(page, "Needs a person")
    expect(step(page, "I need to know how totals are rounded.")).to_be_visible()
    person.go("Needs you")
    person.answer("How are totals rounded?", "To the cent.")
    person.go("Runs")
    person.show_run()
    person.resume_run()
    expect(person.waiting).to_contain_text("pip install money")
    press(page, "Allow once")
    expect(step(page, "It is installed.")).to_be_visible()

    person.look_at_change("Total rounds somehow")
    person.comment(2, "Say exactly how.")
    person.send_back()
    person.show_run()
    person.resume_run()
    expect(step(page, "I make line 2 exact.")).to_be_visible()
    expect_state(page, "Needs a person")
    assert "`Total rounds somehow`" in reviewed.play.kept("prompt")[-1]

    person.look_at_change("Total rounds to the cent")
    expect(page.get_by_role("region", name="Comments")).to_contain_text("1 addressed")
    person.accept()
    person.show_run()
    person.resume_run()
    expect_state(page, "Complete")
    person.show_tab("Merge queue")
    expect(page.get_by_text("1 change is in the branch of the run.")).to_be_visible()
    person.show_tab("Attempts")
    page.get_by_role("row").nth(1).get_by_role("link", name="Show totals").click()
    expect(page.locator(".task-head .badge")).to_have_text(["Done", re.compile("^accepted", re.IGNORECASE)])
    person.go("Needs you")
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()
    check_result(reviewed)


def check_result(reviewed: ReviewedPlay) -> None:
    """The commit that was accepted is on the branch, and shows that the task is done."""
    branch = "bn/totals/run"
    assert reviewed.repo.at(branch, "work.txt") == "good\nTotal rounds to the cent\nend"
    (task,) = reviewed.play.runs.tasks().values()
    assert (task.status, task.evidence_level) == ("done", "accepted")
    assert task.evidence_commit == reviewed.repo.git("rev-parse", branch)
