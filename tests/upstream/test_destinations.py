"""Where connections may lead: to public places, and to those that a person has written or plainly trusted."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from binnacle.errors import UpstreamError
from binnacle.upstream.auth import oauth_requests
from binnacle.upstream.auth.url_checks import check_place
from binnacle.upstream.configuration.server_config import AuthConfig, ConfigSource, ServerConfig
from binnacle.upstream.configuration.server_loader import load_servers
from binnacle.upstream.transports.address_policy import (
    AddressNearness,
    AddressNotAllowed,
    check_address,
    limit_of,
    nearness_of,
    spelled_nearness,
    written_nearness,
)
from binnacle.upstream.transports.fallback import FallbackTransport
from binnacle.upstream.transports.http_client import new_session
from binnacle.upstream.transports.legacy_sse import SseTransport
from binnacle.upstream.transports.websocket import WebSocketTransport
from upstream.web_servers import Auth as Login
from upstream.web_servers import request, run

PUBLIC, PRIVATE, HERE, SPECIAL = AddressNearness


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("93.184.216.34", PUBLIC),
        ("2606:4700::1111", PUBLIC),
        ("10.0.0.1", PRIVATE),
        ("172.16.9.9", PRIVATE),
        ("192.168.1.1", PRIVATE),
        ("100.64.0.1", PRIVATE),
        ("fd12:3456::1", PRIVATE),
        ("127.0.0.1", HERE),
        ("127.255.255.254", HERE),
        ("0.0.0.0", HERE),
        ("::", HERE),
        ("::1", HERE),
        ("::ffff:127.0.0.1", HERE),
        ("::ffff:7f00:1", HERE),
        ("::127.0.0.1", HERE),
        ("64:ff9b::7f00:1", HERE),
        ("2002:7f00:1::", HERE),
        ("::ffff:10.0.0.1", PRIVATE),
        ("169.254.169.254", SPECIAL),
        ("::ffff:169.254.169.254", SPECIAL),
        ("fe80::1", SPECIAL),
        ("fe80::1%eth0", SPECIAL),
        ("fd00:ec2::254", SPECIAL),
        ("100.100.100.200", SPECIAL),
        ("224.0.0.1", SPECIAL),
        ("ff02::1", SPECIAL),
        ("255.255.255.255", SPECIAL),
        ("240.0.0.1", SPECIAL),
    ],
)
def test_every_address_is_of_one_kind(address, expected):
    assert nearness_of(address) == expected
    check_address(address, expected)
    if expected > PUBLIC:
        with pytest.raises(AddressNotAllowed):
            check_address(address, AddressNearness(expected - 1))


SPELLINGS = [
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "localhost.",
    "LOCALHOST.",
    "a.localhost",
    "169.254.169.254",
    "2852039166",
    "[fe80::1]",
]


@pytest.mark.parametrize("host", SPELLINGS)
def test_no_spelling_of_this_machine_is_asked_because_somebody_else_names_it(host):
    assert spelled_nearness(host.strip("[]")) >= HERE
    for scheme in ("https", "http"):
        with pytest.raises(UpstreamError):
            check_place(f"{scheme}://{host}/token", "token endpoint", near="https://crm.example/mcp")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:3000/mcp", HERE),
        ("http://127.0.0.1:3000/mcp", HERE),
        ("http://[::1]:3000/mcp", HERE),
        ("https://10.1.2.3/mcp", PRIVATE),
        ("http://169.254.169.254/latest", SPECIAL),
        ("https://mcp.example/", PUBLIC),
        ("https://localhost@mcp.example/", PUBLIC),
        ("https://mcp.example@127.0.0.1/", PUBLIC),
        ("https://mcp.example\\@127.0.0.1/", PUBLIC),
        ("http://127。0。0。1/", PUBLIC),
        ("http://①27.0.0.1/", PUBLIC),
        ("http://127.1/", PUBLIC),
        ("http://2130706433/", PUBLIC),
        ("http://0x7f.1/", PUBLIC),
        ("http://0177.0.0.1/", PUBLIC),
        ("http://[::ffff:127.0.0.1]/", PUBLIC),
        ("http://localhost./", PUBLIC),
        ("http://127.0.0.1.nip.io/", PUBLIC),
    ],
)
def test_what_a_person_can_see_in_a_url_is_what_a_project_may_lead_to(url, expected):
    assert written_nearness(url) == expected
    assert limit_of(a_server(url, "project")) == (expected if expected < SPECIAL else PUBLIC)
    assert limit_of(a_server(url, "discipline")) == (expected if expected < SPECIAL else PUBLIC)
    assert limit_of(a_server(url, "user")) == limit_of(a_server(url, "cli")) == SPECIAL


def a_server(url: str, kind: str, transport: str = "http", **auth) -> ServerConfig:
    return ServerConfig(
        name="one", transport=transport, url=url, source=ConfigSource(kind, "mcp.json", 1), auth=AuthConfig(**auth)
    )


class Listener:
    """A port of this machine at which nobody should knock."""

    def __init__(self) -> None:
        self.visits = 0
        self.port = 0

    async def visit(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        writer.close()


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    made = Listener()
    server = await asyncio.start_server(made.visit, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await server.wait_closed()


LINKS = {"http": FallbackTransport, "sse": SseTransport, "websocket": WebSocketTransport}
HOSTS = ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "127。0。0。1", "mcp.example@127.0.0.1", "[::ffff:127.0.0.1]"]


async def knock(config: ServerConfig) -> Exception | None:
    """Tries to reach a server. Returns the result."""
    async with new_session() as session:
        who = Login()
        make = LINKS[config.transport]
        link = make(config, lambda *_: None, session=session, credentials=who)
        try:
            await link.open()
            await link.ask(request(1, "initialize"))
        except Exception as error:
            return error
        finally:
            await link.close()
    return None


@pytest.mark.parametrize("transport", LINKS)
@pytest.mark.parametrize("host", HOSTS)
def test_a_projects_server_does_not_lead_here_under_another_spelling(transport, host):
    async def test() -> None:
        scheme = "ws" if transport == "websocket" else "http"
        async with listening() as listener:
            url = f"{scheme}://{host}:{listener.port}/mcp"
            error = await knock(a_server(url, "project", transport))
            assert isinstance(error, UpstreamError)
            assert "leads to this machine, and was not asked" in error.message
            assert listener.visits == 0
            if transport != "websocket":  # aiohttp does not know these spellings at all
                await knock(a_server(url, "user", transport))
                assert listener.visits > 0, "the person's own file may name it"

    run(test())


@pytest.mark.parametrize("transport", LINKS)
def test_a_name_that_leads_here_is_not_followed_whenever_it_is_resolved(transport, monkeypatch):
    """As by a name server that answers something else the second time."""

    real = socket.getaddrinfo

    def resolve(host, *args, **kwargs):
        return real("127.0.0.1" if host == "mcp.example" else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    async def test() -> None:
        scheme = "ws" if transport == "websocket" else "http"
        async with listening() as listener:
            error = await knock(a_server(f"{scheme}://mcp.example:{listener.port}/mcp", "project", transport))
            assert "leads to this machine" in getattr(error, "message", "")
            assert listener.visits == 0

    run(test())


def test_a_project_may_name_this_machine_where_a_person_sees_it():
    async def test() -> None:
        async with listening() as listener:
            await knock(a_server(f"http://127.0.0.1:{listener.port}/mcp", "project"))
            assert listener.visits > 0

    run(test())


@pytest.mark.parametrize("kind", ["user", "project"])
def test_discovery_asks_nobody_here_for_a_server_elsewhere(kind, monkeypatch):
    real = socket.getaddrinfo

    def resolve(host, *args, **kwargs):
        found = {"login.example": "127.0.0.1", "crm.example": "93.184.216.34"}.get(host, host)
        return real(found, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr("binnacle.upstream.auth.oauth_requests.check_place", lambda *_, **__: None)

    async def test() -> None:
        async with listening() as listener, new_session() as http:
            near = a_server("https://crm.example/mcp", kind)
            for host in ("login.example", "127.0.0.1", "localhost", "127.1"):
                with pytest.raises(UpstreamError, match="leads to this machine"):
                    await oauth_requests.get(http, f"http://{host}:{listener.port}/x", what="login", near=near)
                with pytest.raises(UpstreamError, match="leads to this machine"):
                    await oauth_requests.post(
                        http, f"http://{host}:{listener.port}/x", what="login", near=near, form={}
                    )
            assert listener.visits == 0

    run(test())


def test_a_projects_server_leads_where_the_persons_own_file_does_too(tmp_path):
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    project, user = tmp_path / ".binnacle" / "mcp.json", tmp_path / "config" / "binnacle" / "mcp.json"
    for path, servers in (
        (project, {"a": "https://mcp.corp", "b": "https://other.corp"}),
        (user, {"z": "https://mcp.corp"}),
    ):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"servers": {name: {"url": url} for name, url in servers.items()}}))
    found = load_servers(str(tmp_path), environ=env).servers
    assert [limit_of(found[name]) for name in ("a", "b", "z")] == [SPECIAL, PUBLIC, SPECIAL]
