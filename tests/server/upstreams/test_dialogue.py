"""What goes on during a call through a real `bn mcp serve`: questions, progress, second thoughts."""

import itertools
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from binnacle.wire.mcp import CAPABILITIES_KEY
from cli.conftest import BN
from scenarios.agents import TOKEN, HttpAgent, StdioAgent
from server.clients import Message, Stdio, call, cancelled, headers_for, request, stateless, text_of, wait_for
from server.upstreams.servers import rogue, said, wait_for_tool

ELICIT = {"elicitation": {}}
ANSWER = {"action": "accept", "content": {"which": "this"}}


@pytest.fixture(params=["old server", "new server"])
def asking(request, servers) -> None:
    """A server of each era that asks something before it answers."""
    servers(one=rogue(*(["stateless"] if request.param == "new server" else [])))


@pytest.fixture
def client(bn, asking):
    """A client that can be asked, once the server's tools are there."""
    with Stdio(command=[BN, "mcp", "serve"], cwd=bn.repo, env=bn.env) as served:
        served.initialize(**ELICIT)
        numbers = itertools.count(100)

        def is_there():
            listed = served.ask(request(next(numbers), "tools/list"))["result"]["tools"]
            return any(tool["name"] == "mcp_one_ask" for tool in listed)

        wait_for(is_there, "its tools do not come")
        yield served


def new_ask(number, **more):
    given = {"name": "mcp_one_ask", "arguments": {}, **more}
    return request(number, "tools/call", stateless(given, **{CAPABILITIES_KEY: ELICIT}))


def holds_answer(message: Message) -> bool:
    """Whether the server got the answer. One of the new era says with it what it was handed back."""
    found = json.loads(text_of(message))
    return found in (ANSWER, [ANSWER, "kept"])


class TestQuestions:
    def test_a_client_of_the_old_era_is_asked_while_its_call_waits(self, client):
        client.send(call(1, "mcp_one_ask"))
        while (question := client.read()).get("method") != "elicitation/create":
            assert "result" not in question, question
        assert question["params"]["message"] == "The MCP server 'one' asks: which?"
        assert question["params"]["requestedSchema"]["properties"] == {"which": {"type": "string"}}
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": ANSWER})
        assert holds_answer(client.answer(1))

    def test_a_client_of_the_new_era_is_handed_the_question_and_calls_again(self, client):
        asked = client.ask(new_ask(1))["result"]
        assert asked["resultType"] == "input_required"
        ((key, question),) = asked["inputRequests"].items()
        assert question["method"] == "elicitation/create"
        assert question["params"]["message"] == "The MCP server 'one' asks: which?"
        answered = client.ask(new_ask(2, inputResponses={key: ANSWER}, requestState=asked["requestState"]))
        assert holds_answer(answered)

    def test_answers_to_a_question_that_nobody_asked_are_refused(self, client):
        answered = client.ask(new_ask(1, inputResponses={"question": ANSWER}, requestState="made up"))
        assert "requestState" in answered["error"]["message"], answered

    @pytest.mark.usefixtures("asking")
    def test_a_client_that_cannot_be_asked_gets_an_answer_all_the_same(self, bn):
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_ask")
            assert "can be asked" in json.dumps(agent.result("mcp_one_ask"))

    @pytest.mark.parametrize("era", ["old client", "new client"])
    @pytest.mark.parametrize("method", ["roots/list", "sampling/createMessage"])
    def test_roots_and_sampling_are_refused_and_the_call_goes_on(self, bn, asking, era, method):  # noqa: ARG002
        can = {**ELICIT, "roots": {}, "sampling": {}}
        with Stdio(command=[BN, "mcp", "serve"], cwd=bn.repo, env=bn.env) as served:
            served.initialize(**can)
            there = itertools.count(100)
            wait_for(lambda: "mcp_one_ask" in json.dumps(served.ask(request(next(there), "tools/list"))), "not there")
            given = {"name": "mcp_one_ask", "arguments": {"text": method}}
            new = stateless(given, **{CAPABILITIES_KEY: can})
            served.send(request(1, "tools/call", given if era == "old client" else new))
            while (heard := served.read()).get("id") != 1:
                assert heard.get("method") != method, heard
            assert f"nobody here can be asked {method}" in json.dumps(heard)


class TestQuestionsOverHttp:
    @pytest.fixture
    def agent(self, bn, asking):  # noqa: ARG002 - asked for so that it is there
        with HttpAgent(bn, env={}) as found:
            wait_for_tool(found, "mcp_one_ask")
            yield found

    def test_a_client_of_the_old_era_is_asked_on_the_stream_of_its_call(self, agent):
        headers = {**agent.server.session(**ELICIT), "authorization": f"Bearer {TOKEN}"}
        with agent.server.stream(call(1, "mcp_one_ask"), headers) as events:
            question = next(one for one in events if one.get("method") == "elicitation/create")
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": ANSWER}
            assert agent.server.post(answer, headers).status_code == 202
            answered = next(one for one in events if one.get("id") == 1)
        assert holds_answer(answered)

    def test_a_client_of_the_new_era_is_handed_the_question_and_calls_again(self, agent):
        asked = agent.server.ask(new_ask(1), authorization=f"Bearer {TOKEN}")["result"]
        assert asked["resultType"] == "input_required"
        (key,) = asked["inputRequests"]
        again = new_ask(2, inputResponses={key: ANSWER}, requestState=asked["requestState"])
        assert holds_answer(agent.server.ask(again, authorization=f"Bearer {TOKEN}"))


class TestProgress:
    def test_progress_reaches_a_client_that_wants_it(self, connect, servers):
        servers(one=rogue(timeout=1.0))
        agent = connect()
        wait_for_tool(agent, "mcp_one_progress")
        params = {"name": "mcp_one_progress", "arguments": {"text": "5"}, "_meta": {"progressToken": "mine"}}
        message = request(77, "tools/call", params)
        if isinstance(agent, HttpAgent):
            headers = {**agent._headers, "authorization": f"Bearer {TOKEN}"}
            with agent.server.stream(message, headers) as events:
                seen = list(events)
        else:
            agent.server.send(message)
            agent.server.seen.clear()
            seen = [agent.server.answer(77)]
            seen = [*agent.server.seen, *seen]
        told = [one["params"] for one in seen if one.get("method") == "notifications/progress"]
        assert {one["progressToken"] for one in told} == {"mine"}
        assert [one["progress"] for one in told][-1] == 5
        assert told[-1]["message"] == "at it"
        assert seen[-1]["result"]["content"]


class TestSecondThoughts:
    def test_a_call_that_the_client_cancels_is_cancelled_on_the_server(self, bn, servers, tmp_path):
        servers(one=rogue())
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_hang")
            agent.server.send(call(50, "mcp_one_hang", text=str(tmp_path / "told")))
            wait_for((tmp_path / "told.began").exists, "the call does not arrive")
            agent.server.send(cancelled(50))
            wait_for((tmp_path / "told").exists, "nobody told the server")
            assert said(agent, "mcp_one_echo", "still there") == "still there"
            assert ("one:hang", "cancelled") in [(one["tool"], one["outcome"]) for one in servers.audit()]

    def test_a_call_that_a_client_on_http_cancels_is_cancelled_on_the_server(self, bn, servers, tmp_path):
        servers(one=rogue())
        with HttpAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_hang")
            headers = {**agent.server.session(), "authorization": f"Bearer {TOKEN}"}
            with sent(agent.server.url, call(5, "mcp_one_hang", text=str(tmp_path / "told")), headers):
                wait_for((tmp_path / "told.began").exists, "the call does not arrive")
                assert agent.server.post(cancelled(5), headers).status_code == 202
                wait_for((tmp_path / "told").exists, "nobody told the server")

    def test_a_call_whose_client_hangs_up_is_cancelled_on_the_server(self, bn, servers, tmp_path):
        servers(one=rogue())
        told = tmp_path / "told"
        with HttpAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_hang")
            arguments = {"name": "mcp_one_hang", "arguments": {"text": str(told)}}
            with sent(agent.server.url, request(5, "tools/call", stateless(arguments))):
                wait_for((tmp_path / "told.began").exists, "the call does not arrive")
            wait_for(told.exists, "nobody told the server")
            assert said(agent, "mcp_one_echo", "still there") == "still there"

    def test_a_client_that_goes_away_during_a_call_is_not_waited_for(self, bn, servers, tmp_path):
        servers(one=rogue())
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_hang")
            agent.server.send(call(50, "mcp_one_hang", text=str(tmp_path / "told")))
            wait_for((tmp_path / "told.began").exists, "the call does not arrive")
            agent.leave()


@contextmanager
def sent(url: str, message: Message, headers: dict[str, str | None] | None = None) -> Iterator[None]:
    """A request that was sent. Leaving it closes the connection, whether or not there was an answer."""
    parts = urlsplit(url)
    body = json.dumps(message).encode()
    head = {**headers_for(message, headers), "host": "localhost", "authorization": f"Bearer {TOKEN}"}
    lines = [f"POST {parts.path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body)
        yield
