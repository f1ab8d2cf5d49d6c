"""Commands that may not be passed through are seen whatever stands before them."""

import inspect
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.cli.main import _split_globals
from binnacle.errors import UsageError
from binnacle.passthrough.blocked_commands import BLOCKED_COMMANDS, find_blocked_command


@pytest.mark.parametrize("word", ["gui", "mcp", "orient", "goodbye"])
@pytest.mark.parametrize(
    "before",
    [[], ["-H"], ["--human"], ["-C", "dir"], ["--repo", "dir"], ["--repo=dir"], ["-C=dir"], ["-V"], ["-h"],
     ["-C", "-H"], ["-H", "--repo", "gui", "--human"]],
)  # fmt: skip
def test_blocked_commands_are_seen_behind_global_options(word, before):
    assert find_blocked_command([*before, word]) == word
    assert find_blocked_command([*before, word, "--help"]) == word


@pytest.mark.parametrize(
    "args",
    [[], ["ready"], ["task", "add", "gui"], ["-H", "task", "mcp"], ["-C", "gui"], ["--repo", "mcp", "ready"], ["guide"],
     ["GUI"], ["--unknown", "gui"], ["--", "gui"], ["-C"], ["", "gui"]],
)  # fmt: skip
def test_other_commands_are_not(args):
    assert find_blocked_command(args) is None


OPTIONS = re.findall(r'"(-[^"]+)"', inspect.getsource(_split_globals))
"""Those of `bn` as they are written there, so that a new one is tried as well."""

OTHERS = ["--repo=x", "-C=x", "-H=x", "--", "-", "", "ready", "-x", "--gui"]
WORDS = st.sampled_from([*BLOCKED_COMMANDS, *OPTIONS, *OTHERS])


@given(st.lists(st.one_of(WORDS, st.text(max_size=3)), max_size=6))
def test_bn_itself_finds_the_same_command(args):
    try:
        _, words = _split_globals(args)
    except UsageError:
        words = []
    expected = words[0] if words and words[0] in BLOCKED_COMMANDS else None
    assert find_blocked_command(args) == expected
