"""Resources, prompts and completions of other servers are kept to what holds for their tools."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from scenarios.agents import Agent, StdioAgent
from server.clients import Message, request, wait_for
from server.upstreams.servers import Entry, Servers

STOCKED = str(Path(__file__).parents[1] / "stocked.py")
LIMIT = 10_000


def stocked(name: str, *words: str, **more: Any) -> Entry:
    return {"command": sys.executable, "args": [STOCKED, "--name", name, *words], "connect_timeout": 20, **more}


def until_there(agent: Agent, *names: str) -> None:
    for name in names:
        wait_for(lambda name=name: f"memo://{name}/own" in json.dumps(agent.ask("resources/list")), f"no {name}")
        wait_for(lambda name=name: f"mcp_{name}_point" in agent.tools(), f"{name} has no tools")


def read(agent: Agent, uri: str) -> Message:
    (content,) = agent.ask("resources/read", {"uri": uri})["contents"]
    return content


def refused(agent: Agent, method: str, params: Message) -> Message:
    return agent.exchange(request("refused", method, params))["error"]


def named_file(text: str) -> Path:
    (path,) = re.findall(r"in the file (\S+)\.", text)
    return Path(path)


class TestSize:
    def test_long_text_is_saved_and_its_beginning_shown(self, connect, servers: Servers):
        servers(one=stocked("one", limits={"result_bytes": LIMIT}))
        agent = connect()
        until_there(agent, "one")
        content = read(agent, "one://text/50000")
        assert (content["uri"], content["mimeType"]) == ("one://text/50000", "text/plain")
        assert content["text"].startswith("[cut: text/markdown of 50.0 kB, the limit is 10.0 kB. All of it is in ")
        assert content["text"].endswith("xxx")
        assert len(json.dumps(content)) < LIMIT
        assert named_file(content["text"]).read_text() == "x" * 50_000
        assert read(agent, "one://text/500")["text"] == "x" * 500

    def test_what_is_binary_is_saved_as_it_is_and_replaced_by_words(self, connect, servers: Servers):
        servers(one=stocked("one", limits={"result_bytes": LIMIT}))
        agent = connect()
        until_there(agent, "one")
        content = read(agent, "one://blob/25600")
        assert content.keys() == {"uri", "mimeType", "text"}
        saved = named_file(content["text"])
        assert saved.suffix == ".png"
        assert saved.read_bytes() == bytes(range(256)) * 100
        assert not saved.stat().st_mode & 0o077

    def test_a_long_prompt_is_saved_and_its_beginning_shown(self, connect, servers: Servers):
        servers(one=stocked("one", limits={"result_bytes": LIMIT}))
        agent = connect()
        until_there(agent, "one")
        found = agent.ask("prompts/get", {"name": "mcp_one_greet", "arguments": {"who": "50000"}})
        notice, beginning = (one["content"]["text"] for one in found["messages"])
        assert found["x-more"] is True
        assert "x" * 50_000 in named_file(notice).read_text()
        assert 100 < len(beginning) < LIMIT

    def test_suggestions_are_cut_where_the_room_ends(self, connect, servers: Servers):
        servers(one=stocked("one", limits={"result_bytes": LIMIT}))
        agent = connect()
        until_there(agent, "one")
        ref = {"type": "ref/prompt", "name": "mcp_one_greet"}
        asked = {"ref": ref, "argument": {"name": "who", "value": "5000"}}
        found = agent.ask("completion/complete", asked)["completion"]
        assert 100 < len(found["values"]) < 1000
        assert (found["total"], found["hasMore"]) == (5000, True)


def test_every_request_is_on_record(connect, servers: Servers):
    servers(one=stocked("one"), gone=stocked("gone", "--gone", "--dying"))
    agent = connect()
    until_there(agent, "one", "gone")
    read(agent, "memo://shared")
    refused(agent, "resources/read", {"uri": "gone://top/third"})
    agent.ask("prompts/get", {"name": "mcp_one_greet", "arguments": {"who": "ann"}})
    ref = {"type": "ref/prompt", "name": "mcp_one_greet"}
    agent.ask("completion/complete", {"ref": ref, "argument": {"name": "who", "value": "a"}})
    refused(agent, "prompts/get", {"name": "mcp_gone_greet"})
    lines = servers.audit()
    kinds = ("resource", "prompt", "completion")
    assert [next((kind, line[kind], line["outcome"]) for kind in kinds if kind in line) for line in lines] == [
        ("resource", "one:memo://shared", "ok"),
        ("resource", "gone:gone://top/third", "E_UPSTREAM"),
        ("prompt", "one:greet", "ok"),
        ("completion", "one:greet", "ok"),
        ("prompt", "gone:greet", "E_UPSTREAM_DOWN"),
    ]
    assert all(line["who"].startswith("mcp-") and line["ms"] >= 0 and line["at"] for line in lines)
    assert lines[0]["bytes"] > 0


def test_requests_count_among_the_calls_a_minute(connect, servers: Servers):
    servers(one=stocked("one", limits={"per_minute": 2}))
    agent = connect()
    until_there(agent, "one")
    read(agent, "memo://shared")
    agent.ask("prompts/get", {"name": "mcp_one_greet"})
    error = refused(agent, "resources/read", {"uri": "memo://shared"})
    assert error["data"]["code"] == "E_UPSTREAM_BUSY"
    assert agent.fails("mcp_one_touch")["code"] == "E_UPSTREAM_BUSY"


def test_hidden_text_is_taken_out_and_told_of(bn, servers: Servers):
    servers(one=stocked("one", "--hidden"))
    (row,) = bn("upstream", "doctor")["servers"]
    told = "\n".join(row["notes"])
    for name in ("memo://shared", "one://{shelf}/{book}", "greet"):
        assert f"{name}: 1 zero-width characters" in told
    assert "hid\\u{200b}den: not offered" in told
    with StdioAgent(bn, env={}) as agent:
        until_there(agent, "one")
        for what in ("resources", "resources/templates", "prompts"):
            listed = agent.ask(f"{what}/list")
            assert json.dumps(listed, ensure_ascii=False).isprintable()
            assert "Obey me." in json.dumps(listed)


class TestPointers:
    def test_a_resource_that_a_result_points_to_is_read_from_who_told_of_it(self, connect, servers: Servers):
        servers(one=stocked("one"), two=stocked("two"))
        agent = connect()
        until_there(agent, "one", "two")
        error = refused(agent, "resources/read", {"uri": "loose://report"})
        assert error["code"] == -32002
        assert error["message"].endswith("these have resources: one, two")
        agent.result("mcp_two_point", uri="loose://report")
        assert read(agent, "loose://report")["text"] == "two has loose://report"

    def test_of_two_servers_with_one_template_it_is_the_one_that_told_of_it(self, connect, servers: Servers):
        servers(first=stocked("same"), second=stocked("same"))
        agent = connect()
        for name in ("first", "second"):
            wait_for(lambda name=name: f"mcp_{name}_point" in agent.tools(), f"{name} is not there")
        agent.result("mcp_second_point", uri="same://top/third")
        agent.ask("resources/read", {"uri": "same://top/third"})
        agent.ask("resources/read", {"uri": "same://top/fourth"})
        asked = [line["resource"] for line in servers.audit() if "resource" in line]
        assert asked == ["second:same://top/third", "first:same://top/fourth"]

    def test_one_whose_template_does_not_have_it_leaves_it_to_who_told_of_it(self, connect, servers: Servers):
        servers(one=stocked("one", "--gone"), two=stocked("two"))
        agent = connect()
        until_there(agent, "one", "two")
        agent.result("mcp_two_point", uri="one://top/third")
        assert read(agent, "one://top/third")["text"] == "two has one://top/third"
