"""The official conformance suite finds every login scenario that it requires of a client, in both eras."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from server.peers.test_conformance import suite
from upstream.auth import conformance_client

pytestmark = pytest.mark.peers

OLD = ("auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback")
"""Servers of the first revision with logins are still there."""


def scenarios(revision: str, cwd: Path) -> list[str]:
    listed = suite("list", "--requirements", revision, cwd=cwd).stdout
    of_clients = listed.partition("Client scenarios")[2]
    return re.findall(r"^  - (auth/\S+)$", of_clients, re.MULTILINE)


def passes(scenario: str, *words: str, cwd: Path) -> bool:
    command = shlex.join([sys.executable, conformance_client.__file__])
    ran = suite("client", "--command", command, "--scenario", scenario, *words, "--timeout", "60000", cwd=cwd)
    return ran.returncode == 0 and "OVERALL: PASSED" in ran.stdout + ran.stderr


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("revision", "count"), [("2025-11-25", 14), ("2026-07-28", 25)])
def test_every_required_login_passes(revision: str, count: int, tmp_path: Path):
    required = scenarios(revision, tmp_path)
    assert len(required) == count
    assert [one for one in required if not passes(one, "--spec-version", revision, cwd=tmp_path)] == []


@pytest.mark.parametrize("scenario", OLD)
def test_logins_of_the_first_revision_pass(scenario: str, tmp_path: Path):
    assert passes(scenario, cwd=tmp_path)
