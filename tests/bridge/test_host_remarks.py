"""What a host says beside its data names tools that the session has, and no others."""

import re
from collections.abc import Iterator

import pytest

import cli.conftest
from bridge.agent import Bench, bench

bn = cli.conftest.bn

LOUD = """\
for number in range(2000):
    print("line", number)
number = [list(range(1000))] * 1000
print("end")
"""

DEEP = "def down(n):\n    return down(n - 1) if n else stop()\n\n\ndef stop():\n    return 0\n\n\ndown(9)\n"

NAMED = re.compile(r"\b(?:debug|dap|breakpoint|test|bridge|diagnostic)_[a-z_]+")


@pytest.fixture
def desk(bn) -> Iterator[Bench]:
    with bench(bn) as made:
        yield made


def tools_named_in(answer: object) -> set[str]:
    return set(NAMED.findall(str(answer)))


def test_what_was_cut_names_no_tool_that_is_not_there_and_what_a_program_says_is_left_as_it_is(desk):
    desk.write("loud.py", LOUD)
    desk.write("talk.py", "hint = 'call dap_logs'\nprint('call dap_logs; see dap_summary')\n")
    with desk.agent() as agent:
        told = agent.data("debug_start", program="loud.py")
        assert re.fullmatch(r"\d+ characters before that", told["outputCut"])
        assert tools_named_in(told) <= agent.tools().keys()
        agent.data("breakpoint_set", path="talk.py", line=2)
        told = agent.data("debug_start", program="talk.py")
        assert told["locals"][0]["value"] == "'call dap_logs'"
        assert agent.data("debug_continue")["output"] == "call dap_logs; see dap_summary\n"


def test_a_session_that_has_fewer_tools_is_told_of_those(desk):
    desk.write("deep.py", DEEP)
    desk.write("loud.py", LOUD)
    with desk.agent("--recipe", "loop_debug") as agent:
        there = agent.tools().keys()
        assert "debug_pause" not in there
        assert "debug_save_variable" not in there
        agent.data("breakpoint_set", path="deep.py", line=6)
        told = agent.data("debug_start", program="deep.py")
        assert told["moreFrames"].endswith("; debug_stack has them")
        agent.data("debug_stop")
        agent.data("breakpoint_set", path="loud.py", line=4)
        agent.data("debug_start", program="loud.py")
        told = agent.data("debug_evaluate", expression="number")
        assert tools_named_in(told) <= there
        agent.data("debug_stop")
        error = agent.error("debug_start", program="endless.py", timeoutMs=500)
        assert error["code"] == "E_TIMEOUT"
        assert error["hint"] == "call debug_wait_for_hit to wait longer; call debug_stop to end it"
