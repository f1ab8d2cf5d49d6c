"""What a client sends on stdio, and what comes back: an answer where the protocol wants one, never anything else."""

import json
from typing import Any

import pytest

from server.clients import NEW, Stdio, call, cancelled, new_call, notification, request, stateless, text_of

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603


def code_of(message: dict[str, Any]) -> int:
    return message["error"]["code"]


def assert_nothing_came(stdio: Stdio) -> None:
    """The next answer is to a request sent now: nothing was said before it."""
    stdio.send(request("and now", "ping"))
    assert stdio.read() == {"jsonrpc": "2.0", "id": "and now", "result": {}}


def test_what_is_no_message_is_answered_and_the_next_one_served(stdio: Stdio):
    hostile = {
        b"nonsense": (None, PARSE_ERROR),
        b"{": (None, PARSE_ERROR),
        b"\xff\xfe\x00": (None, PARSE_ERROR),
        b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}': (None, PARSE_ERROR),
        b"[" * 100_000: (None, PARSE_ERROR),
        b"7": (None, INVALID_REQUEST),
        b"null": (None, INVALID_REQUEST),
        b"{}": (None, INVALID_REQUEST),
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}': (1, INVALID_REQUEST),
        b'{"jsonrpc":"2.0","id":2,"method":7}': (2, INVALID_REQUEST),
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}': (None, INVALID_REQUEST),
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}': (None, INVALID_REQUEST),
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}': (None, INVALID_REQUEST),
    }
    for line, expected in hostile.items():
        stdio.write(line + b"\n")
        answer = stdio.read()
        assert (answer["id"], code_of(answer)) == expected, line[:60]
        assert_nothing_came(stdio)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such", {}, METHOD_NOT_FOUND),
        ("no/such", [], METHOD_NOT_FOUND),
        ("", {}, METHOD_NOT_FOUND),
        ("notifications/cancelled", {"requestId": 1}, METHOD_NOT_FOUND),
        ("server/discover", {}, METHOD_NOT_FOUND),
        ("subscriptions/listen", {}, METHOD_NOT_FOUND),
        ("tools/call", {}, INVALID_PARAMS),
        ("tools/call", [], INVALID_PARAMS),
        ("tools/call", "echo", INVALID_PARAMS),
        ("tools/call", {"name": 7}, INVALID_PARAMS),
        ("tools/call", {"name": "echo", "_meta": 7}, INVALID_PARAMS),
        ("tools/call", {"name": "echo", "_meta": {"progressToken": []}}, INVALID_PARAMS),
        ("tools/call", {"name": "no such tool"}, INVALID_PARAMS),
        ("tools/list", {"cursor": 7}, INVALID_PARAMS),
        ("resources/read", {"uri": None}, INVALID_PARAMS),
        ("prompts/get", {"name": "test_simple_prompt", "arguments": {"a": 1}}, INVALID_PARAMS),
        ("logging/setLevel", {"level": "loud"}, INVALID_PARAMS),
        ("initialize", {}, INVALID_PARAMS),
        ("initialize", {"protocolVersion": 7}, INVALID_PARAMS),
        ("completion/complete", {"ref": {}}, INVALID_PARAMS),
    ],
)
def test_a_request_that_cannot_be_served_is_refused_under_its_id(stdio: Stdio, method: str, params: Any, code: int):
    answer = stdio.ask({"jsonrpc": "2.0", "id": "it", "method": method, "params": params})
    assert code_of(answer) == code
    assert_nothing_came(stdio)


def test_nothing_is_ever_said_to_a_notification_or_an_answer(stdio: Stdio):
    stdio.send(
        notification("notifications/initialized"),
        notification("notifications/initialized"),
        notification("no/such"),
        notification("tools/call", {"name": "echo", "arguments": {"text": "x"}}),
        notification("ping"),
        notification("notifications/cancelled"),
        cancelled("never asked"),
        cancelled(None),
        cancelled({"a": 1}),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1, 2]},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 7},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "bn-1", "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}},
        {"jsonrpc": "2.0", "error": {"code": -32700, "message": "what?"}},
    )
    stdio.write(b"\n\r\n   \n")
    assert_nothing_came(stdio)


@pytest.mark.parametrize(
    "raw_id", [b"0", b"-0", b"1.50", b"1e999", b"9" * 400, b'""', b'"\\u0061"', b'"\\/\\n"', '"é\u2028😀"'.encode()]
)
def test_an_id_of_any_kind_comes_back_byte_for_byte(stdio: Stdio, raw_id: bytes):
    stdio.write(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}\n' % raw_id)
    assert stdio.line() == b'{"jsonrpc":"2.0","id":%b,"result":{}}' % raw_id
    stdio.write(b'{"jsonrpc":"2.0","id": %b ,"method":"no/such"}\n' % raw_id)
    assert stdio.line().startswith(b'{"jsonrpc":"2.0","id":%b,"error":' % raw_id)


def test_a_message_may_arrive_in_pieces_and_end_in_any_newline(stdio: Stdio):
    for byte in json.dumps(request(1, "ping")).encode() + b"\r\n":
        stdio.write(bytes([byte]))
    assert stdio.read()["id"] == 1


def test_text_passes_unchanged_and_half_a_character_is_replaced(stdio: Stdio):
    text = 'é 😀 \u2028 \x00 \\ " \n end'
    assert text_of(stdio.ask(call(1, "echo", text=text))) == text
    assert text_of(stdio.ask(call(2, "echo", text="cut \ud83d"))) == "cut \ufffd"


def test_a_result_that_others_wrote_over_several_lines_is_one_line(stdio: Stdio):
    assert stdio.ask(call(1, "pretty"))["result"]["structuredContent"] == {"a": 1, "b": 2}


def test_a_defect_in_a_tool_is_an_internal_error_and_told_on_standard_error(stdio: Stdio):
    answer = stdio.ask(call(1, "break_down"))
    assert (code_of(answer), answer["error"]["message"]) == (INTERNAL_ERROR, "internal error: ZeroDivisionError")
    assert "ZeroDivisionError: a defect" in stdio.said
    assert_nothing_came(stdio)


def test_what_others_write_to_standard_output_goes_to_standard_error(stdio: Stdio):
    assert text_of(stdio.ask(call(1, "stray"))) == "ok"
    assert stdio.seen == []
    assert_nothing_came(stdio)
    assert stdio.said.splitlines() == ["a stray print", "a stray write", "a stray child"]


def test_requests_are_answered_as_they_finish(stdio: Stdio):
    stdio.send(call(1, "hold", name="a"), call(2, "hold", name="b"), call(3, "echo", text="quick"))
    assert stdio.read()["id"] == 3
    stdio.send(call(4, "release", name="b"))
    assert {stdio.read()["id"], stdio.read()["id"]} == {4, 2}
    stdio.send(call(5, "release", name="a"))
    assert {stdio.read()["id"], stdio.read()["id"]} == {5, 1}


def test_a_cancelled_request_ends_its_tool_and_is_never_answered(stdio: Stdio):
    stdio.send(call(1, "hold", name="a"), call(2, "wait_until", name="a", state="holding"))
    assert stdio.read()["id"] == 2
    stdio.send(cancelled(1), cancelled(1), call(3, "wait_until", name="a", state="cancelled"))
    assert stdio.read()["id"] == 3
    stdio.send(cancelled(1), cancelled(2), cancelled(3))
    assert_nothing_came(stdio)


def test_a_cancellation_that_comes_with_its_request_is_in_time(stdio: Stdio):
    stdio.send(call("a", "hold", name="a"), cancelled("a"))
    assert_nothing_came(stdio)


def test_an_id_cancels_only_the_request_that_has_it(stdio: Stdio):
    stdio.send(call(1, "hold", name="a"), call("1", "hold", name="b"), call(2, "wait_until", name="b", state="holding"))
    assert stdio.read()["id"] == 2
    stdio.send(cancelled("1"), call(3, "wait_until", name="b", state="cancelled"))
    assert stdio.read()["id"] == 3
    stdio.send(call(4, "release", name="a"))
    assert {stdio.read()["id"], stdio.read()["id"]} == {4, 1}


def test_of_two_requests_with_one_id_the_later_can_be_cancelled_when_the_first_is_over(stdio: Stdio):
    stdio.send(call(1, "hold", name="a"), call(1, "hold", name="b"), call(2, "release", name="a"))
    assert sorted([stdio.read()["id"], stdio.read()["id"]]) == [1, 2]
    stdio.send(cancelled(1), call(3, "wait_until", name="b", state="cancelled"))
    assert stdio.read()["id"] == 3


class TestBatches:
    def test_are_answered_in_one_line(self, stdio: Stdio):
        stdio.send([request(1, "ping"), notification("n"), {"id": 2}, request(3, "no/such"), [request(4, "ping")], 7])
        answers = stdio.read()
        assert isinstance(answers, list)
        assert sorted((str(one["id"]), "result" in one) for one in answers) == [
            ("1", True),
            ("2", False),
            ("3", False),
            ("None", False),
            ("None", False),
        ]
        assert_nothing_came(stdio)

    def test_without_requests_are_not_answered(self, stdio: Stdio):
        stdio.send([notification("n"), cancelled(1), {"jsonrpc": "2.0", "id": 1, "result": {}}])
        assert_nothing_came(stdio)

    def test_that_are_empty_or_too_long_are_one_error(self, stdio: Stdio):
        stdio.send([])
        assert code_of(stdio.read()) == INVALID_REQUEST
        stdio.send([1] * 1001)
        assert code_of(stdio.read()) == INVALID_REQUEST
        stdio.write(b"[" * 400 + b"]" * 400 + b"\n")
        assert [code_of(one) for one in stdio.read()] == [INVALID_REQUEST]
        assert_nothing_came(stdio)

    def test_run_their_requests_side_by_side_and_each_can_be_cancelled(self, stdio: Stdio):
        stdio.send([call(1, "hold", name="a"), call(2, "hold", name="b"), call(3, "echo", text="c")])
        assert stdio.ask(call(4, "wait_until", name="b", state="holding"))
        stdio.send(cancelled(2))
        assert stdio.ask(call(5, "wait_until", name="b", state="cancelled"))
        stdio.send(call(6, "release", name="a"))
        found = [stdio.read(), stdio.read()]
        batch = next(one for one in found if isinstance(one, list))
        assert sorted(one["id"] for one in batch) == [1, 3]

    def test_that_are_cancelled_as_they_come_are_not_answered(self, stdio: Stdio):
        stdio.send([call(1, "hold", name="a"), call(2, "hold", name="b")], cancelled(1), cancelled(2))
        assert_nothing_came(stdio)


class TestLongLines:
    @pytest.fixture
    def short(self):
        with Stdio("stdio", "--line-limit", "1000") as server:
            yield server

    def line(self, length: int) -> bytes:
        start, end = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"text":"', b'"}}'
        return start + b"x" * (length - len(start) - len(end)) + end

    @pytest.mark.parametrize("length", [1001, 5000, 300_000])
    def test_over_the_limit_are_refused_once_and_the_next_is_served(self, short: Stdio, length: int):
        short.write(self.line(length) + b"\n")
        answer = short.read()
        assert (answer["id"], code_of(answer)) == (None, INVALID_REQUEST)
        assert "1000 bytes" in answer["error"]["message"]
        assert_nothing_came(short)
        short.write(self.line(length) + b"\n" + self.line(length) + b"\n" + self.line(999) + b"\n")
        assert [short.read()["id"] for _ in range(3)] == [None, None, 1]
        assert_nothing_came(short)

    def test_at_the_limit_are_served(self, short: Stdio):
        short.write(self.line(1000) + b"\n")
        assert short.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}

    def test_that_come_in_pieces_are_refused_once(self, short: Stdio):
        for _ in range(20):
            short.write(b"x" * 700)
        short.write(b"\n")
        assert code_of(short.read()) == INVALID_REQUEST
        assert_nothing_came(short)


class TestVersions:
    @pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
    def test_of_the_handshake_era_are_agreed_on(self, stdio: Stdio, version: str):
        result = stdio.initialize(version)["result"]
        assert result["protocolVersion"] == version
        assert (result["serverInfo"]["name"], result["instructions"]) == ("fixture", "A server for tests.")
        assert stdio.ask(request(1, "tools/list"))["result"].keys() == {"tools"}

    @pytest.mark.parametrize("version", ["1900-01-01", "2099-01-01", "", NEW])
    def test_that_are_unknown_are_answered_with_the_latest_of_that_era(self, stdio: Stdio, version: str):
        assert stdio.initialize(version)["result"]["protocolVersion"] == "2025-11-25"

    def test_of_the_stateless_era_need_no_beginning(self, stdio: Stdio):
        found = stdio.ask(request(1, "server/discover", stateless()))["result"]
        assert (found["supportedVersions"], found["resultType"]) == ([NEW], "complete")
        assert "logging" in found["capabilities"]
        listed = stdio.ask(request(2, "tools/list", stateless()))["result"]
        assert (listed["ttlMs"], listed["cacheScope"], listed["resultType"]) == (0, "private", "complete")

    def test_that_are_not_spoken_are_refused_with_those_that_are(self, stdio: Stdio):
        params = stateless(**{"io.modelcontextprotocol/protocolVersion": "2099-01-01"})
        error = stdio.ask(request(1, "tools/list", params))["error"]
        assert (error["code"], error["data"]) == (-32022, {"supported": [NEW], "requested": "2099-01-01"})

    @pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/subscribe"])
    def test_know_only_their_own_methods(self, stdio: Stdio, method: str):
        assert code_of(stdio.ask(request(1, method, stateless()))) == METHOD_NOT_FOUND

    def test_may_be_mixed_on_one_stream(self, stdio: Stdio):
        stdio.initialize()
        assert text_of(stdio.ask(call(1, "introduce"))) == "t of handshake"
        assert text_of(stdio.ask(new_call(2, "introduce"))) == "None of stateless"
        named = stateless({"name": "introduce"}, **{"io.modelcontextprotocol/clientInfo": {"name": "n"}})
        assert text_of(stdio.ask(request(3, "tools/call", named))) == "n of stateless"
        assert text_of(stdio.ask(call(4, "introduce"))) == "t of handshake"

    def test_that_want_capabilities_named_refuse_a_request_without(self, stdio: Stdio):
        params = {"_meta": {"io.modelcontextprotocol/protocolVersion": NEW}}
        assert code_of(stdio.ask(request(1, "tools/list", params))) == INVALID_PARAMS
