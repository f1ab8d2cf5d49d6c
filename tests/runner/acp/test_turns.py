"""Turns of an agent over ACP: what it says comes through, its questions are answered, a cancel stops it."""

import asyncio
import json

import pytest

from binnacle.errors import AgentError, AgentLimited, AgentLogin, AgentSilent
from binnacle.runner.agents import acp_session as sessions
from binnacle.runner.agents.permissions import PermissionDecision, PermissionRequest, decide
from binnacle.runner.agents.turn import MAX_TEXT_CHARACTERS
from binnacle.wire import acp
from runner.acp.conftest import Lead


def kinds(lead: Lead) -> list[str]:
    return [type(update).__name__ for update in lead.updates]


class TestWhatIsSaid:
    def test_words_and_thoughts_come_in_order_and_only_words_are_the_text(self, lead):
        turn = lead.do("say one ", "think hm", "say two")
        assert (turn.stop_reason, turn.text) == ("end_turn", "one two")
        assert kinds(lead) == ["MessageChunk", "ThoughtChunk", "MessageChunk"]

    def test_the_reason_of_the_end_and_the_usage_are_told(self, lead):
        usage = {"totalTokens": 7, "inputTokens": 3, "outputTokens": 4}
        told = {"kind": "usage_update", "used": 10, "size": 100, "cost": {"amount": 0.5, "currency": "USD"}}
        turn = lead.do(f"usage {json.dumps(usage)}", f"update {json.dumps(told)}", "stop max_tokens")
        assert turn.stop_reason == "max_tokens"
        assert turn.usage == acp.TokenUsage(total_tokens=7, input_tokens=3, output_tokens=4)
        assert turn.context == acp.UsageUpdate(used=10, size=100, cost=acp.Cost(amount=0.5))

    def test_updates_of_an_unknown_kind_or_shape_are_told_as_such(self, lead):
        lead.do('update {"kind":"mood","is":"fine"}', 'update {"kind":"plan","entries":7}', "say on")
        assert kinds(lead) == ["OtherUpdate", "OtherUpdate", "MessageChunk"]
        assert [update.kind for update in lead.updates[:2]] == ["mood", "plan"]

    def test_what_is_no_message_is_logged_and_passed_over(self, lead):
        junk = ["junk Welcome!", 'junk {"jsonrpc":"1.0"}', "junk [", 'junk {"jsonrpc":"2.0","id":99,"result":1}']
        assert lead.do(*junk, "say fine").text == "fine"
        assert "(on its output, no message) Welcome!" in lead.log.read_text()

    def test_a_message_of_many_mebibytes_is_read(self, lead):
        lead.do(f"long {20 << 20}")
        assert len(lead.updates[0].content.text) == 20 << 20

    def test_of_a_flood_the_last_words_are_kept(self, lead):
        turn = lead.do("flood 3000", "say the end")
        assert len(turn.text) == MAX_TEXT_CHARACTERS
        assert turn.text.endswith("ythe end")
        assert len(lead.updates) == 3001

    def test_a_flood_on_its_errors_fills_no_more_than_two_files(self, lead):
        lead.do(f"stderr {20 << 20}", "say done")
        sizes = {path.name: path.stat().st_size for path in lead.log.parent.iterdir()}
        assert sizes.keys() == {"agent.log", "agent.log.old"}
        assert max(sizes.values()) < 6 << 20

    def test_what_the_caller_does_wrong_is_raised_to_the_caller(self, lead):
        def fail(_: acp.Update) -> None:
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            lead.do("say one", "hang", on_update=fail)


class TestQuestions:
    CALL = '{"kind":"tool_call","toolCallId":"c1","title":"rm -r /","status":"pending","_meta":{"x":{"toolName":"sh"}}}'

    def test_a_permission_is_given_by_the_kind_of_its_option(self, lead):
        turn = lead.do('ask {"toolCallId":"c1","title":"rm","kind":"execute"}')
        assert json.loads(turn.text) == {"outcome": "selected", "optionId": "a-once"}
        assert (lead.requests[0].title, lead.requests[0].kind) == ("rm", "execute")

    def test_a_request_knows_what_was_told_of_the_call_before(self, lead):
        update = '{"kind":"tool_call_update","toolCallId":"c1","rawInput":{"a":1},"locations":[{"path":"/x"}]}'
        turn = lead.do(f"update {self.CALL}", f"update {update}", 'ask {"toolCallId":"c1","kind":"execute"}')
        asked = lead.requests[0]
        assert (asked.title, asked.name, asked.kind, asked.input, asked.paths) == (
            "rm -r /",
            "sh",
            "execute",
            {"a": 1},
            ("/x",),
        )
        assert turn.tool_calls == 1

    def test_a_request_with_a_title_of_its_own_knows_that_of_the_call(self, lead):
        call = {"kind": "tool_call", "toolCallId": "c", "title": "binnacle-echo"}
        lead.do(f"update {json.dumps(call)}", 'ask {"toolCallId":"c","title":"Approve a tool call"}')
        assert (lead.requests[0].name, lead.requests[0].title) == ("binnacle-echo", "Approve a tool call")

    @pytest.mark.parametrize(("name", "kind"), [("write", "edit"), ("shell", "execute"), ("x__write", "other")])
    def test_a_kind_that_is_not_told_is_that_of_a_tool_with_a_known_name(self, lead, name, kind):
        call = {"kind": "tool_call", "toolCallId": "c", "_meta": {"x": {"y": {"toolName": name}}}}
        lead.do(f"update {json.dumps(call)}", 'ask {"toolCallId":"c","kind":"other"}')
        assert (lead.requests[0].name, lead.requests[0].kind) == (name, kind)

    def test_while_a_person_thinks_the_agent_is_heard_and_its_silence_is_not_held_against_it(self, lead):
        silence = 2.0

        async def think(request: PermissionRequest) -> PermissionDecision:
            async with lead.session() as other:  # as long as it takes another agent to be silent for too long
                with pytest.raises(AgentSilent):
                    await lead.prompt(other, "hang", on_update=lambda _: None, silence=silence)
            return decide(request, allow=False, by="person")

        turn = lead.do("say before", 'ask {"toolCallId":"c"}', "say after", ask=think, silence=silence)
        assert turn.text == 'before{"outcome": "selected", "optionId": "r-once"}after'

    def test_two_sessions_ask_at_once_and_neither_waits_for_the_other(self, lead):
        async def work() -> list[str]:
            both = asyncio.Barrier(2)

            async def together(request: PermissionRequest) -> PermissionDecision:
                await both.wait()
                return await lead.allow(request)

            async with lead.agent() as agent:
                sessions = [await agent.open(servers=(), cwd=lead.place.cwd) for _ in range(2)]
                turns = [
                    lead.prompt(session, f"say {session.id}", 'ask {"toolCallId":"c"}', ask=together)
                    for session in sessions
                ]
                return [turn.text[:2] for turn in await asyncio.gather(*turns)]

        assert lead.run(work()) == ["s1", "s2"]

    def test_a_question_that_fails_ends_the_turn_with_that_fault(self, lead):
        async def fail(_: PermissionRequest) -> PermissionDecision:
            raise AgentError("nobody is there")

        with pytest.raises(AgentError, match="nobody is there"):
            lead.do('ask {"toolCallId":"c"}', "hang", ask=fail)

    @pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", "terminal/create", "x/y"])
    def test_what_was_not_offered_is_not_there(self, lead, method):
        assert lead.do(f"request {method}").text == "-32601"


class TestCancel:
    @pytest.mark.parametrize(("step", "said"), [("hang", "hanging"), ("upset", "upset")])
    def test_a_cancelled_turn_ends_and_the_session_takes_the_next(self, lead, step, said):
        async def work() -> None:
            async with lead.session() as session:
                turn = asyncio.ensure_future(lead.prompt(session, step))
                await lead.wait_for_words(said)
                assert await session.cancel()
                assert (await turn).stop_reason == "cancelled"
                assert (await lead.prompt(session, "say next")).text == "next"

        lead.run(work())

    def test_a_question_that_waits_is_taken_back(self, lead):
        async def work() -> None:
            asked = asyncio.Event()

            async def never(_: PermissionRequest) -> PermissionDecision:
                asked.set()
                await asyncio.Event().wait()
                raise AssertionError

            async with lead.session() as session:
                turn = asyncio.ensure_future(lead.prompt(session, 'ask {"toolCallId":"c"}', ask=never))
                await asked.wait()
                assert await session.cancel()
                assert (await turn).text == '{"outcome": "cancelled"}'

        lead.run(work())

    def test_nothing_is_cancelled_where_nothing_runs(self, lead):
        async def work() -> None:
            async with lead.session() as session:
                assert await session.cancel()
                assert (await lead.prompt(session, "say fine")).text == "fine"

        lead.run(work())


class TestBounds:
    def test_silence_ends_a_turn(self, lead):
        with pytest.raises(AgentSilent, match=r"rogue said nothing for 0.5 seconds"):
            lead.do("hang", silence=0.5)

    def test_so_does_the_end_of_its_time_however_much_it_says(self, lead, monkeypatch):
        monkeypatch.setattr(sessions, "CANCEL_TIMEOUT_SECONDS", 0.2)
        with pytest.raises(AgentSilent, match=r"rogue was not done after 1 seconds"):
            lead.do(*["say x", "pause 0.1"] * 100, within=1, silence=5)

    def test_work_elsewhere_is_a_sign_of_life(self, lead):
        async def work() -> None:
            async with lead.session() as session:
                turn = asyncio.ensure_future(lead.prompt(session, "pause 3", "say done", silence=2))
                while not turn.done():
                    session.touch()
                    await asyncio.wait([turn], timeout=0.05)
                assert (await turn).text == "done"

        lead.run(work())


class TestErrors:
    def test_a_login_that_is_wanted_is_told_with_how(self, lead):
        with pytest.raises(AgentLogin, match="rogue wants a login: Authentication required") as caught:
            lead.do(flags=("--locked",))
        assert caught.value.hint == "turn the key"

    def test_a_limit_is_told_with_how_long(self, lead):
        with pytest.raises(AgentLimited, match="429") as caught:
            lead.do('error [-32603, "Internal error", {"details": "429 Too Many Requests, retry after 30 seconds"}]')
        assert caught.value.after == 30
        assert caught.value.to_dict()["details"] == {"retry_after": 30}

    def test_any_other_error_is_told_with_what_it_says(self, lead):
        with pytest.raises(AgentError, match=r"rogue failed at its turn: Internal error \(out of luck\)"):
            lead.do('error [-32603, "Internal error", {"details": "out of luck"}]')
