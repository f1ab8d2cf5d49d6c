"""Servers that are careless about the protocol, behind a real `bn mcp serve`: clients can read all that we send."""

import json
from pathlib import Path
from typing import Any

import pytest

from scenarios.agents import Agent
from server.clients import wait_for
from server.upstreams.servers import Servers, careless, said, wait_for_tool
from upstream.faults_of_entries import HELD_BACK, LISTED, OBJECT, SHOWN

LIMIT = 10_000
NUMBER = {"type": "object", "properties": {"value": {"type": "number"}}, "required": ["value"]}


@pytest.fixture
def says(tmp_path: Path) -> Any:
    """Writes what a server lists and answers; returns the file."""

    def write(**content: Any) -> Path:
        path = tmp_path / "says.json"
        path.write_text(json.dumps(content))
        return path

    return write


def a_tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": OBJECT, **more}


def all_text(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


class TestLists:
    def test_everything_that_is_listed_is_as_the_protocol_says(self, connect, servers: Servers, says):
        servers(one=careless(says(**LISTED)))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_good")
        listed = agent.tools()
        assert "bn_run" in listed
        shown = [{**listed[f"mcp_one_{tool['name']}"], "name": tool["name"]} for tool in SHOWN["tools"]]
        assert shown == SHOWN["tools"]
        assert not [name for name in listed if name.startswith("mcp_one_input_of")]
        prompts = [one for one in agent.ask("prompts/list")["prompts"] if one["name"].startswith("mcp_one_")]
        assert [{**one, "name": one["name"].removeprefix("mcp_one_")} for one in prompts] == SHOWN["prompts"]
        resources = agent.ask("resources/list")["resources"]
        assert [one for one in resources if one["uri"].startswith("careless:")] == SHOWN["resources"]
        assert agent.ask("resources/templates/list")["resourceTemplates"] == SHOWN["templates"]

    def test_what_was_repaired_can_be_called(self, connect, servers: Servers, says):
        servers(one=careless(says(**LISTED)))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_no_schema")
        assert said(agent, "mcp_one_no_schema") == "no_schema"

    def test_doctor_says_what_was_left_out_repaired_and_held_back(self, bn, servers: Servers, says):
        servers(one=careless(says(**LISTED)))
        done = bn.run("upstream", "doctor")
        assert done.code == 0
        (one,) = done.json["servers"]
        assert set(HELD_BACK) <= set(one["notes"])
        assert "nulls, odd_hints: annotations" not in one["notes"]
        assert "nulls: outputSchema left out, it is null" in one["notes"]
        assert "empty_schema, loose_schema: inputSchema.type set to object" in one["notes"]
        assert one["tools"] == len(SHOWN["tools"])
        shown = bn.run("upstream", "doctor", "-H").out
        assert all(note in " ".join(shown.split()) for note in HELD_BACK[:3])


class TestResults:
    def test_members_that_are_null_are_left_out(self, connect, servers: Servers, says):
        block = '{"type":"text","text":"hi","annotations":null,"_meta":null}'
        answers = {
            "call": f'{{"content":[{block}],"structuredContent":null,"isError":null,"_meta":null}}',
            "nothing": '{"content":null}',
            "careless://x": '{"contents":[{"uri":"careless://x","text":"in it","mimeType":null,"blob":null}]}',
            "greet": f'{{"description":null,"messages":[{{"role":"user","content":{block}}}]}}',
        }
        resources = [{"uri": "careless://x", "name": "x"}]
        listed = {"tools": [a_tool("call"), a_tool("nothing")], "resources": resources, "prompts": [{"name": "greet"}]}
        servers(one=careless(says(answers=answers, **listed)))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_call")
        plain = {"type": "text", "text": "hi"}
        called = agent.result("mcp_one_call")
        assert called["content"] == [plain]
        assert not {"structuredContent", "isError"} & called.keys()
        assert agent.result("mcp_one_nothing")["content"] == []
        read = agent.ask("resources/read", {"uri": "careless://x"})["contents"]
        assert read == [{"uri": "careless://x", "text": "in it"}]
        prompt = agent.ask("prompts/get", {"name": "mcp_one_greet"})
        assert (prompt["messages"], "description" in prompt) == ([{"role": "user", "content": plain}], False)

    def test_a_cut_result_without_its_promised_structure_is_an_error_with_text_and_file(
        self, connect, servers: Servers, says
    ):
        text = "the beginning " + "x" * 50_000
        structure = {"value": 1, "more": text}
        whole = json.dumps({"content": [{"type": "text", "text": text}], "structuredContent": structure})
        bare = json.dumps({"content": [], "structuredContent": structure})
        tools = [a_tool("long", outputSchema=NUMBER), a_tool("bare", outputSchema=NUMBER), a_tool("free")]
        file = says(tools=tools, answers={"long": whole, "bare": bare, "free": whole})
        servers(one=careless(file, limits={"result_bytes": LIMIT}))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_long")
        for name, beginning in (("long", "the beginning xx"), ("bare", '"more": "the beginning xx')):
            result = agent.result(f"mcp_one_{name}")
            assert (result["isError"], "structuredContent" in result) == (True, False)
            assert "The call succeeded" in all_text(result)
            assert beginning in all_text(result)
            path = all_text(result).partition("in the file ")[2].partition(". ")[0]
            assert json.loads(Path(path).read_text())["structuredContent"] == structure
            assert len(json.dumps(result)) < LIMIT + 1000
        assert not agent.result("mcp_one_free").get("isError")
        assert [one["outcome"] for one in servers.audit()] == ["ok", "ok", "ok"]

    def test_a_result_that_never_had_its_promised_structure_is_an_error_with_its_text(
        self, connect, servers: Servers, says
    ):
        servers(one=careless(says(tools=[a_tool("bare", outputSchema=NUMBER)])))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_bare")
        result = agent.result("mcp_one_bare")
        assert result["isError"]
        assert [block["text"] for block in result["content"]][1:] == ["bare"]

    def test_our_own_error_about_a_tool_that_promises_structure_is_text_alone(self, connect, servers: Servers, says):
        file = says(tools=[a_tool("close", outputSchema=NUMBER)])
        servers(one=careless(file, "closes"))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_close")
        result = agent.result("mcp_one_close")
        assert (result["isError"], "structuredContent" in result) == (True, False)
        assert "one closed its output" in all_text(result)


class TestAnswers:
    @pytest.mark.parametrize("form", ["text", "float"])
    def test_an_id_that_comes_back_in_another_form_is_still_its_request(self, connect, servers: Servers, says, form):
        servers(one=careless(says(tools=[a_tool("echo")]), f"ids={form}", timeout=300))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        assert said(agent, "mcp_one_echo") == "echo"

    def test_numbers_that_json_does_not_have_are_null_and_shown_as_text(self, connect, servers: Servers, says):
        words = '{"type":"text","text":"NaN and \\"Infinity\\""}'
        answer = f'{{"content":[{words}],"structuredContent":{{"value":NaN,"all":[-Infinity,Infinity,1]}}}}'
        tools = [a_tool("plain"), a_tool("promised", outputSchema=NUMBER)]
        answers = {"plain": answer, "promised": answer}
        servers(one=careless(says(tools=tools, answers=answers), timeout=300))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_plain")
        for name in answers:
            result = agent.result(f"mcp_one_{name}")
            assert 'NaN and "Infinity"' in all_text(result)
            assert '{"value":null,"all":[null,null,1]}' in all_text(result)
            assert "structuredContent" not in result
            assert bool(result.get("isError")) == (name == "promised")

    def test_numbers_that_json_does_not_have_do_not_hide_a_list(self, connect, servers: Servers, tmp_path: Path):
        schema = '{"type":"object","properties":{"x":{"type":"number","default":NaN}}}'
        (tmp_path / "nan.json").write_text(f'{{"tools":[{{"name":"odd","inputSchema":{schema}}}]}}')
        servers(one=careless(tmp_path / "nan.json"))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_odd")

    def test_a_living_process_that_closed_its_output_is_replaced_and_its_caller_told_at_once(
        self, connect, servers: Servers, says
    ):
        servers(one=careless(says(tools=[a_tool("close"), a_tool("echo")]), "closes", timeout=300))
        agent: Agent = connect()
        wait_for_tool(agent, "mcp_one_close")
        error = agent.fails("mcp_one_close")
        assert error["code"] == "E_UPSTREAM_DOWN"
        assert error["message"] == "one closed its output, though its process still runs"
        wait_for(lambda: not agent.result("mcp_one_echo").get("isError"), "it does not come back")
