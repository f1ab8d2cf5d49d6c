"""What a tool call does, as text for people: whatever way an agent tells it, and however large it is."""

import subprocess

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from binnacle.runner.agents.call_details import (
    MAX_DETAIL_CHARACTERS,
    command_of,
    describe_request,
    diff_of,
    unified_diff,
)
from binnacle.runner.agents.permissions import PermissionRequest
from binnacle.runner.agents.tool_calls import SeenToolCalls
from binnacle.wire import acp

PATCH = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-one\n+two"


def edit(given: object, **more) -> acp.ToolCallFields:
    return acp.ToolCallFields(tool_call_id="c", kind="edit", raw_input=given, **more)


@pytest.mark.parametrize(
    "call",
    [
        edit(None, content=(acp.ToolContent(type="diff", path="a.py", old_text="one\n", new_text="two\n"),)),
        edit({"file_path": "a.py", "old_string": "one", "new_string": "two"}),
        edit({"path": "a.py", "command": "str_replace", "old_str": "one", "new_str": "two"}),
        edit({"filePath": "a.py", "edits": [{"oldString": "one", "newString": "two"}]}),
        edit({"filepath": "a.py", "diff": PATCH}),
        edit({"changes": {"a.py": {"type": "update", "unified_diff": PATCH}}}),
    ],
)
def test_every_agents_way_to_tell_a_change_becomes_the_same_diff(call):
    assert diff_of(call) == PATCH


@pytest.mark.parametrize(
    "given", [None, "text", 3, [], {"path": 3}, {"content": None}, {"edits": [1]}, {"changes": {"a": 1}}]
)
def test_an_input_without_a_change_has_no_diff(given):
    assert diff_of(edit(given)) == ""


def test_a_new_file_and_a_change_of_the_last_line_end_are_said():
    assert unified_diff("a", None, "x\n").splitlines() == ["--- /dev/null", "+++ a", "@@ -0,0 +1 @@", "+x"]
    assert "only the end of the last line changes" in unified_diff("a", "x", "x\n")


LINES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=40)


@given(before=LINES, after=LINES)
def test_a_diff_can_be_applied_by_git(tmp_path_factory, before, after):
    assume(before != after)
    folder = tmp_path_factory.mktemp("patch")
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    (folder / "f").write_text(old)
    words = ["git", "apply", "-p0", "-"]
    patch = unified_diff("f", old, new) + "\n"
    subprocess.run(words, cwd=folder, input=patch.encode(), check=True, timeout=60)
    assert (folder / "f").read_text() == new


def test_a_small_change_of_a_large_file_is_a_small_diff_with_its_line_number():
    lines = [f"line {number}" for number in range(50_000)]
    changed = [*lines[:40_000], "new", *lines[40_000:]]
    shown = unified_diff("a", "\n".join(lines), "\n".join(changed)).splitlines()
    assert shown[2] == "@@ -39998,6 +39998,7 @@"
    assert len(shown) == 10


def test_a_large_change_is_a_replacement_and_is_cut_with_a_notice():
    shown = unified_diff("a", "old\n" * 30_000, "new\n" * 30_000)
    assert shown.startswith("--- a\n+++ a\n@@ -1,30000 +1,30000 @@\n-old")
    assert shown.endswith("more characters)")
    assert len(shown) < MAX_DETAIL_CHARACTERS + 100


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": "make test"}, "make test"),
        ({"command": ["bash", "-lc", "make test"]}, "bash -lc 'make test'"),
        ({"cmd": "ls"}, "ls"),
        ({"command": [1]}, ""),
        ("ls", ""),
        (None, ""),
    ],
)
def test_the_command_of_a_call(given, command):
    assert command_of(given) == command


def test_a_request_shows_what_earlier_updates_said_of_its_call():
    calls = SeenToolCalls()
    calls.note(edit({"path": "a.py", "old_str": "one", "new_str": "two"}, title="Edit"))
    asked = calls.asked(acp.RequestPermission(session_id="s", tool_call=acp.ToolCallFields(tool_call_id="c")))
    assert describe_request(asked) == PATCH
    calls.note(acp.ToolCallFields(tool_call_id="c", status="completed"))
    assert calls.note(acp.ToolCallFields(tool_call_id="c")).diff == ""


def test_a_long_command_is_shown_although_its_input_is_not_kept():
    calls = SeenToolCalls()
    call = acp.ToolCallFields(tool_call_id="c", kind="execute", raw_input={"command": "echo " + "x" * 40_000})
    asked = calls.asked(acp.RequestPermission(session_id="s", tool_call=call))
    assert asked.input is None
    assert describe_request(asked) == f"$ echo {'x' * 40_000}"


def test_a_request_without_a_change_or_a_command_shows_its_arguments():
    request = PermissionRequest(tool_call_id="c", input={"url": "https://example.org", "depth": 2})
    assert describe_request(request) == "url: https://example.org\ndepth: 2"
