"""The agents on the page: who is there, on what and since when, and how a person ends one."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta

import pytest

from binnacle.errors import NotFound, Refused
from binnacle.lifecycle.process import find_process
from binnacle.store import agents, sessions, task_moves, tasks
from binnacle.store.claim_holders import AGENTS
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask

from .conftest import OpenPage

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture
def process(tmp_path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs until it is ended."""
    words = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]
    with subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        started.stdout.readline()
        yield started
        started.kill()


def register(page: OpenPage, name: str = "rivet", process: subprocess.Popen[bytes] | None = None) -> str:
    """An agent; that of a process if one is given, as if it had registered from its shell."""
    found = find_process(process.pid) if process else None
    where = {"pid": found.pid, "process_started": found.started} if found else {}
    return page.write(lambda tx: agents.register(tx, name=name, is_shell=bool(found), **where).id)


def start_task(page: OpenPage, agent: str, title: str = "Sort the basket") -> str:
    def change(tx):
        tx.by = Actor(agent, "agent")
        task = tasks.add(tx, [NewTask(title=title)])[0]
        task_moves.start(tx, task.id)
        return task.id

    return page.write(change)


def test_says_who_is_there_where_and_on_what_since_when(page, process, tmp_path):
    agent = register(page, process=process)
    task = start_task(page, agent)
    (shown,) = page("agents")["agents"]
    assert (shown["agent"]["id"], shown["agent"]["alive"], shown["agent"]["status"]) == (agent, True, "active")
    assert (shown["agent"]["pid"], shown["agent"]["registered"]) == (process.pid, "shell")
    assert shown["folder"] == str(tmp_path)
    assert [(one["id"], one["title"]) for one in shown["tasks"]] == [(task, "Sort the basket")]
    assert shown["tasks"][0]["since"]


def test_one_whose_process_is_gone_is_stale_and_can_be_taken_off_the_list(page, process):
    agent = register(page, process=process)
    process.kill()
    process.wait(timeout=60)
    (shown,) = page("agents")["agents"]
    assert (shown["agent"]["alive"], shown["agent"]["status"], shown["process"]) == (False, "stale", "")
    (reaped,) = page("reap_agents")["reaped"]
    assert (reaped["id"], reaped["how"]) == (agent, "its process is gone")
    answer = page("agents")
    assert answer["agents"] == []
    assert [one["agent"]["status"] for one in answer["ended"]] == ["ended"]


def test_a_person_ends_one_with_its_process_and_its_tasks_come_back(page, process):
    agent = register(page, process=process)
    task = start_task(page, agent)
    answer = page("end_agent", id=agent, reason="went in circles")
    assert (answer["terminated"], answer["pids"], answer["released"]) == (True, [process.pid], [task])
    assert process.wait(timeout=60) == -signal.SIGTERM
    assert page.read(lambda tx: tasks.get(tx, task)).status == "pending"
    assert "went in circles" in page("log", about=agent)["entries"][0]["sentence"]


def test_a_client_that_people_may_work_in_goes_on(page):
    agent = register(page)
    answer = page("end_agent", id=agent)
    assert (answer["terminated"], answer["how"]) == (False, "unregistered; its client goes on")
    assert page("agents")["agents"] == []


def test_one_on_another_machine_is_not_ended_from_here(page):
    agent = register(page)
    page.write(
        lambda tx: AGENTS.update(tx, {"pid": 7, "process_started": "far/0/0/1", "registered": "shell"}, "id = ?", agent)
    )
    (shown,) = page("agents")["agents"]
    assert (shown["agent"]["alive"], shown["agent"]["host"]) == (None, "far")
    assert isinstance(page.fails("end_agent", id=agent), Refused)
    assert len(page("agents")["agents"]) == 1


def test_one_that_is_not_there_is_said(page):
    assert isinstance(page.fails("end_agent", id="bna-ffff"), NotFound)


def test_names_are_given_as_they_are_and_the_newest_is_first(page):
    first, second = register(page, "quiet"), register(page, HOSTILE)
    page.write(lambda tx: AGENTS.update(tx, {"active_at": tx.now - timedelta(hours=2)}, "id = ?", first))
    names = [one["agent"]["name"] for one in page("agents")["agents"]]
    assert names == [page.read(lambda tx: agents.get(tx, second)).name, "quiet"]
    assert "<img" in names[0]


def test_planned_sessions_are_listed_and_end_with_their_agent(page):
    session = page.write(lambda tx: sessions.start(tx, name="night", recipe="task_execution").id)
    page.write(lambda tx: agents.join_session(tx, session, name="night"))
    answer = page("agents")
    assert [one["id"] for one in answer["sessions"]] == [session]
    assert [one["recipe"] for one in answer["agents"]] == ["task_execution"]
    page("end_agent", id=session)
    assert page("agents")["sessions"][0]["status"] == "aborted"
