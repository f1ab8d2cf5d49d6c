"""Upstream servers: state and reason, latency, log, approving with what changed, signing in, reconnecting."""

import asyncio
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

import forked_bn
from forked_bn import BN
from page.browsing import expect
from page.filled_stores import (
    HOSTILE,
    approve_all,
    configure_person,
    configure_project,
    misbehaving_server,
)
from page.screens import SCREENS, find_faults
from server.clients import request
from upstream.auth.provider import Provider
from web.served_gui import bn

WAIT_SECONDS = 60.0


def card_of(page, name: str):
    return page.locator(".upstream-row").filter(has=page.get_by_role("link", name=name, exact=True))


def test_a_test_says_state_reason_and_latency_and_failed_is_not_a_server_without_tools(gui, visit):
    configure_person(good=misbehaving_server(), bad=misbehaving_server("crash"), off=misbehaving_server(enabled=False))
    page = visit(gui).open("upstreams")
    good, bad = card_of(page, "good"), card_of(page, "bad")
    expect(good.locator(".badge")).to_have_text("not connected here")
    expect(card_of(page, "off").locator(".badge")).to_have_text("disabled")
    good.get_by_role("button", name="Test good").click()
    expect(good.locator(".badge")).to_have_text("ready")
    expect(good).to_contain_text(re.compile(r"tested here just now.*16 tools.*[\d.]+ ms, connected in \d+"))
    bad.get_by_role("button", name="Test bad").click()
    expect(bad.locator(".badge")).to_have_text("failed")
    expect(bad).to_contain_text("cannot open the vault")
    expect(bad).to_contain_text("tools not known")
    expect(bad).not_to_contain_text("0 tools")


def test_a_server_shows_its_tools_its_configuration_and_what_it_wrote(gui, visit):
    configure_person(bad=misbehaving_server("crash"), good=misbehaving_server(env={"TOKEN": "t0p-secret-value"}))
    page = visit(gui).open("upstreams/bad")
    page.get_by_role("button", name="Test bad").click()
    expect(page.get_by_label("Why")).to_contain_text("cannot open the vault")
    expect(page.get_by_label("The last lines of its standard error")).to_contain_text("cannot open the vault")
    page.get_by_role("link", name="All upstream servers").click()
    page.get_by_role("link", name="good", exact=True).click()
    page.get_by_role("button", name="Test good").click()
    expect(page.get_by_role("heading", name="16 tools")).to_be_visible()
    expect(page.get_by_text("tokens for all its tools")).to_be_visible()
    expect(page.locator("#content")).to_contain_text("TOKEN")
    expect(page.locator("#content")).not_to_contain_text("t0p-secret-value")


def test_a_test_that_hangs_is_cancelled(gui, visit):
    configure_person(hung=misbehaving_server("silent"))
    page = visit(gui).open("upstreams")
    page.get_by_role("button", name="Test hung").click()
    page.get_by_role("button", name="Cancel the test of hung").click()
    expect(page.get_by_role("button", name="Test hung")).to_be_enabled()
    expect(card_of(page, "hung").locator(".badge")).to_have_text("not connected here")


def test_a_new_server_is_approved_with_what_it_would_start(gui, visit):
    configure_project(gui.repo, theirs=misbehaving_server())
    page = visit(gui).open("upstreams")
    expect(card_of(page, "theirs").locator(".badge")).to_have_text("not approved")
    expect(page.get_by_role("button", name="Test theirs")).to_have_count(0)
    page.get_by_role("link", name="Review theirs").click()
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="Approve exactly this?")
    expect(dialog).to_contain_text("rogue.py")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Approve…")).to_be_focused()
    page.get_by_role("button", name="Approve…").click()
    dialog.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_role("region", name="Messages")).to_contain_text("Approved.")
    page.get_by_role("button", name="Test theirs").click()
    expect(page.locator("h1 .badge")).to_have_text("ready")


def test_a_changed_server_is_approved_with_the_diff_and_only_as_it_was_seen(gui, visit):
    configure_project(gui.repo, theirs=misbehaving_server("slow=0"))
    approve_all(gui.repo)
    configure_project(gui.repo, theirs=misbehaving_server("slow=0.1"))
    browser = visit(gui)
    browser.expected_faults = ["409"]  # what has changed again is not approved
    page = browser.open("upstreams")
    expect(card_of(page, "theirs").locator(".badge")).to_have_text("not approved, it has changed")
    page.get_by_role("link", name="Review theirs").click()
    changes = page.get_by_label("What changed since it was approved")
    expect(changes.locator(".removed-line")).to_contain_text("slow=0")
    expect(changes.locator(".added-line")).to_contain_text("slow=0.1")
    page.get_by_role("button", name="Approve…").click()
    configure_project(gui.repo, theirs=misbehaving_server("says=/etc/passwd"))
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Approve", exact=True).click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator(".added-line")).to_contain_text("says=/etc/passwd")
    page.get_by_role("button", name="Approve…").click()
    page.get_by_role("dialog").get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator("h1 .badge")).to_have_text("not connected here")


def test_changed_tools_are_accepted_with_their_diff_and_their_text_stays_text(gui, visit, tmp_path):
    says = tmp_path / "says"
    says.write_text("Repeats.")
    configure_person(one=misbehaving_server(f"says={says}"))
    page = visit(gui).open("upstreams/one")
    test = page.get_by_role("button", name="Test one")
    test.click()
    expect(page.locator("h1 .badge")).to_have_text("ready")
    says.write_text(HOSTILE)
    test.click()
    diff = page.get_by_label("What changed in echo")
    expect(diff.locator(".removed-line")).to_have_text("-Repeats.")
    expect(diff.locator(".added-line")).to_contain_text("<img src=x")
    expect(diff).not_to_contain_text("\u202e")
    page.get_by_role("link", name="All upstream servers").click()
    expect(card_of(page, "one")).to_contain_text("changed tools: 1")
    page.get_by_role("link", name="Review one").click()
    page.keyboard.press("Control+k")
    page.keyboard.type("accept its changed")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Accept", exact=True).click()
    expect(page.get_by_role("region", name="Messages")).to_contain_text("Accepted: echo.")
    expect(page.get_by_text("Tools that changed")).to_have_count(0)
    expect(page.locator("#content img")).to_have_count(0)


def test_a_server_is_switched_off_and_on(gui, visit):
    configure_person(one=misbehaving_server())
    page = visit(gui).open("upstreams")
    page.get_by_role("button", name="Disable one").click()
    expect(card_of(page, "one").locator(".badge")).to_have_text("disabled")
    page.keyboard.press("Control+k")
    page.keyboard.type("enable one")
    page.keyboard.press("Enter")
    expect(card_of(page, "one").locator(".badge")).to_have_text("not connected here")


def test_a_wrong_entry_says_what_is_wrong_and_where(gui, visit):
    configure_person(wrong={"command": "x", "tols": 1})
    page = visit(gui).open("upstreams/wrong")
    expect(page.locator("h1 .badge")).to_have_text("configured wrong")
    expect(page.locator("#content")).to_contain_text("did you mean 'tools'?")
    expect(page.get_by_role("button", name="Test wrong")).to_have_count(0)


def test_a_hostile_name_is_text_and_leads_nowhere_else(gui, visit):
    configure_person(**{"<img src=x>": misbehaving_server(), "a/../b": misbehaving_server()})
    page = visit(gui).open("upstreams")
    expect(page.locator("#content")).to_contain_text("<img src=x>")
    expect(page.locator("#content img")).to_have_count(0)


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A server that wants a login, and who gives it, beside the test."""
    made, is_up, loop = Provider(), threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with made:
            is_up.set()
            await over.wait()

    beside = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    beside.start()
    assert is_up.wait(WAIT_SECONDS)
    yield made
    loop.call_soon_threadsafe(over.set)
    beside.join(WAIT_SECONDS)
    loop.close()


def test_a_person_signs_in_at_the_servers_own_page_and_out_again(gui, visit, provider):
    configure_person(crm={"url": provider.url, "auth": {"type": "oauth"}})
    browser = visit(gui)
    page = browser.open("upstreams/crm")
    page.get_by_role("button", name="Test crm").click()
    expect(page.locator("h1 .badge")).to_have_text("needs a login")
    page.get_by_role("button", name="Sign in to crm").click()
    dialog = page.get_by_role("dialog", name="Sign in to crm")
    link = dialog.get_by_role("link")
    link.wait_for()
    assert "noopener" in (link.get_attribute("rel") or "")
    browser.expected_faults = ["a request to elsewhere"]  # the person opens the page of the provider
    with browser.context.expect_page() as opened:
        link.click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("region", name="Messages")).to_contain_text("Signed in to crm.")
    opened.value.close()
    page.get_by_role("button", name="Test crm").click()
    expect(page.locator("h1 .badge")).to_have_text("ready")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("region", name="Messages")).to_contain_text("Signed out.")


def test_a_login_is_given_up_with_its_dialog(gui, visit, provider):
    configure_person(crm={"url": provider.url, "auth": {"type": "oauth"}})
    page = visit(gui).open("upstreams")
    page.get_by_role("button", name="Sign in to crm").click()
    page.get_by_role("dialog").get_by_role("link").wait_for()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Sign in to crm").click()
    page.get_by_role("dialog").get_by_role("link").wait_for()  # the first one has ended: this is another


@pytest.fixture
def serving(repo) -> Iterator[SimpleNamespace]:
    """The page beside an MCP server that has sessions: states are those of its connections."""
    configure_person(one=misbehaving_server(), bad=misbehaving_server("crash"))
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    words = [BN, "mcp", "serve", "--http", "127.0.0.1:0", "--gui"]
    process = forked_bn.start(words, cwd=repo, env=dict(os.environ), **pipes)
    ready = json.loads(process.stdout.readline())
    base, _, _ = ready["page"].partition("/?")

    def make_link() -> str:
        return bn(repo, "gui", "--link", "--port", base.rpartition(":")[2])["url"]

    cookies = httpx.get(ready["page"], timeout=WAIT_SECONDS).cookies
    (project,) = httpx.get(f"{base}/api/projects", cookies=cookies, timeout=WAIT_SECONDS).json()["projects"]
    yield SimpleNamespace(base=base, project=project["key"], make_link=make_link, mcp=ready)
    process.send_signal(signal.SIGTERM)
    process.wait(WAIT_SECONDS)
    process.stdout.close()
    process.stderr.close()


def begin_session(mcp: dict[str, str]) -> None:
    """A client connects, so the server connects to its upstream servers."""
    headers = {"authorization": f"Bearer {mcp['token']}", "accept": "application/json, text/event-stream"}
    asked = request(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}})
    answer = httpx.post(mcp["url"], json=asked, headers=headers, timeout=WAIT_SECONDS)
    assert answer.status_code == 200, answer.text
    headers |= {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    httpx.post(mcp["url"], json=request(2, "tools/list"), headers=headers, timeout=WAIT_SECONDS)


def test_states_of_sessions_are_live_and_a_server_that_is_down_is_reconnected(serving, visit):
    begin_session(serving.mcp)
    page = visit(serving).open("upstreams")
    one, bad = card_of(page, "one"), card_of(page, "bad")
    expect(one.locator(".badge")).to_have_text("ready")
    expect(one).to_contain_text("live, for a moment")
    expect(bad.locator(".badge")).to_have_text("failed")
    expect(bad).to_contain_text("cannot open the vault")
    configure_person(one=misbehaving_server(), bad=misbehaving_server("crash"))
    one.get_by_role("button", name="Reconnect one").click()
    expect(one.locator(".badge")).to_have_text("ready")
    expect(one).to_contain_text(re.compile(r"[\d.]+ ms"))
    page.get_by_role("link", name="bad", exact=True).click()
    expect(page.get_by_text("tried again")).to_be_visible()
    page.get_by_role("button", name="Reconnect bad").click()
    expect(page.get_by_label("The last lines of its standard error")).to_contain_text("cannot open the vault")


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("view", ["upstreams", "upstreams/good", "upstreams/theirs"])
def test_upstreams_can_be_seen_by_everybody_on_any_screen(gui, visit, screen, view, tmp_path: Path):
    says = tmp_path / "says"
    says.write_text("Repeats.")
    configure_person(good=misbehaving_server(f"says={says}"), bad=misbehaving_server("crash"))
    configure_project(gui.repo, theirs=misbehaving_server("slow=0"))
    approve_all(gui.repo)
    configure_project(gui.repo, theirs=misbehaving_server("slow=0.1"))
    browser = visit(gui, **SCREENS[screen])
    page = browser.open("upstreams")
    for name, state in (("bad", "failed"), ("good", "ready")):
        page.get_by_role("button", name=f"Test {name}").click()
        expect(card_of(page, name).locator(".badge").first).to_have_text(state)
    says.write_text(HOSTILE)
    page.get_by_role("button", name="Test good").click()
    expect(card_of(page, "good")).to_contain_text("changed tools: 1")
    browser.show(page, view)
    page.locator(".upstream-row, .upstream-part").first.wait_for()
    assert find_faults(page) == []
