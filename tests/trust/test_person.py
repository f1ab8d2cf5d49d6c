"""A person's act needs a person: whoever has an agent above is refused, whatever it calls itself."""

import subprocess
import sys

import pytest

from cli.conftest import BN, Bn
from cli.test_mcp import Client


@pytest.fixture
def project(bn: Bn) -> Bn:
    """A project in which something waits to be trusted."""
    path = bn.repo / ".binnacle" / "hooks.yaml"
    path.parent.mkdir()
    path.write_text("session_end: make notify\n")
    return bn


def is_trusted(bn: Bn) -> bool:
    return bn("trust", "show")["items"][0]["state"] == "trusted"


def run(bn: Bn, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=bn.repo, env=bn.env | (env or {}), capture_output=True, text=True, timeout=60, check=False
    )


def test_without_an_agent_above_yes_is_enough(project):
    project("trust", "--yes")
    assert is_trusted(project)


def test_what_a_client_starts_is_refused(project, tmp_path):
    client = tmp_path / "claude"
    client.write_text(f'#!/bin/sh\n"{BN}" trust --yes\ntrue\n')
    client.chmod(0o755)
    done = run(project, str(client))
    assert "E_PERSON_NEEDED" in done.stderr
    assert "the agent claude" in done.stderr
    assert not is_trusted(project)


def test_what_a_client_that_node_runs_starts_is_refused(project, tmp_path):
    folder = tmp_path / "node_modules" / "@openai" / "codex" / "bin"
    folder.mkdir(parents=True)
    (folder / "cli.py").write_text(f"import subprocess\nsubprocess.run([{BN!r}, 'trust', '--yes'])\n")
    assert "@openai/codex" in run(project, sys.executable, str(folder / "cli.py")).stderr
    assert not is_trusted(project)


def test_an_agent_that_unsets_its_variables_is_one_all_the_same(project):
    for name in ("BN_AGENT_ID", "BN_SESSION", "CLAUDECODE"):
        done = run(project, "sh", "-c", f'env -u {name} "{BN}" trust --yes; true', env={name: "bna-1"})
        assert "E_PERSON_NEEDED" in done.stderr
        assert not is_trusted(project)


DEEP = """
import os, subprocess, sys
for _ in range(300):
    if child := os.fork():
        os.waitpid(child, 0)
        os._exit(0)
subprocess.run(sys.argv[1:])
"""


def test_no_number_of_processes_between_hides_an_agent(project, tmp_path):
    client = tmp_path / "claude"
    client.write_text(f'#!/bin/sh\n"{sys.executable}" -c "$1" "{BN}" trust --yes\ntrue\n')
    client.chmod(0o755)
    assert "E_REFUSED" in run(project, str(client), DEEP).stderr
    assert not is_trusted(project)


def test_what_a_session_runs_is_refused_with_or_without_an_agent_id(project):
    client = Client(project)
    try:
        client.notify("notifications/initialized")
        client.data("binnacle-set_agent", path=str(project.repo))
        for words in (["trust", "--yes"], ["trust", "revoke"], ["trust", "hook", "--yes"]):
            said = client.text("bn_run", args=words)
            assert "E_PERSON_NEEDED" in said, said
    finally:
        client.end()
    assert not is_trusted(project)


@pytest.mark.parametrize("wrapper", [["timeout", "60"], ["script", "-qec"], ["bash", "-c", '"$0" "$@"; exit $?']])
def test_what_a_person_starts_a_run_through_is_no_run(project, wrapper):
    words = [BN, "run", "--agent", "no-such-agent"]
    command = [*wrapper, " ".join(words)] if wrapper[0] == "script" else [*wrapper, *words]
    done = run(project, *command)
    said = done.stdout + done.stderr
    assert "no such command: no-such-agent" in said, said


def test_names_that_only_look_like_an_agents_are_people(project, tmp_path):
    folder = tmp_path / "binnacle" / "claude"
    folder.mkdir(parents=True)
    script = folder / "work.sh"
    script.write_text(f'"{BN}" trust --yes\ntrue\n')
    done = run(project, "bash", str(script))
    assert done.returncode == 0, done.stderr
    assert is_trusted(project)


def test_the_error_says_who_is_above_and_what_to_do(project):
    error = project.fails("trust", "--yes", env={"BN_SESSION": "x"})
    assert error["code"] == "E_PERSON_NEEDED"
    assert "BN_SESSION" in error["message"]
    assert "their own terminal" in error["hint"]
