"""Calls that last: their deadlines, clients that go away, and failures that nobody foresaw."""

import asyncio
import os
from collections.abc import AsyncIterator

import httpx
import pytest
from msgspec import Struct

from binnacle.errors import Refused
from binnacle.project.project import find_project
from binnacle.server.http_exchange import HttpExchange
from binnacle.server.http_listener import bind, serve_http
from binnacle.web import endpoints
from binnacle.web.endpoints import NoArguments, acts, load_all, reads, streams
from binnacle.web.page_files import PageFiles
from binnacle.web.page_project import PageProject
from binnacle.web.page_projects import PageProjects, key_of
from binnacle.web.page_server import MAX_CALLS, PageServer
from binnacle.web.sign_in import SignIns


class CalledBack(Struct):
    """What the calls of these tests answer."""

    text: str


class Calls:
    """Endpoints that wait, fail and count."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self.cancelled = asyncio.Event()
        self.closed = asyncio.Event()

    def register(self) -> None:
        @reads("wait_forever")
        async def wait_forever(project: PageProject, asked: NoArguments) -> CalledBack:
            self.begun.release()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
            return CalledBack("")

        @reads("wait_too_long", within=0.05)
        async def wait_too_long(project: PageProject, asked: NoArguments) -> CalledBack:
            await asyncio.Event().wait()
            return CalledBack("")

        @acts("act_too_long", within=0.05)
        async def act_too_long(project: PageProject, asked: NoArguments) -> CalledBack:
            await asyncio.Event().wait()
            return CalledBack("")

        @reads("fail")
        async def fail(project: PageProject, asked: NoArguments) -> CalledBack:
            raise KeyError("unforeseen")

        @reads("name_a_file")
        async def name_a_file(project: PageProject, asked: NoArguments) -> CalledBack:
            return CalledBack(os.fsdecode(b"caf\xe9"))

        @streams("counting")
        async def count(project: PageProject, what: str) -> AsyncIterator[CalledBack]:
            try:
                for number in range(int(what)):
                    yield CalledBack(str(number))
                if what == "2":
                    raise Refused("enough", hint="stop")
                if what == "3":
                    await asyncio.Event().wait()
            finally:
                self.closed.set()


@pytest.fixture
def known():
    """What is registered here is forgotten afterwards."""
    load_all()
    before, topics = dict(endpoints.ENDPOINTS), dict(endpoints.TOPICS)
    yield
    endpoints.ENDPOINTS.clear()
    endpoints.TOPICS.clear()
    endpoints.ENDPOINTS.update(before)
    endpoints.TOPICS.update(topics)


def served(repo, test) -> None:
    """Runs a test with a server, a client that has the cookie, and the address of the project's calls."""

    async def run() -> None:
        calls = Calls()
        calls.register()
        listener = bind("127.0.0.1", 0)
        port = listener.getsockname()[1]
        sign_ins = SignIns(port)
        cookies = {sign_ins.cookie_name: sign_ins.exchange(sign_ins.make_link_key())}
        project = find_project(str(repo))
        with PageProjects([project], is_readonly=False, workspace=str(repo)) as projects:
            server = PageServer(projects, port=port, files=PageFiles(), sign_ins=sign_ins, is_readonly=False)
            stop, ready = asyncio.Event(), asyncio.Event()
            serving = asyncio.create_task(serve_http(server, listener, on_ready=ready.set, stop=stop, stop_within=0.1))
            await ready.wait()
            base = f"http://127.0.0.1:{port}"
            headers = {"origin": base, "x-binnacle-page": "1", "content-type": "application/json"}
            async with asyncio.timeout(60):
                async with httpx.AsyncClient(base_url=base, cookies=cookies, headers=headers, timeout=30) as client:
                    await test(client, calls, f"/api/{key_of(project.id)}")
                stop.set()
                await serving
                await server.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("method", "name", "said"),
    [
        ("GET", "wait_too_long", "no answer within 0.05 s"),
        ("POST", "act_too_long", "the action took longer than 0.05 s: it may still have been done"),
    ],
)
def test_a_call_has_a_deadline(known, repo, method, name, said):
    async def test(client, calls, address):
        answer = await client.request(method, f"{address}/{name}")
        assert (answer.status_code, answer.json()["code"], answer.json()["message"]) == (504, "E_TIMEOUT", said)

    served(repo, test)


def test_a_client_that_goes_away_ends_its_call(known, repo):
    async def test(client, calls, address):
        asking = asyncio.create_task(client.get(f"{address}/wait_forever"))
        await calls.begun.acquire()
        asking.cancel()
        await calls.cancelled.wait()

    served(repo, test)


def test_a_server_that_stops_ends_the_calls_in_progress(known, repo):
    async def test(client, calls, address):
        test.asking = asyncio.create_task(client.get(f"{address}/wait_forever"))
        await calls.begun.acquire()
        test.calls = calls

    served(repo, test)
    assert test.calls.cancelled.is_set()


def test_only_so_many_calls_are_in_progress(known, repo):
    async def test(client, calls, address):
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(
            base_url=client.base_url, cookies=client.cookies, limits=limits, timeout=30
        ) as crowd:
            asking = [asyncio.create_task(crowd.get(f"{address}/wait_forever")) for _ in range(MAX_CALLS)]
            for _ in range(MAX_CALLS):
                await calls.begun.acquire()
            refused = await crowd.get(f"{address}/project")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            for one in asking:
                one.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        while (await client.get(f"{address}/project")).status_code == 503:
            pass

    served(repo, test)


def test_a_defect_is_an_error_of_that_call_only(known, repo):
    async def test(client, calls, address):
        answer = await client.get(f"{address}/fail")
        assert (answer.status_code, answer.json()["code"]) == (500, "E_INTERNAL")
        assert (await client.get(f"{address}/project")).status_code == 200

    served(repo, test)


def test_a_path_that_is_not_text_is_answered_all_the_same(known, repo):
    async def test(client, calls, address):
        answer = await client.get(f"{address}/name_a_file")
        assert (answer.status_code, answer.content) == (200, b'{"text": "caf\\udce9"}')

    served(repo, test)


@pytest.mark.parametrize("what", ["1", "2"])
def test_a_topic_brings_its_messages_until_it_ends(known, repo, what):
    async def test(client, calls, address):
        watch = f"/api/stream?changes=no&watch={address.removeprefix('/api/')}:counting:{what}"
        found = []
        async with client.stream("GET", watch) as response:
            async for line in response.aiter_lines():
                found += [line] if line.startswith(("event: ", "data: ")) else []
                if "is_over" in line:
                    break
        assert found[0] == "event: counting"
        assert '"message":{"text":"0"}' in found[1]
        assert ('"message":"enough"' in found[-1]) == (what == "2")

    served(repo, test)


class OtherUser:
    """A connection of another user of this machine."""

    unread = 0

    def __init__(self) -> None:
        self.written = b""
        self.answered = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.written += data

    def find_peer(self) -> None:
        return None

    find_client = find_peer

    def find_user(self) -> int:
        return os.geteuid() + 1

    def finish(self, *, is_last: bool) -> None:
        assert not is_last
        self.answered.set()


def test_a_link_is_for_the_user_who_made_it(repo):
    async def test() -> None:
        sign_ins, wire = SignIns(7), OtherUser()
        key = sign_ins.make_link_key()
        with PageProjects([find_project(str(repo))], is_readonly=False, workspace=str(repo)) as projects:
            server = PageServer(projects, port=7, files=PageFiles(), sign_ins=sign_ins, is_readonly=False)
            exchange = HttpExchange(wire, "GET", {"host": "127.0.0.1:7"}, is_old=False, is_last=False)
            exchange.path, exchange.query = "/", f"key={key}"
            server.admit(exchange)
            server.take(exchange)
            async with asyncio.timeout(30):
                await wire.answered.wait()
            await server.aclose()
        assert wire.written.startswith(b"HTTP/1.1 403 ")
        assert b"another user" in wire.written
        assert sign_ins.exchange(key) is not None, "it was not used up"

    asyncio.run(test())


def test_a_topic_ends_with_the_page_that_watches_it(known, repo):
    async def test(client, calls, address):
        watch = f"/api/stream?changes=no&watch={address.removeprefix('/api/')}:counting:3"
        async with client.stream("GET", watch) as response:
            async for line in response.aiter_lines():
                if '"text":"2"' in line:
                    break
        await calls.closed.wait()

    served(repo, test)
