"""Sessions on one port: each at its own path, opened when it is asked for, and only so many at once."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest

from binnacle.errors import NotFound, NotReady, Refused
from binnacle.server import session_endpoints
from binnacle.server.bearer_tokens import OneToken
from binnacle.server.catalog_provider import CatalogProvider
from binnacle.server.http_connection import HttpApplication, ServedConnection
from binnacle.server.http_routes import HttpRoutes
from binnacle.server.mcp_over_http import McpOverHttp
from binnacle.server.mcp_server import McpServer
from binnacle.server.session_endpoints import SessionEndpoints
from binnacle.server.session_lookup import Sessions
from binnacle.work.actor import Actor
from binnacle.work.session import Session
from cli.conftest import BN
from scenarios.agents import TOKEN
from server.clients import WAIT, Http, headers_for, request, stateless

LIST = request(1, "tools/list", stateless())


class Named:
    """One tool, by which a session is known."""

    def __init__(self, name: str) -> None:
        self.name = name

    def instructions(self) -> str:
        return ""

    def listing(self) -> bytes:
        return b'[{"name":"%s","inputSchema":{}}]' % self.name.encode()


async def nowhere(path: str) -> Named:
    raise AssertionError(path)


class Port:
    """Endpoints on a socket, and what was opened and closed."""

    def __init__(self, token: str | None = None) -> None:
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.token = token
        self.faces: HttpApplication = SessionEndpoints(self.make_face("main", "/mcp"), "/mcp", self._open)
        self.connections: set[ServedConnection] = set()

    def make_face(self, name: str, path: str) -> McpOverHttp:
        planned = Session(id=name, actor=Actor("ann"))
        host = CatalogProvider(Sessions(Named(name), nowhere, planned=planned))
        return McpOverHttp(McpServer(host), tokens=OneToken(self.token) if self.token else None, path=path)

    async def _open(self, stack: AsyncExitStack, session: str, path: str, secret: str) -> McpOverHttp:
        if self.token is not None and secret != self.token:
            raise NotReady("it needs its own token", hint="make one")
        self.opened.append(session)
        await asyncio.sleep(0)
        if session.startswith("no"):
            raise NotFound(f"no session {session!r}", hint="look again")
        if session.startswith("edited"):
            raise Refused("the plan was edited", hint="renew it")
        stack.callback(self.closed.append, session)
        return self.make_face(session, path)

    async def post(self, path: str, **headers: str) -> httpx.Response:
        return await self.client.post(path, json=LIST, headers=headers_for(LIST, headers))

    async def tool(self, path: str) -> str:
        answer = await self.post(path)
        return answer.json()["result"]["tools"][0]["name"]


@asynccontextmanager
async def port(token: str | None = None):
    at = Port(token)
    endpoints_of_port = at.faces
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ServedConnection(at.faces, at.connections), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with httpx.AsyncClient(base_url=url, timeout=WAIT) as at.client:
        yield at
    await endpoints_of_port.aclose()
    server.close()
    for connection in list(at.connections):
        connection.abort()
        await connection.closed


def test_each_path_has_its_session_and_it_is_opened_once():
    async def main():
        async with port() as at:
            assert at.opened == []
            assert [await at.tool(path) for path in ("/mcp", "/mcp/a", "/mcp/b", "/mcp/a")] == ["main", "a", "b", "a"]
            both = await asyncio.gather(*(at.tool("/mcp/c") for _ in range(5)))
            assert both == ["c"] * 5
            assert at.opened == ["a", "b", "c"]
            assert at.closed == []
        assert sorted(at.closed) == ["a", "b", "c"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "status"), [("/mcp/no", 404), ("/mcp/edited", 409), ("/mcp/a/b/", 200), ("/other", 404), ("/mcpa", 404)]
)
def test_what_is_not_there_is_said_to_be_missing(path, status):
    async def main():
        async with port() as at:
            answer = await at.post(path)
            assert answer.status_code == status
            if status == 409:
                assert answer.json()["error"]["message"] == "the plan was edited; renew it"

    asyncio.run(main())


def test_whoever_has_no_token_opens_nothing():
    async def main():
        async with port("secret") as at:
            assert (await at.post("/mcp/a")).status_code == 401
            assert (await at.post("/mcp/a", authorization="Bearer wrong")).status_code == 401
            assert (await at.post("/mcp/a", authorization="Bearer secret", host="evil.example")).status_code == 403
            assert at.opened == []
            assert (await at.post("/mcp/a", authorization="Bearer secret")).status_code == 200

    asyncio.run(main())


async def answer_to_a_head(connection_of, path: str, *lines: str) -> bytes:
    """What comes back for a request whose body never comes."""
    url = httpx.URL(str(connection_of.client.base_url))
    reader, writer = await asyncio.open_connection(url.host, url.port)
    head = "".join(f"{line}\r\n" for line in (f"POST {path} HTTP/1.1", *lines, "content-length: 1000"))
    writer.write(f"{head}\r\n".encode())
    try:
        return await asyncio.wait_for(reader.read(), WAIT)
    finally:
        writer.close()


@pytest.mark.parametrize("is_open", [False, True])
def test_whoever_has_no_token_is_turned_away_before_the_body_is_read(is_open):
    async def main():
        async with port("secret") as at:
            if is_open:
                assert (await at.post("/mcp/a", authorization="Bearer secret")).status_code == 200
            wrong = await answer_to_a_head(at, "/mcp/a", "host: localhost", "authorization: Bearer wrong")
            assert wrong.startswith(b"HTTP/1.1 401 ")
            assert (await answer_to_a_head(at, "/mcp/a", "host: evil.example")).startswith(b"HTTP/1.1 403 ")

    asyncio.run(main())


def test_a_body_that_came_while_its_session_was_opened_is_not_lost():
    async def main():
        async with port("secret") as at:
            answer = await at.post("/mcp/a", authorization="Bearer secret", expect="100-continue")
            assert answer.json()["result"]["tools"][0]["name"] == "a"

    asyncio.run(main())


def test_the_sessions_of_a_run_are_hidden_from_other_machines_and_want_their_token_before_the_body():
    async def main():
        async with port("secret") as at:
            faces = HttpRoutes()
            with faces.shown("/mcp/a", at.make_face("a", "/mcp/a")):
                at.faces = faces
                for lines, status in (
                    (("host: evil.example",), 403),
                    (("host: localhost", "origin: http://evil.example"), 403),
                    (("host: localhost",), 401),
                    (("host: localhost", "authorization: Bearer wrong"), 401),
                ):
                    assert (await answer_to_a_head(at, "/mcp/a", *lines)).startswith(b"HTTP/1.1 %d " % status)
                assert (await answer_to_a_head(at, "/mcp/b", "host: evil.example")).startswith(b"HTTP/1.1 403 ")
                assert (await answer_to_a_head(at, "/mcp/b", "host: localhost")).startswith(b"HTTP/1.1 404 ")

    asyncio.run(main())


def test_the_one_that_was_silent_longest_makes_room_and_comes_back(monkeypatch):
    monkeypatch.setattr(session_endpoints, "MAX_OPEN_SESSIONS", 2)

    async def main():
        async with port() as at:
            for session in ("a", "b", "a", "c"):
                assert await at.tool(f"/mcp/{session}") == session
            assert at.closed == ["b"]
            assert await at.tool("/mcp/b") == "b"
            assert (at.opened, at.closed) == (["a", "b", "c", "b"], ["b", "a"])
            assert (await at.post("/mcp/no")).status_code == 404
            assert at.closed == ["b", "a"], "who does not exist takes nobody's place"

    asyncio.run(main())


def test_a_real_server_answers_for_sessions_that_are_not_to_be_had(bn, planned):
    task = bn.add("One")
    session, folder = planned("chat", task)
    (folder / "prompt.md").write_text("mine\n")
    token = bn("mcp", "token", "add", "--session", session)["token"]
    command = [BN, "mcp", "serve", "--http", "127.0.0.1:0", "--token", TOKEN, "-H"]
    with Http(command=command, cwd=bn.repo, env=bn.env) as server:
        main = server.url

        def posted(name: str, given: str | None = token) -> httpx.Response:
            server.url = f"{main}/{name}"
            return server.post(LIST, {"authorization": f"Bearer {given}"} if given else None)

        for name in ("bns-0000", "..%2fmcp", ""):
            assert posted(name).status_code == 401, "whoever has no secret is not told what there is"
        for given in ("wrong", TOKEN, None):
            assert posted(session, given).status_code == 401
        edited = posted(session)
        assert edited.status_code == 409
        assert f"{folder / 'prompt.md'} line 1" in edited.json()["error"]["message"]
        bn("plan", "renew", session)
        assert posted(session).status_code == 200, "it is looked at anew each time until it is opened"
        server.terminate()
        assert server.wait() == 0
