"""The official conformance suite finds every scenario that it requires of a server, in both eras."""

import re
import subprocess
from pathlib import Path

import pytest

from server.clients import Http
from server.peers import installed

pytestmark = pytest.mark.peers

ALSO = {"server-session-lifecycle", "http-header-validation"}
"""Scenarios younger than the frozen sets, which we hold to as well where the era has them."""


def suite(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    index = installed.node_modules() / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    return subprocess.run(
        [installed.node(), str(index), *words], cwd=cwd, capture_output=True, text=True, timeout=600, check=False
    )


def required(revision: str, cwd: Path) -> list[str]:
    """The scenarios that a server must pass, as the suite itself lists them."""
    listed = suite("list", "--requirements", revision, cwd=cwd).stdout
    of_servers = listed.partition("Server scenarios")[2].partition("Client scenarios")[0]
    return re.findall(r"^  - (\S+)$", of_servers, re.MULTILINE)


@pytest.mark.parametrize(("revision", "count"), [("2025-11-25", 30), ("2026-07-28", 37)])
def test_every_required_scenario_passes(revision: str, count: int, tmp_path: Path):
    scenarios = required(revision, tmp_path)
    assert len(scenarios) == count
    with Http() as server:
        url = server.url.replace("127.0.0.1", "localhost")
        words = ("--url", url, "--requirements", revision, "--timeout", "60000", "-o", "found")
        ran = suite("server", *words, cwd=tmp_path)
        assert server.said == ""
    summary = ran.stdout.partition("=== SUMMARY ===")[2]
    passed = set(re.findall(r"^✓ (\S+): [1-9]\d* passed, 0 failed", summary, re.MULTILINE))
    assert sorted(set(scenarios) - passed) == [], summary
    assert {name for name in ALSO if f" {name}: " in summary} <= passed, summary
    assert ran.returncode == 0, summary


TASKS = {
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-wire-fields",
}
"""Scenarios of the tasks extension, without `tasks-mrtr-input` (our tasks ask their client nothing) and
`tasks-status-notifications`, which the suite itself skips."""


@pytest.mark.parametrize("scenario", sorted(TASKS))
def test_tasks_of_the_protocol_pass(scenario: str, tmp_path: Path):
    with Http() as server:
        url = server.url.replace("127.0.0.1", "localhost")
        words = ("--url", url, "--scenario", scenario, "--spec-version", "2026-07-28", "--force", "-o", "found")
        ran = suite("server", *words, cwd=tmp_path)
    assert re.search(r"^Passed: (\d+)/\1, 0 failed", ran.stdout, re.MULTILINE), ran.stdout
