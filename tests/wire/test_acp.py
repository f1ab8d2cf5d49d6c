"""Messages of the Agent Client Protocol: written as it wants them, read from programs that do not."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.wire import acp
from binnacle.wire.jsonrpc import RpcError, encode
from binnacle.wire.mcp import decode_params


def written(value: object) -> dict:
    return json.loads(encode(value))


class TestWritten:
    def test_a_client_says_in_full_what_it_offers(self):
        params = acp.Initialize(protocol_version=1, client_capabilities=acp.ClientCapabilities())
        assert written(params)["clientCapabilities"] == {
            "fs": {"readTextFile": False, "writeTextFile": False},
            "terminal": False,
        }

    def test_headers_and_variables_are_arrays_also_when_empty(self):
        http = acp.HttpMcpServer(name="x", url="u", headers=())
        stdio = acp.StdioMcpServer(name="y", command="c", args=(), env=())
        assert written(acp.NewSession(cwd="/", mcp_servers=(http, stdio)))["mcpServers"] == [
            {"type": "http", "name": "x", "url": "u", "headers": []},
            {"name": "y", "command": "c", "args": [], "env": []},
        ]

    def test_what_is_absent_is_not_written(self):
        update = acp.ToolCallChanged(tool_call_id="c", status="completed")
        assert written(acp.SessionUpdate(session_id="s", update=update)) == {
            "sessionId": "s",
            "update": {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"},
        }

    def test_an_outcome_says_which(self):
        assert written(acp.Permission(outcome=acp.PermissionCancelled())) == {"outcome": {"outcome": "cancelled"}}
        assert written(acp.PermissionSelected(option_id="a")) == {"outcome": "selected", "optionId": "a"}


class TestRead:
    def test_servers_are_read_as_they_were_written(self):
        servers = (
            acp.HttpMcpServer(name="x", url="u", headers=(acp.NameValue(name="A", value="b"),)),
            acp.StdioMcpServer(name="y", command="c", args=("d",), env=()),
        )
        params = encode(acp.LoadSession(session_id="s", cwd="/", mcp_servers=servers))
        assert acp.servers_of(decode_params(params, acp.LoadSession)) == servers

    @pytest.mark.parametrize("server", [{"type": "sse", "name": "x", "url": "u"}, {"name": "x"}, 7])
    def test_other_servers_are_refused(self, server):
        with pytest.raises(RpcError, match="mcpServers"):
            acp.servers_of(acp.NewSession(cwd="/", mcp_servers=(server,)))

    def test_unknown_fields_words_and_nulls_are_no_hindrance(self):
        raw = (
            b'{"protocolVersion":1,"agentCapabilities":{"loadSession":null,"mcpCapabilities":null,"news":{"x":1}},'
            b'"authMethods":null,"agentInfo":{"name":"a","_meta":null},"more":[]}'
        )
        assert msgspec.json.decode(raw, type=acp.Initialized).protocol_version == 1
        assert msgspec.json.decode(b'{"stopReason":"boredom"}', type=acp.PromptAnswer).stop_reason == "boredom"

    @pytest.mark.parametrize(
        ("update", "kind"),
        [
            ({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}, acp.MessageChunk),
            ({"sessionUpdate": "agent_message_chunk", "content": {"type": "hologram", "x": 1}}, acp.MessageChunk),
            ({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "kind": "dance"}, acp.ToolCallStarted),
            ({"sessionUpdate": "tool_call", "toolCallId": "c", "content": [{"type": "diff"}]}, acp.ToolCallStarted),
            ({"sessionUpdate": "usage_update", "used": 1, "size": None}, acp.UsageUpdate),
            ({"sessionUpdate": "mood"}, acp.OtherUpdate),
            ({"sessionUpdate": "tool_call"}, acp.OtherUpdate),
            ({}, acp.OtherUpdate),
        ],
    )
    def test_an_update_is_what_it_says_or_another(self, update, kind):
        session_id, found = acp.read_session_update(encode({"sessionId": "s", "update": update}))
        assert session_id == "s"
        assert isinstance(found, kind)

    @pytest.mark.parametrize("params", [b"{}", b"[]", b'{"sessionId":1,"update":{}}', b'{"sessionId":"s","update":7}'])
    def test_what_is_no_update_is_refused(self, params):
        with pytest.raises(RpcError, match="invalid params"):
            acp.read_session_update(params)

    @given(st.dictionaries(st.text(), st.recursive(st.none() | st.text() | st.integers(), st.lists, max_leaves=5)))
    def test_any_object_is_an_update_of_some_kind(self, update):
        sent = encode({"sessionId": "s", "update": {**update, "sessionUpdate": "tool_call"}})
        session_id, _ = acp.read_session_update(sent)
        assert session_id == "s"
