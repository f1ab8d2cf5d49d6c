"""The plan of a session: its tools, why it has no others, and that the same input gives the same bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from binnacle.errors import NotFound
from binnacle.plan.recipe import Recipe, ToolRule
from binnacle.plan.session_plan import SessionSubject, bind, choose, introduction, plan, shown_names, subject
from binnacle.store import features, tasks
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.work.task import NewTask
from plan.loaded import a_discipline, everything
from plan.snapshot_files import check_snapshot
from plan.test_shipped_recipes import BOX, the_catalog, the_recipe
from work.builders import PERSON, a_task

SNAPSHOTS = Path(__file__).parent / "snapshots"

LISTED = 20_000
"""Bytes that `tools/list` of a recipe may take."""

SEED_003 = {
    "braindump": (
        "create_feature create_discipline create_task list_features list_disciplines list_tasks get_feature "
        "get_discipline get_project_info"
    ),
    "yap": (
        "list_tasks get_task create_task update_task list_features list_disciplines set_task_status get_project_info"
    ),
    "ramble": (
        "list_features get_feature create_feature update_feature append_feature_learning add_feature_context_file "
        "list_tasks get_project_info"
    ),
    "discuss": "list_disciplines get_discipline update_discipline get_project_info",
    "task_execution": (
        "get_task set_task_status add_task_comment append_learning append_progress add_feature_context_file "
        "read_learnings read_progress get_project_info"
    ),
    "opus_review": (
        "list_tasks get_task set_task_status update_task create_task add_task_comment list_features get_feature "
        "update_feature append_feature_learning append_learning append_progress read_learnings read_progress "
        "get_project_info get_project_progress"
    ),
    "enrichment": (
        "list_tasks get_task enrich_task update_task create_task list_features get_feature list_disciplines "
        "get_project_info"
    ),
}
"""What each recipe of the third seed allowed."""

SEED_003_ANYWHERE = (
    "delete_task update_task_comment delete_task_comment delete_feature delete_discipline merge_features "
    "get_feature_learnings report_blocker signal_abort get_dependency_details search_tasks update_task_context "
    "skip_task spawn_subtasks move_task_to_feature add_context_file"
)
"""Tools of the third seed that no recipe of it allowed, or that it only thought of."""

SEED_004 = "task-add task-update task-list task-next note-add note-list iteration-summary session-complete"
"""What the fourth seed's server had in every session."""


def names(recipe: Recipe, *denied: str) -> list[str]:
    return [rule.name for rule in choose(recipe, the_catalog(), a_discipline(denied_tools=denied))[0]]


def tools_of(recipe: str, about: SessionSubject) -> list[ExposedTool]:
    """The tools of a session, as they are served."""
    rules, _ = choose(the_recipe(recipe), the_catalog(), about.discipline)
    return bind(the_recipe(recipe), rules, the_catalog(), about)


class TestSeeds:
    @pytest.mark.parametrize("recipe", SEED_003)
    def test_a_recipe_of_the_third_has_every_tool_under_its_name(self, recipe):
        assert set(SEED_003[recipe].split()) <= set(names(the_recipe(recipe)))

    def test_the_loop_has_every_tool_of_the_fourth_under_its_name(self):
        assert names(the_recipe("loop")) == SEED_004.split()

    @pytest.mark.parametrize("tool", SEED_003_ANYWHERE.split())
    def test_every_other_tool_is_known_by_its_name(self, tool):
        assert tool in the_catalog()


class TestChoosing:
    def test_all_that_is_not_chosen_has_a_reason(self):
        recipe = the_recipe("chat")
        rules, disabled = choose(recipe, the_catalog(), a_discipline("testing", denied_tools=("task_update",)))
        own = {the_catalog().find(rule.name).spec.name for rule in rules}
        assert own | disabled.keys() == {spec.name for spec in the_catalog()}
        assert not own & disabled.keys()
        assert list(disabled) == sorted(disabled)
        assert disabled["task_update"] == "denied to the discipline testing by 'task_update'"
        assert disabled["task_delete"] == "not in the recipe chat"

    @pytest.mark.parametrize("word", ["update_task", "task_update", "task-update", "update_*", "task_up*", "*-update"])
    def test_a_tool_is_denied_by_any_name_or_a_pattern_of_one(self, word):
        assert "update_task" in names(the_recipe("review"))
        assert "update_task" not in names(the_recipe("review"), word)

    def test_what_is_denied_need_not_be_there(self):
        assert names(the_recipe("loop"), "debug_*", "create_feature") == SEED_004.split()

    def test_a_tool_denied_under_one_name_is_gone_under_all(self):
        recipe = Recipe(name="r", description="", tools=(ToolRule(name="get_task"), ToolRule(name="task_get")))
        assert names(recipe) == ["get_task", "task_get"]
        assert names(recipe, "get_task") == []

    def test_everything_can_be_denied(self):
        assert names(the_recipe("default"), "*") == []


class TestSubject:
    @pytest.fixture
    def tx(self, store):
        with store.write(by=PERSON) as tx:
            for name in ("auth", "billing"):
                features.add(tx, name, {"title": name})
            for name in ("testing", "security"):
                features.add_discipline(tx, name, {"title": name})
        with store.write(by=PERSON) as tx:
            yield tx

    def test_what_was_not_named_follows_from_the_task(self, tx):
        (task,) = tasks.add(tx, [NewTask(title="One", feature="auth", discipline="testing")])
        about = subject(tx, None, None, task.id)
        assert (about.discipline.name, about.feature, about.task.id) == ("testing", "auth", task.id)
        about = subject(tx, "security", "billing", task.id)
        assert (about.discipline.name, about.feature) == ("security", "billing")

    def test_nothing_is_about_nothing(self, tx):
        assert subject(tx, None, None, None) == SessionSubject()

    @pytest.mark.parametrize(("which", "hint"), [(("tesing", None, None), "testing"), ((None, "auht", None), "auth")])
    def test_a_wrong_name_is_refused_with_the_nearest(self, tx, which, hint):
        with pytest.raises(NotFound) as caught:
            subject(tx, *which)
        assert hint in caught.value.hint

    def test_a_task_that_is_not_there_is_refused(self, tx):
        with pytest.raises(NotFound):
            subject(tx, None, None, "bn-ffff")


def test_the_introduction_tells_of_the_tools_that_are_there():
    def told(name: str) -> str:
        return introduction(shown_names(tools_of(name, SessionSubject())))

    assert "Take a task with `task_claim`." in told("default")
    assert "`bn_run` runs any bn command; call `binnacle-set_agent` first." in told("passthrough")
    assert "`task-next`" in told("loop")
    assert "`task-update`" in told("loop")
    assert "`report_done`" in told("report")
    assert introduction({}) == "Binnacle keeps the work of this repository."


def made(name: str, *denied: str, **changes) -> str:
    recipe = msgspec.structs.replace(the_recipe(name), **changes)
    about = SessionSubject(a_discipline(denied_tools=denied), "auth", a_task())
    return plan(recipe, the_catalog(), about, everything(), session="bns-0001").catalog


def test_the_hash_changes_with_the_tools_and_the_recipe_only():
    known = made("chat")
    assert known == made("chat") == made("chat", "debug_*")
    others = [
        made("chat", "get_task"),
        made("chat", instructions=()),
        made("chat", created_status="draft"),
        made("chat", instead={}),
        made("chat", tools=the_recipe("chat").tools[::-1]),
        made("interview"),
    ]
    assert len({known, *others}) == 7


def test_a_plan_says_what_it_costs():
    about = SessionSubject(a_discipline(upstreams={"docs": {"command": "x"}}), "auth", a_task())
    found = plan(the_recipe("chat"), the_catalog(), about, everything(), session="bns-0001")
    assert (found.recipe, found.discipline, found.feature, found.task) == ("chat", "frontend", "auth", "bn-aaaa")
    assert found.tool_tokens == sum(tool.tokens for tool in found.tools)
    assert found.tokens == found.prompt.tokens + found.tool_tokens
    assert found.upstreams == {"docs": {"command": "x"}}


PRINTED = """
import sys
import msgspec
from binnacle.plan.session_plan import SessionSubject, plan
from plan.loaded import a_discipline, everything
from plan.snapshot_files import check_snapshot
from plan.test_shipped_recipes import BOX, the_catalog, the_recipe
from work.builders import a_task

about = SessionSubject(a_discipline(denied_tools=("get_*", "note-add", "task_list")), "auth", a_task())
for name in BOX:
    sys.stdout.buffer.write(msgspec.json.encode(plan(the_recipe(name), the_catalog(), about, everything())) + b"\\n")
"""


def test_the_same_input_gives_the_same_bytes_in_every_process():
    tests = str(Path(__file__).parent.parent)

    def printed(seed: str) -> bytes:
        env = {**os.environ, "PYTHONPATH": tests, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", PRINTED], env=env, capture_output=True, timeout=60, check=True)
        return done.stdout

    first = printed("1")
    assert first.count(b"\n") == len(BOX)
    assert first == printed("2") == printed("3")


class TestSnapshots:
    """The tools that agents see. A change here is a change of the product: look at the difference."""

    @pytest.mark.parametrize("name", BOX)
    def test_the_tools(self, name):
        exposed = tools_of(name, SessionSubject(a_discipline(), "auth", a_task()))
        entries = [one.entry() for one in exposed]
        assert len(msgspec.json.encode({"tools": entries})) <= LISTED
        found = {"instructions": introduction(shown_names(exposed)), "tools": entries}
        check_snapshot(SNAPSHOTS / f"{name}.tools.json", json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def test_no_snapshot_is_left_over():
    assert {file.name for file in SNAPSHOTS.iterdir()} == {f"{name}.tools.json" for name in BOX}
