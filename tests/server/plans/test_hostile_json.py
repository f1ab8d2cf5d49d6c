"""JSON that is made to break its reader: a clean error, never an internal one, and the server goes on."""

import json

import pytest

from binnacle.wire.json_limits import MAX_CONTAINERS, MAX_DEPTH, is_too_complex
from cli.conftest import BN
from server.clients import Http, Stdio, request, stateless

INTERNAL_ERROR = -32603

HOSTILE = {
    "digits": "9" * 5000,
    "large": "9" * 30,
    "negative": "-" + "9" * 30,
    "overflow": "1e999",
    "tiny": "1e-999",
    "half": r'"\ud800"',
    "nul": r'"a\u0000b"',
    "null": "null",
    "true": "true",
    "deep": "[" * 100 + "]" * 100,
    "objects": '{"a":' * 100 + "1" + "}" * 100,
    "twice": '{"a":1,"a":2}',
    "escapes": r'"\u001b[2J"',
}


def lists(levels: int) -> str:
    return "[" * levels + "]" * levels


def objects(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


PLACES = {
    "arguments": '{"name":"task_list","arguments":{"status":%s}}',
    "unknown": '{"name":"task_list","arguments":{"no_such":%s}}',
    "instead of arguments": '{"name":"task_list","arguments":%s}',
    "command": '{"name":"bn_run","arguments":{"args":%s}}',
    "meta": '{"name":"task_list","_meta":{"progressToken":1,"x":%s}}',
    "answers": '{"name":"task_list","inputResponses":{"x":%s}}',
}


@pytest.fixture
def served(bn):
    with Stdio(command=[BN, "mcp", "serve"], env=bn.env, cwd=bn.repo) as server:
        server.initialize()
        yield server


def send(server: Stdio, params: str, method: str = "tools/call") -> dict:
    server.write(b'{"jsonrpc":"2.0","id":7,"method":"%b","params":%b}\n' % (method.encode(), params.encode()))
    return server.answer(7)


class TestDepth:
    @pytest.mark.parametrize("levels", [130, 500, 900])
    @pytest.mark.parametrize("place", PLACES.values(), ids=list(PLACES))
    def test_beyond_the_bound_is_no_request_on_stdio(self, served: Stdio, place: str, levels: int):
        for nested in (lists(levels), objects(levels)):
            answer = send(served, place % nested)
            assert (answer["id"], answer["error"]["code"]) == (7, -32600)
        assert "result" in send(served, "{}", "tools/list")

    @pytest.mark.parametrize("levels", [130, 500, 900])
    @pytest.mark.parametrize("place", PLACES.values(), ids=list(PLACES))
    def test_beyond_the_bound_is_no_request_on_http(self, http: Http, place: str, levels: int):
        message = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":%s}'
        for nested in (lists(levels), objects(levels)):
            refused = http.post((message % (place % nested)).encode())
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)
        assert http.post(request(1, "tools/list", stateless())).status_code == 200

    def test_beyond_what_can_be_read_at_all_is_no_json(self, served: Stdio):
        served.write((PLACES["arguments"] % lists(100_000)).encode() + b"\n")
        assert served.read()["error"]["code"] == -32700
        assert "result" in send(served, "{}", "tools/list")

    @pytest.mark.parametrize("build", [lists, objects])
    def test_is_told_exactly(self, build):
        assert not is_too_complex(build(MAX_DEPTH).encode())
        assert is_too_complex(build(MAX_DEPTH + 1).encode())

    def test_in_texts_does_not_count(self):
        assert not is_too_complex(json.dumps(["[" * 1000, '"' + "{" * 1000, "\\" + '"[' * 1000]).encode())

    def test_beside_each_other_does_not_count(self):
        assert not is_too_complex(json.dumps([{"a": [1, 2]}] * 1000).encode())
        assert is_too_complex(b"[%b]" % b",".join([b"[]"] * (MAX_CONTAINERS + 1)))


def test_no_value_of_any_parameter_of_any_tool_is_an_internal_error(served: Stdio, bn):
    send(served, json.dumps({"name": "binnacle-set_agent", "arguments": {"path": str(bn.repo)}}))
    tools = [one for one in send(served, "{}", "tools/list")["result"]["tools"] if "goodbye" not in one["name"]]
    for tool in tools:
        schema = tool["inputSchema"]
        for parameter in schema["properties"]:
            others = "".join(f'"{name}":"x",' for name in schema.get("required", ()) if name != parameter)
            for value in HOSTILE.values():
                params = f'{{"name":"{tool["name"]}","arguments":{{{others}"{parameter}":{value}}}}}'
                answer = send(served, params)
                assert answer.get("error", {}).get("code") != INTERNAL_ERROR, (params, answer)
                assert "internal" not in json.dumps(answer).lower(), (params, answer)
    assert served.said == ""


def test_no_value_in_the_envelope_is_an_internal_error(served: Stdio):
    methods = ("initialize", "prompts/get", "resources/read", "completion/complete", "logging/setLevel", "tools/list")
    fields = ("name", "uri", "cursor", "arguments", "ref", "argument", "level", "_meta", "requestState", "capabilities")
    for method in methods:
        for name in fields:
            for value in HOSTILE.values():
                answer = send(served, f'{{"{name}":{value}}}', method)
                assert answer.get("error", {}).get("code") != INTERNAL_ERROR, (method, name, value, answer)
    assert served.said == ""


def test_of_a_name_that_is_said_twice_the_last_counts_everywhere(served: Stdio):
    served.write(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list","method":"ping"}\n')
    assert served.read() == {"jsonrpc": "2.0", "id": 2, "result": {}}
