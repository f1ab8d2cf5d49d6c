"""What a program that is debugged finds in its environment: what a shell of the person has, and nothing of ours."""

from pathlib import Path

import pytest

from bridge.debug.desk import Desk

OURS = {"BN_MCP_TOKEN", "BN_SESSION", "BN_AGENT_ID", "BN_MCP_SESSION", "BN_STORE_URL", "PGPASSWORD"}


@pytest.fixture
def shell(monkeypatch) -> None:
    for name in (*OURS, "APP_KEY"):
        monkeypatch.setenv(name, f"value of {name}")


@pytest.mark.usefixtures("shell")
def test_a_debugged_program_has_what_the_person_has_and_nothing_of_ours(desk: Desk):
    Path(desk.workspace, "tell.py").write_text("open('seen', 'w').write(open('/proc/self/environ').read())\n")
    assert desk("debug.start", program="tell.py")["state"] == "terminated"
    pairs = (pair.partition("=") for pair in Path(desk.workspace, "seen").read_text().split("\0"))
    found = {name: value for name, _, value in pairs}
    assert found["APP_KEY"] == "value of APP_KEY"
    assert not OURS & set(found)
