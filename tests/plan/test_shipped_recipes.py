"""The recipes in the box: what each one allows, and that its words are in step with it."""

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.plan.prompt import render
from binnacle.plan.recipe import Recipe
from binnacle.plan.recipe_loader import load_recipe, recipe_files
from binnacle.plan.tool_mentions import render as worded
from binnacle.plan.tool_mentions import tools_in
from binnacle.project.project import find_project
from binnacle.project.tool_catalog import catalog_of
from binnacle.tools.json_schema import input_schema
from plan.loaded import everything

BOX = (
    *(
        "brainstorm",
        "chat",
        "code_review",
        "debug",
        "default",
        "develop",
        "disciplines",
        "enrich",
        "interview",
        "loop",
        "loop_debug",
    ),
    *("passthrough", "plan", "report", "review", "task"),
)

SEED = {
    "brainstorm": "create_feature create_discipline create_task list_features list_disciplines list_tasks get_feature "
    "get_discipline get_project_info",
    "chat": "list_tasks get_task create_task update_task list_features list_disciplines set_task_status "
    "get_project_info",
    "interview": "list_features get_feature create_feature update_feature append_feature_learning "
    "add_feature_context_file list_tasks get_project_info",
    "disciplines": "list_disciplines get_discipline update_discipline get_project_info",
    "task": "get_task set_task_status add_task_comment append_learning append_progress "
    "add_feature_context_file read_learnings read_progress get_project_info report_blocker signal_abort "
    "get_dependency_details search_tasks get_feature_learnings update_task_context add_context_file",
    "review": "list_tasks get_task set_task_status update_task create_task add_task_comment list_features "
    "get_feature update_feature append_feature_learning append_learning append_progress read_learnings read_progress "
    "get_project_info get_project_progress create_feature move_task_to_feature skip_task",
    "enrich": "list_tasks get_task enrich_task update_task create_task list_features get_feature "
    "list_disciplines get_project_info spawn_subtasks skip_task",
    "loop": "task-add task-update task-list task-next note-add note-list iteration-summary session-complete",
    "plan": "task-add task-list note-add iteration-summary",
    "passthrough": "binnacle-set_agent bn_run binnacle-orient binnacle-goodbye",
}


@cache
def the_catalog():
    return catalog_of(find_project("."))


@cache
def the_recipe(name: str) -> Recipe:
    return load_recipe(name, the_catalog())


@cache
def every_name() -> frozenset[str]:
    return frozenset(name for spec in the_catalog() for name in (spec.name, *(one.name for one in spec.aliases)))


def shown(name: str) -> dict[str, str]:
    """The tools of a recipe: own name → the first name that it lists."""
    rules = [rule.name for rule in the_recipe(name).tools if rule.name in the_catalog()]
    return {the_catalog().find(one).spec.name: one for one in reversed(rules)}


def test_these_recipes_are_in_the_box():
    assert sorted(recipe_files(None)) == sorted(BOX)


@pytest.mark.parametrize("name", BOX)
def test_a_recipe_is_about_tools_that_it_has(name):
    recipe, own = the_recipe(name), shown(name)
    assert recipe.description
    steps = [step.wordings for step in recipe.instructions]
    assert {tool for step in steps for tool in tools_in(step)} <= own.keys()
    assert worded(steps, own) == worded([step[:1] for step in steps], own)


@pytest.mark.parametrize("name", BOX)
def test_what_to_use_instead_is_there_and_what_for_is_not(name):
    own, find = shown(name), the_catalog().find
    for tried, other in the_recipe(name).instead.items():
        assert find(tried).spec.name not in own, tried
        assert find(other).spec.name in own, other


@pytest.mark.parametrize("name", SEED)
def test_a_recipe_has_the_tools_its_seed_gave_it_under_their_names(name):
    assert set(SEED[name].split()) <= {rule.name for rule in the_recipe(name).tools}


def test_the_seeds_four_parameters_of_a_task_come_first():
    """A model reads them in this order, and needs the others rarely."""
    schema = input_schema(the_catalog().find("task-update").spec)
    assert list(schema["properties"])[:4] == ["id", "status", "priority", "depends_on"]


def test_only_recipes_of_iterations_summarise_and_complete_them():
    about = {"iteration_summary", "session_complete"}
    assert {name for name in BOX if about & shown(name).keys()} == {"loop", "loop_debug", "plan"}
    assert not (about | {"session_abort"}) & shown("default").keys()


def test_who_reviews_a_change_changes_nothing_but_its_own_verdict():
    rules = the_recipe("code_review").tools
    assert [rule.name for rule in rules if not the_catalog().find(rule.name).spec.hints.read_only] == ["review_verdict"]
    assert {rule.task for rule in rules} == {"own"}
    assert not the_recipe("code_review").commands


def test_limits_are_those_the_design_asks_for():
    rules = {rule.name: rule for rule in the_recipe("task").tools}
    own = ("set_task_status", "report_blocker", "update_task_context", "add_context_file")
    assert {rules[name].task for name in own} == {"own"}
    assert (rules["add_task_comment"].task, rules["get_task"].task) == ("near", "any")
    review = {rule.name: rule for rule in the_recipe("review").tools}
    assert review["update_task"].only == ("priority", "description")
    enrich = {rule.name: rule for rule in the_recipe("enrich").tools}
    assert not {"status", "feature"} & set(enrich["update_task"].only)
    assert the_recipe("brainstorm").created_status == "draft"


@pytest.mark.parametrize("name", BOX)
def test_whoever_may_use_nothing_still_says_what_came_of_it(name):
    steps = worded([step.wordings for step in the_recipe(name).instructions], {})
    assert any("your last message" in step for step in steps)
    assert not named("\n".join(steps))


@given(name=st.sampled_from(BOX), data=st.data())
def test_whatever_is_denied_the_prompt_names_no_tool_that_is_not_there(name, data):
    own = shown(name)
    denied = data.draw(st.sets(st.sampled_from(sorted(own))))
    names = {tool: known for tool, known in own.items() if tool not in denied}
    prompt = render(the_recipe(name), everything(), names, all_names=every_name())
    assert named(prompt.text) <= set(names.values())
    assert prompt.tokens <= the_recipe(name).budget


def named(text: str) -> set[str]:
    """The tools that a text names. A name without `_` or `-` is a word like others."""
    return {word for word in re.findall(r"\w+(?:-\w+)*", text) if word in every_name() and re.search("[_-]", word)}
