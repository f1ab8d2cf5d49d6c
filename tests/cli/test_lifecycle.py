"""Agents from orient to goodbye: a real bash is the agent, a shell it starts runs the real `bn`."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from binnacle.lifecycle.process import find_process
from binnacle.store import agents
from binnacle.store.opening import open_sqlite
from binnacle.store.table import Table
from binnacle.work.actor import SYSTEM
from cli.conftest import BN, Bn

PATIENCE = 60

LOOP = "while IFS= read -r line; do bash -c \"$line\"; echo '--'; done; exit 7"
"""An agent: runs every line it is given in a new shell."""


class Agent:
    """A process that runs commands in shells of its own, as coding agents do."""

    def __init__(self, bn: Bn, first: str = "", **env: str) -> None:
        path = f"{Path(BN).parent}{os.pathsep}{bn.env['PATH']}"
        self.process = subprocess.Popen(
            ["bash", "-c", f"{first}\n{LOOP}"],
            cwd=bn.repo,
            env=bn.env | {"PATH": path} | env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.pid = self.process.pid

    def send(self, line: str) -> None:
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def read(self, until: bytes = b"--\n") -> str:
        """What its shells wrote, up to the end of the command or of everything."""
        said = b""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([self.process.stdout], [], [], 1)[0]:
                chunk = os.read(self.process.stdout.fileno(), 65536)
                said += chunk
                if not chunk or said.endswith(until):
                    return said.decode().removesuffix("--\n")
        raise AssertionError(f"silence after {said!r}")

    def run(self, line: str) -> str:
        """What one command wrote. A second command keeps the shell from becoming the first one."""
        self.send(f"{line}; true")
        return self.read()

    def json(self, line: str) -> Any:
        return json.loads(self.run(line))

    def end(self) -> int:
        """Lets it come to its own end; 7 if nobody ended it before."""
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode

    def close(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture
def agent(bn) -> Iterator[Agent]:
    found = Agent(bn)
    yield found
    found.close()


@contextmanager
def another(bn: Bn, first: str = "", **env: str) -> Iterator[Agent]:
    found = Agent(bn, first, **env)
    try:
        yield found
    finally:
        found.close()


def change(bn: Bn, agent_id: str, **columns: Any) -> None:
    """Changes a registration behind everybody's back."""
    table: Table[Any] = agents.AGENTS
    with open_sqlite(bn("store", "show")["location"]) as store, store.write(by=SYSTEM) as tx:
        assert table.update(tx, columns, "id = ?", agent_id) == 1


def listed(bn: Bn) -> dict[str, Any]:
    return {one["id"]: one for one in bn("agent", "list")["agents"]}


def claimed(bn: Bn, agent_id: str, title: str = "One") -> str:
    """A task that an agent works on."""
    task = bn.add(title)
    bn("task", "start", task, env={"BN_AGENT_ID": agent_id})
    return task


# -- orient


def test_orient_registers_the_shell_and_says_how_the_project_stands(bn, agent):
    first, second = bn.add("One"), bn.add("Two")
    bn("task", "start", bn.add("Three"))
    bn.add("Four", "--after", first)
    bn("queue", "add", second)
    said = agent.run("echo $$; bn orient --name mender --type reviewer")
    shell, _, text = said.partition("\n")
    answer = json.loads(text)
    assert answer["agent_id"].startswith("bna-")
    assert (answer["pid"], answer["parent_pid"]) == (int(shell), agent.pid)
    assert (answer["name"], answer["type"], answer["repo"]) == ("mender", "reviewer", str(bn.repo))
    assert answer["mcp_hint"] == "Call binnacle-set_agent with this agent_id to link MCP calls to this registration"
    assert (answer["total_tasks"], answer["ready_count"], answer["in_progress_count"]) == (4, 2, 1)
    assert answer["blocked_count"] == 1
    assert answer["ready_ids"] == [second, first]
    assert answer["queue"] == [second]
    assert "warning" not in answer
    known = listed(bn)[answer["agent_id"]]
    assert (known["registered"], known["status"], known["alive"]) == ("shell", "active", True)


def test_orient_for_people_is_as_the_seed_shows_it(bn, agent):
    bn.add("One")
    said = agent.run("bn orient --name myagent -H").splitlines()
    (agent_id,) = listed(bn)
    known = listed(bn)[agent_id]
    assert said[:6] == [
        f"Agent registered: myagent ({agent_id})",
        f"PID: {known['pid']} | Parent: {agent.pid}",
        "",
        "To link MCP calls to this agent, call:",
        f'  binnacle-set_agent(path="{bn.repo}", agent_id="{agent_id}")',
        "",
    ]
    assert "1 tasks: 1 ready, 0 in progress, 0 blocked" in said


def test_the_same_process_is_the_same_agent(bn, agent):
    once, again = agent.run("bn orient --name a; bn orient --name b --type planner").splitlines()
    assert json.loads(once)["agent_id"] == json.loads(again)["agent_id"]
    assert (json.loads(again)["name"], json.loads(again)["type"]) == ("b", "planner")
    # the next shell of the same agent, and one that became bn
    assert agent.json("bn orient")["agent_id"] == json.loads(once)["agent_id"]
    agent.send("bn orient")
    assert json.loads(agent.read())["agent_id"] == json.loads(once)["agent_id"]
    assert len(listed(bn)) == 1


def test_an_agent_that_orients_again_may_change_its_name_and_type(bn, agent):
    known = agent.json("bn orient --name a")["agent_id"]
    named = {"BN_AGENT_ID": known, "BN_AGENT_NAME": "z", "BN_AGENT_TYPE": "buddy"}
    bn("orient", "--type", "reviewer", env=named)
    bn("orient", "--name", "b", env=named)
    assert bn("orient", env=named)["name"] == "b"
    assert [(one["name"], one["type"]) for one in listed(bn).values()] == [("b", "reviewer")]
    told = [event["changes"] for event in bn("log", "--of", known)["events"] if event["action"] == "updated"]
    assert told == [{"type": ["worker", "reviewer"]}, {"name": ["a", "b"]}]


def test_other_processes_and_other_names_are_other_agents(bn, agent):
    found = [agent.json(f"bn orient --name {name}")["agent_id"] for name in ("a", "b", "a")]
    assert found[0] == found[2] != found[1]
    with another(bn) as other:
        assert other.json("bn orient")["agent_id"] not in found
        assert len(listed(bn)) == 3


def test_two_shells_of_one_process_at_the_same_time_are_two_agents(bn):
    side_by_side = """
        mkfifo there back
        bash -c 'bn orient > one; echo > there; read -r line < back' &
        read -r line < there
        bash -c 'bn orient > two; echo > back'
        wait
    """
    with another(bn, side_by_side) as agent:
        agent.run("true")
        one, two = (json.loads((bn.repo / name).read_text()) for name in ("one", "two"))
        assert one["parent_pid"] == two["parent_pid"] == agent.pid
        assert one["agent_id"] != two["agent_id"]


def test_the_name_comes_from_the_option_the_environment_or_the_process(bn):
    with another(bn, BN_AGENT_NAME="env", BN_AGENT_TYPE="buddy") as named:
        answer = named.json("bn orient")
        assert (answer["name"], answer["type"]) == ("env", "buddy")
    with another(bn, BN_AGENT_NAME="env", BN_AGENT_TYPE="buddy") as named:
        answer = named.json("bn orient --name option --type worker")
        assert (answer["name"], answer["type"]) == ("option", "worker")
    with another(bn) as unnamed:
        answer = unnamed.json("bn orient")
        assert answer["name"] == f"agent-{answer['pid']}"


def test_an_unknown_type_is_refused(bn):
    assert bn.fails("orient", "--type", "boss", code=2)["code"] == "E_USAGE"
    error = bn.fails("orient", env={"BN_AGENT_TYPE": "wurker"})
    assert error["hint"] == "did you mean 'worker'?"


def test_an_agent_named_by_the_environment_is_that_agent(bn, agent):
    known = agent.json("bn orient --name a")["agent_id"]
    with another(bn, BN_AGENT_ID=known) as other:
        answer = other.json("bn orient")
        assert (answer["agent_id"], answer["name"]) == (known, "a")
    with another(bn, BN_AGENT_ID="bna-nobody") as other:
        answer = other.json("bn orient")
        assert answer["agent_id"] not in ("bna-nobody", known)
        assert answer["warning"] == f"Agent bna-nobody not found in registry: set BN_AGENT_ID to {answer['agent_id']}."


def test_a_purpose_is_kept_in_the_log_and_shown(bn, agent):
    known = agent.json("bn orient --register 'mend the login'")["agent_id"]
    assert bn("agent", "show", known)["purpose"] == "mend the login"
    assert "mend the login" in bn.human("agent", "show", known)
    assert "purpose" in [event["action"] for event in bn("log", "--of", known)["events"]]


def test_what_an_agent_held_before_is_named_when_it_orients_again(bn, agent):
    known = agent.json("bn orient")["agent_id"]
    task = claimed(bn, known)
    assert agent.json("bn orient")["current_task"] == task
    assert f"You work on: {task}" in agent.run("bn orient -H")


def test_orient_takes_stale_agents_off_the_list_but_never_the_one_that_orients(bn, agent):
    with another(bn) as other:
        gone = other.json("bn orient")["agent_id"]
        task = claimed(bn, gone)
    known = agent.json("bn orient")["agent_id"]
    assert list(listed(bn)) == [known]
    assert agent.json("bn ready")["tasks"][0]["id"] == task
    change(bn, known, active_at=datetime.now(UTC) - timedelta(hours=1))
    assert agent.json("bn orient")["agent_id"] == known


# -- goodbye


def test_goodbye_ends_the_agent_and_nothing_else(bn, agent):
    with another(bn) as bystander:
        for one in (agent, bystander):
            one.json("bn orient")
        known, other = listed(bn)
        task, kept = claimed(bn, known), claimed(bn, other, "Two")
        agent.send("bn goodbye 'all is done'; true")
        answer = json.loads(agent.read(until=b"nothing"))
        assert agent.process.wait(timeout=PATIENCE) == -signal.SIGTERM
        assert (answer["agent_id"], answer["pid"], answer["process"]) == (known, agent.pid, "bash")
        assert (answer["terminated"], answer["should_terminate"]) == (True, False)
        assert answer["released"] == [task]
        assert list(listed(bn)) == [other]
        assert bn("task", "show", task)["task"]["status"] == "pending"
        assert bn("task", "show", kept)["task"]["claimed_by"] == other
        ended = bn("log", "--of", known)["events"][-1]
        assert ended["changes"] == {"reason": "all is done", "released": [task]}
        assert bystander.end() == 7


def test_goodbye_from_a_shell_that_became_bn_ends_the_agent_and_not_what_is_above_it(bn, agent):
    agent.json("bn orient")
    agent.send("bn goodbye")
    assert json.loads(agent.read(until=b"nothing"))["pid"] == agent.pid
    assert agent.process.wait(timeout=PATIENCE) == -signal.SIGTERM


def test_an_agent_that_ignores_term_is_killed(bn):
    with another(bn, "trap '' TERM") as deaf:
        deaf.json("bn orient")
        deaf.send("bn goodbye; true")
        assert json.loads(deaf.read(until=b"nothing"))["terminated"] is True
        assert deaf.process.wait(timeout=PATIENCE) == -signal.SIGKILL


def test_an_agent_that_would_take_goodbye_with_it_is_ended_all_the_same(bn):
    """It answers TERM by ending its children, and then stays."""
    code = (
        "import os, signal, subprocess\n"
        "def end(*_):\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):\n"
        "        os.killpg(shell.pid, number)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        f"words = '{BN} orient; {BN} goodbye; true'\n"
        "shell = subprocess.Popen(['bash', '-c', words], start_new_session=True)\n"
        "while True:\n"
        "    signal.pause()\n"
    )
    agent = subprocess.Popen([sys.executable, "-c", code], cwd=bn.repo, env=bn.env, stdout=subprocess.PIPE)
    try:
        said, _ = agent.communicate(timeout=PATIENCE)
    finally:
        agent.kill()
    assert agent.returncode == -signal.SIGKILL
    assert json.loads(said.splitlines()[1])["terminated"] is True


def test_a_dry_run_says_what_would_happen(bn, agent):
    known = agent.json("bn orient --name a")["agent_id"]
    task = claimed(bn, known)
    answer = agent.json("bn goodbye --dry-run")
    assert (answer["dry_run"], answer["pid"], answer["released"]) == (True, agent.pid, [task])
    assert answer["terminated"] is False
    said = agent.run("bn goodbye --dry-run -H")
    assert said == f"Goodbye, a ({known})\ngives back: {task}\nwould end process {agent.pid} (bash)\n"
    assert listed(bn)[known]["current_task"] == task
    assert agent.end() == 7


def test_a_planner_stays_unless_it_is_forced(bn, agent):
    agent.json("bn orient --type planner")
    refused = agent.json("bn goodbye")["error"]
    assert (refused["code"], refused["hint"].rpartition(": ")[2]) == ("E_REFUSED", "bn goodbye --force")
    assert len(listed(bn)) == 1
    agent.send("bn goodbye --force; true")
    assert json.loads(agent.read(until=b"nothing"))["terminated"] is True
    assert agent.process.wait(timeout=PATIENCE) == -signal.SIGTERM


def test_who_is_not_registered_is_not_ended(bn, agent):
    error = agent.json("bn goodbye --force")["error"]
    assert error["code"] == "E_NOT_FOUND"
    assert "bn orient" in error["hint"]
    assert agent.end() == 7


@pytest.mark.parametrize("by", ["process", "environment"])
def test_a_process_whose_start_does_not_match_is_never_signalled(bn, by):
    with another(bn) as before:
        known = before.json("bn orient")["agent_id"]
        place, _, _ = find_process(before.pid).started.rpartition("/")
    # The agent ended; its ids now belong to this one, which started later than the registered shell.
    with another(bn, **({"BN_AGENT_ID": known} if by == "environment" else {})) as agent:
        change(bn, known, parent_pid=agent.pid, pid=2**22 - 1, process_started=f"{place}/1")
        answer = agent.json("bn goodbye")
        if by == "process":
            assert answer["error"]["code"] == "E_NOT_FOUND"
        else:
            assert (answer["terminated"], answer["should_terminate"], answer["pid"]) == (False, True, None)
            assert answer["warning"] == "The registered process is gone. End your process yourself."
            assert listed(bn) == {}
        assert agent.end() == 7


def test_goodbye_in_the_name_of_another_agent_does_not_end_its_process(bn, agent):
    known = agent.json("bn orient")["agent_id"]
    with another(bn, BN_AGENT_ID=known) as other:
        answer = other.json("bn goodbye")
        assert (answer["terminated"], answer["pid"]) == (False, None)
        assert f"bn agent kill {known}" in answer["warning"]
        assert other.end() == 7
    assert agent.end() == 7


# -- over MCP


MCP = {"BN_MCP_SESSION": "session-1"}


def test_orient_over_mcp_registers_without_a_process_and_warns(bn):
    answer = bn("orient", env=MCP)
    assert answer["warning"] == (
        "Agent registered via MCP. Goodbye will not terminate process. Use shell tools for full lifecycle support."
    )
    assert (answer["pid"], answer["parent_pid"]) == (None, None)
    known = listed(bn)[answer["agent_id"]]
    assert (known["registered"], known["status"], known["alive"]) == ("mcp", "active", None)
    assert bn("orient", env=MCP)["agent_id"] == answer["agent_id"]
    assert bn("orient", env={"BN_MCP_SESSION": "session-2"})["agent_id"] != answer["agent_id"]
    assert "PID" not in bn.human("orient", env=MCP)


def test_goodbye_over_mcp_sends_a_linked_agent_to_its_shell(bn, agent):
    known = agent.json("bn orient")["agent_id"]
    assert bn("goodbye", "done", env=MCP | {"BN_AGENT_ID": known}) == {
        "should_terminate": True,
        "use_shell": True,
        "hint": "Agent must call 'bn goodbye' via shell tool to terminate",
    }
    assert listed(bn)[known]["status"] == "active"
    assert agent.end() == 7


def test_goodbye_over_mcp_without_a_linked_agent_degrades(bn, agent):
    for env in (MCP, MCP | {"BN_AGENT_ID": "bna-nobody"}):
        assert agent.json(f"{' '.join(f'{name}={value}' for name, value in env.items())} bn goodbye") == {
            "should_terminate": True,
            "use_shell": True,
            "warning": "No agent_id linked to MCP session. Agent should call goodbye via shell.",
            "hint": "Use binnacle-set_agent with agent_id from shell-based orient call",
        }
    assert agent.end() == 7


@pytest.mark.parametrize("linked", [True, False])
def test_goodbye_of_an_agent_registered_by_mcp_ends_its_registration_only(bn, agent, linked):
    known = bn("orient", env=MCP)["agent_id"]
    task = claimed(bn, known)
    env = "BN_MCP_SESSION=session-1" + (f" BN_AGENT_ID={known}" if linked else "")
    answer = {
        "terminated": False,
        "should_terminate": True,
        "warning": "Cannot terminate agent via MCP. Agent should self-terminate.",
    }
    assert agent.json(f"{env} bn goodbye --dry-run") == answer
    assert list(listed(bn)) == [known]
    assert agent.json(f"{env} bn goodbye done") == answer
    assert listed(bn) == {}
    assert bn("task", "show", task)["task"]["status"] == "pending"
    assert agent.end() == 7


# -- agent list, show, kill, reap


def test_agents_are_listed_with_how_they_stand(bn, agent):
    known = agent.json("bn orient --name shelly")["agent_id"]
    remote = bn("orient", "--name", "remy", env=MCP)["agent_id"]
    with another(bn) as other:
        gone = other.json("bn orient --name goner")["agent_id"]
    task = claimed(bn, known)
    found = listed(bn)
    assert {one: found[one]["status"] for one in found} == {known: "active", remote: "active", gone: "stale"}
    assert found[known]["current_task"] == task
    assert (found[gone]["alive"], found[remote]["alive"]) == (False, None)
    for minutes, status in ((6, "idle"), (31, "stale")):
        for one in (known, remote):
            change(bn, one, active_at=datetime.now(UTC) - timedelta(minutes=minutes))
        found = listed(bn)
        assert (found[known]["status"], found[remote]["status"]) == (status, status)
    assert [one["id"] for one in bn("agent", "list", "--status", "active")["agents"]] == []
    shown = bn.human("agent", "list")
    for text in ("shelly", "remy", "stale", task, "31 min ago", "mcp"):
        assert text in shown


def test_no_agents_is_said(bn):
    assert "bn orient" in bn.human("agent", "list")


def test_whatever_an_agent_changes_is_a_sign_of_life(bn):
    known = bn("orient", env=MCP)["agent_id"]
    change(bn, known, active_at=datetime.now(UTC) - timedelta(hours=1))
    assert listed(bn)[known]["status"] == "stale"
    bn("task", "add", "One", env={"BN_AGENT_ID": known})
    assert listed(bn)[known]["status"] == "active"
    change(bn, known, active_at=datetime.now(UTC) - timedelta(hours=1))
    bn("next", "--claim", env={"BN_AGENT_ID": known})
    assert listed(bn)[known]["status"] == "active"


def test_an_agent_is_shown_by_its_id_or_its_name(bn, agent):
    known = agent.json("bn orient --name shelly")["agent_id"]
    task = claimed(bn, known)
    for text in (known, "shelly"):
        shown = bn("agent", "show", text)
        assert (shown["id"], shown["process"], shown["tasks"][0]["id"]) == (known, "bash", task)
    assert f"works on {task}" in bn.human("agent", "show", known)
    bn("orient", "--name", "shelly", env=MCP)
    assert bn.fails("agent", "show", "shelly")["code"] == "E_AMBIGUOUS"
    assert bn.fails("agent", "show", known[:-1])["hint"] == f"did you mean {known!r}?"
    bn("agent", "kill", known)
    assert bn("agent", "show", known)["status"] == "ended"


def test_kill_ends_the_agent_its_shell_and_its_claims(bn, agent):
    os.mkfifo(bn.repo / "never")
    agent.send("bn orient; read -r line < never")
    known = json.loads(agent.read(until=b"}\n"))
    task = claimed(bn, known["agent_id"])
    answer = bn("agent", "kill", known["agent_id"])
    assert (answer["terminated"], answer["how"], answer["released"]) == (True, "terminated", [task])
    assert agent.process.wait(timeout=PATIENCE) == -signal.SIGTERM
    assert find_process(known["pid"]) is None
    assert listed(bn) == {}
    assert bn("task", "show", task)["task"]["status"] == "pending"
    assert "ended at" in bn.fails("agent", "kill", known["agent_id"])["message"]


def test_kill_waits_as_long_as_it_is_told(bn):
    with another(bn, "trap '' TERM") as deaf:
        known = deaf.json("bn orient")["agent_id"]
        assert bn("agent", "kill", known, "--timeout", "0.1")["how"] == "killed"
        assert deaf.process.wait(timeout=PATIENCE) == -signal.SIGKILL


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf"])
def test_kill_waits_for_a_sensible_time(bn, seconds):
    known = bn("orient", env=MCP)["agent_id"]
    assert bn.fails("agent", "kill", known, f"--timeout={seconds}")["code"] == "E_INVALID_PARAMS"
    assert list(listed(bn)) == [known]


def test_kill_spares_what_it_runs_under(bn, agent):
    known = agent.json("bn orient")["agent_id"]
    refused = agent.json(f"bn agent kill {known}")["error"]
    assert refused["code"] == "E_PERSON_NEEDED"
    assert list(listed(bn)) == [known]
    assert agent.end() == 7


def test_whoever_has_the_same_client_above_ends_no_agent(bn):
    """The shell is started by this very test, and so is the command that would kill it."""
    words = f"'{BN}' orient; read -r line"
    with subprocess.Popen(
        ["bash", "-c", words], cwd=bn.repo, env=bn.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shell:
        known = json.loads(shell.stdout.readline())
        assert (known["pid"], known["parent_pid"]) == (shell.pid, os.getpid())
        assert bn.fails("agent", "kill", known["agent_id"])["code"] == "E_PERSON_NEEDED"
        assert shell.poll() is None
        shell.communicate(b"\n", timeout=PATIENCE)


def test_kill_never_signals_a_process_whose_start_does_not_match(bn, agent):
    known = agent.json("bn orient")["agent_id"]
    place, _, _ = find_process(agent.pid).started.rpartition("/")
    change(bn, known, pid=agent.pid, process_started=f"{place}/1")
    answer = bn("agent", "kill", known)
    assert (answer["terminated"], answer["how"], answer["pids"]) == (False, "gone", [])
    assert agent.end() == 7


def test_kill_leaves_agents_of_other_machines_alone(bn, agent):
    known = agent.json("bn orient")["agent_id"]
    change(bn, known, process_started="elsewhere/0/0/1")
    assert "elsewhere" in bn.fails("agent", "kill", known)["message"]
    assert listed(bn)[known]["alive"] is None
    assert agent.end() == 7


def test_kill_takes_an_agent_without_a_process_off_the_list(bn):
    known = bn("orient", env=MCP)["agent_id"]
    assert bn("agent", "kill", known)["terminated"] is False
    assert listed(bn) == {}


def test_reap_ends_stale_registrations_gives_back_their_tasks_and_signals_nobody(bn, agent):
    silent = agent.json("bn orient --name silent")["agent_id"]
    with another(bn) as other:
        gone = other.json("bn orient --name goner")["agent_id"]
        tasks = [claimed(bn, gone, "One"), claimed(bn, silent, "Two")]
    known = bn("orient", "--name", "here", env=MCP)["agent_id"]
    # orient took the dead one off the list already; here it is again, as a crash would leave it
    change(bn, gone, ended_at=None)
    bn("task", "start", tasks[0], env={"BN_AGENT_ID": gone})
    change(bn, silent, active_at=datetime.now(UTC) - timedelta(minutes=31))
    answer = bn("agent", "reap")
    assert {one["id"]: one["released"] for one in answer["reaped"]} == {silent: [tasks[1]], gone: [tasks[0]]}
    assert [one["how"].split()[0] for one in answer["reaped"]] == ["silent", "its"]
    assert list(listed(bn)) == [known]
    assert {task["id"] for task in bn("ready")["tasks"]} == set(tasks)
    assert bn.human("agent", "reap") == "no agent is stale\n"
    assert agent.end() == 7
