"""The handshake era over HTTP: sessions, their stream, and requests that belong to one."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from server.clients import WAIT, Http, call, cancelled, notification, request, text_of

Headers = dict[str, str | None]


@pytest.fixture
def session(http: Http) -> Headers:
    return http.session()


@pytest.fixture
def name() -> str:
    """Of something to hold: the server is shared."""
    return uuid4().hex


def status(http: Http, message: Any, headers: Headers) -> int:
    return http.post(message, headers).status_code


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_version_of_the_era_is_agreed_on(http: Http, version: str):
    headers = http.session(version)
    assert headers["mcp-protocol-version"] == version
    assert text_of(http.post(call(1, "echo", text="hello"), headers).json()) == "hello"


@pytest.mark.parametrize("version", ["1900-01-01", "2099-01-01"])
def test_an_unknown_version_is_answered_with_the_latest_of_the_era(http: Http, version: str):
    assert http.session(version)["mcp-protocol-version"] == "2025-11-25"


def test_a_client_older_than_the_version_header_is_served_without_it(http: Http, session: Headers):
    assert status(http, request(1, "ping"), session | {"mcp-protocol-version": None}) == 200


def test_a_version_nobody_speaks_is_refused_in_the_header(http: Http, session: Headers):
    refused = http.post(request(1, "ping"), session | {"mcp-protocol-version": "2099-01-01"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32022)


def test_a_beginning_that_fails_begins_no_session(http: Http):
    failed = http.post(request(1, "initialize", {"protocolVersion": 7}))
    assert failed.json()["error"]["code"] == -32602
    assert "mcp-session-id" not in failed.headers


@pytest.mark.parametrize("message", [request(1, "ping"), notification("n"), {"jsonrpc": "2.0", "id": 1, "result": {}}])
def test_a_message_belongs_to_a_session_that_exists(http: Http, session: Headers, message: Any):
    assert status(http, message, {}) == 400
    assert status(http, message, session | {"mcp-session-id": "no such"}) == 404
    assert status(http, message, session) in (200, 202)


def test_an_error_names_the_request_it_is_about(http: Http):
    assert http.post(request("it", "ping")).json()["id"] == "it"
    assert http.post(request("it", "ping"), {"mcp-session-id": "no such"}).json()["id"] == "it"


def test_what_wants_no_answer_gets_none(http: Http, session: Headers):
    for message in (
        notification("notifications/initialized"),
        notification("no/such"),
        cancelled("never asked"),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [7]},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "error": {"code": 1, "message": "what?"}},
    ):
        taken = http.post(message, session)
        assert (taken.status_code, taken.content) == (202, b"")


def test_an_error_of_this_era_is_an_answer_like_any_other(http: Http, session: Headers):
    for method, params, code in (
        ("no/such", {}, -32601),
        ("server/discover", {}, -32601),
        ("tools/call", {}, -32602),
        ("resources/read", {"uri": "test://none"}, -32002),
        ("tools/call", {"name": "break_down"}, -32603),
    ):
        answer = http.post(request(1, method, params), session)
        assert (answer.status_code, answer.json()["error"]["code"]) == (200, code)


def test_a_session_ends_when_it_is_deleted(http: Http, session: Headers):
    assert http.client.delete(http.url, headers=session).status_code == 200
    assert status(http, request(1, "ping"), session) == 404
    assert http.client.delete(http.url, headers=session).status_code == 404
    assert http.client.delete(http.url).status_code == 400


def test_a_session_that_is_deleted_takes_its_requests_and_its_stream_along(http: Http, session: Headers, name: str):
    with http.stream(None, session) as events, held(http, session, name):
        assert http.client.delete(http.url, headers=session).status_code == 200
        assert list(events) == []
        assert text_of(http.ask(call(1, "wait_until", name=name, state="cancelled"), **http.session())) == "ok"


def test_a_session_has_one_stream_at_a_time(http: Http, session: Headers):
    with http.stream(None, session):
        assert http.client.get(http.url, headers=session).status_code == 409
        with http.stream(None, http.session()):
            pass
    wait_for_free_stream(http, session)


def wait_for_free_stream(http: Http, session: Headers) -> None:
    """The server learns of a client that went away when it next looks."""
    for _ in range(1000):
        with contextlib.suppress(KeyError), http.stream(None, session):  # a refusal is no stream
            return
    raise AssertionError("the stream is never free again")


def test_there_is_no_stream_without_a_session(http: Http, session: Headers):
    assert http.client.get(http.url).status_code == 405
    assert http.client.get(http.url, headers=session | {"mcp-session-id": "no such"}).status_code == 404
    assert http.client.get(http.url, headers=session | {"mcp-protocol-version": "2026-07-28"}).status_code == 405


def test_the_stream_tells_of_changed_lists(http: Http, session: Headers):
    with http.stream(None, session) as events:
        for what in ("tools", "prompts", "resources"):
            http.post(call(1, "change", what=what), session)
            assert next(events) == notification(f"notifications/{what}/list_changed")


def test_the_stream_tells_of_the_resources_subscribed_to(http: Http, session: Headers, name: str):
    mine, other = f"test://{name}", f"test://{name}/other"
    with http.stream(None, session) as events:
        assert status(http, request(1, "resources/subscribe", {"uri": mine}), session) == 200
        http.post(call(2, "touch", uri=other), session)
        http.post(call(3, "touch", uri=mine), session)
        assert next(events) == notification("notifications/resources/updated", {"uri": mine})
        http.post(request(4, "resources/unsubscribe", {"uri": mine}), session)
        http.post(call(5, "touch", uri=mine), session)
        http.post(call(6, "change", what="tools"), session)
        assert next(events)["method"] == "notifications/tools/list_changed"


def test_a_stream_that_is_not_read_fast_enough_ends_and_the_next_one_works(http: Http, session: Headers, name: str):
    uri, times = f"test://{name}/{'long' * 250}", 20_000
    http.post(request(1, "resources/subscribe", {"uri": uri}), session)
    with http.stream(None, session) as events:
        http.post(call(2, "touch", uri=uri, times=times), session)
        assert len(list(events)) < times
    with http.stream(None, session) as events:
        http.post(call(3, "touch", uri=uri), session)
        assert next(events)["params"] == {"uri": uri}


def test_what_is_logged_below_the_level_is_not_sent(http: Http, session: Headers):
    assert [one.get("method") for one in logged(http, session, "debug")] == ["notifications/message", None]
    assert status(http, request(1, "logging/setLevel", {"level": "warning"}), session) == 200
    assert [one.get("method") for one in logged(http, session, "info")] == [None]
    first, last = logged(http, session, "error")
    assert first["params"] == {"level": "error", "data": "hello", "logger": "fixture"}
    assert text_of(last) == "ok"


def logged(http: Http, session: Headers, level: str) -> list[Any]:
    with http.stream(call(1, "log", level=level, text="hello"), session) as events:
        return list(events)


def test_a_tool_asks_the_client_and_waits_for_its_answer(http: Http):
    session = http.session(roots={})
    with http.stream(call(1, "ask_roots"), session) as events:
        question = next(events)
        assert question["method"] == "roots/list"
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": "file:///a"}]}}
        assert status(http, answer, session) == 202
        assert text_of(next(events)) == "1 roots"
        assert status(http, answer, session) == 202


def test_a_client_that_refuses_to_answer_ends_the_tool(http: Http):
    session = http.session(roots={})
    with http.stream(call(1, "ask_roots"), session) as events:
        question = next(events)
        http.post({"jsonrpc": "2.0", "id": question["id"], "error": {"code": 1, "message": "no"}}, session)
        assert next(events)["error"]["message"].startswith("the client refused:")


def test_an_answer_of_another_session_is_not_taken(http: Http):
    session, other = http.session(roots={}), http.session(roots={})
    with http.stream(call(1, "ask_roots"), session) as events:
        question = next(events)
        forged = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [1, 2, 3]}}
        assert status(http, forged, other) == 202
        assert status(http, {**forged, "result": {"roots": []}}, session) == 202
        assert text_of(next(events)) == "0 roots"


@contextlib.contextmanager
def held(http: Http, session: Headers, name: str) -> Iterator[list[httpx.Response]]:
    """A request that has begun and does not end by itself. Leaving it waits for what came back."""
    found: list[httpx.Response] = []
    post = threading.Thread(target=lambda: found.append(http.post(call("held", "hold", name=name), session)))
    post.start()
    assert http.ask(call(1, "wait_until", name=name, state="holding"), **session)
    yield found
    post.join(timeout=WAIT)


def test_a_cancelled_request_ends_its_tool_and_its_answer_is_empty(http: Http, session: Headers, name: str):
    with held(http, session, name) as found:
        other = http.session()
        assert status(http, cancelled("held"), other) == 202
        assert status(http, cancelled("held"), session) == 202
        assert text_of(http.ask(call(2, "wait_until", name=name, state="cancelled"), **other)) == "ok"
    (answer,) = found
    assert (answer.status_code, answer.content) == (202, b"")
    assert status(http, cancelled("held"), session) == 202


class TestBatches:
    def test_are_answered_in_one_array(self, http: Http, session: Headers):
        echoes = [call(number, "echo", text=f"{number}") for number in (1, 2)]
        answer = http.post([*echoes, notification("n"), {"id": 3}, request(4, "no/such"), 7], session)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        found = {one["id"]: one for one in answer.json()}
        assert [text_of(found[number]) for number in (1, 2)] == ["1", "2"]
        assert [found[number]["error"]["code"] for number in (3, 4, None)] == [-32600, -32601, -32600]
        assert len(answer.json()) == 5

    def test_without_requests_are_taken(self, http: Http, session: Headers):
        taken = http.post([notification("n"), cancelled(1), {"jsonrpc": "2.0", "id": 1, "result": {}}], session)
        assert (taken.status_code, taken.content) == (202, b"")

    def test_come_after_the_progress_of_their_requests(self, http: Http, session: Headers):
        counting = call(1, "count", steps=2)
        counting["params"]["_meta"] = {"progressToken": "t"}
        with http.stream([counting, request(2, "ping")], session) as events:
            *progress, answers = events
        assert [one["params"]["progress"] for one in progress] == [1, 2]
        assert [one["id"] for one in answers] == [1, 2]

    def test_run_their_requests_side_by_side_and_each_can_be_cancelled(self, http: Http, session: Headers, name: str):
        batch = [
            call(1, "hold", name=name),
            call(2, "wait_until", name=name, state="cancelled"),
            call(3, "hold", name=""),
        ]
        found: list[httpx.Response] = []
        post = threading.Thread(target=lambda: found.append(http.post([*batch, cancelled(3)], session)))
        post.start()
        assert http.ask(call(4, "wait_until", name=name, state="holding"), **http.session())
        assert status(http, cancelled(1), session) == 202
        post.join(timeout=WAIT)
        assert [one["id"] for one in found[0].json()] == [2]

    def test_end_when_their_client_goes_away(self, http: Http, session: Headers, name: str):
        counting = call(1, "count", steps=1)
        counting["params"]["_meta"] = {"progressToken": "t"}
        with http.stream([counting, call(2, "hold", name=name)], session) as events:
            next(events)
            assert http.ask(call(3, "wait_until", name=name, state="holding"), **http.session())
        assert http.ask(call(4, "wait_until", name=name, state="cancelled"), **http.session())

    def test_that_are_empty_or_too_long_are_refused(self, http: Http, session: Headers):
        assert [status(http, batch, session) for batch in ([], [request(1, "ping")] * 1001)] == [400, 400]

    def test_belong_to_a_session_that_exists(self, http: Http, session: Headers):
        batch = [request(1, "ping")]
        assert status(http, batch, {}) == 400
        assert status(http, batch, session | {"mcp-session-id": "no such"}) == 404

    @pytest.mark.parametrize("version", ["2026-07-28", "2099-01-01"])
    def test_are_of_this_era_only(self, http: Http, session: Headers, version: str):
        assert status(http, [request(1, "ping")], session | {"mcp-protocol-version": version}) == 400


def test_the_session_that_was_silent_longest_makes_room():
    with Http("--sessions", "2") as server:
        first, second = server.session(), server.session()
        with server.stream(None, second) as events:
            assert status(server, request(1, "ping"), first) == 200
            third = server.session()
            assert list(events) == []
        assert [status(server, request(1, "ping"), one) for one in (first, second, third)] == [200, 404, 200]
