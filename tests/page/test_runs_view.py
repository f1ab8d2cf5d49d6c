"""Runs as they happen: what agents say and do, what they cost, how people steer them, and what is left of them."""

import re

import pytest

from binnacle.work.task import NewTask
from page.browsing import expect
from page.played_runs import PlayedRuns, expect_state, fact, press, step
from page.screens import SCREENS, find_faults
from page.stocked_project import HOSTILE_LINE
from runner.checked_plays import CheckedPlay
from web.served_gui import ServedGui

WAITS = """
agent.say("I am at work")
agent.wait("go")
agent.done("all of it")
"""

ASKS = """
agent.keep("may", str(agent.may({"command": "make release"}, title="make release")))
agent.done()
"""

WORKS = """
agent.say("I look at **the cart** first.")
agent.wait("think")
think("It has no total yet.")
tell("plan", entries=[{"content": "Add a total", "priority": "high", "status": "in_progress"}])
agent.wait("call")
begin_call("c1", "Run the tests", kind="execute", rawInput={"command": "pytest -q\\necho done", "retries": 2})
agent.wait("end")
end_call("c1", rawOutput="4 passed")
begin_call("c2", "Edit cart.py", kind="edit", locations=[{"path": "cart.py"}])
end_call("c2", content=[{"type": "diff", "path": "cart.py", "oldText": "one\\ntwo\\n", "newText": "one\\ntotal\\n"}])
begin_call("c3", "Run them again", kind="execute", rawInput={"command": "pytest"})
end_call("c3", status="failed", rawOutput="1 failed")
agent.cost(0.5)
agent.wait("go")
agent.write("cart.py", "total")
agent.tokens(1200)
agent.done("a total")
"""


@pytest.fixture
def play(repo, tmp_path):
    with PlayedRuns(repo, tmp_path) as play:
        yield play


def test_what_an_agent_says_thinks_and_calls_is_shown_as_it_happens(play, gui, visit):
    play.add_tasks("Add a total")
    with play.begin(WORKS, "--approve", "all") as run:
        page = visit(gui).open("runs/words")
        expect(page.locator(".step-iteration")).to_contain_text("Iteration 1 Add a total", use_inner_text=True)
        expect(step(page, "# words: iteration 1")).to_contain_text("Prompt")
        expect(step(page, "first.").locator("strong")).to_have_text("the cart")
        play.flag("think")
        expect(step(page, "It has no total yet.")).to_contain_text("Thought")
        expect(page.locator(".step-plan")).to_contain_text("Add a total in progress")
        play.flag("call")
        call = step(page, "Run the tests")
        expect(call).to_contain_text("running")
        expect(call.get_by_label("Arguments")).to_have_text("command: pytest -q\necho done\nretries: 2")
        play.flag("end")
        expect(call).to_contain_text("succeeded")
        expect(call.locator(".call-time")).to_have_text(re.compile(r"^[\d.]+ (ms|s)$"))
        expect(call.get_by_label("Result")).to_have_text("4 passed")
        change = step(page, "Edit cart.py")
        expect(change.locator(".diff-text-line.removed")).to_have_text("-two\n")
        expect(change.locator(".diff-text-line.added")).to_have_text("+total\n")
        expect(step(page, "Run them again")).to_contain_text("failed")
        play.flag("go")
        expect(step(page, "The agent ended its turn.")).to_be_visible()
        run.until("run_ended")


def test_how_a_run_stands_and_what_it_costs_is_shown_as_it_changes(play, gui, visit):
    (task,) = play.add_tasks("Add a total")
    page = visit(gui).open("runs")
    expect(page.get_by_text("There was no run yet.")).to_be_visible()
    for word in ("think", "call", "end"):
        play.flag(word)
    limits = ("--iterations", "3", "--budget", "cost=2", "--budget", "tokens=10k")
    with play.begin(WORKS, "--approve", "all", *limits) as run:
        row = page.get_by_role("list", name="Runs").get_by_role("listitem")
        expect(row).to_contain_text("Working")
        expect(row).to_contain_text("Add a total")
        expect(row).to_contain_text("0.50 USD")
        row.get_by_role("link", name="words").click()
        expect_state(page, "Working")
        expect(page.get_by_role("tab", name="Live")).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("button", name="Worker 1 works Add a total")).to_be_visible()
        expect(fact(page, "Cost")).to_have_text("0.50 of 2.00")
        expect(fact(page, "Iterations")).to_have_text("0 of 3")
        play.flag("go")
        expect_state(page, "Done, not all proven")
        run.until("run_ended")
    expect(fact(page, "Iterations")).to_have_text("1 of 3")
    expect(fact(page, "Tokens")).to_have_text("1.2 k of 10.0 k")
    expect(fact(page, "Tasks")).to_have_text("1 of 1 closed")
    expect(page.get_by_text("1 done: 1 only said")).to_be_visible()
    page.get_by_role("tab", name="Attempts").click()
    attempt = page.get_by_role("row").nth(1)
    for words in ("Add a total", "done", "a total", "1.2 k", "0.50 USD", play.runs.repo.git("rev-parse", "HEAD")[:8]):
        expect(attempt).to_contain_text(words)
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_role("list", name="Events of the run")).to_contain_text(f'finished {task} "Add a total"')


@pytest.mark.parametrize(("button", "is_allowed"), [("Allow once", "True"), ("Refuse", "False")])
def test_a_permission_is_answered_where_the_run_is_shown(play, gui, visit, button, is_allowed):
    play.add_tasks("one")
    with play.begin(ASKS, "--approve", "ask") as run:
        page = visit(gui).open("runs/words")
        waiting = page.get_by_role("region", name="Waits for you")
        expect(waiting).to_contain_text("make release")
        press(page, button)
        expect(waiting).to_have_count(0)
        run.until("run_ended")
    assert play.kept("may") == [is_allowed]
    expect(step(page, "make release")).to_contain_text("Allowed" if is_allowed == "True" else "Refused")


def test_a_run_is_paused_spoken_to_resumed_and_stopped(play, gui, visit):
    play.add_tasks("one", "two")
    with play.begin(WAITS, "--approve", "all") as run:
        page = visit(gui).open("runs/words")
        press(page, "Pause")
        expect_state(page, "Paused")
        press(page, "Message")
        page.get_by_role("textbox", name="Message").fill("Use tabs")
        press(page, "Send")
        expect(page.get_by_role("dialog")).to_have_count(0)
        run.until("steered", kind="message", text="Use tabs")
        press(page, "Resume")
        expect_state(page, "Working")
        press(page, "Stop")
        dialog = page.get_by_role("dialog", name="Stop the run words?")
        expect(dialog).to_contain_text("“one”")
        press(page, "Cancel")
        expect(dialog).to_have_count(0)
        expect_state(page, "Working")
        press(page, "Stop")
        press(page, "Stop the run")
        run.until("run_ended", why="interrupted")
        expect_state(page, "Stopped")
        expect(page.get_by_text("The run words has stopped.")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    expect(page.get_by_role("button", name="Resume the run")).to_be_visible()


def test_a_message_reaches_the_agent_and_stands_in_the_transcript(play, gui, visit):
    play.add_tasks("one")
    with play.begin(WAITS, "--approve", "all") as run:
        page = visit(gui).open("runs/words")
        expect(step(page, "I am at work")).to_be_visible()
        page.keyboard.press("m")
        page.get_by_role("textbox", name="Message").fill("Use tabs")
        page.keyboard.press("Control+Enter")
        run.until("steered", kind="message", text="Use tabs")
        play.flag("go")
        run.until("run_ended")
    expect(step(page, "Use tabs")).to_contain_text("Prompt")
    assert play.kept("prompt")[1] == "Use tabs"


def test_a_run_that_is_killed_is_interrupted_and_resumed_from_its_page(play, gui, visit):
    (task,) = play.add_tasks("one")
    page = visit(gui).open("runs")
    with play.begin(WAITS, "--approve", "all") as run:
        page.get_by_role("link", name="words").click()
        expect(step(page, "I am at work")).to_be_visible()
        run.process.kill()
        run.process.wait(60)
        expect_state(page, "Interrupted")
        expect(page.get_by_role("button", name="Worker 1")).to_contain_text("is not running")
        expect(page.get_by_text("Nothing is lost; resume it to go on where it was.")).to_be_visible()
        expect(step(page, "I am at work")).to_be_visible()
    play.flag("go")
    press(page, "Resume the run")
    page.get_by_label("Agent").fill(play.agent(WAITS))
    page.get_by_label("What it may do").select_option("all")
    press(page, "Show the command")
    expect(page.get_by_role("dialog").get_by_label("Command")).to_contain_text("--resume")
    press(page, "Start the run")
    expect_state(page, "Done, not all proven")
    assert play.status(task) == "done"


def test_nothing_moves_when_the_server_of_the_page_starts_again(play, repo, visit):
    play.add_tasks("one")
    with play.begin(WAITS, "--approve", "all") as run:
        with ServedGui(repo) as gui:
            guest = visit(gui)
            guest.expected_faults += [
                "ERR_CONNECTION_REFUSED",
                "ERR_INCOMPLETE_CHUNKED_ENCODING",
                "ERR_CONNECTION_RESET",
            ]
            page = guest.open("runs/words")
            expect(step(page, "I am at work")).to_be_visible()
        expect(page.locator(".connection")).to_contain_text("Reconnecting")
        with ServedGui(repo, port=gui.port):
            expect(page.locator(".connection")).to_contain_text("Live")
            expect_state(page, "Working")
            play.flag("go")
            run.until("run_ended")
            expect_state(page, "Done, not all proven")
            expect(step(page, "The agent ended its turn.")).to_be_visible()
            expect(step(page, "I am at work")).to_have_count(1)


def test_a_finished_run_is_replayed_step_by_step(play, gui, visit):
    play.add_tasks("one", "two")
    script = """
agent.say(f"about {agent.title}")
begin_call("c", "Look around", kind="read")
end_call("c", rawOutput="nothing")
agent.done()
"""
    with play.begin(script, "--approve", "all") as run:
        run.until("run_ended")
    page = visit(gui).open("runs/words?tab=replay")
    place = page.locator(".replay-place")
    expect(place).to_contain_text("step 1 of 10")
    expect(step(page, "Iteration 1")).to_be_visible()
    expect(step(page, "about one")).to_have_count(0)
    press(page, "One step forward")
    expect(step(page, "Prompt")).to_be_visible()
    page.locator("body").press(".")
    expect(step(page, "about one")).to_be_visible()
    expect(step(page, "Look around")).to_have_count(0)
    page.locator("body").press(",")
    expect(step(page, "about one")).to_have_count(0)
    press(page, "Next iteration")
    expect(place).to_contain_text("step 6 of 10")
    expect(step(page, "Look around")).to_contain_text("nothing")
    page.get_by_label("Jump to").select_option(label="— done")
    expect(place).to_contain_text(re.compile("step (5|10) of 10"))
    page.get_by_label("Time", exact=True).fill("0")
    expect(place).to_contain_text("step 1 of 10")
    page.get_by_label("Speed").select_option("64")
    press(page, "Play")
    expect(place).to_contain_text("step 10 of 10")
    expect(step(page, "about two")).to_be_visible()


def test_a_run_of_chosen_tasks_is_started_with_all_that_can_be_said(play, gui, visit):
    first, second = play.add_tasks("Add a total", "Send an email")
    page = visit(gui).open("runs")
    page.get_by_role("link", name="Start a run").click()
    expect(page.get_by_role("button", name="Show the command")).to_be_disabled()
    page.get_by_label("Agent").fill(play.agent(WAITS))
    page.get_by_label("Work", exact=True).select_option("tasks")
    tasks = page.get_by_role("group", name="Open tasks")
    expect(tasks.get_by_role("checkbox")).to_have_count(2)
    page.get_by_label(re.compile("^Tasks")).fill("total")
    expect(tasks.get_by_role("checkbox")).to_have_count(1)
    tasks.get_by_label("Add a total").check()
    page.get_by_label("Name of the run").fill("chosen")
    page.get_by_label("Model").fill("big-1")
    page.get_by_label("Workers").fill("2")
    page.get_by_label("What it may do").select_option("all")
    for name, amount in (("Iterations", "4"), ("Minutes", "9"), ("Tokens", "20000"), ("Cost", "1.5")):
        page.get_by_label(name, exact=True).fill(amount)
    press(page, "Show the command")
    command = page.get_by_role("dialog").get_by_label("Command")
    for words in (
        f"--task={first} ", "--name=chosen", "--model=big-1", "--workers=2", "--approve=all", "--iterations=4",
        "--budget=minutes=9", "--budget=tokens=20000", "--budget=cost=1.5",
    ):  # fmt: skip
        expect(command).to_contain_text(words)
    press(page, "Start the run")
    expect(page).to_have_url(re.compile("/runs/run-"))
    expect_state(page, "Working")
    play.flag("go")
    expect_state(page, "Done, not all proven")
    assert [play.status(one) for one in (first, second)] == ["done", "pending"]


def test_a_specification_is_planned_and_done(play, gui, visit):
    script = """
if "plan" in agent.prompt.partition("\\n")[0] or not agent.task:
    agent.call("task-add", tasks=[{"content": "Write the word", "covers": ["R1"]}])
    agent.call("iteration-summary", summary="one task")
else:
    agent.done()
"""
    page = visit(gui).open("runs/new")
    page.get_by_label("Work", exact=True).select_option("text")
    page.get_by_label("Specification").fill("# Words\n\nWrite the word **one** to one.txt.\n")
    page.get_by_label("Agent").fill(play.agent(script))
    page.get_by_label("What it may do").select_option("all")
    press(page, "Show the command")
    expect(page.get_by_role("dialog").get_by_label("Command")).to_contain_text("--name=words")
    press(page, "Start the run")
    expect_state(page, "Done, not all proven")
    expect(step(page, "Planning")).to_be_visible()
    page.get_by_role("tab", name="Specification").click()
    expect(page.locator(".specification strong")).to_have_text("one")


def test_what_keeps_a_run_from_beginning_is_said(play, gui, visit):
    play.add_tasks("one")
    guest = visit(gui)
    guest.expected_faults.append("run_start_preview")
    page = guest.open("runs/new")
    page.get_by_label("Agent").fill("no-such-agent")
    press(page, "Show the command")
    expect(page.get_by_role("alert")).to_contain_text("no-such-agent")
    page.get_by_label("Agent").fill(play.agent(WAITS))
    page.get_by_label("Work", exact=True).select_option("file")
    page.get_by_label("File").fill("missing.md")
    press(page, "Show the command")
    press(page, "Start the run")
    expect(page.get_by_role("heading", name="The run did not begin")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("missing.md")
    press(page, "Change it and try again")
    expect(page.get_by_role("button", name="Show the command")).to_be_visible()


def test_the_merge_queue_says_what_is_checked_and_merged_now(play, gui, visit):
    waits = (
        f"checks:\n  - name: waits\n    command: sh -c 'until [ -e {play.folder}/kept/checked ]; do sleep 0.05; done'\n"
    )
    checked = CheckedPlay(play, checks=waits)
    checked.add("the work")
    with play.begin('agent.write("work.txt", "good")\nagent.done()', "--approve", "all", "--worktree") as run:
        page = visit(gui).open("runs/words?tab=merges")
        queue = page.locator(".merge-queue")
        expect(queue.get_by_role("listitem")).to_contain_text("Checked and merged now")
        expect(queue).to_contain_text("the work")
        play.flag("checked")
        expect(queue).to_contain_text("1 change is in the branch of the run.")
        expect(queue).to_contain_text("No change waits to be merged.")
        run.until("run_ended", why="complete")
        expect_state(page, "Complete")


def test_several_workers_are_looked_at_one_by_one(play, gui, visit):
    play.add_tasks("one", "two")
    script = 'agent.say(f"about {agent.title}")\nagent.wait("go")\nagent.done()'
    with play.begin(script, "--approve", "all", "--workers", "2") as run:
        page = visit(gui).open("runs/words")
        for title in ("one", "two"):
            page.get_by_role("button", name=f"works {title}").click()
            expect(step(page, f"about {title}")).to_be_visible()
            expect(page.locator(".step-message")).to_have_count(1)
        play.flag("go")
        run.until("run_ended")
        expect_state(page, "Done, not all proven")


@pytest.mark.parametrize("screen", SCREENS)
def test_a_run_is_readable_on_every_screen_whatever_it_says(play, gui, visit, screen):
    """While it waits for a person, in each of its parts, and when it has ended."""
    play.add(NewTask(title=HOSTILE_LINE))
    script = """
hostile = "<img src=x onerror=alert(1)> \\u202egnp.exe\\u202c [x](javascript:alert(1)) " + "wide" * 300
agent.say(hostile)
think(hostile)
begin_call("c1", hostile, kind="execute", rawInput={"command": hostile})
end_call("c1", rawOutput="\\x1b[31m" + hostile)
begin_call("c2", "Edit", kind="edit")
end_call("c2", content=[{"type": "diff", "path": hostile[:80], "oldText": "a\\n", "newText": hostile}])
agent.may({"command": hostile}, title=hostile[:90])
agent.done(hostile)
"""
    with play.begin(script, "--approve", "ask", "--budget", "cost=1") as run:
        page = visit(gui, **SCREENS[screen]).open("runs/words")
        expect(page.get_by_role("region", name="Waits for you")).to_be_visible()
        expect(step(page, "Edit").first).to_be_attached()
        assert find_faults(page) == []
        page.get_by_role("button", name="Allow once").click()
        run.until("run_ended")
    for tab in ("Transcript", "Replay", "Attempts", "Merge queue", "Events"):
        page.get_by_role("tab", name=tab).click()
        page.locator(".tab-panel > *").first.wait_for()
        assert find_faults(page) == []
    page.get_by_role("link", name="Runs", exact=True).last.click()
    expect(page.get_by_role("list", name="Runs")).to_be_visible()
    assert find_faults(page) == []
    assert page.locator("#content img, #content script").count() == 0


@pytest.mark.parametrize("screen", SCREENS)
def test_starting_a_run_is_possible_on_every_screen(play, gui, visit, screen):
    play.add_tasks("one", HOSTILE_LINE)
    page = visit(gui, **SCREENS[screen]).open("runs/new")
    page.get_by_label("Work", exact=True).select_option("tasks")
    page.get_by_label("one bn-").check()
    page.get_by_label("Agent").fill(play.agent(WAITS))
    assert find_faults(page) == []
    press(page, "Show the command")
    page.get_by_role("dialog").wait_for()
    assert find_faults(page) == []


def test_a_page_for_reading_steers_and_starts_nothing(play, repo, visit):
    play.add_tasks("one")
    with play.begin(ASKS, "--approve", "ask") as run, ServedGui(repo, "--readonly") as gui:
        guest = visit(gui)
        guest.expected_faults.append("ERR_")
        page = guest.open("runs")
        expect(page.get_by_role("link", name="words")).to_be_visible()
        expect(page.get_by_role("link", name="Start a run")).to_have_count(0)
        page.get_by_role("link", name="words").click()
        expect(page.get_by_role("button", name="Allow once")).to_be_disabled()
        for name in ("Pause", "Message", "Stop"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        run.bn("session", "stop", "words")
        run.until("run_ended")
