"""Prompts: the sections of a recipe within its budget, and no tool that is not there."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from binnacle.plan.prompt import render
from binnacle.plan.prompt_data import RunSituation
from binnacle.plan.recipe import Recipe, RecipeStep
from binnacle.plan.sections import DECIDING, SECTIONS
from binnacle.plan.token_count import count
from binnacle.store.views.task_details import TaskDetails
from plan.loaded import a_comment, a_discipline, a_remark, an_attempt, an_entry, everything, listed, loaded
from work.builders import a_task

NAMES = {"task_get": "get_task", "task_list": "list_tasks", "task_status": "set_task_status"}
ALL = (*NAMES, *NAMES.values(), "task_delete", "comment_add")
STEPS = (
    ("Read it with {task_get}.",),
    ("Say so with {comment_add}.", "Say so."),
    ("Delete it with {task_delete}.",),
    ("Set it to done with {task_status}.", "Say in your last message that it is done."),
)


def a_recipe(*sections: str, **fields) -> Recipe:
    fields["instructions"] = tuple(
        one if isinstance(one, RecipeStep) else RecipeStep(wordings=one) for one in fields.get("instructions", ())
    )
    return Recipe(**{"name": "toy", "description": "a toy", "tools": (), "sections": sections, **fields})


def prompt_of(recipe: Recipe, values, names=NAMES):
    return render(recipe, values, names, all_names=ALL)


def test_sections_come_in_the_order_of_the_recipe_and_instructions_last():
    prompt = prompt_of(
        a_recipe("task", "project", "tasks", instructions=STEPS), replace(everything(), run=None, extra="")
    )
    assert [section.name for section in prompt.sections] == ["task", "project", "tasks", "instructions"]
    assert re.findall("^## .*$", prompt.text, re.MULTILINE) == [
        "## Your task",
        "## Project",
        "## Tasks",
        "## Instructions",
    ]
    assert prompt.text.endswith(
        "## Instructions\n\n1. Read it with `get_task`.\n2. Say so.\n3. Set it to done with `set_task_status`.\n"
    )


def test_what_is_empty_is_left_out():
    prompt = prompt_of(a_recipe("project", "feature", "tasks", "notes"), loaded())
    assert [section.name for section in prompt.sections] == ["project"]
    nothing = prompt_of(a_recipe("notes"), loaded())
    assert (nothing.sections, nothing.text, nothing.tokens) == ((), "", 0)


def test_the_same_input_gives_the_same_prompt():
    recipe = a_recipe(*SECTIONS, instructions=STEPS, budget=700)
    assert prompt_of(recipe, everything()) == prompt_of(recipe, everything())


def test_tokens_are_counted_for_each_section_and_the_whole():
    prompt = prompt_of(a_recipe(*SECTIONS, instructions=STEPS), everything())
    assert all(section.tokens == count(section.text) for section in prompt.sections)
    assert prompt.tokens == count(prompt.text)
    assert (count(""), count("a"), count("four"), count("fours"), count("äöü")) == (0, 1, 1, 2, 2)


def test_a_persona_loses_the_sentences_about_tools_that_are_not_there():
    prompt = prompt_of(a_recipe("persona"), everything())
    assert "You build what people see." in prompt.text
    assert "task_delete" not in prompt.text


def test_a_long_list_is_cut_between_entries_and_says_so():
    prompt = prompt_of(a_recipe("tasks", budget=1000), loaded(listing=listed(100), unloaded={"tasks": 7}))
    (section,) = prompt.sections
    shown = section.text.count("- [P2]")
    assert 0 < shown < 100
    assert section.cut == f"… {107 - shown} more tasks. `list_tasks` shows all."
    assert section.text.endswith(f"task {shown - 1}\n{section.cut}")
    without = prompt_of(a_recipe("tasks", budget=1000), loaded(listing=listed(100)), names={})
    assert without.sections[0].cut == f"… {100 - shown} more tasks"


def test_what_was_not_loaded_is_said_also_when_nothing_is_cut():
    prompt = prompt_of(a_recipe("progress"), loaded(progress=(an_entry("began"),), unloaded={"progress": 1}))
    assert prompt.text == "## Progress\n\n… 1 earlier entry\n- just now: began\n"


def test_of_a_log_the_newest_is_kept():
    progress = tuple(an_entry(f"step {number} of the whole long way") for number in range(50))
    (section,) = prompt_of(a_recipe("progress", budget=1000), loaded(progress=progress)).sections
    assert section.text.endswith("step 49 of the whole long way")
    assert section.cut in section.text.splitlines()[2]
    assert "step 0 " not in section.text


def test_an_entry_is_kept_or_dropped_with_all_its_lines():
    said = tuple(a_comment(f"remark {number}\nmore of {number}") for number in range(60))
    (section,) = prompt_of(a_recipe("comments", budget=1000), loaded(comments=said)).sections
    shown = section.text.count("remark ")
    assert 0 < shown < 60
    assert section.text.count("more of ") == shown
    assert section.cut == f"… {60 - shown} more comments. `get_task` shows all."


def test_of_an_entry_too_long_by_itself_the_beginning_is_kept():
    long = loaded(comments=(a_comment("word " * 900),))
    (section,) = prompt_of(a_recipe("comments", budget=1000), long, names={}).sections
    assert section.text.endswith("word …\n… cut here")
    assert section.tokens < 250
    glued = prompt_of(a_recipe("comments", budget=1000), loaded(comments=(a_comment("ä" * 9000),)))
    assert glued.tokens < 250


@pytest.mark.parametrize("budget", [500, 6000])
def test_task_input_and_instructions_are_whole_whatever_the_budget(budget):
    task = TaskDetails(task=a_task(description="word " * 2000))
    steps = tuple((f"Step {number} of many.",) for number in range(200))
    prompt = prompt_of(
        a_recipe("task", "input", budget=budget, instructions=steps), loaded(task=task, user_input="wish " * 2000)
    )
    assert prompt.text.count("word") == prompt.text.count("wish") == 2000
    assert "200. Step 199 of many." in prompt.text
    assert not any(section.cut for section in prompt.sections)


def test_nothing_that_decides_is_cut_however_long_it_is():
    words = {name: f"{name}-word " * 5000 for name in ("asked", "failed", "answered", "remarked", "sided", "described")}
    values = loaded(
        task=TaskDetails(task=a_task(description=words["described"], acceptance_criteria=("it works",) * 50)),
        requirements=(words["asked"],),
        attempts=(an_attempt(words["failed"]),),
        answers=(words["answered"],),
        remarks=(a_remark(words["remarked"]),),
        run=RunSituation(conflict=words["sided"], may=("You may look.",)),
        listing=listed(300),
    )
    prompt = prompt_of(a_recipe("tasks", budget=2000, instructions=STEPS), values)
    assert {name: prompt.text.count(f"{name}-word") for name in words} == dict.fromkeys(words, 5000)
    assert prompt.text.count("- it works") == 50
    assert {section.name for section in prompt.sections if section.cut} == {"tasks"}
    assert prompt.tokens > 2000, "what decides is worth more than the budget"


def test_in_a_run_what_decides_is_there_whatever_the_recipe_lists():
    there = prompt_of(a_recipe("project"), everything())
    assert [section.name for section in there.sections] == ["project", *DECIDING]
    outside = prompt_of(a_recipe("project"), replace(everything(), run=None))
    assert [section.name for section in outside.sections] == ["project", "extra"]


def test_a_step_may_depend_on_what_the_prompt_shows():
    steps = (
        RecipeStep(wordings=("Resolve it.",), when="conflict"),
        RecipeStep(wordings=("Commit it.",), unless="situation"),
        RecipeStep(wordings=("Delete it with {task_delete}.",), when="conflict"),
        RecipeStep(wordings=("Stop.",)),
    )
    recipe = a_recipe("project", instructions=steps)
    assert prompt_of(recipe, everything()).text.endswith("## Instructions\n\n1. Resolve it.\n2. Stop.\n")
    assert prompt_of(recipe, loaded()).text.endswith("## Instructions\n\n1. Commit it.\n2. Stop.\n")


def test_code_that_is_cut_is_closed():
    said = a_comment("```\n" + "\n".join(["do this and that"] * 5000))
    (section,) = prompt_of(a_recipe("comments"), loaded(comments=(said,)), names={}).sections
    assert section.text.count("```") == 2
    assert section.text.endswith(f"```\n{section.cut}")


def test_around_a_long_task_the_rest_keeps_a_quarter():
    values = loaded(task=TaskDetails(task=a_task(description="word " * 4000)), listing=listed(300))
    prompt = prompt_of(a_recipe("tasks", "task", budget=2000), values)
    assert 300 < prompt.sections[0].tokens < 2000 // 4


@given(budget=st.integers(1000, 12_000), many=st.integers(0, 200), long=st.integers(0, 4000))
def test_a_prompt_keeps_to_its_budget(budget, many, long):
    values = loaded(
        listing=listed(many),
        comments=tuple(a_comment("tried this\nand that " * 5) for _ in range(many)),
        progress=tuple(an_entry("began and ended") for _ in range(many)),
        discipline=a_discipline(system_prompt="Mind the states. " * (long // 10)),
        task=TaskDetails(task=a_task(description="d" * min(long, budget))),
        unloaded={"tasks": many, "progress": long},
    )
    sections = ("persona", "progress", "tasks", "comments", "task")
    prompt = prompt_of(a_recipe(*sections, budget=budget, instructions=STEPS), values)
    assert prompt.tokens <= budget
    assert [section.name for section in prompt.sections if section.name in {"task", "instructions"}] == [
        "task",
        "instructions",
    ]


@given(own=st.sets(st.sampled_from(sorted(NAMES))), budget=st.sampled_from([500, 1000, 6000]))
def test_no_prompt_names_a_tool_that_is_not_there(own, budget):
    names = {name: NAMES[name] for name in own}
    prompt = prompt_of(a_recipe(*SECTIONS, instructions=STEPS, budget=budget), everything(), names)
    assert {word for word in re.findall(r"[\w-]+", prompt.text) if word in ALL} <= set(names.values())
