"""Who is let in over HTTP, and with what: this machine, its token, a message of bearable size."""

import contextlib
import json
import socket
from collections.abc import Iterator

import httpx
import pytest

from server.clients import WAIT, Http, headers_for, new_call, request, stateless, text_of

LIST = request(1, "tools/list", stateless())


@pytest.fixture(scope="module")
def guarded() -> Iterator[Http]:
    """A server with a token and small limits."""
    with Http("--token", "s3cret-ü", "--body-limit", "2000") as server:
        yield server


def test_a_request_of_this_machine_is_let_in(http: Http):
    assert http.post(LIST).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LocalHost:1234", "127.0.0.1:1", "[::1]:99"])
def test_the_names_of_this_machine_are_let_in_with_any_port(http: Http, host: str):
    assert http.post(LIST, {"host": host}).status_code == 200
    assert http.post(LIST, {"origin": f"http://{host}"}).status_code == 200
    assert http.post(LIST, {"origin": f"https://{host}"}).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "evil.example#localhost",
        "localhost:80@evil.example",
        "localhost@evil.example",
        "127.0.0.2",
        "0.0.0.0",
        "[::2]",
        "",
    ],
)
def test_another_host_or_origin_is_forbidden(http: Http, name: str):
    assert http.post(LIST, {"origin": f"http://{name}"}).status_code == 403
    refused = http.post(LIST, {"host": name})
    assert refused.status_code == 403 or (name == "" and refused.status_code == 400)


def test_an_origin_that_is_none_is_forbidden_on_every_method(http: Http):
    for method in ("POST", "GET", "DELETE", "OPTIONS"):
        assert http.client.request(method, http.url, headers={"origin": "null"}).status_code == 403


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong", "Bearer s3cret", "Basic s3cret-ü", "s3cret-ü"]
)
def test_without_the_token_nothing_is_answered(guarded: Http, authorization: str | None):
    header = None if authorization is None else authorization.encode()
    refused = guarded.client.post(
        guarded.url, content=b"{}", headers={} if header is None else {b"authorization": header}
    )
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_with_the_token_it_is(guarded: Http, scheme: str):
    headers = {**headers_for(LIST), "authorization": f"{scheme} s3cret-ü"}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert guarded.client.post(guarded.url, content=json.dumps(LIST), headers=raw).status_code == 200


def test_the_token_is_asked_for_before_anything_is_read(guarded: Http):
    for method in ("POST", "GET", "DELETE", "PUT"):
        assert guarded.client.request(method, guarded.url).status_code == 401


def test_a_forbidden_origin_does_not_learn_whether_its_token_is_right(guarded: Http):
    headers = {b"authorization": "Bearer s3cret-ü".encode(), b"origin": b"http://evil.example"}
    assert guarded.client.post(guarded.url, content=b"{}", headers=headers).status_code == 403


def test_another_path_is_not_found(http: Http):
    for path in ("/", "/mcp/", "/mcpx", "/sse", "/.well-known/oauth-protected-resource"):
        assert http.client.post(http.url.removesuffix("/mcp") + path).status_code == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
def test_another_method_is_not_allowed(http: Http, method: str):
    refused = http.client.request(method, http.url)
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST, GET, DELETE")


def authorized(message: object, **extra: str) -> list[tuple[bytes, bytes]]:
    headers = {**headers_for(message), "authorization": "Bearer s3cret-ü", **extra}
    return [(name.encode(), value.encode()) for name, value in headers.items()]


class TestSize:
    def test_at_the_limit_is_served(self, guarded: Http):
        empty = len(json.dumps(new_call(1, "echo", text="")))
        message = new_call(1, "echo", text="x" * (2000 - empty))
        served = guarded.client.post(guarded.url, content=json.dumps(message), headers=authorized(message))
        assert text_of(served.json()) == "x" * (2000 - empty)

    def test_over_the_limit_is_refused(self, guarded: Http):
        message = new_call(1, "echo", text="x" * 2000)
        refused = guarded.client.post(guarded.url, content=json.dumps(message), headers=authorized(message))
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, -32600)
        assert guarded.client.post(guarded.url, content=json.dumps(LIST), headers=authorized(LIST)).status_code == 200

    def test_over_the_limit_in_pieces_of_unknown_number_is_refused(self, guarded: Http):
        def pieces() -> Iterator[bytes]:
            for _ in range(100):
                yield b"x" * 100_000

        refused = guarded.client.post(guarded.url, content=pieces(), headers=authorized(None))
        assert refused.status_code == 413
        assert guarded.client.post(guarded.url, content=json.dumps(LIST), headers=authorized(LIST)).status_code == 200

    def test_that_is_only_announced_is_refused_without_waiting_for_it(self, guarded: Http):
        url = httpx.URL(guarded.url)
        with socket.create_connection((url.host, url.port), timeout=WAIT) as client:
            client.sendall(
                b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer s3cret-\xc3\xbc\r\n"
                b"content-length: 10000000000\r\nexpect: 100-continue\r\n\r\n"
            )
            assert client.recv(1000).startswith(b"HTTP/1.1 413 ")


def wait_until_closed(client: socket.socket) -> bool:
    with contextlib.suppress(ConnectionResetError):
        while client.recv(65536):
            pass
    return True


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, -32700),
        (b"nonsense", 400, -32700),
        (b"\xff", 400, -32700),
        (b"[" * 100_000, 400, -32700),
        (b"7", 400, -32600),
        (b"[]", 400, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":7}}', 400, -32602),
    ],
    ids=lambda value: repr(value[:30]) if isinstance(value, bytes) else None,
)
def test_a_body_that_is_no_message_is_refused(http: Http, body: bytes, status: int, code: int):
    refused = http.post(body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert http.post(LIST).status_code == 200


def test_what_is_no_http_ends_the_connection_and_nothing_else(http: Http):
    url = httpx.URL(http.url)
    for noise in (b"\x00\xff\r\n\r\n", b"POST /mcp\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"x" * 200_000):
        with socket.create_connection((url.host, url.port), timeout=WAIT) as client:
            # The server may be quicker and have hung up while we still write.
            with contextlib.suppress(OSError):
                client.sendall(noise)
                client.shutdown(socket.SHUT_WR)
            assert wait_until_closed(client)
    assert http.post(LIST).status_code == 200
