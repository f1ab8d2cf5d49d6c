"""`bn plan`: what a session gets, how recipes differ, and why a tool is missing."""

import json
from pathlib import Path

import pytest

from binnacle.store import sessions
from binnacle.store.opening import open_sqlite
from binnacle.work.actor import Actor
from plan.test_shipped_recipes import BOX


@pytest.fixture
def auth(bn) -> str:
    """A task with a feature, and a discipline that may not do everything. Returns its id."""
    bn("feature", "add", "auth")
    bn("discipline", "add", "tester", "--deny", "set_task_status", "--deny", "append_*")
    return bn.add("Build the form", "--feature", "auth", "--discipline", "tester")


@pytest.fixture
def recipe(bn):
    """Writes a recipe of the project's own."""

    def write(name: str, text: str):
        folder = bn.repo / ".binnacle" / "recipes"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)
        return folder / f"{name}.yaml"

    return write


class TestShow:
    def test_one_recipe(self, bn, auth):
        plan = bn("plan", "show", "task", "--task", auth)
        subject = {"recipe", "discipline", "feature", "task"}
        assert set(plan) == {*subject, "tools", "disabled", "tokens", "tool_budget", "catalog"}
        assert (plan["recipe"], plan["discipline"], plan["feature"], plan["task"]) == (
            *("task", "tester", "auth", auth),
        )
        tools = {tool["name"]: tool for tool in plan["tools"]}
        assert tools["report_blocker"] == {
            "name": "report_blocker",
            "tool": "task_block",
            "task": "own",
            "tokens": tools["report_blocker"]["tokens"],
        }
        assert "set_task_status" not in tools
        assert plan["disabled"]["task_status"] == "denied to the discipline tester by 'set_task_status'"
        assert plan["disabled"]["progress_add"] == "denied to the discipline tester by 'append_*'"
        assert plan["disabled"]["task_delete"] == "not in the recipe task"
        tokens = plan["tokens"]
        assert tokens["total"] == tokens["prompt"] + tokens["tools"]
        assert tokens["tools"] == sum(tool["tokens"] for tool in plan["tools"])

    def test_limits_and_servers_are_shown(self, bn):
        bn("discipline", "add", "writer", "--upstreams", "-", stdin='{"docs": {"command": "docs-server"}}')
        plan = bn("plan", "show", "review", "--discipline", "writer")
        (update,) = (tool for tool in plan["tools"] if tool["name"] == "update_task")
        assert update["only"] == ["priority", "description"]
        assert plan["upstreams"] == {"docs": {"command": "docs-server"}}

    def test_one_recipe_for_people(self, bn, auth):
        text = bn.human("plan", "show", "task", "--task", auth)
        assert text.startswith("task: ")
        assert "report_blocker" in text
        assert "its own task" in text
        assert "its task, feature and dependents" in text
        assert "without task_status: denied to the discipline tester by 'set_task_status'" in text
        assert "tokens before the first word" in text
        assert "only priority, description" in bn.human("plan", "show", "review")

    def test_all_recipes(self, bn, recipe):
        recipe("mine", "description: ours\nextends: disciplines\ntools: [get_task: {task: own}]\n")
        matrix = bn("plan", "show")
        rows = {row["name"]: row for row in matrix["recipes"]}
        assert set(rows) == {*BOX, "mine"}
        assert rows["mine"]["limited"] == ["task_get"]
        assert rows["mine"]["plain"] == rows["disciplines"]["plain"]
        assert set(rows["loop"]["plain"]) <= set(matrix["tools"])

    def test_all_recipes_for_people_are_a_matrix(self, bn):
        lines = bn.human("plan", "show", env={"COLUMNS": "120"}).splitlines()
        column = {row.split()[1]: row.split()[0] for row in lines[: len(BOX)]}
        assert set(column) == set(BOX)
        heading = next(line for line in lines if line.startswith("TOOL"))
        places = {name: heading.index(f" {number}", heading.index("TOOL") + 4) + 1 for name, number in column.items()}
        update = next(line for line in lines if line.startswith("task_update ")).ljust(200)
        marks = {name: update[place] for name, place in places.items()}
        assert (marks["review"], marks["chat"], marks["disciplines"]) == ("◦", "•", " ")
        counts = next(line for line in lines if line.startswith("tools ")).split()[1:]
        assert len(counts) == len(BOX)
        assert max(map(int, counts)) <= 40

    def test_a_project_without_a_store_has_plans_too(self, bn):
        assert bn("plan", "show", "chat")["recipe"] == "chat"
        assert len(bn("plan", "show")["recipes"]) == len(BOX)

    @pytest.mark.parametrize(
        ("words", "code", "hint"),
        [
            (["plan", "show", "yapp"], "E_NOT_FOUND", "did you mean 'yap'?"),
            (["plan", "show", "chat", "--discipline", "testr"], "E_NOT_FOUND", "tester"),
            (["plan", "show", "chat", "--feature", "auht"], "E_NOT_FOUND", "auth"),
            (["plan", "diff", "chat", "lop"], "E_NOT_FOUND", "loop"),
            (["plan", "explain", "task_updaet"], "E_NOT_FOUND", "task_update"),
            (["plan", "explain", "task_update", "--recipe", "yapp"], "E_NOT_FOUND", "yap"),
            (["plan", "renew", "bns-0000"], "E_NOT_FOUND", "project"),
            (["prompt", "show", "yapp"], "E_NOT_FOUND", "yap"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else None,
    )
    @pytest.mark.usefixtures("auth")
    def test_what_does_not_exist_is_named_with_the_nearest(self, bn, words, code, hint):
        error = bn.fails(*words)
        assert error["code"] == code
        assert hint in error["hint"]

    @pytest.mark.parametrize("words", [["plan", "show"], ["plan", "show", "mine"], ["plan", "explain", "get_task"]])
    def test_a_recipe_with_a_mistake_is_named_with_its_line(self, bn, recipe, words):
        file = recipe("mine", "description: ours\ntools: [get_tsak]\n")
        error = bn.fails(*words)
        assert error["code"] == "E_CONFIG"
        assert error["message"] == f"{file}:2: no tool 'get_tsak'"
        assert error["hint"] == "did you mean 'get_task'?"


class TestDiff:
    def test_what_each_has_alone_and_where_limits_differ(self, bn):
        found = bn("plan", "diff", "chat", "review")
        assert found["recipes"] == ["chat", "review"]
        assert found["only"]["chat"] == ["discipline_list"]
        assert "feature_add" in found["only"]["review"]
        assert found["limits"] == [{"tool": "task_update", "chat": "", "review": "only priority, description"}]

    def test_for_people(self, bn):
        lines = bn.human("plan", "diff", "chat", "review").splitlines()
        assert "- discipline_list" in lines
        assert "+ feature_add" in lines
        assert "~ task_update: no limits → only priority, description" in lines

    def test_denials_count(self, bn):
        bn("discipline", "add", "tester", "--deny", "feature_*")
        found = bn("plan", "diff", "chat", "review", "--discipline", "tester")
        assert "feature_add" not in found["only"]["review"]

    def test_the_same_is_said_to_be_the_same(self, bn):
        assert bn("plan", "diff", "chat", "chat")["limits"] == []
        assert bn.human("plan", "diff", "chat", "chat") == "the same tools within the same limits\n"


class TestExplain:
    def test_every_recipe_says_why(self, bn):
        found = bn("plan", "explain", "update_task")
        assert found["tool"] == "task_update"
        assert found["names"] == ["task-update", "update_task"]
        rows = {row["recipe"]: row for row in found["recipes"]}
        assert set(rows) == set(BOX)
        assert rows["loop"] == {"recipe": "loop", "enabled": True, "why": "as task-update"}
        assert rows["passthrough"]["enabled"] is False
        assert rows["task"]["why"] == "not in the recipe task; use update_task_context instead"

    def test_a_denial_is_the_reason_and_what_is_denied_is_not_advised(self, bn, auth):
        (row,) = bn("plan", "explain", "set_task_status", "--recipe", "task", "--task", auth)["recipes"]
        assert row["why"].startswith("denied to the discipline tester by 'set_task_status'")
        bn("discipline", "update", "tester", "--deny", "update_task_context")
        (row,) = bn("plan", "explain", "task_update", "--recipe", "task", "--task", auth)["recipes"]
        assert row["why"] == "not in the recipe task"

    def test_for_people(self, bn):
        lines = bn.human("plan", "explain", "task_delete").splitlines()
        assert lines[0].startswith("task_delete  Deletes a task")
        assert "also called: delete_task" in lines
        assert any(line.split()[:2] == ["chat", "no"] and "use skip_task instead" in line for line in lines)


class TestRenew:
    def test_the_files_are_written_from_what_is_there_now(self, bn, auth, session):
        found = bn("plan", "renew", session)
        assert found["session"] == session
        context, prompt = Path(found["context"]), Path(found["prompt"])
        assert "search_tasks" in json.loads(context.read_text())["enabled_tools"]
        bn("discipline", "update", "tester", "--deny", "search_tasks")
        bn("task", "update", auth, "--title", "Build another form")
        prompt.write_text("mine\n")
        assert bn("plan", "renew", session) == found
        assert "search_tasks" not in json.loads(context.read_text())["enabled_tools"]
        assert "Build another form" in prompt.read_text()

    def test_for_people_it_says_where(self, bn, session):
        lines = bn.human("plan", "renew", session).splitlines()
        assert [line.rpartition("/")[2] for line in lines] == ["context.json", "prompt.md", "mcp.json"]

    @pytest.fixture
    def session(self, bn, auth) -> str:
        path = bn("store", "show")["location"]
        with open_sqlite(path) as store, store.write(by=Actor("ann")) as tx:
            return sessions.start(tx, recipe="task", discipline="tester", task_id=auth).id


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "show", ""],
        ["plan", "diff", "chat", ""],
        ["plan", "explain", "task_get", "--recipe", ""],
        ["prompt", "show", ""],
        ["mcp", "serve", "--recipe", ""],
    ],
    ids=" ".join,
)
def test_the_shell_offers_the_names_of_recipes(bn, recipe, words):
    recipe("mine", "broken: [\n")
    offered = {line.partition("\t")[0] for line in bn.run("completion", "words", "--", *words).out.splitlines()}
    assert {*BOX, "mine"} <= offered
