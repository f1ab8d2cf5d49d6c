"""Recipes as files: what one says, what it takes from another, and what is wrong with it."""

import re
from pathlib import Path

import pytest

from binnacle.config.trust import keep
from binnacle.errors import ConfigError, NotFound
from binnacle.plan import recipe_loader
from binnacle.plan.recipe import Recipe, RecipeStep, ToolRule, expand_rules, matching
from binnacle.plan.recipe_loader import MAX_RECIPE_TOOLS, load_recipe, recipe_files
from binnacle.plan.sections import SECTIONS
from binnacle.work.recipe_names import RECIPE_ALIASES
from plan.test_shipped_recipes import the_catalog


@pytest.fixture
def repo(tmp_path):
    (tmp_path / ".binnacle" / "recipes").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def write(repo):
    """Writes a recipe of the project's own and returns its file."""

    def write(text: str, name: str = "mine") -> str:
        file = repo / ".binnacle" / "recipes" / f"{name}.yaml"
        file.write_text(text)
        return str(file)

    return write


@pytest.fixture
def load(repo):
    def load(name: str = "mine") -> Recipe:
        return load_recipe(name, the_catalog(), repo=str(repo))

    return load


@pytest.fixture
def trust(repo, monkeypatch):
    """Trusts the project's recipes as they are."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(repo / "config"))
    return lambda: keep(str(repo), recipe_loader.find_items(str(repo), the_catalog()), by="ann", at="", how="terminal")


@pytest.fixture
def wrong(write, load):
    """What is said of a recipe: the line, the message and the hint."""

    def wrong(text: str) -> tuple[int, str, str]:
        file = write(text)
        with pytest.raises(ConfigError) as caught:
            load()
        place, _, message = caught.value.message.partition(": ")
        assert place.startswith(f"{file}:"), caught.value.message
        return int(place.rpartition(":")[2]), message, caught.value.hint

    return wrong


def names(recipe: Recipe) -> list[str]:
    return [rule.name for rule in recipe.tools]


def test_a_recipe_says_everything_at_once(write, load):
    write(
        "description: mine\n"
        "tools:\n"
        "  - get_task\n"
        "  - update_task: {only: [priority], task: near}\n"
        "  - debug_*\n"
        "instead: {delete_task: update_task}\n"
        "created_status: draft\n"
        "sections: [project, task]\n"
        "budget: 900\n"
        "upstreams: true\n"
        "instructions:\n"
        "  - Read it.\n"
        "  - - Read it with {get_task}.\n"
        "    - Guess.\n"
    )
    assert load() == Recipe(
        name="mine",
        description="mine",
        tools=(
            ToolRule(name="get_task"),
            ToolRule(name="update_task", only=("priority",), task="near"),
            ToolRule(name="debug_*"),
        ),
        instead={"delete_task": "update_task"},
        created_status="draft",
        sections=("project", "task"),
        budget=900,
        upstreams=True,
        instructions=(
            RecipeStep(wordings=("Read it.",)),
            RecipeStep(wordings=("Read it with {task_get}.", "Guess.")),
        ),
    )


def test_a_project_adds_recipes_and_puts_its_own_before_those_in_the_box(repo, write, load):
    file = write("description: ours\ntools: [get_task]\n", "chat")
    write("tools: [bn_run]\n", "shell")
    files = recipe_files(str(repo))
    assert files["chat"] == file
    assert set(files) == {*recipe_files(None), "shell"}
    assert (load("chat").description, names(load("chat")), names(load("shell"))) == ("ours", ["get_task"], ["bn_run"])
    assert "shell" not in recipe_files(None)


def test_files_that_are_no_recipes_are_passed_over(repo, write):
    (repo / ".binnacle" / "recipes" / "README.md").write_text("ours")
    assert set(recipe_files(str(repo))) == set(recipe_files(None))
    assert set(recipe_files(str(repo / "elsewhere"))) == set(recipe_files(None))


def test_an_unknown_recipe_is_refused_with_the_nearest(load):
    with pytest.raises(NotFound) as caught:
        load("task_executon")
    assert caught.value.hint == "did you mean 'task_execution'?"


class TestOtherNames:
    """The seeds' names of recipes, which agents and people remember."""

    @pytest.mark.parametrize(("alias", "own"), RECIPE_ALIASES.items())
    def test_a_recipe_is_loaded_by_either_name(self, load, alias, own):
        assert load(alias) == load(own)
        assert load(alias).name == own
        assert own in recipe_files(None)
        assert alias not in recipe_files(None)

    def test_a_file_under_the_other_name_replaces_ours(self, repo, write, load):
        file = write("description: ours\ntools: [get_task]\n", "yap")
        assert recipe_files(str(repo))["chat"] == file
        assert load("chat").description == load("yap").description == "ours"
        own = write("description: newer\ntools: [get_task]\n", "chat")
        assert recipe_files(str(repo))["chat"] == own, "a file under the recipe's own name comes first"

    def test_a_recipe_extends_ours_by_either_name(self, write, load):
        write("extends: discuss\ntools: [get_task]\n")
        assert names(load()) == [*names(load("disciplines")), "get_task"]
        write("extends: opus_review\nwithout: [create_task]\n", "opus_review")
        ours = load_recipe("review", the_catalog())
        assert set(names(ours)) - set(names(load("review"))) == {"create_task"}


class TestSteps:
    def test_a_step_has_wordings_and_a_condition(self, write, load):
        write(
            "tools: [get_task]\ninstructions:\n- say: Commit.\n  unless: situation\n"
            "- when: conflict\n  say: ['Read {get_task}.', Guess.]\n"
        )
        assert load().instructions == (
            RecipeStep(wordings=("Commit.",), unless="situation"),
            RecipeStep(wordings=("Read {task_get}.", "Guess."), when="conflict"),
        )


class TestExtending:
    def test_tools_are_added_and_keys_replaced(self, write, load):
        write("extends: disciplines\ntools: [bn_run]\nbudget: 1000\ninstructions: [Talk.]\n")
        write("tools: [get_discipline]\nextends: mine\n", "other")
        base, mine = load("disciplines"), load()
        assert names(mine) == [*names(base), "bn_run"]
        assert (mine.budget, mine.instructions) == (1000, (RecipeStep(wordings=("Talk.",)),))
        assert (mine.name, mine.description, mine.sections) == ("mine", base.description, base.sections)
        assert names(load("other")) == [name for name in names(mine) if name != "get_discipline"] + ["get_discipline"]

    def test_tools_are_taken_away_by_any_name_or_pattern(self, write, load):
        write("extends: review\nwithout: [task_update, '*_feature', learning_add]\n")
        gone = {"update_task", "get_feature", "create_feature", "update_feature", "move_task_to_feature"}
        gone |= {"append_feature_learning", "append_learning"}
        assert set(names(load("review"))) - set(names(load())) == gone

    def test_a_tool_given_again_has_the_new_limits(self, write, load):
        write("extends: review\ntools:\n- update_task: {only: [tags]}\n- create_task: {}\n")
        rules = {rule.name: rule for rule in load().tools}
        assert rules["update_task"].only == ("tags",)
        assert len(rules) == len(load().tools) == len(load("review").tools)

    def test_a_project_extends_the_one_in_the_box_that_it_stands_in_front_of(self, write, load, trust):
        before = names(load("disciplines"))
        write("extends: disciplines\ntools: [bn_run]\n", "disciplines")
        write("extends: disciplines\ntools: [get_task]\n")
        assert names(load("disciplines")) == before, "nobody has trusted it"
        assert names(load()) == [*before, "get_task"]
        trust()
        assert names(load("disciplines")) == [*before, "bn_run"]
        assert names(load()) == [*before, "bn_run", "get_task"]

    def test_what_the_box_builds_on_may_be_the_projects_own(self, write, load):
        write("extends: task\nwithout: [search_tasks]\n", "task")
        assert "search_tasks" not in names(load("debug"))

    def test_a_key_can_be_emptied(self, write, load):
        write(
            "extends: brainstorm\ncreated_status: null\nsections: []\ninstead: {}\ninstructions: []\nupstreams: false\n"
        )
        mine = load()
        assert (mine.created_status, mine.sections, dict(mine.instead), mine.instructions) == (None, (), {}, ())
        assert names(mine) == names(load("brainstorm"))

    def test_a_circle_is_refused_and_spelled_out(self, write, load):
        file = write("description: x\nextends: mine\n", "other")
        write("extends: other\n")
        with pytest.raises(ConfigError) as caught:
            load()
        assert caught.value.message == f"{file}:2: a cycle: mine → other → mine"

    def test_a_recipe_cannot_extend_itself(self, wrong):
        assert wrong("tools: [bn_run]\nextends: mine\n") == (2, "a cycle: mine → mine", "extend another one")

    def test_an_unknown_base_is_refused_with_the_nearest(self, wrong):
        assert wrong("extends: enrichmnt\n") == (1, "no recipe 'enrichmnt'", "did you mean 'enrichment'?")

    def test_what_is_wrong_in_the_base_is_said_of_the_base(self, write, load):
        file = write("tools: [nope_at_all]\n", "other")
        write("extends: other\n")
        with pytest.raises(ConfigError, match="nope_at_all") as caught:
            load()
        assert caught.value.message.startswith(f"{file}:1: ")


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("tools:\n- get_task\n- get_tsak\n", 3, "no tool 'get_tsak'", "'get_task'"),
        ("tools:\n- update_task:\n    only: [prioritty]\n", 2, "no parameter 'prioritty'", "'priority'"),
        ("tools:\n- create_task: {only: [titel]}\n", 2, "no parameter 'titel'", "'title'"),
        ("tools:\n- task_up*: {only: [titel]}\n", 2, "has no parameter 'titel'", "'title'"),
        ("tools:\n- list_tasks: {task: own}\n", 2, "list_tasks is not about one task", "leave out 'task'"),
        ("tools:\n- update_task_comment: {task: own}\n", 2, "is not about one task", "leave out 'task'"),
        ("tools:\n- feature_*: {task: own}\n", 2, "is not about one task", "leave out 'task'"),
        ("tools:\n- get_task: {task: mine}\n", 2, "invalid enum value 'mine'", "'near'"),
        ("tools:\n- get_task: {}\n  bn_run: {}\n", 2, "an entry must name one tool", "- update_task"),
        ("tools:\n- {}\n", 2, "an entry must name one tool", "- update_task"),
        ("tools:\n- get_task: {onyl: [x]}\n", 2, "unknown key 'onyl'", "'only'"),
        ("tools:\n- get_task:\n", 2, "expected object, got null", ""),
        ("tools:\n- [get_task]\n", 2, "expected str | object, got array", ""),
        ("tools: get_task\n", 1, "tools: expected array, got str", ""),
        ("description: a\ntool: [get_task]\n", 2, "unknown key 'tool'", "'tools'"),
        ("sections:\n- project\n- progres\n", 3, "no section 'progres'", "'progress'"),
        ("extends: chat\nwithout:\n- get_task\n- note_add\n", 4, "'note_add' is not in the recipe it extends", ""),
        ("without: [get_task]\n", 1, "'get_task' is not in the recipe it extends", "extends"),
        ("instead:\n  bn_run: get_task\n  delete_tsak: bn_run\n", 3, "'delete_tsak'", "'delete_task'"),
        ("tools: [get_task]\ninstead: {delete_task: get_tsak}\n", 2, "no tool 'get_tsak'", "'get_task'"),
        ("instructions:\n- Rest.\n- - Call {get_task}.\n  - Call {get_tsak}.\n", 3, "no tool 'get_tsak'", "'get_task'"),
        ("instructions:\n- Call get_task and {get_task}.\n", 2, "get_task is a tool", "write {get_task}"),
        ("instructions:\n- Go.\n- say: Go.\n  when: conflct\n", 3, "no section 'conflct'", "'conflict'"),
        ("instructions:\n- say: Go.\n  unles: task\n", 3, "unknown key 'unles'", "'unless'"),
        ("instructions:\n- when: task\n", 2, "missing", ""),
        ("instructions:\n- 5\n", 2, "expected str | object | array, got int", ""),
        ("created_status: drafft\n", 1, "created_status: invalid enum value 'drafft'", "'draft'"),
        ("budget: 10\n", 1, "budget: expected int >= 500", ""),
        ("budget: lots\n", 1, "budget: expected int, got str", ""),
        ("upstreams: maybe\n", 1, "upstreams: expected bool, got str", ""),
        ("tools: [get_task\nbudget: 900\n", 2, "not YAML", "indentation"),
        ("- a\n", 1, "expected object, got array", ""),
        (f"description: a\ntools: {['get_task'] * 3 + ['*']}\n", 2, "a recipe has at most 40", "leave out"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line_and_the_nearest_word(wrong, text, line, message, hint):
    said = wrong(text)
    assert said[0] == line, said
    assert message in said[1]
    assert hint in said[2]
    assert said[2], "there is always a next step"


def test_forty_tools_are_not_too_many(write, load, wrong):
    every = [spec.name for spec in the_catalog()]
    assert len(every) > MAX_RECIPE_TOOLS
    write(f"tools: {every[:MAX_RECIPE_TOOLS]}\n")
    assert len(load().tools) == MAX_RECIPE_TOOLS
    assert "41 tools" in wrong(f"tools: {every[: MAX_RECIPE_TOOLS + 1]}\n")[1]


def test_a_pattern_stands_for_the_tools_there_are(write, load):
    write("tools:\n- get_task\n- task_get\n- comment_*: {only: []}\n- nothing_*\n- get_task: {task: own}\n")
    rules = expand_rules(load(), the_catalog())
    assert [rule.name for rule in rules] == ["get_task", "task_get", "comment_add", "comment_update", "comment_delete"]
    assert rules[0].task == "own", "what is said last counts"


def test_words_and_patterns_match_whole_names():
    assert matching(["task_list"], ["task_listing", "task_list"]) == "task_list"
    assert matching(["task_list"], ["task_listing"]) is None
    assert matching(["debug_*", "*"], ["bn_run"]) == "*"
    assert matching(["Task_*"], ["task_list"]) is None


class TestDocumentation:
    PAGE = (Path(__file__).parents[2] / "docs" / "plans.md").read_text()

    def test_the_example_is_a_recipe(self, write, load):
        (example,) = re.findall(r"```yaml\n(.*?)```", self.PAGE, re.DOTALL)
        write(example)
        assert "create_task" not in names(load())
        assert {"get_task", "update_task", "set_task_status", "debug_*"} <= set(names(load()))

    def test_every_key_every_section_and_every_recipe_is_explained(self):
        keys = re.findall(r"^\| `(?:tools: )?(\w+)` \|", self.PAGE, re.MULTILINE)
        assert {*recipe_loader._File.__struct_fields__, *recipe_loader._Limits.__struct_fields__} <= set(keys)
        for name in (*SECTIONS, *recipe_files(None)):
            assert f"`{name}`" in self.PAGE, name
