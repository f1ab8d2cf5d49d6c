"""How an agent is greeted and its sessions are opened: servers, earlier sessions, models."""

import json
import sys

import pytest

from binnacle.errors import AgentEnded, AgentError, AgentProtocol, AgentSilent, AgentStart, InvalidInput
from binnacle.processes.keeper import Keeper
from binnacle.runner.agents.acp_agent import open_agent
from binnacle.runner.agents.acp_session import AcpSession
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.wire import acp

HTTP = acp.HttpMcpServer(name="binnacle", url="http://127.0.0.1:1/mcp", headers=(acp.NameValue(name="A", value="b"),))
STDIO = acp.StdioMcpServer(
    name="binnacle", command="bn", args=("mcp", "serve"), env=(acp.NameValue(name="C", value="d"),)
)


class TestServers:
    def given(self, lead, *flags: str, servers: tuple[acp.McpServer, ...]) -> list[dict]:
        async def work() -> str:
            async with lead.agent(*flags) as agent:
                session = await agent.open(servers=servers, cwd=lead.place.cwd)
                return (await lead.prompt(session, "servers")).text

        return json.loads(lead.run(work()))

    def test_an_agent_that_speaks_http_gets_that_one(self, lead):
        for servers in ((HTTP, STDIO), (STDIO, HTTP)):
            (server,) = self.given(lead, servers=servers)
            assert server == {
                "type": "http",
                "name": "binnacle",
                "url": HTTP.url,
                "headers": [{"name": "A", "value": "b"}],
            }

    def test_any_other_gets_one_to_start(self, lead):
        (server,) = self.given(lead, "--no-http", servers=(HTTP, STDIO))
        assert server == {
            "name": "binnacle",
            "command": "bn",
            "args": ["mcp", "serve"],
            "env": [{"name": "C", "value": "d"}],
        }

    def test_headers_are_an_array_also_when_there_are_none(self, lead):
        (server,) = self.given(lead, servers=(acp.HttpMcpServer(name="x", url="http://127.0.0.1:1", headers=()),))
        assert server["headers"] == []

    def test_one_that_it_cannot_reach_is_an_error(self, lead):
        with pytest.raises(AgentError, match="rogue does not take MCP servers over HTTP: binnacle"):
            self.given(lead, "--no-http", servers=(HTTP,))


class TestResume:
    def open(self, lead, *flags: str, resume: str) -> AcpSession:
        async def work() -> AcpSession:
            async with lead.agent(*flags) as agent:
                session = await agent.open(servers=(), cwd=lead.place.cwd, resume=resume)
                assert (await lead.prompt(session, "say on")).text == "on"
                return session

        return lead.run(work())

    def test_a_session_the_agent_kept_goes_on(self, lead):
        session = self.open(lead, "--load", resume="kept")
        assert (session.id, session.was_loaded, session.not_loaded) == ("kept", True, "")
        assert lead.said() == "on", "what is replayed happened before"

    def test_one_it_did_not_keep_is_a_new_one_that_says_why(self, lead):
        session = self.open(lead, "--load", resume="lost")
        assert (session.id, session.was_loaded) == ("s1", False)
        assert session.not_loaded == "rogue failed at loading the session: No previous sessions"

    def test_so_is_that_of_an_agent_that_keeps_none(self, lead):
        assert self.open(lead, resume="kept").not_loaded == "rogue does not load sessions"


class TestModels:
    def choose(self, lead, *flags: str, model: str) -> str:
        async def work() -> str:
            async with lead.agent(*flags) as agent:
                session = await agent.open(servers=(), cwd=lead.place.cwd, model=model)
                return (await lead.prompt(session, "model")).text

        return lead.run(work())

    def test_a_model_is_chosen_among_those_offered(self, lead):
        assert self.choose(lead, "--models", model="large-1") == "large-1"

    def test_a_part_of_its_name_is_enough_where_only_one_has_it(self, lead):
        assert self.choose(lead, "--models", model="large") == "large-1"

    def test_it_may_be_an_option_of_the_session(self, lead):
        assert self.choose(lead, "--choices", model="a/large") == "m=a/large"

    def test_one_that_is_not_offered_is_an_error_that_names_the_nearest(self, lead):
        with pytest.raises(InvalidInput, match="rogue has no model 'lager'") as caught:
            self.choose(lead, "--models", model="lager")
        assert caught.value.hint == "did you mean 'large-1'?"

    def test_an_agent_without_a_choice_says_so(self, lead):
        with pytest.raises(AgentError, match="rogue cannot do the model 'large'"):
            self.choose(lead, model="large")


class TestStart:
    def test_it_has_the_whole_environment_given(self, lead):
        async def work() -> str:
            async with lead.session(BN_SESSION="abc") as session:
                return (await lead.prompt(session, "env BN_SESSION", "env PATH")).text

        assert lead.run(work()) == "abc" + lead.place.env["PATH"]

    def test_it_says_who_it_is_and_what_it_can_do(self, lead):
        async def work() -> None:
            async with lead.agent("--load") as agent:
                assert agent.info is not None
                assert agent.info.name == "rogue"
                assert agent.capabilities.load_session

        lead.run(work())

    def test_a_command_that_is_not_there_is_told_with_how_to_get_it(self, lead):
        async def work() -> None:
            command = AgentCommand(name="no", argv=("no-such-agent",), install="look elsewhere")
            async with (
                Keeper() as keeper,
                open_agent(keeper, command, cwd=lead.place.cwd, env=lead.place.env, log=str(lead.log)),
            ):
                raise AssertionError

        with pytest.raises(AgentStart, match="no-such-agent: no such command") as caught:
            lead.run(work())
        assert caught.value.hint == "install it: look elsewhere"

    def test_one_that_dies_at_once_is_told_with_its_last_words(self, lead):
        with pytest.raises(AgentEnded, match=r"(?s)rogue ended with exit code 1; .*cannot find my feet") as caught:
            lead.do(flags=("--dead",))
        assert "rogue.py --dead" in caught.value.hint
        assert sys.executable in caught.value.hint

    def test_one_that_never_answers_is_given_up(self, lead):
        async def work() -> None:
            async with lead.agent("--mute", within=1):
                raise AssertionError

        with pytest.raises(AgentSilent, match="rogue did not answer initialize in 1 seconds"):
            lead.run(work())

    def test_one_of_another_version_is_refused(self, lead):
        with pytest.raises(AgentProtocol, match="rogue speaks version 2 of ACP, not 1"):
            lead.do(flags=("--version", "2"))
