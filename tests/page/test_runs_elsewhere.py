"""Runs that the process of the page does not own: on other machines, and in the process that serves the page."""

import json
import os
import re
import signal
import subprocess
from dataclasses import dataclass

import psycopg
import pytest

import forked_bn
from binnacle.store.run_messages import DRIVER_LEASE_SECONDS
from forked_bn import BN
from page.browsing import Page, expect
from page.played_runs import PlayedRuns, expect_state, press, step
from web.served_gui import ServedGui, add_task, bn

TIMEOUT_SECONDS = 60

ASKS = """
agent.say("I may have to release it.")
agent.may({"command": "make release"}, title="make release")
agent.wait("go")
agent.done("released")
"""

WAITS = """
agent.say("I am at work")
agent.wait("go")
agent.done()
"""


@dataclass
class PageBeside:
    """The page that another process serves beside what it does; its link can be opened once."""

    link: str

    @property
    def base(self) -> str:
        return self.link.partition("/?")[0]

    def open(self, visit) -> Page:
        page = visit(self).context.new_page()
        page.goto(self.link)
        page.locator("#content h1").first.wait_for()
        return page


@pytest.fixture
def far(repo, tmp_path, monkeypatch, postgres_url):
    """A second clone of the repository with a data directory of its own, and one database for both."""
    schema = f"far_{os.getpid()}"
    monkeypatch.setenv("BN_STORE_URL", postgres_url)
    monkeypatch.setenv("BN_STORE_SCHEMA", schema)
    monkeypatch.setenv("BN_CLAIM_MINUTES", "0.1")
    clone = tmp_path / "far" / "shop"
    command = ["git", "clone", "--quiet", str(repo), str(clone)]
    subprocess.run(command, check=True, timeout=TIMEOUT_SECONDS)
    with PlayedRuns(clone, tmp_path) as play:
        yield play
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("set client_min_messages to warning")
        db.execute(f"drop schema if exists {schema} cascade")


def test_a_run_on_another_machine_is_followed_answered_and_seen_to_be_killed(far, repo, visit, tmp_path):
    far.add_tasks("one")
    elsewhere = {"BN_DATA_DIR": str(tmp_path / "far" / "data")}
    with ServedGui(repo) as gui:
        guest = visit(gui)
        guest.expected_faults.append("ERR_")
        page = guest.open("runs")
        with far.begin(ASKS, "--approve", "ask", **elsewhere) as run:
            page.get_by_role("link", name="words").click()
            expect_state(page, "Working")
            expect(page.get_by_text(re.compile(r"The transcript is on .+/far/shop\."))).to_be_visible()
            expect(page.get_by_role("region", name="Waits for you")).to_contain_text("make release")
            press(page, "Allow once")
            run.until("permission")
            run.process.kill()
            run.process.wait(TIMEOUT_SECONDS)
            expect_state(page, "Interrupted", within_seconds=3 * DRIVER_LEASE_SECONDS)
        far.flag("go")
        with far.begin(WAITS, "--approve", "all", "--resume", **elsewhere) as run:
            expect_state(page, "Done, not all proven")
            run.until("run_ended")
        page.get_by_role("tab", name=re.compile("^Attempts")).click()
        expect(page.get_by_role("row").nth(1)).to_contain_text("done")


def test_the_page_beside_a_run_shows_it_live(repo, tmp_path, visit):
    with PlayedRuns(repo, tmp_path) as play:
        play.add_tasks("one")
        with play.begin(WAITS, "--approve", "all", "--gui") as run:
            said = run.process.stderr.readline().decode()
            beside = PageBeside(said.removeprefix("page: ").strip())
            page = beside.open(visit)
            page.get_by_role("navigation").get_by_role("link", name=re.compile("^Runs")).click()
            page.get_by_role("link", name="words").click()
            expect(step(page, "I am at work")).to_be_visible()
            press(page, "Pause")
            expect_state(page, "Paused")
            press(page, "Resume")
            page.close()
            play.flag("go")
            assert run.until("run_ended")["why"] == "unproven"


def test_the_page_beside_an_mcp_server_is_live(repo, visit):
    server = forked_bn.start(
        [BN, "mcp", "serve", "--http", "127.0.0.1:0", "--gui"],
        cwd=repo, env=dict(os.environ), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        page = PageBeside(json.loads(server.stdout.readline())["page"]).open(visit)
        page.get_by_role("navigation").get_by_role("link", name=re.compile("^Board")).click()
        task = add_task(repo, "Show totals")
        expect(page.get_by_role("link", name="Show totals")).to_be_visible()
        bn(repo, "task", "done", task)
        expect(page.get_by_role("region", name="Done, not proven")).to_contain_text("Show totals")
        page.close()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(TIMEOUT_SECONDS)
        server.stdout.close()
        server.stderr.close()
