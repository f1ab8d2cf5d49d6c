"""The stateless era over HTTP: every request stands alone, and ends when its client goes away."""

import base64
import json
import socket
from typing import Any
from uuid import uuid4

import httpx
import pytest

from server.clients import NEW, WAIT, Http, call, headers_for, new_call, notification, request, stateless, text_of

LISTEN = "subscriptions/listen"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@pytest.fixture
def name() -> str:
    """Of something to hold: the server is shared."""
    return uuid4().hex


def refusal(http: Http, message: Any, **headers: str | None) -> tuple[int, int]:
    """The HTTP status and the code with which a message is refused."""
    answer = http.post(message, {name.replace("_", "-"): value for name, value in headers.items()})
    assert answer.json()["id"] == message["id"]
    return answer.status_code, answer.json()["error"]["code"]


def test_a_request_needs_nothing_before_it(http: Http):
    answer = http.post(new_call(1, "echo", text="hello"))
    assert (answer.status_code, text_of(answer.json())) == (200, "hello")
    assert "mcp-session-id" not in answer.headers


def test_a_server_says_what_it_is_and_has(http: Http):
    result = http.post(request(1, "server/discover", stateless())).json()["result"]
    assert (result["supportedVersions"], result["resultType"], result["ttlMs"]) == ([NEW], "complete", 0)
    assert result["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "fixture"


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_protocol_version": None},
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_method": None},
        {"mcp_method": "tools/list"},
        {"mcp_name": None},
        {"mcp_name": "other"},
        {"mcp_name": "=?base64?b3RoZXI=?="},
        {"mcp_name": "=?base64?nonsense?="},
    ],
    ids=str,
)
def test_a_header_that_differs_from_the_body_is_a_mismatch(http: Http, headers: dict[str, str | None]):
    assert refusal(http, new_call(1, "echo", text="x"), **headers) == (400, -32020)


def test_a_name_may_be_written_in_base64(http: Http):
    wrapped = f"=?base64?{base64.b64encode(b'echo').decode()}?="
    assert http.post(new_call(1, "echo", text="x"), {"mcp-name": wrapped}).status_code == 200


def test_an_argument_that_its_tool_wants_in_a_header_must_be_there(http: Http):
    message = new_call(1, "route", region="us-west1")
    assert http.post(message, {"mcp-param-region": "us-west1"}).status_code == 200
    assert refusal(http, message, mcp_param_region="eu-north1") == (400, -32020)
    assert refusal(http, message) == (400, -32020)
    assert refusal(http, request(1, "tools/call", stateless({"name": "route", "arguments": [7]}))) == (400, -32602)
    assert text_of(http.ask(call(1, "route", region="us-west1"), **http.session())) == "us-west1"


def test_a_version_nobody_speaks_is_refused_with_those_that_are_spoken(http: Http):
    message = request(1, "tools/list", stateless(**{"io.modelcontextprotocol/protocolVersion": "2099-01-01"}))
    assert refusal(http, message) == (400, -32022)
    assert http.post(message).json()["error"]["data"] == {"supported": [NEW], "requested": "2099-01-01"}


def test_a_request_that_says_its_version_only_in_the_header_is_malformed(http: Http):
    assert refusal(http, request(1, "tools/list"), mcp_protocol_version=NEW, mcp_method="tools/list") == (400, -32602)


@pytest.mark.parametrize("method", ["no/such", "initialize", "ping", "logging/setLevel", "resources/subscribe"])
def test_a_method_this_era_does_not_have_is_not_found(http: Http, method: str):
    assert refusal(http, request(1, method, stateless())) == (404, -32601)


def test_errors_have_the_status_that_this_era_wants(http: Http):
    assert refusal(http, request(1, "tools/call", stateless({"name": "echo", "arguments": 7}))) == (400, -32602)
    assert refusal(http, request(1, "resources/read", stateless({"uri": "test://none"}))) == (400, -32602)
    assert refusal(http, new_call(1, "test_missing_capability")) == (400, -32021)


def test_a_session_means_nothing(http: Http):
    assert http.post(new_call(1, "echo", text="x"), {"mcp-session-id": "no such"}).status_code == 200


def test_a_notification_is_taken_and_ignored(http: Http):
    taken = http.post(notification("notifications/cancelled", {"requestId": 1}), {"mcp-protocol-version": NEW})
    assert (taken.status_code, taken.content) == (202, b"")


def test_nothing_is_logged_unless_the_request_asks_for_it(http: Http):
    def logged(**meta: str) -> list[Any]:
        params = stateless({"name": "log", "arguments": {"level": "info", "text": "hello"}}, **meta)
        with http.stream(request(1, "tools/call", params)) as events:
            return [event["params"]["data"] for event in events if "method" in event]

    level = "io.modelcontextprotocol/logLevel"
    assert logged() == []
    assert logged(**{level: "info"}) == ["hello"]
    assert logged(**{level: "error"}) == []
    assert logged(**{level: "no such level"}) == []


def test_the_client_cannot_be_asked_during_a_request(http: Http):
    assert http.ask(new_call(1, "ask_roots"))["error"]["code"] == -32600


class TestGoingAway:
    """The server must not hold a handler for a client that has gone."""

    def post(self, http: Http, message: Any) -> socket.socket:
        url = httpx.URL(http.url)
        body = json.dumps(message).encode()
        headers = {"host": "localhost", "content-length": str(len(body)), **headers_for(message)}
        client = socket.create_connection((url.host, url.port), timeout=WAIT)
        lines = [b"POST /mcp HTTP/1.1", *(f"{key}: {value}".encode() for key, value in headers.items()), b"", body]
        client.sendall(b"\r\n".join(lines))
        return client

    def wait(self, http: Http, name: str, state: str) -> None:
        assert text_of(http.ask(new_call(1, "wait_until", name=name, state=state))) == "ok"

    def test_before_anything_came_back_cancels_the_request(self, http: Http, name: str):
        client = self.post(http, new_call("h", "hold", name=name))
        self.wait(http, name, "holding")
        client.close()
        self.wait(http, name, "cancelled")

    def test_while_a_stream_is_open_cancels_the_request(self, name: str):
        with Http("--keep-alive", "0.05") as server:
            client = self.post(server, new_call("h", "hold", name=name))
            received = b""
            while b": alive" not in received:
                received += client.recv(1000)
            assert b"text/event-stream" in received
            client.close()
            self.wait(server, name, "cancelled")

    def test_from_half_of_a_request_is_not_even_noticed(self, http: Http):
        url = httpx.URL(http.url)
        with socket.create_connection((url.host, url.port), timeout=WAIT) as client:
            client.sendall(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
        assert http.post(new_call(1, "echo", text="x")).status_code == 200

    def test_from_a_stream_of_changes_ends_the_subscription(self, http: Http, name: str):
        uri = f"test://{name}"
        for _ in range(3):
            wanted = stateless({"notifications": {"resourceSubscriptions": [uri]}})
            with http.stream(request("l", LISTEN, wanted)) as events:
                next(events)
                http.post(new_call(1, "touch", uri=uri))
                assert next(events)["params"]["uri"] == uri


class TestListening:
    def listening(self, **wanted: Any) -> Any:
        return request("l", LISTEN, stateless({"notifications": wanted}))

    def test_begins_with_what_was_granted(self, http: Http):
        wanted = {"toolsListChanged": True, "promptsListChanged": False, "resourceSubscriptions": ["test://a"]}
        with http.stream(self.listening(**wanted)) as events:
            assert next(events) == notification(
                "notifications/subscriptions/acknowledged",
                {
                    "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["test://a"]},
                    "_meta": {SUBSCRIPTION: "l"},
                },
            )

    def test_brings_only_what_was_asked_for(self, http: Http, name: str):
        mine = f"test://{name}"
        wanted = {"promptsListChanged": True, "resourcesListChanged": True, "resourceSubscriptions": [mine]}
        with http.stream(self.listening(**wanted)) as events:
            next(events)
            for tool, argument in (
                ("change", {"what": "tools"}),
                ("touch", {"uri": f"{mine}/other"}),
                ("change", {"what": "prompts"}),
                ("change", {"what": "resources"}),
                ("touch", {"uri": mine}),
            ):
                http.post(new_call(1, tool, **argument))
            found = [next(events) for _ in range(3)]
        assert [one["method"].removeprefix("notifications/") for one in found] == [
            "prompts/list_changed",
            "resources/list_changed",
            "resources/updated",
        ]
        assert all(one["params"]["_meta"] == {SUBSCRIPTION: "l"} for one in found)

    def test_may_be_done_twice_under_one_id(self, http: Http, name: str):
        mine = self.listening(resourceSubscriptions=[f"test://{name}"])
        with http.stream(mine) as one, http.stream(mine) as two:
            next(one), next(two)
            http.post(new_call(1, "touch", uri=f"test://{name}"))
            assert next(one) == next(two)

    @pytest.mark.parametrize("wanted", [7, {"toolsListChanged": "yes"}, {"resourceSubscriptions": [7]}])
    def test_to_what_does_not_fit_is_refused(self, http: Http, wanted: Any):
        message = request("l", LISTEN, stateless({"notifications": wanted}))
        assert refusal(http, message) == (400, -32602)

    def test_to_nothing_at_all_is_granted(self, http: Http):
        with http.stream(request("l", LISTEN, stateless())) as events:
            assert next(events)["params"]["notifications"] == {}


class TestState:
    """What a client keeps for the server comes back as it was, or not at all."""

    TOOL = "test_input_required_result_tampered_state"

    def state(self, http: Http, tool: str = TOOL) -> str:
        result = http.ask(new_call(1, tool))["result"]
        assert (result["resultType"], set(result["inputRequests"])) == ("input_required", {"confirm"})
        return result["requestState"]

    def given(self, state: Any, tool: str = TOOL) -> Any:
        return request(2, "tools/call", stateless({"name": tool, "requestState": state}))

    def test_is_taken_as_it_was_given(self, http: Http):
        assert text_of(http.ask(self.given(self.state(http)))) == "state-ok: round-1"

    def test_is_refused_when_it_was_changed(self, http: Http):
        state = self.state(http)
        body, _, signature = state.partition(".")
        other = base64.urlsafe_b64encode(b"round-2").decode()
        for changed in (
            f"{other}.{signature}",
            f"{body}.{signature[:-1]}",
            f"{body}.{'0' * len(signature)}",
            f"{body}.{signature}x",
            f"x{state}",
            body,
            f"{body}.",
            f".{signature}",
            ".",
            "",
            "é",
            "\x00",
        ):
            assert refusal(http, self.given(changed)) == (400, -32602), changed

    def test_is_refused_when_it_is_no_text(self, http: Http):
        for nothing in (7, None, {}, [self.state(http)]):
            assert refusal(http, self.given(nothing)) == (400, -32602)

    def test_is_refused_when_another_tool_was_told_it(self, http: Http):
        state = self.state(http, "test_input_required_result_request_state")
        assert refusal(http, self.given(state)) == (400, -32602)

    def test_is_refused_by_another_server(self, http: Http):
        with Http() as other:
            assert refusal(http, self.given(self.state(other))) == (400, -32602)
