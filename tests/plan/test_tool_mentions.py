"""Sentences name the tools that a session has, and no others."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.plan.tool_mentions import keep_known, render, tools_in

NAMES = {"task_get": "get_task", "task_status": "task_status", "binnacle-orient": "binnacle-orient", "done": "done"}
ALL = (*NAMES, "get_task", "set_task_status", "task_delete", "task-add", "note-list", "ask")


def test_a_step_says_tools_by_the_names_the_session_knows():
    assert render([("Read it with {task_get}.",)], NAMES) == ["Read it with `get_task`."]
    assert render([("Call {binnacle-orient} first.",)], NAMES) == ["Call `binnacle-orient` first."]


def test_the_first_wording_whose_tools_are_all_there_is_used():
    step = ("Close with {report_done}.", "Close with {task_status} after {task_get}.", "Say so.")
    assert render([step], NAMES) == ["Close with `task_status` after `get_task`."]
    assert render([step], {"task_status": "task_status"}) == ["Say so."]


def test_a_step_without_a_usable_wording_disappears():
    assert render([("Use {task_delete}.",), ("Commit.",)], NAMES) == ["Commit."]


def test_braces_that_are_no_tools_stay():
    assert render([('Pass {"a": 1} and {} and { x }.',)], {}) == ['Pass {"a": 1} and {} and { x }.']


def test_the_tools_of_a_step_are_those_of_all_its_wordings():
    assert tools_in(("{task_get} and {task_list}", "{task_get}", "none")) == {"task_get", "task_list"}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Look first. Then call task_delete. Stop.", "Look first. Stop."),
        ("Call get_task, then task_status.", "Call get_task, then task_status."),
        ("Read with task_get.", "Read with get_task."),
        ("Use task-add!\nGo on.", "Go on."),
        ("When all is done, ask.", "When all is done, ask."),
        ("task_deleted and my-note-list are other words.", "task_deleted and my-note-list are other words."),
        ("Try `task_delete`, (task_delete) or task_delete().", ""),
        ("Use a helper, e.g. Task-add or task-add. Fine.", "Fine."),
        ("- Keep this.\n- Call note-list.\n- And this.", "- Keep this.\n- And this."),
        ("1. Call note-list. Then think.\n2. Stop.", "1. Then think.\n2. Stop."),
        ("# Habits\n\nFirst.\n\nCall note-list.\n\nLast.", "# Habits\n\nFirst.\n\nLast."),
        ("", ""),
    ],
    ids=str,
)
def test_sentences_about_tools_that_are_not_there_go(text, kept):
    assert keep_known(text, NAMES, ALL) == kept


def test_a_sentence_that_was_wrapped_goes_as_a_whole():
    text = "Check every state. When you are\nsure, call task_delete with\nthe id. Then stop."
    assert keep_known(text, NAMES, ALL) == "Check every state. Then stop."


OWN = ["task_get", "task_list", "task_status", "binnacle-orient", "report_done", "note_add"]
SHOWN = {"task_get": "get_task", "task_list": "task-list", "note_add": "note-add"}
EVERY = [*OWN, *SHOWN.values()]
words = st.sampled_from([*EVERY, "done", "the", "Look", "at", "it,", "(x)", "1.", "-", "e.g."])
ends = st.sampled_from([" ", "\n", ". ", ".\n", "! ", "\n\n", "\n- ", ".\n2. ", ", ", "--", "`", "()"])
prose = st.lists(st.tuples(words, ends), max_size=30).map(lambda parts: "".join(a + b for a, b in parts))


def named(text: str) -> set[str]:
    return {name for name in EVERY if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)}


def session(own: set[str], *, aliases: bool) -> dict[str, str]:
    return {name: SHOWN.get(name, name) if aliases else name for name in own}


@given(text=prose, own=st.sets(st.sampled_from(OWN)), aliases=st.booleans())
def test_no_text_names_a_tool_that_is_not_there(text, own, aliases):
    names = session(own, aliases=aliases)
    kept = keep_known(text, names, EVERY)
    assert named(kept) <= set(names.values())
    assert keep_known(kept, names, EVERY) == kept


@given(
    steps=st.lists(st.lists(prose.map(lambda text: re.sub(r"[a-z]+[_-][a-z]+", r"x", text)), min_size=1), max_size=5),
    used=st.lists(st.sampled_from(OWN), min_size=1),
    own=st.sets(st.sampled_from(OWN)),
    aliases=st.booleans(),
)
def test_no_instruction_names_a_tool_that_is_not_there(steps, used, own, aliases):
    names = session(own, aliases=aliases)
    worded = [tuple(f"{text} {{{used[index % len(used)]}}}" for index, text in enumerate(step)) for step in steps]
    found = render(worded, names)
    assert named("\n".join(found)) <= set(names.values())
    assert len(found) == sum(any(tools_in((one,)) <= own for one in step) for step in worded)


@given(text=prose)
def test_a_session_with_every_tool_loses_nothing(text):
    names = {name: name for name in EVERY}
    assert keep_known(text, names, EVERY).split() == text.split()
