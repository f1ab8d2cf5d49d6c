"""A server that wants a login, through a real `bn mcp serve`: people sign in and out while it runs."""

import asyncio
import shlex
import sys
import threading
from collections.abc import Iterator

import pytest

from server.clients import wait_for
from server.upstreams.servers import Servers, said, wait_for_tool
from upstream.auth import browser
from upstream.auth.provider import Provider

WITHIN = 30.0


@pytest.fixture(params=[True, False], ids=["revoked", "only forgotten"])
def provider(request) -> Iterator[Provider]:
    """A provider and the server that it protects, beside the test."""
    made, is_up, loop = Provider(revokes=request.param), threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with made:
            is_up.set()
            await over.wait()

    beside = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    beside.start()
    assert is_up.wait(WITHIN)
    yield made
    loop.call_soon_threadsafe(over.set)
    beside.join(WITHIN)
    loop.close()


def test_a_tool_that_is_not_there_for_want_of_a_login_says_so(connect, servers: Servers, provider: Provider):
    servers(crm={"url": provider.url, "auth": {"type": "oauth"}})
    agent = connect()
    wait_for(lambda: "wants a login" in agent.fails("mcp_crm_whoami")["message"], "it does not say what it lacks")
    assert "ask a person to sign in: bn upstream login crm" in agent.fails("mcp_crm_whoami")["hint"]


def test_sessions_notice_who_signs_in_and_who_signs_out(bn, connect, servers: Servers, provider: Provider):
    browsing = {"BROWSER": shlex.join([sys.executable, browser.__file__, "%s"])}
    servers(crm={"url": provider.url, "auth": {"type": "oauth"}})
    agent = connect()
    bn.by_person("upstream", "login", "crm", env=browsing)
    wait_for_tool(agent, "mcp_crm_whoami")
    assert said(agent, "mcp_crm_whoami") == "you are in"
    assert bn.by_person("upstream", "logout", "crm")["was_there"]
    wait_for(lambda: agent.result("mcp_crm_whoami").get("isError"), "the session uses a login that is no more")
    assert agent.fails("mcp_crm_whoami")["hint"] == "ask a person to sign in: bn upstream login crm"
    bn.by_person("upstream", "login", "crm", env=browsing)
    wait_for(lambda: not agent.result("mcp_crm_whoami").get("isError"), "nobody noticed the new login")
    assert not provider.refusals
