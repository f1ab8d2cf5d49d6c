"""However an agent ends, the reason is told and nothing is left of it. The ground looks for what is left."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from binnacle.errors import AgentEnded, AgentLimited, AgentProtocol, AgentSilent
from binnacle.runner.agents import acp_session as sessions
from binnacle.runner.agents.agent_process import AgentProcess
from passthrough.stage import PATIENCE, wait_gone

OWNER = str(Path(__file__).with_name("owner.py"))


class TestByItself:
    def test_a_death_in_a_turn_is_told_at_once_with_code_and_last_words(self, lead):
        with pytest.raises(AgentEnded, match="rogue ended with exit code 3; its last output:\nmy heart") as caught:
            lead.do("exit 3 my heart")
        assert caught.value.to_dict()["details"] == {"exit_code": 3}

    def test_a_death_by_a_limit_is_a_limit(self, lead):
        with pytest.raises(AgentLimited) as caught:
            lead.do("exit 1 Error: 429 rate limit exceeded, try again in 2m")
        assert caught.value.after == 120

    def test_after_it_every_request_fails_with_the_same_reason(self, lead):
        async def work() -> None:
            async with lead.session() as session:
                for _ in range(2):
                    with pytest.raises(AgentEnded, match="exit code 3"):
                        await lead.prompt(session, "exit 3 x")
                assert await session.cancel()

        lead.run(work())

    def test_what_it_said_last_is_heard_before_its_end(self, lead):
        with pytest.raises(AgentEnded):
            lead.do("flood 50", "say goodbye", "exit 0 x")
        assert lead.said().endswith("goodbye")

    def test_one_that_closes_its_output_is_lost(self, lead):
        with pytest.raises(AgentProtocol, match="rogue closed its output and is still running"):
            lead.do("close 1")

    def test_one_that_ends_between_two_turns_is_told_with_its_code(self, lead):
        async def work() -> None:
            async with lead.session() as session:
                await lead.prompt(session, "die_later 0.1")
                with pytest.raises(AgentEnded, match="exit code 5"):
                    await lead.prompt(session, "hang")

        lead.run(work())


class TestEnded:
    def test_a_line_without_end_is_the_end_of_it(self, lead):
        with pytest.raises(AgentProtocol, match="rogue wrote a message of more than 32 MiB and was ended"):
            lead.do(f"long {40 << 20}", "hang")

    def test_a_turn_that_goes_on_is_cancelled_first(self, lead):
        async def work() -> None:
            async with lead.session() as session:
                turn = asyncio.ensure_future(lead.prompt(session, "hang"))
                await lead.wait_for_words("hanging")
            assert (await turn).stop_reason == "cancelled"

        lead.run(work())

    def test_what_it_started_ends_with_it_also_what_left_its_group(self, lead):
        assert lead.do("child").text.startswith("child ")

    def test_one_that_started_itself_again_ends_whole(self, lead):
        assert lead.do("say second", flags=("--again",)).text == "second"

    def test_one_that_hears_neither_cancel_nor_signal_is_killed(self, lead, monkeypatch):
        monkeypatch.setattr(sessions, "CANCEL_TIMEOUT_SECONDS", 0.5)
        monkeypatch.setitem(AgentProcess.end.__kwdefaults__, "grace", 0.5)

        async def work() -> None:
            async with lead.session("--stubborn") as session:
                with pytest.raises(AgentSilent):
                    await lead.prompt(session, "deaf", silence=1)
                monkeypatch.setattr(sessions, "CANCEL_TIMEOUT_SECONDS", 1000)
                assert not await session.cancel(), "it is not waited for a second time"

        lead.run(work())

    def test_one_that_dies_of_a_cancel_is_not_waited_for(self, lead, monkeypatch):
        monkeypatch.setattr(sessions, "CANCEL_TIMEOUT_SECONDS", 1000)

        async def work() -> None:
            async with lead.session() as session:
                turn = asyncio.ensure_future(lead.prompt(session, "fragile"))
                await lead.wait_for_words("fragile")
            with pytest.raises(AgentEnded, match="exit code 4"):
                await turn

        lead.run(work())

    def test_a_cancelled_caller_leaves_nothing(self, lead):
        async def work() -> None:
            async def one() -> None:
                async with lead.session() as session:
                    await lead.prompt(session, "child", "hang")

            task = asyncio.ensure_future(one())
            await lead.wait_for_words("hanging")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        lead.run(work())

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_the_death_of_the_one_who_leads_it_ends_it(self, lead, number):
        command = [sys.executable, OWNER, lead.place.cwd]
        with subprocess.Popen(command, env=lead.place.env, stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            said = [owner.stdout.readline(), owner.stdout.readline()]
            assert said[1] == "hanging\n", said
            left = lead.place.stage.processes()
            owner.send_signal(number)
            owner.wait(PATIENCE)
        wait_gone(left)
