"""One way to call a tool: enabled, valid, ready, in time; and what is cancelled is freed."""

import asyncio
import time

import pytest
from msgspec import Struct

from binnacle.errors import InvalidInput, NotReady, ToolDisabled
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import NO_WAY, Dispatcher
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.outcome import ToolReply
from binnacle.tools.tool_spec import ToolAlias, ToolHints, ToolSpec
from binnacle.work.actor import Actor
from binnacle.work.session import Session


class Nothing(Struct):
    pass


def a_tool(name: str, run=None, **fields) -> ToolSpec:
    async def answer(caller: Caller, given: Nothing) -> ToolReply:
        return ToolReply({"said": name}, name)

    hints = fields.pop("hints", ToolHints(read_only=True))
    return ToolSpec(
        name=name,
        title=name,
        description="",
        category="x",
        hints=hints,
        parameters=Nothing,
        run=run or answer,
        **fields,
    )


def call(dispatcher: Dispatcher, name: str, caller: Caller | None = None, raw: bytes = b"{}"):
    return asyncio.run(dispatcher.call(name, raw, caller or Caller(session=Session(actor=Actor("ann")))))


def test_two_tools_never_share_a_name():
    with pytest.raises(ValueError, match="two tools"):
        Catalog([a_tool("a"), a_tool("b", aliases=(ToolAlias(name="a"),))])


def test_a_tool_that_is_not_enabled_is_refused_by_every_name():
    there = a_tool("b", aliases=(ToolAlias(name="other"),))
    catalog = Catalog([a_tool("a", aliases=(ToolAlias(name="old"),)), there])
    dispatcher = Dispatcher(catalog, exposed=[ExposedTool("b", there)], instead={"old": "b"})
    for name in ("a", "old"):
        error = call(dispatcher, name).envelope["error"]
        assert (error["code"], error["hint"]) == ("E_TOOL_DISABLED", "use b instead")
    assert call(dispatcher, "b").text == call(dispatcher, "other").text == "b"


def test_the_same_failing_call_is_noticed_from_the_third_time():
    async def fails(caller, given):
        raise InvalidInput("no", hint="say yes")

    dispatcher = Dispatcher(Catalog([a_tool("a", run=fails)]))
    caller = Caller(session=Session(actor=Actor("ann")))
    told = [call(dispatcher, "a", caller).envelope["error"] for _ in range(4)]
    assert [error.get("details", {}).get("repeated") for error in told] == [None, None, 3, 4]
    assert "say yes" in told[3]["hint"]
    assert "will not help" in told[3]["hint"]
    assert "repeated" not in str(call(dispatcher, "a", caller, raw=b'{"other": 1}').envelope)
    assert "repeated" not in str(call(dispatcher, "a").envelope)


def test_a_call_that_works_again_is_no_longer_counted():
    working = []

    async def sometimes(caller, given):
        if not working:
            raise InvalidInput("no")
        return ToolReply({}, "a")

    dispatcher = Dispatcher(Catalog([a_tool("a", run=sometimes)]))
    caller = Caller(session=Session(actor=Actor("ann")))
    for _ in range(2):
        call(dispatcher, "a", caller)
    working.append(1)
    assert not call(dispatcher, "a", caller).is_error
    working.clear()
    assert "repeated" not in str(call(dispatcher, "a", caller).envelope)


def test_a_prerequisite_is_met_once_the_other_tool_was_called():
    dispatcher = Dispatcher(Catalog([a_tool("first"), a_tool("second", prerequisites=("first",))]))
    caller = Caller(session=Session(actor=Actor("ann")))
    refused = call(dispatcher, "second", caller).envelope["error"]
    assert (refused["code"], refused["hint"]) == ("E_PREREQUISITE", "call first, then this again")
    call(dispatcher, "first", caller)
    assert not call(dispatcher, "second", caller).is_error


@pytest.mark.parametrize(
    ("fields", "is_refused"),
    [({"hints": ToolHints(read_only=False)}, True), ({"hints": ToolHints(read_only=True)}, False),
     ({"hints": ToolHints(read_only=False), "opens_session": True}, False)],
)  # fmt: skip
def test_a_change_says_whose_it_is_where_several_share_a_connection(fields, is_refused):
    dispatcher = Dispatcher(Catalog([a_tool("a", **fields)]))
    outcome = call(dispatcher, "a", Caller(session=Session(actor=Actor("ann")), is_ambiguous=True))
    assert outcome.is_error == is_refused
    assert ("does not say which one calls it" in outcome.text) == is_refused
    assert not call(dispatcher, "a").is_error, "one agent alone need not say it"


def test_why_a_tool_is_missing_is_said_by_who_knows_and_asked_only_then():
    asked = []

    def explain(name):
        asked.append(name)
        return InvalidInput("its server is down") if name == "down" else None

    there, hidden = a_tool("there"), a_tool("hidden")
    dispatcher = Dispatcher(Catalog([there, hidden]), exposed=[ExposedTool("there", there)], explain_missing=explain)
    assert "its server is down" in call(dispatcher, "down").text
    unknown = call(dispatcher, "unknown")
    assert "its server is down" not in unknown.text
    assert unknown.envelope["error"]["code"] == "E_NOT_FOUND"
    assert call(dispatcher, "hidden").envelope["error"]["code"] == "E_TOOL_DISABLED"
    assert not call(dispatcher, "there").is_error
    assert asked == ["down", "unknown"]


REMARKED = {"hint": "call secret; wait", "value": "call secret"}


class TestRemarks:
    """What a tool says of other tools is put so that it holds in the session."""

    def call(self, *, has_remarks: bool, hint: str = "", data: object = None):
        async def run(caller, given):
            if hint:
                raise InvalidInput("no", hint=hint)
            return ToolReply(REMARKED if data is None else data, "as the tool says it")

        spec = a_tool("a", run, has_remarks=has_remarks)
        shown = ExposedTool("a", spec, worded=lambda text: "" if "secret" in text else text)
        return call(Dispatcher(Catalog([spec]), exposed=[shown]), "a")

    def test_an_answer_leaves_out_the_tools_that_the_session_lacks(self):
        outcome = self.call(has_remarks=True)
        assert outcome.envelope["data"] == {"hint": "wait", "value": "call secret"}
        assert outcome.text == '{"hint":"wait","value":"call secret"}'

    def test_an_answer_that_names_none_keeps_its_text(self):
        outcome = self.call(has_remarks=True, data={"value": 1})
        assert (outcome.envelope["data"], outcome.text) == ({"value": 1}, "as the tool says it")

    def test_one_that_knows_the_tools_of_the_session_is_left_as_it_is(self):
        outcome = self.call(has_remarks=False)
        assert (outcome.envelope["data"], outcome.text) == (REMARKED, "as the tool says it")

    def test_so_is_a_hint_and_one_of_which_nothing_is_left_says_that_there_is_no_way(self):
        assert self.call(has_remarks=True, hint="call secret; wait").envelope["error"]["hint"] == "wait"
        assert self.call(has_remarks=True, hint="call secret").envelope["error"]["hint"] == NO_WAY
        assert self.call(has_remarks=False, hint="call secret").envelope["error"]["hint"] == "call secret"


@pytest.mark.parametrize("fails", [False, True])
def test_an_outcome_says_how_long_it_took(fails):
    begun = time.perf_counter()

    async def run(caller, given):
        if fails:
            raise InvalidInput("no")
        return ToolReply({}, "")

    outcome = call(Dispatcher(Catalog([a_tool("a", run)])), "a")
    assert 0 < outcome.seconds <= time.perf_counter() - begun


def test_a_name_that_no_tool_has_fails_with_structure_and_without_a_code_in_its_text():
    outcome = call(Dispatcher(Catalog([a_tool("a")])), "nothing")
    assert outcome.is_structured
    assert outcome.text.startswith("error: ")


class TestRepliesToOtherTools:
    """What a tool gets that calls another one for its caller."""

    def reply(self, dispatcher: Dispatcher, name: str, caller: Caller | None = None, raw: bytes = b"{}") -> ToolReply:
        return asyncio.run(dispatcher.reply(caller or Caller(session=Session(actor=Actor("ann"))), name, raw))

    def test_it_is_what_the_tool_answers_to_its_caller_whichever_name_it_is_called_by(self):
        async def greet(caller, given):
            return ToolReply({"to": caller.actor.name}, f"hello {caller.actor.name}")

        dispatcher = Dispatcher(Catalog([a_tool("greet", greet, aliases=(ToolAlias(name="hail"),))]))
        assert self.reply(dispatcher, "greet") == ToolReply({"to": "ann"}, "hello ann")
        assert self.reply(dispatcher, "hail") == self.reply(dispatcher, "greet")

    def test_a_tool_that_was_called_so_counts_as_called(self):
        first = a_tool("first", aliases=(ToolAlias(name="once"),))
        dispatcher = Dispatcher(Catalog([first, a_tool("second", prerequisites=("first",))]))
        caller = Caller(session=Session(actor=Actor("ann")))
        with pytest.raises(NotReady, match="second needs first first"):
            self.reply(dispatcher, "second", caller)
        self.reply(dispatcher, "once", caller)
        assert self.reply(dispatcher, "second", caller).text == "second"

    def test_one_that_works_ends_the_count_of_its_failures(self):
        working = []

        async def sometimes(caller, given):
            if not working:
                raise InvalidInput("no")
            return ToolReply({}, "a")

        dispatcher = Dispatcher(Catalog([a_tool("a", run=sometimes)]))
        caller = Caller(session=Session(actor=Actor("ann")))
        for _ in range(2):
            call(dispatcher, "a", caller)
        working.append(1)
        self.reply(dispatcher, "a", caller)
        working.clear()
        assert "repeated" not in str(call(dispatcher, "a", caller).envelope)

    def test_failures_are_raised_and_do_not_count_as_called(self):
        async def fails(caller, given):
            raise InvalidInput("no", hint="say yes")

        dispatcher = Dispatcher(Catalog([a_tool("a", run=fails), a_tool("b", prerequisites=("a",))]))
        caller = Caller(session=Session(actor=Actor("ann")))
        with pytest.raises(InvalidInput, match="no"):
            self.reply(dispatcher, "a", caller)
        with pytest.raises(NotReady):
            self.reply(dispatcher, "b", caller)

    def test_what_the_session_does_not_have_and_what_does_not_fit_is_refused(self):
        shown, hidden = a_tool("shown"), a_tool("hidden")
        dispatcher = Dispatcher(Catalog([shown, hidden]), exposed=[ExposedTool("shown", shown)])
        with pytest.raises(ToolDisabled, match="hidden is not enabled"):
            self.reply(dispatcher, "hidden")
        with pytest.raises(InvalidInput):
            self.reply(dispatcher, "shown", raw=b"[]")


def test_a_call_that_takes_too_long_is_given_up_and_freed():
    freed = []

    async def slow(caller, given):
        try:
            await asyncio.Event().wait()
        finally:
            freed.append(True)

    outcome = call(Dispatcher(Catalog([a_tool("slow", slow, timeout=0.01)])), "slow")
    assert outcome.envelope["error"] | {"message": ""} == {
        "code": "E_TIMEOUT", "message": "", "hint": "try again with less to do, or later", "retryable": True,
    }  # fmt: skip
    assert freed == [True]


def test_a_cancelled_call_is_freed_and_has_no_outcome():
    freed = []

    async def slow(caller, given):
        try:
            await asyncio.Event().wait()
        finally:
            freed.append(True)

    async def main():
        dispatcher = Dispatcher(Catalog([a_tool("slow", slow)]))
        task = asyncio.create_task(dispatcher.call("slow", b"{}", Caller(session=Session(actor=Actor("ann")))))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert freed == [True]


def test_progress_reaches_whoever_wants_it():
    async def steps(caller, given):
        caller.progress(1, 2, "half")
        return ToolReply({}, "")

    heard = []
    caller = Caller(session=Session(actor=Actor("ann")), progress=lambda *said: heard.append(said))
    call(Dispatcher(Catalog([a_tool("steps", steps)])), "steps", caller)
    assert heard == [(1, 2, "half")]


@pytest.mark.parametrize("raw", [b"[]", b"5", b"{", b'"x"', b"\xff"])
def test_arguments_that_are_no_object_are_an_outcome(raw):
    assert call(Dispatcher(Catalog([a_tool("a")])), "a", raw=raw).envelope["error"]["code"] == "E_INVALID_PARAMS"


def test_no_arguments_at_all_are_none(tools):
    assert call(tools.dispatcher, "task_list", tools.caller, b"null").text == "No tasks"


def test_what_must_come_first_and_is_not_there_is_a_matter_for_a_person():
    second = a_tool("second", prerequisites=("first",))
    dispatcher = Dispatcher(Catalog([a_tool("first"), second]), exposed=[ExposedTool("second", second)])
    outcome = call(dispatcher, "second")
    assert outcome.envelope["error"]["hint"] == "ask a person to start a session that also has first"
