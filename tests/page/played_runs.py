"""Runs of an agent that plays a script, as processes beside the page that shows them, or started from it."""

import os
import signal
import time
from pathlib import Path
from typing import Self

from binnacle.work.task import NewTask
from page.browsing import WAIT_MILLISECONDS, Page, expect
from runner.plays import Play
from runner.repositories import Repository
from runner.running_commands import RunningCommand
from runner.runs import Runs, marked_processes

END_SECONDS = 60

SPEAKS = """
def tell(update, **fields):
    agent._tell({"sessionUpdate": update, **fields})

def think(text):
    tell("agent_thought_chunk", content={"type": "text", "text": text})

def begin_call(id, title, **fields):
    tell("tool_call", toolCallId=id, title=title, status="in_progress", **fields)

def end_call(id, status="completed", **fields):
    tell("tool_call_update", toolCallId=id, status=status, **fields)
"""
"""What an agent can say of itself beyond what every script has."""


class PlayedRuns(Play):
    """The runs of a repository. Leaving the block ends those that the page started, which belong to nobody."""

    def __init__(self, repo: Path, folder: Path) -> None:
        super().__init__(Runs(Repository(repo), folder), folder / "play")
        self._mark = f"BN_TEST_MARK={folder}"
        os.environ["BN_TEST_MARK"] = str(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in marked_processes(self._mark):
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + END_SECONDS
        while marked_processes(self._mark) and time.monotonic() < end:
            time.sleep(0.1)
        os.environ.pop("BN_TEST_MARK")

    def begin(self, script: str, *words: str, name: str = "words", **env: str) -> RunningCommand:
        """A run in this repository, which ends with the block in which it is used."""
        return RunningCommand(self.runs, "--agent", self.agent(script), "--name", name, *words, **env)

    def agent(self, script: str) -> str:
        return super().agent(SPEAKS + script)

    def add_tasks(self, *titles: str) -> list[str]:
        return self.add(*(NewTask(title=title) for title in titles))


def step(page: Page, text: str):
    """The step of a transcript with a text."""
    return page.locator(".step").filter(has_text=text)


def fact(page: Page, name: str):
    """A fact of a run, such as what it cost."""
    return page.locator(".fact").filter(has=page.get_by_text(name, exact=True)).locator("dd")


def press(page: Page, name: str) -> None:
    """Presses the button that is called exactly so."""
    page.get_by_role("button", name=name, exact=True).click()


def expect_state(page: Page, words: str, *, within_seconds: float = WAIT_MILLISECONDS / 1000) -> None:
    """Waits until a run stands so, by the badge beside its name."""
    expect(page.locator(".view-head .badge")).to_have_text(words, timeout=within_seconds * 1000)
