"""Resources and prompts of other servers through a real `bn mcp serve`, whatever eras the two sides are of."""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import bn  # noqa: F401 - fixtures, all of them
from scenarios.agents import TOKEN, Agent, HttpAgent, StdioAgent
from scenarios.conftest import connect  # noqa: F401
from server.clients import Message, Stdio, request, stateless, wait_for

STOCKED = str(Path(__file__).with_name("stocked.py"))
OWN = ["binnacle://status", "binnacle://agents"]
UPDATED = "notifications/resources/updated"

in_each_era = pytest.mark.parametrize("era", [(), ("--new",)], ids=["handshake", "stateless"])


def flag(name: str, *words: str) -> tuple[str, str]:
    return "--mcp-server", f"{name}={sys.executable} {STOCKED} --name {name} {' '.join(words)}"


def uris(agent: Agent) -> list[str]:
    return [one["uri"] for one in agent.ask("resources/list")["resources"]]


def prompt_names(agent: Agent) -> list[str]:
    return [one["name"] for one in agent.ask("prompts/list")["prompts"]]


def until_there(agent: Agent, *servers: str) -> None:
    """Waits until the content of these servers has joined, and their tools."""
    for name in servers:
        wait_for(lambda name=name: f"memo://{name}/own" in uris(agent), f"{name} has nothing")
        wait_for(lambda name=name: f"mcp_{name}_touch" in agent.tools(), f"{name} has no tools")


def refused(agent: Agent, method: str, params: Message) -> Message:
    return agent.exchange(request("refused", method, params))["error"]


@contextmanager
def heard(agent: Agent) -> Generator[Iterator[Message]]:
    """What the server tells an agent on its own."""
    if isinstance(agent, StdioAgent):
        yield _read(agent.server)
    else:
        assert isinstance(agent, HttpAgent)
        headers = {**agent._headers, "authorization": f"Bearer {TOKEN}"}
        with agent.server.stream(None, headers) as events:
            yield events


def _read(server: Stdio) -> Iterator[Message]:
    while True:
        yield server.seen.pop(0) if server.seen else server.read()


def wait_to_hear(events: Iterator[Message], method: str) -> Any:
    return next(message["params"] for message in events if message.get("method") == method)


@in_each_era
class TestReading:
    def test_content_joins_what_is_there(self, connect, era):  # noqa: F811
        agent = connect(*flag("stock", *era))
        until_there(agent, "stock")
        assert uris(agent) == [*OWN, "memo://shared", "memo://stock/own"]
        (shared,) = [one for one in agent.ask("resources/list")["resources"] if one["uri"] == "memo://shared"]
        assert shared == {"uri": "memo://shared", "name": "shared", "mimeType": "text/plain", "x-unknown": [1, 2.5]}
        templates = agent.ask("resources/templates/list")["resourceTemplates"]
        assert templates == [{"uriTemplate": "stock://{shelf}/{book}", "name": "book"}]
        (greet,) = [one for one in agent.ask("prompts/list")["prompts"] if one["name"].startswith("mcp_")]
        arguments = [{"name": "who", "required": True}]
        assert greet == {"name": "mcp_stock_greet", "description": "Greets.", "arguments": arguments}

    def test_a_resource_is_passed_on_as_it_came(self, connect, era):  # noqa: F811
        agent = connect(*flag("stock", *era))
        until_there(agent, "stock")
        for uri in ("memo://shared", "stock://top/third"):
            read = agent.ask("resources/read", {"uri": uri})
            content = {"uri": uri, "mimeType": "text/plain", "text": f"stock has {uri}", "x-extra": {"kept": 1.5}}
            assert read["contents"] == [content]
            assert read["_meta"]["example.com/from"] == "stock"
            assert "resultType" not in read
        assert agent.ask("resources/read", {"uri": "binnacle://status"})["contents"][0]["mimeType"]

    def test_a_client_of_the_new_era_reads_too(self, bn, era):  # noqa: F811
        with StdioAgent(bn, *flag("stock", *era), env={}) as agent:
            until_there(agent, "stock")
            read = agent.ask("resources/read", stateless({"uri": "memo://shared"}))
            assert (read["resultType"], read["cacheScope"]) == ("complete", "private")
            assert read["_meta"]["example.com/from"] == "stock"
            assert read["contents"][0]["text"] == "stock has memo://shared"
            prompt = agent.ask("prompts/get", stateless({"name": "mcp_stock_greet", "arguments": {"who": "ann"}}))
            assert (prompt["resultType"], prompt["x-more"]) == ("complete", True)

    def test_what_is_missing_is_said_in_the_words_of_the_clients_era(self, bn, connect, era):  # noqa: F811
        agent = connect(*flag("stock", *era))
        until_there(agent, "stock")
        with StdioAgent(bn, *flag("gone", *era), *flag("stock", "--gone", *era), env={}) as other:
            until_there(other, "stock", "gone")
            error = refused(other, "resources/read", {"uri": "stock://top/third"})
            assert (error["code"], error["data"]) == (-32002, {"uri": "stock://top/third"})
            error = refused(other, "resources/read", stateless({"uri": "stock://top/third"}))
            assert (error["code"], error["data"]) == (-32602, {"uri": "stock://top/third"})
        assert refused(agent, "resources/read", {"uri": "memo://nobody"})["code"] == -32002
        assert refused(agent, "resources/read", {"uri": "stock://a/b/c"})["code"] == -32002, "fits no template"

    def test_a_prompt_is_got_from_its_server(self, connect, era):  # noqa: F811
        agent = connect(*flag("stock", *era), *flag("other"))
        until_there(agent, "stock", "other")
        for name in ("stock", "other"):
            found = agent.ask("prompts/get", {"name": f"mcp_{name}_greet", "arguments": {"who": "ann"}})
            assert found["messages"][0]["content"]["text"] == f"{name} greets ann"
            assert found["x-more"] is True
        assert refused(agent, "prompts/get", {"name": "mcp_stock_nothing"})["code"] == -32602

    def test_completion_goes_where_the_prompt_or_the_template_is(self, connect, era):  # noqa: F811
        agent = connect(*flag("stock", *era), *flag("other"))
        until_there(agent, "stock", "other")

        def completed(ref: Message, **context: Any) -> list[str]:
            params = {"ref": ref, "argument": {"name": "who", "value": "an"}, **context}
            return agent.ask("completion/complete", params)["completion"]["values"]

        assert completed({"type": "ref/prompt", "name": "mcp_stock_greet"}) == ["stock greet an"]
        assert completed({"type": "ref/prompt", "name": "mcp_other_greet"}) == ["other greet an"]
        ref = {"type": "ref/resource", "uri": "stock://{shelf}/{book}"}
        assert completed(ref, context={"arguments": {"shelf": "top"}}) == ["stock stock://{shelf}/{book} antop"]

    def test_changes_of_a_resource_are_told_to_who_follows_it(self, connect, era):  # noqa: F811
        agent = connect(*flag("stock", *era))
        until_there(agent, "stock")
        for uri in ("memo://shared", "stock://top/third"):
            agent.ask("resources/subscribe", {"uri": uri})
        with heard(agent) as events:
            assert agent.result("mcp_stock_touch")["content"][0]["text"] == "memo://shared stock://top/third"
            assert wait_to_hear(events, UPDATED)["uri"] == "memo://shared"
            assert wait_to_hear(events, UPDATED)["uri"] == "stock://top/third"
        agent.ask("resources/unsubscribe", {"uri": "memo://shared"})
        assert agent.result("mcp_stock_touch")["content"][0]["text"] == "stock://top/third"

    def test_a_server_that_comes_back_is_told_again_what_is_followed(self, connect, era):  # noqa: F811
        agent = connect(*flag("stock", *era))
        until_there(agent, "stock")
        agent.ask("resources/subscribe", {"uri": "memo://shared"})
        assert agent.result("mcp_stock_die")["isError"]
        wait_for(
            lambda: agent.result("mcp_stock_touch")["content"][0]["text"] == "memo://shared", "nobody follows any more"
        )

    def test_new_prompts_and_resources_are_announced(self, connect, era):  # noqa: F811
        agent = connect(*flag("stock", *era))
        until_there(agent, "stock")
        assert "mcp_stock_new" not in prompt_names(agent)
        with heard(agent) as events:
            agent.result("mcp_stock_grow")
            changed = {f"notifications/{what}/list_changed" for what in ("prompts", "resources")}
            while changed:
                changed.discard(next(events).get("method", ""))
            wait_for(lambda: "mcp_stock_new" in prompt_names(agent), "no new prompt")
            wait_for(lambda: "memo://new" in uris(agent), "no new resource")


def test_of_two_resources_with_one_uri_the_first_configured_counts(connect):  # noqa: F811
    agent = connect(*flag("zebra"), *flag("ant"))
    until_there(agent, "zebra", "ant")
    assert uris(agent).count("memo://shared") == 1
    assert agent.ask("resources/read", {"uri": "memo://shared"})["contents"][0]["text"] == "zebra has memo://shared"


def test_a_client_of_the_new_era_hears_of_changes(bn):  # noqa: F811
    with StdioAgent(bn, *flag("stock"), env={}) as agent:
        until_there(agent, "stock")
        wanted = {"notifications": {"resourceSubscriptions": ["memo://shared"]}}
        agent.server.send(request("listen", "subscriptions/listen", stateless(wanted)))
        wait_for(lambda: agent.result("mcp_stock_touch")["content"][0]["text"] == "memo://shared", "nobody follows it")
        assert wait_to_hear(_read(agent.server), UPDATED)["uri"] == "memo://shared"


def test_a_recipe_without_upstreams_has_nothing_of_them(connect):  # noqa: F811
    agent = connect("--recipe", "chat", *flag("stock"))
    assert uris(agent) == OWN
    assert prompt_names(agent) == ["session"]
    assert agent.ask("resources/templates/list") == {"resourceTemplates": []}
    assert refused(agent, "resources/read", {"uri": "memo://shared"})["code"] == -32002


def test_a_server_that_is_down_is_named(connect):  # noqa: F811
    agent = connect(*flag("stock", "--dying"))
    until_there(agent, "stock")
    error = refused(agent, "prompts/get", {"name": "mcp_stock_greet", "arguments": {"who": "ann"}})
    assert error["data"]["code"].startswith("E_UPSTREAM")
    assert "stock" in error["message"]
