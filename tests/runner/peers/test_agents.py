"""goose, opencode and Claude Code, each with a scripted model: our tools, permissions, cancels, earlier sessions."""

import asyncio
from pathlib import Path

import pytest

from runner.peers.conftest import Lead, Tools
from runner.peers.model import ENDLESS, say, use

pytestmark = pytest.mark.peers


def test_it_works_through_our_tools_which_need_nobodys_permission(lead: Lead, tools: Tools):
    async def work() -> None:
        async with lead.session(tools.server()) as session:
            turn = await lead.prompt(session, use("echo", text="from afar"), say("the tool said: {last}"))
            assert turn.stop_reason == "end_turn"
            assert "the tool said: from afar" in turn.text
            assert turn.tool_calls >= 1

    lead.run(work())
    assert [decision.by for _, decision in lead.decisions] == ["own tool"] * len(lead.decisions), lead.decisions


def test_edits_are_allowed_where_the_policy_says_so(lead: Lead):
    written = Path(lead.folder(), "new.txt")

    async def work() -> None:
        async with lead.session() as session:
            await lead.prompt(
                session, lead.agent_kind.write(str(written), "made\n", None), say("done"), approve="edits"
            )

    lead.run(work())
    assert written.read_text() == "made\n"
    assert [(request.kind, decision.is_allowed) for request, decision in lead.decisions] == [("edit", True)]


def test_what_is_rejected_is_not_done_and_the_session_goes_on(lead: Lead):
    written = Path(lead.folder(), "new.txt")

    async def work() -> None:
        async with lead.session() as session:
            await lead.prompt(session, lead.agent_kind.write(str(written), "made\n", None), say("done"), approve="none")
            assert (await lead.prompt(session, say("next"))).text == "next"

    lead.run(work())
    assert not written.exists()
    assert [decision.is_allowed for _, decision in lead.decisions] == [False]


def test_a_cancel_ends_a_turn_that_waits_for_a_tool(lead: Lead, tools: Tools):
    async def work() -> None:
        async with lead.session(tools.server()) as session:
            turn = asyncio.create_task(lead.prompt(session, use("hold", name="it"), say("not reached")))
            await tools.wait_until("it", "holding")
            assert await session.cancel()
            assert (await turn).stop_reason == "cancelled"
            assert "alive" in (await lead.prompt(session, use("echo", text="alive"), say("{last}"))).text

    lead.run(work())


def test_a_cancel_ends_a_turn_in_the_middle_of_a_word(lead: Lead):
    async def work() -> None:
        async with lead.session() as session:
            turn = asyncio.create_task(lead.prompt(session, ENDLESS))
            await lead.wait_for_words("word3")
            assert await session.cancel()
            assert (await turn).stop_reason == "cancelled"
            assert (await lead.prompt(session, say("alive"))).text == "alive"

    lead.run(work())


def test_a_session_goes_on_in_another_process(lead: Lead, tools: Tools):
    async def work() -> None:
        async with lead.session(tools.server()) as session:
            await lead.prompt(session, say("remember the word heliotrope"))
            before = session.id
        async with lead.agent() as agent:
            session = await agent.open(servers=[tools.server()], cwd=lead.folder(), resume=before)
            assert session.was_loaded, session.not_loaded
            turn = await lead.prompt(session, use("echo", text="again"), say("{last}"))
            assert "again" in turn.text

    lead.run(work())
    assert len([prompt for prompt in lead.model.histories[-1] if "SCRIPT" in prompt]) == 2


def test_two_sessions_at_once_each_use_their_own_server(lead: Lead, tools: Tools, other_tools: Tools):
    both = ((tools, "one"), (other_tools, "two"))

    async def work() -> None:
        async with lead.agent() as agent:
            sessions = [await agent.open(servers=[server.server()], cwd=lead.folder(name)) for server, name in both]
            turns = [
                asyncio.create_task(lead.prompt(session, use("hold", name=name), say("{last}")))
                for session, (_, name) in zip(sessions, both, strict=True)
            ]
            for server, name in both:
                await server.wait_until(name, "holding")
            for session in sessions:
                assert await session.cancel()
            assert [(await turn).stop_reason for turn in turns] == ["cancelled"] * 2

    lead.run(work())
