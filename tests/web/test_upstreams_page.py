"""Upstream servers on the page: their states and reasons, tests on real servers, trust, changed tools, switches."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from binnacle.app import trust_review
from binnacle.errors import BinnacleError, ConfigError, InvalidInput, NotFound, Refused
from binnacle.serving.shared_upstreams import SharedUpstreams
from binnacle.store import features
from binnacle.web.upstream_tests import upstream_tests_of
from server.clients import wait_for

from .conftest import OpenPage

ROGUE = str(Path(__file__).parents[1] / "upstream" / "rogue.py")
HOSTILE = "Sends \u202eeverything\u200b <img src=x onerror=alert(1)> away."


def rogue(*words: str, **more: Any) -> dict[str, Any]:
    """A server that behaves as it is told."""
    return {"command": sys.executable, "args": ["-S", ROGUE, *words], "connect_timeout": 20, **more}


def configure(page: OpenPage, **servers: dict[str, Any]) -> None:
    """Writes the person's own file, whose servers need no trust."""
    path = Path(os.environ["XDG_CONFIG_HOME"], "binnacle", "mcp.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"servers": servers}))


def configure_project(page: OpenPage, **servers: dict[str, Any]) -> None:
    path = page.repo / ".binnacle" / "mcp.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"servers": servers}))


def trust_all(page: OpenPage) -> None:
    found = trust_review.look(page.project.project)
    trust_review.grant(page.project.project, [one.item for one in found.standings], how="terminal")


def listed(page: OpenPage) -> dict[str, Any]:
    return {one["server"]["name"]: one for one in page("upstreams")["servers"]}


def test_without_connecting_only_what_is_configured_is_known(sqlite_page):
    page = sqlite_page
    configure(page, one=rogue(), off=rogue(enabled=False), wrong={"command": "x", "tols": 1})
    configure_project(page, theirs=rogue())
    found = listed(page)
    assert {name: one["state"] for name, one in found.items()} == {
        "one": "untested",
        "off": "disabled",
        "wrong": "broken",
        "theirs": "awaiting_trust",
    }
    assert {one["state_from"] for one in found.values()} == {"configured"}
    assert found["one"]["tools"] is None
    assert found["wrong"]["hint"] == "did you mean 'tools'?"
    assert found["theirs"]["trust"] == "new"
    assert not page("upstreams")["is_serving"]


def test_a_test_says_how_it_stands_and_leaves_nothing_running(sqlite_page):
    page = sqlite_page
    configure(page, one=rogue())
    tested = page("test_upstream", name="one")
    assert (tested["state"], tested["state_from"], tested["version"]) == ("ready", "tested", "2025-06-18")
    assert tested["tools"] > 5
    assert tested["latency_ms"] >= 0
    assert tested["at"]
    detail = page("upstream", name="one")
    assert "echo" in {tool["tool"] for tool in detail["tools"]}
    assert detail["entry"] == {**tested, "tools_are_old": False}
    assert listed(page)["one"]["state"] == "ready"
    assert processes_of(ROGUE) == []


def test_failed_is_told_with_its_reason_and_is_not_a_server_without_tools(sqlite_page):
    page = sqlite_page
    configure(page, bad=rogue("crash"), hung=rogue("silent", connect_timeout=1))
    bad, hung = page("test_upstream", name="bad"), page("test_upstream", name="hung")
    assert (bad["state"], bad["tools"], hung["state"]) == ("failed", None, "failed")
    assert "cannot open the vault" in bad["reason"]
    assert bad["hint"] == "bn upstream logs bad"
    assert "not ready within 1 s" in hung["reason"]
    assert any("cannot open the vault" in line for line in page("upstream", name="bad")["log"])


def test_a_server_that_was_up_before_shows_how_many_tools_it_had(sqlite_page):
    page = sqlite_page
    configure(page, one=rogue())
    before = page("test_upstream", name="one")
    upstream_tests_of(page.project).forget("one")
    (after,) = page("upstreams")["servers"]
    assert (after["state"], after["tools"], after["tools_are_old"]) == ("untested", before["tools"], True)


def test_what_is_not_trusted_is_not_started(sqlite_page, tmp_path):
    page = sqlite_page
    meet = tmp_path / "meet"
    meet.mkdir()
    configure_project(page, theirs=rogue(f"meet={meet},0"))
    tested = page("test_upstream", name="theirs")
    assert tested["state"] == "awaiting_trust"
    assert not list(meet.iterdir())


def test_what_would_be_trusted_is_shown_and_what_changed_since(sqlite_page):
    page = sqlite_page
    configure_project(page, theirs=rogue())
    shown = page("upstream", name="theirs")["trust"]
    assert (shown["state"], shown["changes"]) == ("new", [])
    assert shown["does"].startswith("start ")
    assert ROGUE in shown["content"]
    trust_all(page)
    assert page("upstream", name="theirs")["trust"]["trusted_by"] == "ann"
    assert listed(page)["theirs"]["state"] == "untested"
    configure_project(page, theirs=rogue("slow=1"))
    changed = page("upstream", name="theirs")
    assert (changed["trust"]["state"], changed["entry"]["trust"]) == ("changed", "changed")
    assert '+    "slow=1"' in changed["trust"]["changes"]
    assert listed(page)["theirs"]["state"] == "awaiting_trust"


def test_changed_tools_are_shown_and_only_what_was_seen_is_accepted(sqlite_page, tmp_path):
    page = sqlite_page
    says = tmp_path / "says"
    says.write_text("Repeats.")
    configure_project(page, theirs=rogue(f"says={says}"))
    trust_all(page)
    page("test_upstream", name="theirs")
    says.write_text(HOSTILE)
    page("test_upstream", name="theirs")
    shown = page("upstream", name="theirs")
    assert shown["entry"]["changed_tools"] == 1
    (change,) = shown["changes"]
    assert (change["tool"], change["kind"]) == ("echo", "changed")
    assert "-Repeats." in change["diff"]
    assert "<img" in change["diff"]
    assert "\u202e" not in change["diff"]
    says.write_text("Repeats, and more.")
    page("test_upstream", name="theirs")
    assert isinstance(page.fails("accept_tools", name="theirs", seen=shown["seen"]), Refused)
    shown = page("upstream", name="theirs")
    assert page("accept_tools", name="theirs", seen=shown["seen"])["accepted"] == ["echo"]
    assert page("upstream", name="theirs")["changes"] == []
    assert isinstance(page.fails("accept_tools", name="theirs", seen=shown["seen"]), InvalidInput)


def test_a_server_is_switched_off_and_on_in_its_file(sqlite_page):
    page = sqlite_page
    configure(page, one=rogue())
    page("test_upstream", name="one")
    assert page("switch_upstream", name="one", enabled=False)["is_changed"]
    assert listed(page)["one"]["state"] == "disabled"
    page("switch_upstream", name="one", enabled=True)
    assert listed(page)["one"]["state"] == "untested"


def test_servers_of_disciplines_are_listed_with_them(page):
    entry = rogue()
    page.write(lambda tx: features.add_discipline(tx, "backend", {"upstreams": {"database": entry}}))
    found = listed(page)["database"]
    assert (found["disciplines"], found["state"]) == (["backend"], "awaiting_trust")
    assert isinstance(page.fails("switch_upstream", name="database", enabled=False), InvalidInput)
    trust_all(page)
    assert page("test_upstream", name="database")["state"] == "ready"


def test_names_are_checked_and_a_broken_entry_is_not_tried(sqlite_page):
    page = sqlite_page
    configure(page, database=rogue(), wrong={"command": "x", "tols": 1})
    unknown = page.fails("test_upstream", name="databse")
    assert isinstance(unknown, NotFound)
    assert unknown.hint == "did you mean 'database'?"
    assert isinstance(page.fails("test_upstream", name="wrong"), ConfigError)


def test_one_test_of_a_server_at_a_time_and_a_cancelled_one_leaves_nothing(sqlite_page):
    page = sqlite_page
    configure(page, hung=rogue("silent", connect_timeout=20))

    async def work() -> None:
        tests = upstream_tests_of(page.project)
        running = asyncio.ensure_future(tests.test(page.project, "hung", {}))
        await asyncio.to_thread(wait_for, lambda: processes_of(ROGUE), "no server was started")
        with pytest.raises(BinnacleError, match="already"):
            await tests.test(page.project, "hung", {})
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert not tests.is_running("hung")

    page.wait(asyncio.wait_for(work(), 60))
    assert processes_of(ROGUE) == []


def test_live_states_are_those_of_the_sessions_and_say_so(sqlite_page):
    page = sqlite_page
    configure(page, one=rogue())

    async def serve() -> None:
        shared = SharedUpstreams(page.project.project, ())
        connections = shared.get()
        gateway = connections.gateway(dict, lambda: None)
        gateway.start()
        try:
            await gateway.servers["one"].settle()
            page.project.shared_upstreams = shared
            answer = await read(page, "upstreams")
            (one,) = answer.servers
            assert answer.is_serving
            assert (one.state, one.state_from, one.tools_are_old) == ("ready", "live", False)
            tested = await read(page, "test_upstream", name="one")
            assert tested.latency_ms is not None
            assert len(processes_of(ROGUE)) == 1
        finally:
            page.project.shared_upstreams = None
            await gateway.aclose()
            await shared.aclose()

    page.wait(asyncio.wait_for(serve(), 60))


async def read(page: OpenPage, name: str, /, **asked: Any) -> Any:
    from binnacle.web.endpoints import load_all

    endpoint = load_all()[name]
    return await endpoint.function(page.project, endpoint.asked(**asked))


def processes_of(program: str) -> list[int]:
    """The processes of this user that run a program."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if program.encode() in words and is_ours(entry):
                found.append(int(entry.name))
    return found


def is_ours(entry: Path) -> bool:
    """Whether a process belongs to this test: others may run the same program at the same time."""
    try:
        environment = (entry / "environ").read_bytes()
    except OSError:
        return False
    return os.fsencode(os.environ["HOME"]) in environment
