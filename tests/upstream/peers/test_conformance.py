"""The official conformance suite finds every scenario that it requires of a client, in both eras.

Those about logins are in `tests/upstream/auth`.
"""

import re
import shlex
import sys
from pathlib import Path

import pytest

from server.peers.test_conformance import suite
from upstream.peers import conformance_client

pytestmark = pytest.mark.peers

ALSO = "json-schema-2020-12-preservation"
"""Younger than the frozen sets; we hold to it in both eras."""

EXCEPTIONS = Path(__file__).with_name("expected-failures.yml")


def required(revision: str, cwd: Path) -> list[str]:
    listed = suite("list", "--requirements", revision, cwd=cwd).stdout
    of_clients = listed.partition("Client scenarios")[2].partition("Run and reported")[0]
    return [one for one in re.findall(r"^  - (\S+)$", of_clients, re.MULTILINE) if not one.startswith("auth/")]


@pytest.mark.parametrize(("revision", "count"), [("2025-11-25", 4), ("2026-07-28", 7)])
def test_every_required_scenario_passes(revision: str, count: int, tmp_path: Path):
    scenarios = required(revision, tmp_path)
    assert len(scenarios) == count
    command = shlex.join([sys.executable, conformance_client.__file__])
    for scenario in (*scenarios, ALSO):
        words = ("--scenario", scenario, "--spec-version", revision, "--timeout", "60000")
        words = (*words, "--expected-failures", str(EXCEPTIONS))
        ran = suite("client", "--command", command, *words, cwd=tmp_path)
        said = ran.stdout + ran.stderr
        assert ran.returncode == 0, said
        assert "OVERALL: PASSED" in said, said
