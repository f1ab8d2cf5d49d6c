"""Every command, as a session of each recipe: nothing changes that the plan does not allow.

What may change is told from the tools of the plan alone, not from what commands say of themselves: each kind of event
names the tools that cause it.
"""

import json

import pytest

from binnacle.cli.command_index import GROUPS
from binnacle.cli.parser import load_group
from binnacle.plan.recipe_loader import recipe_files
from binnacle.tools.command_rights import COMMANDS
from hostile_agent.acting import changes_since, look
from hostile_agent.words import every_line, needs_of

RECIPES = sorted(recipe_files(None))
WIDE = ("default", "develop", "passthrough")
"""Recipes whose commands reach everything that is not left to people."""

THOROUGH = ("default", "loop")
"""Recipes for which everything is tried. What reads, and what is left to people, is the same under all of them."""

CAUSES = {
    ("task", "added"): {"task_add", "task_split"},
    ("task", "started"): {"task_claim", "task_status", "task_update"},
    ("task", "released"): {"task_release", "task_status", "task_update"},
    ("task", "done"): {"task_status", "task_update"},
    ("task", "cancelled"): {"task_skip", "task_status", "task_update"},
    ("task", "blocked"): {"task_block", "task_status", "task_update"},
    ("task", "reopened"): {"task_status", "task_update"},
    ("task", "split"): {"task_split"},
    ("task", "updated"): {"task_update", "task_move", "task_context", "task_enrich"},
    ("task", "waits"): {"task_update", "task_split", "task_block"},
    ("task", "waits no more"): {"task_update"},
    ("task", "deleted"): {"task_delete"},
    ("comment", "added"): {"comment_add", "task_block", "task_status", "task_update"},
    ("feature", "added"): {"feature_add"},
    ("feature", "updated"): {"feature_update", "feature_context"},
    ("discipline", "added"): {"discipline_add"},
    ("discipline", "updated"): {"discipline_update"},
    ("learning", "added"): {"learning_add"},
    ("learning", "counted"): {"learning_add"},
    ("note", "added"): {"note_add"},
    ("progress", "added"): {"progress_add"},
    ("session", "task"): {"task_claim", "task_status", "task_update"},
    ("agent", "registered"): {"binnacle-orient"},
    ("agent", "updated"): {"binnacle-orient"},
    ("agent", "ended"): {"binnacle-goodbye"},
}
"""The tools that record an event. One that is not here may be recorded in no session but the wide ones."""

PEOPLES = {("store", action) for action in ("cleared", "imported", "salvaged")} | {("question", "answered")}
"""Events of what only people do, whichever the plan."""

REFUSALS = ("E_TOOL_DISABLED", "E_PERSON_NEEDED", "E_REFUSED", "E_INVALID_PARAMS")


def all_commands():
    return [(group, command) for group in GROUPS for command in load_group(group).commands.values()]


def names_of_tools(bn) -> set[str]:
    return {one["name"] for one in bn("tool")["tools"]} | {"binnacle-orient", "binnacle-goodbye"}


@pytest.fixture
def values(bn) -> dict[str, str]:
    """Things of other people, which a hostile agent aims at."""
    bn("feature", "add", "shop")
    bn("feature", "add", "cellar")
    bn("discipline", "add", "reader", "--deny", "debug_*")
    task = bn.add("Somebody's", "-f", "shop")
    waiting = bn.add("Another", "--after", task)
    held = bn.add("Held")
    other = bn.agent("somebody")
    bn("task", "start", held, env=other)
    learning = bn("learning", "add", "Water is wet")["learning"]["id"]
    note = bn("note", "add", "remember")["note"]["id"]
    return {
        "id": held,
        "ids": task,
        "task ids": held,
        "task move ids": task,
        "on": task,
        "task add titles": "New",
        "undo number": "1",
        "titles": "a part",
        "title": "Title",
        "task dep rm id": waiting,
        "to": "cellar",
        "into": "cellar",
        "feature name": "shop",
        "feature add name": "garden",
        "discipline name": "reader",
        "discipline add name": "writer",
        "discipline update title": "The Reader",
        "discipline import source": "generic",
        "feature update title": "The Shop",
        "task update title": "Renamed",
        "note delete id": note,
        "note add text": "n",
        "learning review id": learning,
        "learning delete id": learning,
        "agent id": other["BN_AGENT_ID"],
        "reason": "because",
        "key": "claim.minutes",
        "value": "7",
        "file": "stolen.json",
        "prompt template output": "t.md",
        "spec": "Build it",
        "target": "true",
        "goodbye reason": "bye",
        "recipe": "default",
        "first": "default",
        "second": "loop",
        "words": "water",
        "query": "water",
        "script new name": "evil",
        "tool name": "task_delete",
        "tool arguments": json.dumps({"id": held}),
        "arguments": "{}",
        "store import file": "stolen.json",
        "completion words words": "task",
    }


def test_every_command_says_what_it_amounts_to(bn):
    """A command that reads is told from one that changes, and each tool that is named is there."""
    known = names_of_tools(bn) | set(COMMANDS)
    for line in every_line({}):
        needs = needs_of(line)
        assert needs.is_reading or needs.act or needs.steps, line.name
        assert not (needs.act and needs.steps), line.name
        assert needs.tools <= known | {"x"}, (line.name, needs.tools - known)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_shell_changes_nothing_that_its_plan_does_not_allow(bn, store, hostile, values, tmp_path, recipe):
    agent = hostile(recipe=recipe)
    shown = bn("plan", "show", recipe)
    allowed = {one["tool"] for one in shown["tools"]}
    folders = (bn.repo, tmp_path / "config", tmp_path / "data")
    for line in every_line(values):
        if recipe not in THOROUGH and not needs_of(line).steps:
            continue
        before = look(store, *folders)
        done = agent.bn(*line.words)
        check_events(line, changes_since(store, before), allowed, recipe)
        check_files(line, before, look(store, *folders), recipe)
        check_refusal(line, done, allowed, recipe)


def check_events(line, recorded, allowed, recipe):
    for event in recorded:
        assert event not in PEOPLES, (line.words, event)
        assert recipe in WIDE or allowed & CAUSES.get(event, set()), (line.words, event)


def check_files(line, before, after, recipe):
    changed = {
        path for path in before.files.keys() | after.files.keys() if before.files.get(path) != after.files.get(path)
    }
    changed = {path for path in changed if "/sessions/" not in path and not path.endswith("recent.json")}
    assert not changed or (recipe in WIDE and line.name == "script new"), (line.words, changed)


def check_refusal(line, done, allowed, recipe):
    needs = needs_of(line)
    error = done.error
    if needs.act:
        assert error.get("code") == "E_PERSON_NEEDED", (line.words, done)
    elif needs.steps and recipe not in WIDE and not all(allowed & {one.tool for one in step} for step in needs.steps):
        assert error.get("code") == "E_TOOL_DISABLED", (line.words, done)
    assert error.get("code") != "E_INTERNAL", (line.words, done)
    if error.get("code") in REFUSALS:
        assert error.get("hint"), (line.words, error)


@pytest.mark.parametrize(("recipe", "options"), [("default", ()), ("passthrough", ("--recipe", "passthrough"))])
def test_what_is_passed_through_does_nothing_that_is_left_to_people(
    bn, store, client, values, tmp_path, recipe, options
):
    talk = client().pipe(options=options)
    talk.data("binnacle-set_agent", path=str(bn.repo))
    folders = (bn.repo, tmp_path / "config", tmp_path / "data")
    for line in every_line(values):
        before = look(store, *folders)
        result = talk.tool("bn_run", args=list(line.words))
        check_events(line, changes_since(store, before), set(), recipe)
        check_files(line, before, look(store, *folders), recipe)
        if result["isError"]:
            assert line.group in ("mcp", "gui", "orient", "goodbye"), result
        elif needs_of(line).act:
            ran = result["structuredContent"]["data"]
            assert json.loads(ran["stderr"])["error"]["code"] == "E_PERSON_NEEDED", (line.words, ran)


def test_a_discipline_without_rights_changes_nothing_at_all(bn, hostile, values):
    bn("discipline", "add", "nobody", "--deny", "*")
    agent = hostile(recipe="default", discipline="nobody")
    tasks = bn("task", "list", "--all")["tasks"]
    for line in every_line(values):
        needs = needs_of(line)
        if not needs.is_reading and not needs.act:
            done = agent.bn(*line.words)
            assert done.error.get("code") == "E_TOOL_DISABLED", (line.words, done)
    assert bn("task", "list", "--all")["tasks"] == tasks
