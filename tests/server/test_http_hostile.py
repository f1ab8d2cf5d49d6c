"""HTTP as somebody writes it who means harm: byte by byte, over a plain socket, to a real server."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Iterator
from typing import Self

import httpx
import pytest

from binnacle.server import http_connection
from binnacle.server.http_exchange import HttpExchange, HttpReply
from server.clients import WAIT, Http, headers_for, new_call, request, stateless

TOKEN = "s3cret"
LIST = request(1, "tools/list", stateless())
BODY = json.dumps(LIST).encode()
HEADERS = {"host": "localhost", "authorization": f"Bearer {TOKEN}", **headers_for(LIST)}


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def guarded(request) -> Iterator[Http]:
    with Http("--token", TOKEN, on_loop=request.param) as server:
        yield server


class Raw:
    """A socket to a server, and what comes back on it."""

    def __init__(self, server: Http) -> None:
        url = httpx.URL(server.url)
        self.socket = socket.create_connection((url.host, url.port), timeout=WAIT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_until_refused(self, data: bytes) -> None:
        """Sends the same again and again; more of it than any server should read."""
        for _ in range((1 << 30) // len(data)):
            self.send(data)

    def status(self) -> int:
        """Of the next answer."""
        return int(self.socket.recv(65536).split(b" ", 2)[1])

    def rest(self) -> bytes:
        """All that comes until the server closes the connection."""
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while data := self.socket.recv(65536):
                found += data
        return found


def head(*more: tuple[str, str], line: str = "POST /mcp HTTP/1.1", without: str = "") -> bytes:
    pairs = [(name, value) for name, value in HEADERS.items() if name != without]
    lines = [line, *(f"{name}: {value}" for name, value in (*pairs, *more))]
    return "".join(f"{one}\r\n" for one in lines).encode() + b"\r\n"


def ask(server: Http, data: bytes) -> int:
    with Raw(server) as raw:
        raw.send(data)
        return raw.status()


def sized(body: bytes = BODY) -> tuple[str, str]:
    return ("content-length", str(len(body)))


CHUNKED = ("transfer-encoding", "chunked")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def test_the_request_that_the_others_are_variations_of_is_served(guarded: Http):
    assert ask(guarded, head(sized()) + BODY) == 200
    assert ask(guarded, head(CHUNKED) + chunk(BODY) + b"0\r\n\r\n") == 200


class TestRefusing:
    @pytest.mark.parametrize(
        ("wrong", "status"),
        [
            ({"authorization": "Bearer wrong"}, 401),
            ({"host": "evil.example"}, 403),
            ({"origin": "http://evil.example"}, 403),
        ],
    )
    def test_comes_before_a_byte_of_the_body_and_ends_the_connection(self, guarded: Http, wrong, status):
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**HEADERS, **wrong}.items())
        with Raw(guarded) as raw:
            raw.send(f"POST /mcp HTTP/1.1\r\n{lines}content-length: 1000000\r\n\r\n".encode())
            said = raw.rest()
        assert said.startswith(b"HTTP/1.1 %d " % status)
        assert b"connection: close" in said

    def test_takes_no_second_request_from_who_was_refused(self, guarded: Http):
        refused = head(sized(), without="authorization") + BODY
        with Raw(guarded) as raw:
            raw.send(refused + head(sized()) + BODY)
            assert raw.rest().count(b"HTTP/1.1 ") == 1

    def test_reaches_a_client_that_is_still_sending(self, guarded: Http):
        with Raw(guarded) as raw:
            raw.send(head(("content-length", str(8 << 20)), without="authorization"))
            for _ in range(64):
                raw.send(b"x" * (128 << 10))
            assert raw.status() == 401

    def test_does_not_read_on_for_ever(self, guarded: Http):
        with Raw(guarded) as raw:
            raw.send(head(CHUNKED, without="authorization"))
            with pytest.raises(OSError, match=r"(?i)reset|broken|aborted"):
                raw.send_until_refused(chunk(b"x" * (128 << 10)))


@pytest.mark.parametrize(
    "name", ["host", "authorization", "content-length", "origin", "mcp-session-id", "mcp-protocol-version", "mcp-name"]
)
def test_a_header_that_says_who_asks_or_for_what_is_taken_once_only(guarded: Http, name: str):
    value = {**HEADERS, "content-length": str(len(BODY)), "origin": "http://localhost"}.get(name, "one")
    pairs = [(name, value)] * (1 if name in HEADERS else 2)
    length = () if name == "content-length" else (sized(),)
    assert ask(guarded, head(*length, *pairs) + BODY) == 400
    assert ask(guarded, head(*length, *[(name.title(), value)] * len(pairs)) + BODY) == 400


def test_a_header_that_may_be_said_twice_is_one_list(guarded: Http):
    assert ask(guarded, head(sized(), ("accept", "*/*"), ("x-more", "1"), ("x-more", "2")) + BODY) == 200


class TestTrailers:
    def test_are_no_headers(self, guarded: Http):
        nobody = head(CHUNKED, without="mcp-method") + chunk(BODY) + b"0\r\nmcp-method: tools/list\r\n\r\n"
        assert ask(guarded, nobody) == 400
        assert ask(guarded, head(CHUNKED) + chunk(BODY) + b"0\r\nmcp-method: tools/call\r\n\r\n") == 200

    def test_bring_no_session(self, guarded: Http):
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        bare = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n"
        framed = f"{bare}transfer-encoding: chunked\r\n\r\n".encode()
        assert ask(guarded, framed + chunk(ping) + b"0\r\nmcp-session-id: made-up\r\n\r\n") == 400

    def test_do_not_go_on_for_ever(self, guarded: Http):
        with Raw(guarded) as raw:
            raw.send(head(CHUNKED) + chunk(BODY) + b"0\r\n")
            with contextlib.suppress(OSError):
                for number in range(10_000):
                    raw.send(b"x-%d: %b\r\n" % (number, b"x" * 1000))
            assert b" 200 " not in raw.rest()


@pytest.mark.parametrize(
    "data",
    [
        head(sized(), CHUNKED) + chunk(BODY) + b"0\r\n\r\n",
        head(CHUNKED, sized()) + chunk(BODY) + b"0\r\n\r\n",
        head(("transfer-encoding", "identity"), sized()) + BODY,
        head(("transfer-encoding", "chunked, identity")) + chunk(BODY) + b"0\r\n\r\n",
        head(("transfer-encoding", "xchunked")) + chunk(BODY) + b"0\r\n\r\n",
        head(CHUNKED, CHUNKED) + chunk(BODY) + b"0\r\n\r\n",
        head(("content-length", f"+{len(BODY)}")) + BODY,
        head(("content-length", f"{len(BODY)}, {len(BODY)}")) + BODY,
        head(("content-length", "-1")) + BODY,
        head(("content-length", "0x10")) + BODY,
        head(("content-length", "9" * 30)) + BODY,
        head(sized(), ("x-folded", "one\r\n two")) + BODY,
        head(sized(), ("x-folded", "one\r\n\ttwo")) + BODY,
        head(sized(), ("x-space ", "one")) + BODY,
        head(sized(), ("x-nul", "o\0ne")) + BODY,
        head(sized(), ("x-return", "o\rne")) + BODY,
        head(sized()).replace(b"\r\n", b"\n") + BODY,
        head(sized()).replace(b"\r\n", b"\r") + BODY,
        head(CHUNKED) + b"-5\r\n" + BODY,
        head(CHUNKED) + b"fffffffffffffffff\r\n" + BODY,
        head(CHUNKED) + b"0x5\r\n" + BODY,
        head(CHUNKED) + chunk(BODY).replace(b"\r\n", b"\n") + b"0\n\n",
    ],
    ids=lambda data: repr(data.partition(b"tools/list\r\n")[2][:60]),
)
def test_a_request_that_two_readers_could_take_for_different_ones_is_refused(guarded: Http, data: bytes):
    with Raw(guarded) as raw:
        raw.send(data)
        said = raw.rest()
    assert said.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 413 ")), said
    assert said.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://localhost/mcp", 200),
        ("HTTP://LOCALHOST/mcp", 200),
        ("http://evil.example/mcp", 400),
        ("http://localhost@evil.example/mcp", 400),
        ("http://evil.example@localhost/mcp", 400),
        ("http://localhost:80/mcp", 400),
        ("//localhost/mcp", 404),
        ("ftp://localhost/mcp", 400),
        ("mcp", 400),
        ("*", 400),
    ],
)
def test_a_target_that_names_a_host_names_the_one_of_the_header(guarded: Http, target: str, status: int):
    assert ask(guarded, head(sized(), line=f"POST {target} HTTP/1.1") + BODY) == status


@pytest.mark.parametrize(
    "host",
    [
        "localhost:",
        "localhost:8o",
        "localhost:80:80",
        "localhost:-1",
        "user@localhost",
        "user:pass@localhost",
        "evil.example:80@localhost",
        "localhost#.evil.example",
        "localhost/evil.example",
        "localhost?evil.example",
        "localhost, evil.example",
        "localhost evil.example",
        "localhost.",
        "127.1",
        "2130706433",
        "0x7f.1",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:0:0:1]",
        "[::1",
        "::1",
        "[::1]evil.example",
        "[::1]:80:80",
        "[::1%25lo]",
    ],
)
def test_a_name_of_this_machine_is_taken_as_it_is_usually_spelled_only(guarded: Http, host: str):
    assert ask(guarded, head(sized(), ("host", host), without="host") + BODY) == 403
    assert ask(guarded, head(sized(), ("origin", f"http://{host}")) + BODY) == 403


class TestBodies:
    def test_of_many_tiny_chunks_cost_no_more_than_in_one_piece(self):
        message = new_call(1, "echo", text="x" * (4 << 20))
        body = json.dumps(message).encode()
        tiny = b"".join(chunk(body[at : at + 2]) for at in range(0, len(body), 2))
        framed = {**headers_for(message), "host": "localhost", "transfer-encoding": "chunked"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in framed.items())
        with Http() as server, Raw(server) as raw:
            assert server.post(message).status_code == 200
            before = server.peak
            raw.send(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + tiny + b"0\r\n\r\n")
            assert raw.status() == 200
            assert server.peak - before < len(body)


class Patient:
    """A face that lets everything in and waits for bodies."""

    def admit(self, exchange: HttpExchange) -> None:
        pass

    def check_size(self, size: int) -> None:
        pass

    def take(self, exchange: HttpExchange) -> None:
        exchange.reply(HttpReply(200))

    def close(self) -> None:
        pass

    def cancel(self) -> None:
        pass


@pytest.mark.parametrize("part", [head(sized())[:40], head(sized()) + BODY[:-1], head(CHUNKED) + chunk(BODY)])
def test_a_request_that_comes_too_slowly_is_given_up(part: bytes):
    async def main() -> None:
        connections: set[http_connection.ServedConnection] = set()
        server = await asyncio.get_running_loop().create_server(
            lambda: http_connection.ServedConnection(Patient(), connections), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(part)
        async with asyncio.timeout(WAIT):
            answer = asyncio.create_task(reader.read())
            while not answer.done():
                await asyncio.sleep(0)
                for one in list(connections):  # nothing happens until the server has heard the beginning
                    one.look(time.monotonic() + http_connection.ARRIVAL_SECONDS + 1, 1e9)
            assert answer.result().startswith(b"HTTP/1.1 408 ")
        writer.close()
        server.close()

    asyncio.run(main())


def test_more_connections_than_are_kept_make_room_for_one_that_has_the_token(guarded: Http):
    with contextlib.ExitStack() as stack:
        for _ in range(http_connection.MAX_CONNECTIONS + 8):
            stack.enter_context(Raw(guarded))
        assert ask(guarded, head(sized()) + BODY) == 200
