"""How an answer comes back over HTTP, and how a server stops that has streams open."""

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from server.clients import (
    WAIT,
    Http,
    call,
    headers_for,
    new_call,
    notification,
    request,
    stateless,
    text_of,
    wait_for,
)


@pytest.fixture
def server() -> Iterator[Http]:
    with Http() as server:
        yield server


def counting(steps: int) -> dict:
    return request(1, "tools/call", stateless({"name": "count", "arguments": {"steps": steps}}, progressToken="t"))


def test_an_answer_that_comes_first_is_plain_json(http: Http):
    answer = http.post(new_call(1, "count", steps=3))
    assert answer.headers["content-type"] == "application/json"
    assert text_of(answer.json()) == "3 steps"


def test_an_answer_that_comes_after_progress_is_the_last_of_a_stream(http: Http):
    with http.stream(counting(3)) as events:
        *progress, answer = events
    assert [one["params"] for one in progress] == [
        {"progressToken": "t", "progress": step, "total": 3} for step in (1, 2, 3)
    ]
    assert text_of(answer) == "3 steps"


def test_progress_is_told_only_to_those_who_asked(http: Http):
    session = http.session()
    assert http.post(call(1, "count", steps=3), session).headers["content-type"] == "application/json"


@pytest.mark.parametrize("token", ["", "text", 0, -7, 2**53])
def test_a_progress_token_comes_back_as_it_was(http: Http, token: str | int):
    params = stateless({"name": "count", "arguments": {"steps": 1}}, progressToken=token)
    with http.stream(request(1, "tools/call", params)) as events:
        assert next(events)["params"]["progressToken"] == token


def test_of_much_progress_a_little_is_told_and_the_last_of_it_before_the_answer(http: Http):
    with http.stream(counting(5000)) as events:
        *progress, answer = events
    told = [one["params"]["progress"] for one in progress]
    assert told[:3] == [1, 2, 3]
    assert told[-1] == 5000
    assert told == sorted(set(told))
    assert len(told) < 300, "of 5000"
    assert text_of(answer) == "5000 steps"


def test_who_does_not_read_misses_what_came_before_the_answer_but_not_the_answer(server: Http):
    session = server.session()
    with server.stream(call(1, "chatter", messages=40_000, size=1000), session) as events:
        server.wait_until_said("the chatter is over")
        *logs, answer = events
    assert 0 < len(logs) < 40_000
    assert text_of(answer) == "ok"
    assert server.peak < 200 << 20


def test_requests_are_answered_side_by_side_and_their_progress_does_not_mix(http: Http):
    session = http.session()
    found: dict[str, list[str]] = {}

    def count(token: str) -> None:
        params = {"name": "count", "arguments": {"steps": 50}, "_meta": {"progressToken": token}}
        with http.stream(request(token, "tools/call", params), session) as events:
            found[token] = [one["id"] if "id" in one else one["params"]["progressToken"] for one in events]

    threads = [threading.Thread(target=count, args=(f"t{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=WAIT)
    assert {token: set(seen) for token, seen in found.items()} == {f"t{n}": {f"t{n}"} for n in range(8)}
    assert all(len(seen) > 3 for seen in found.values())


def test_a_stream_is_set_up_so_that_nothing_on_the_way_holds_it_back(http: Http):
    session = http.session()
    with httpx.Client(timeout=WAIT) as client, client.stream("GET", http.url, headers=session) as response:
        assert response.headers["content-type"] == "text/event-stream"
        assert response.headers["x-accel-buffering"] == "no"
        assert "no-cache" in response.headers["cache-control"]


def test_a_silent_stream_shows_signs_of_life():
    with Http("--keep-alive", "0.05") as server:
        session = server.session()
        with httpx.Client(timeout=WAIT) as client, client.stream("GET", server.url, headers=session) as response:
            lines = response.iter_lines()
            assert [next(lines) for _ in range(6)] == [": open", "", ": alive", "", ": alive", ""]
        with server.stream(new_call(1, "hold", name="a")) as events:  # a slow answer becomes a stream
            server.post(new_call(2, "release", name="a"))
            assert text_of(next(events)) == "a was released"


def test_one_connection_serves_many_requests(http: Http):
    url = httpx.URL(http.url)
    message = new_call(1, "echo", text="x")
    body = json.dumps(message).encode()
    head = "".join(f"{key}: {value}\r\n" for key, value in headers_for(message).items())
    once = f"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n{head}\r\n".encode() + body
    with socket.create_connection((url.host, url.port), timeout=WAIT) as client:
        client.sendall(once * 20)  # without waiting for answers
        received = b""
        while received.count(b"HTTP/1.1 200") < 20 or not received.endswith(b"}"):
            data = client.recv(65536)
            assert data, received
            received += data


def exchanged(http: Http, *requests: bytes) -> bytes:
    """What comes back on a connection that is closed when everything was answered."""
    url = httpx.URL(http.url)
    with socket.create_connection((url.host, url.port), timeout=WAIT) as client:
        for one in requests:
            client.sendall(one)
        received = b""
        while data := client.recv(65536):
            received += data
        return received


def posted(message: dict, *lines: str, version: str = "1.1") -> bytes:
    body = json.dumps(message).encode()
    head = [f"POST /mcp HTTP/{version}", "host: localhost", f"content-length: {len(body)}", *lines]
    head += [f"{key}: {value}" for key, value in headers_for(message).items()]
    return "\r\n".join([*head, "", ""]).encode() + body


def test_answers_come_in_the_order_of_their_requests_whoever_is_quicker(http: Http):
    slow, quick = new_call("slow", "count", steps=3), request("quick", "tools/list", stateless())
    wrong = posted(quick).replace(b"host: localhost", b"host: evil.example")
    received = exchanged(http, posted(slow) + posted(quick) + wrong)
    assert received.index(b'"slow"') < received.index(b'"quick"') < received.index(b"403 Forbidden")


def test_a_client_of_the_old_http_gets_its_answers_and_its_streams(http: Http):
    plain = exchanged(http, posted(new_call(1, "echo", text="x"), version="1.0"))
    assert plain.startswith(b"HTTP/1.1 200 OK")
    assert b"connection: close" in plain
    stream = exchanged(http, posted(counting(3), version="1.0"))
    assert b"chunked" not in stream
    assert stream.endswith(b"\n\n")
    assert stream.count(b"\ndata: ") == 4


def test_a_wish_for_another_protocol_is_passed_over(http: Http):
    """As clients of Java have it that would rather speak HTTP/2."""
    wish = ("connection: upgrade, http2-settings", "upgrade: h2c", "http2-settings: AAEAAEAA")
    first, last = new_call("first", "echo", text="1"), new_call("last", "echo", text="2")
    received = exchanged(http, posted(first, *wish) + posted(last, "connection: close"))
    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert exchanged(http, b"CONNECT localhost:1 HTTP/1.1\r\nhost: localhost\r\n\r\n").startswith(b"HTTP/1.1 405 ")


def test_a_body_that_is_asked_about_is_asked_for(http: Http):
    message = posted(new_call(1, "echo", text="x"), "expect: 100-continue", "connection: close")
    assert exchanged(http, message).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


def test_who_asks_on_without_reading_answers_is_not_answered_on(server: Http):
    one = posted(new_call(1, "echo", text="x" * (1 << 20)))
    url = httpx.URL(server.url)
    with socket.create_connection((url.host, url.port), timeout=WAIT) as client:
        sending = threading.Thread(target=lambda: client.sendall(one * 100))
        sending.start()
        looks = 0
        while sending.is_alive() and looks < 100:  # in a row: it takes no more, and has nothing else to do
            looks = looks + 1 if server.is_asleep and not select.select([], [client], [], 0)[1] else 0
        received = 0
        while received < 100 << 20:
            received += len(client.recv(1 << 20))
        sending.join(timeout=WAIT)
    assert server.peak < 100 << 20


def test_a_head_without_end_is_refused(http: Http):
    received = exchanged(http, b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-long: " + b"x" * 100_000)
    assert received.startswith(b"HTTP/1.1 431 ")


def is_refused(server: Http) -> bool:
    """Whether nobody takes connections at its port any more."""
    url = httpx.URL(server.url)
    try:
        socket.create_connection((url.host, url.port), timeout=WAIT).close()
    except OSError:
        return True
    return False


class TestStopping:
    def test_ends_streams_of_changes_and_says_so_where_the_era_has_words(self, server: Http):
        session = server.session()
        listening = request("l", "subscriptions/listen", stateless({"notifications": {"toolsListChanged": True}}))
        with server.stream(None, session) as watched, server.stream(listening) as listened:
            next(listened)
            server.terminate()
            assert list(watched) == []
            (farewell,) = listened
            assert (farewell["id"], farewell["result"]["resultType"]) == ("l", "complete")
        assert server.wait() == 0
        assert server.said == ""

    def test_lets_requests_under_way_finish(self, server: Http, tmp_path: Path):
        end_work = tmp_path / "end"
        answers = self.stopped_during(server, "work", str(end_work), then=end_work.touch)
        assert [text_of(answer.json()) for answer in answers] == ["done"]
        assert server.said == ""

    def test_cancels_requests_that_do_not_finish_soon(self):
        with Http("--stop-within", "0.2") as server:
            answers = self.stopped_during(server, "hold", "a", then=lambda: None)
            assert [answer.status_code for answer in answers] == [202]
            assert server.said == "a was cancelled\n"

    def stopped_during(self, server: Http, tool: str, name: str, *, then: Callable[[], None]) -> list[httpx.Response]:
        """What comes back for a request during which the server is told to stop. `then` it takes no others."""
        answers: list[httpx.Response] = []
        post = threading.Thread(target=lambda: answers.append(server.post(new_call("h", tool, name=name))))
        post.start()
        server.ask(new_call(1, "wait_until", name=name, state="holding"))
        server.terminate()
        wait_for(lambda: is_refused(server), "the server does not begin to stop")
        then()
        assert server.wait() == 0
        post.join(timeout=WAIT)
        return answers

    def test_is_over_at_once_when_nothing_is_under_way(self, server: Http):
        server.terminate()
        assert server.wait() == 0
        assert server.said == ""

    def test_by_the_keyboard_is_no_different(self, server: Http):
        server.interrupt()
        assert server.wait() == 0
        assert server.said == ""

    def test_gives_the_port_back(self, server: Http):
        port = httpx.URL(server.url).port
        server.terminate()
        assert server.wait() == 0
        with Http(port=str(port)) as again:
            assert again.post(request(1, "tools/list", stateless())).status_code == 200


def test_a_port_that_is_taken_is_an_error_that_says_so(server: Http):
    with pytest.raises(AssertionError, match="Address already in use"):
        Http(port=str(httpx.URL(server.url).port))


def test_nothing_is_said_that_a_client_did_not_ask_for(server: Http):
    """On standard error, where a person would look for what is wrong."""
    session = server.session()
    with server.stream(None, session):
        server.post(notification("no/such"), session)
        server.post(b"nonsense")
    server.terminate()
    assert server.wait() == 0
    assert server.said == ""
