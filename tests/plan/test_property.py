"""Whatever is denied to a session, nothing it reads names a tool that it does not have."""

import re
from collections.abc import Iterable
from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binnacle.plan.prompt_data import PromptData
from binnacle.plan.recipe import RecipeStep
from binnacle.plan.sections import SECTIONS
from binnacle.plan.session_plan import (
    PlannedTool,
    SessionPlan,
    SessionSubject,
    bind,
    choose,
    introduction,
    plan,
    shown_names,
)
from binnacle.plan.tool_mentions import tools_in
from binnacle.tools.exposed_tool import ExposedTool
from plan.loaded import a_discipline, everything
from plan.test_shipped_recipes import BOX, every_name, the_catalog, the_recipe
from work.builders import a_task

SMALL = [name for name in BOX if len(the_recipe(name).tools) <= 9]

TELLING = sorted((name for name in every_name() if re.search("[_-]", name)), key=len, reverse=True)
MENTIONED = re.compile(rf"(?<!\w)(?<!\w-)(?:{'|'.join(map(re.escape, TELLING))})(?!\w|-\w)")


def mentioned(text: str) -> set[str]:
    """The tools that a text names, as whole words. A name without `_` or `-` is a word like others."""
    return set(MENTIONED.findall(text))


def session(name: str, denied: Iterable[str], *, own: bool) -> tuple[SessionPlan, list[ExposedTool]]:
    """The plan of a session, and its tools as they would be served."""
    recipe, catalog = the_recipe(name), the_catalog()
    about = SessionSubject(a_discipline(denied_tools=tuple(denied)), "auth", a_task() if own else None)
    rules, _ = choose(recipe, catalog, about.discipline)
    return plan(recipe, catalog, about, everything()), bind(recipe, rules, catalog, about)


def check(name: str, denied: Iterable[str], *, own: bool = True) -> None:
    made, exposed = session(name, denied, own=own)
    names = shown_names(exposed)
    shown = {tool.name for tool in made.tools}
    assert mentioned(made.prompt.text) <= shown
    assert mentioned(introduction(names)) <= shown
    for one in exposed:
        assert mentioned(msgspec.json.encode(one.entry()).decode()) <= shown, one.name
    check_steps(name, made, names)


def check_steps(name: str, made: SessionPlan, names: dict[str, str]) -> None:
    """Every step is there in the first wording whose tools are, and in no other."""
    said = {line.partition(". ")[2] for line in made.prompt.sections[-1].text.splitlines()}
    given = everything()
    for instruction in the_recipe(name).instructions:
        step, is_due = instruction.wordings, _is_due(instruction, given)
        usable = [wording for wording in step if tools_in((wording,)) <= names.keys()]
        for wording in step:
            text = re.sub(r"\{([\w-]+)\}", lambda found: f"`{names.get(found[1], found[1])}`", wording)
            assert (text in said) is (is_due and wording in usable[:1]), text


def _is_due(step: RecipeStep, given: PromptData) -> bool:
    is_there = {name: bool(SECTIONS[name](given)) for name in (step.when, step.unless) if name}
    return is_there.get(step.when, True) and not is_there.get(step.unless, False)


def denials(name: str) -> st.SearchStrategy[set[str]]:
    """Names, aliases and patterns, mostly of tools that the recipe has."""
    catalog = the_catalog()
    own = [catalog.find(rule.name).spec for rule in the_recipe(name).tools if rule.name in catalog]
    words = {word for spec in own for word in (spec.name, *(alias.name for alias in spec.aliases))}
    parts = {part for word in words for part in re.split("[_-]", word)}
    patterns = {pattern for part in parts for pattern in (f"{part}_*", f"*_{part}", f"{part}*", f"*{part}*")}
    return st.sets(st.sampled_from(sorted(words)), max_size=12) | st.sets(
        st.sampled_from(sorted(words)) | st.sampled_from(sorted(patterns)) | st.sampled_from(TELLING), max_size=6
    )


@pytest.mark.parametrize("name", BOX)
def test_nothing_names_a_tool_that_is_not_there_whatever_is_denied(name):
    @settings(max_examples=40)
    @given(denied=denials(name), own=st.booleans())
    def holds(denied: set[str], own: bool) -> None:
        check(name, denied, own=own)

    holds()


@pytest.mark.parametrize("name", SMALL)
def test_the_same_for_every_subset_of_a_small_recipe(name):
    tools = [rule.name for rule in the_recipe(name).tools]
    for size in range(len(tools) + 1):
        for denied in combinations(tools, size):
            check(name, denied)


@pytest.mark.parametrize("name", BOX)
def test_the_same_where_one_tool_is_missing_and_where_one_is_left(name):
    tools = [rule.name for rule in the_recipe(name).tools if rule.name in the_catalog()]
    for one in tools:
        check(name, [one])
        check(name, [other for other in tools if other != one])


@given(name=st.sampled_from(BOX), data=st.data())
def test_denials_only_ever_take_away(name, data):
    recipe, catalog = the_recipe(name), the_catalog()
    first = data.draw(denials(name))
    more = first | data.draw(denials(name))
    every, without, within = (
        [rule.name for rule in choose(recipe, catalog, a_discipline(denied_tools=tuple(words)))[0]]
        for words in ((), first, more)
    )
    assert without == [tool for tool in every if tool in without], "the order stays"
    assert set(within) <= set(without) <= set(every)


def test_a_name_inside_a_longer_one_is_no_mention():
    assert mentioned("task_listing, my_task_list, re-task-list, task-listed, task_list_all") == set()
    assert mentioned("(task_list) `task-list`, task_get-") == {"task_list", "task-list", "task_get"}


def test_what_is_counted_is_what_is_listed():
    made, exposed = session("review", (), own=False)
    assert [tool.name for tool in made.tools] == [one.name for one in exposed]
    assert all(isinstance(tool, PlannedTool) and tool.tokens > 0 for tool in made.tools)
