"""The catalog on the page: what each tool costs and takes, which recipe has it, and calls of any of them."""

import json
from pathlib import Path

from binnacle.errors import InvalidInput, NotFound, NotReady
from binnacle.store import features, tasks
from binnacle.work.task import NewTask

from .conftest import OpenPage
from .test_upstreams_page import HOSTILE, configure, processes_of, rogue
from .test_upstreams_page import ROGUE as SERVER


def call(page: OpenPage, name: str, *, confirmed: bool = True, **arguments: object) -> dict:
    return page("call_tool", name=name, arguments=json.dumps(arguments), is_confirmed=confirmed)


def test_every_tool_has_a_cost_and_its_recipes(sqlite_page):
    answer = sqlite_page("tools")
    found = {tool["name"]: tool for tool in answer["tools"]}
    assert all(tool["tokens"] > 10 and tool["title"] and tool["summary"] for tool in found.values())
    assert "create_task" in found["task_add"]["aliases"]
    assert found["task_get"]["is_reading"]
    assert not found["task_delete"]["is_reading"]
    recipes = {one["name"]: one for one in answer["recipes"]}
    having = [tool for tool in answer["tools"] if "default" in tool["recipes"]]
    assert recipes["default"]["tools"] == len(having)
    assert recipes["default"]["tokens"] == sum(tool["tokens"] for tool in having)
    assert any(tool["limited"] for tool in found.values())


def test_why_a_recipe_lacks_a_tool(page):
    detail = page("tool", name="create_task")
    assert detail["tool"]["name"] == "task_add"
    assert json.loads(detail["schema"])["properties"]["tasks"]["type"] == "array"
    assert "create_task" in {one["name"] for one in detail["aliases"]}
    rows = {one["recipe"]: one for one in page("tool", name="task_delete")["recipes"]}
    lacking = [one for one in rows.values() if not one["enabled"]]
    assert lacking
    assert all(one["why"] for one in lacking)
    page.write(lambda tx: features.add_discipline(tx, "testing", {"denied_tools": ["task_add"]}))
    denied = {one["recipe"]: one["why"] for one in page("tool", name="task_add", discipline="testing")["recipes"]}
    assert any("denied to the discipline testing" in why for why in denied.values())
    assert page("tools")["disciplines"] == ["testing"]
    assert isinstance(page.fails("tool", name="task_ad"), NotFound)
    assert isinstance(page.fails("tools", discipline="tests"), NotFound)


def test_a_person_calls_a_tool_as_an_agent_would(page):
    made = call(page, "task_add", tasks=[{"title": "Sort the basket"}])
    assert not made["is_error"]
    assert made["milliseconds"] > 0
    (task,) = page.read(lambda tx: tasks.list_tasks(tx, tasks.TaskFilter(), limit=5))[0]
    assert task.title == "Sort the basket"
    assert page("log")["entries"][0]["actor"] == "ann"
    shown = call(page, "task_get", confirmed=False, id=task.id)
    assert "Sort the basket" in shown["parts"][0]["text"]
    assert json.loads(shown["structured"])["ok"]


def test_what_changes_something_is_asked_again(page):
    refused = page.fails("call_tool", name="task_add", arguments='{"tasks": [{"title": "x"}]}')
    assert isinstance(refused, NotReady)
    assert page.read(lambda tx: tx.count("select count(*) from task")) == 0


def test_failures_are_results_and_arguments_are_checked_first(page):
    failed = call(page, "task_get", id="bn-ffff")
    assert failed["is_error"]
    assert "no task" in failed["parts"][0]["text"]
    assert call(page, "task_get", idd="bn-ffff")["is_error"]
    assert isinstance(page.fails("call_tool", name="task_get", arguments="[1]"), InvalidInput)
    assert isinstance(page.fails("call_tool", name="task_get", arguments="{"), InvalidInput)
    assert isinstance(page.fails("call_tool", name="no_such", arguments="{}"), NotFound)


def test_what_belongs_to_the_session_of_an_agent_is_not_called(sqlite_page):
    found = {tool["name"]: tool["can_call"] for tool in sqlite_page("tools")["tools"]}
    assert not any(found[name] for name in ("bn_run", "binnacle-orient", "tool_search"))
    refused = sqlite_page.fails("call_tool", name="bn_run", arguments="{}", is_confirmed=True)
    assert isinstance(refused, InvalidInput)


def test_hostile_titles_are_given_as_text(page):
    page.write(lambda tx: tasks.add(tx, [NewTask(title='<img src=x onerror="alert(1)">')]))
    shown = call(page, "task_list")
    assert '<img src=x onerror="alert(1)">' in shown["parts"][0]["text"]


def test_tools_of_a_server_are_there_once_it_was_tested_and_can_be_called(sqlite_page, tmp_path: Path):
    page = sqlite_page
    says = tmp_path / "says"
    says.write_text(HOSTILE)
    configure(page, one=rogue(f"says={says}"))
    assert page("tools")["tested"] == []
    page("test_upstream", name="one")
    answer = page("tools")
    assert answer["tested"] == ["one"]
    found = {tool["name"]: tool for tool in answer["tools"] if tool["server"] == "one"}
    echo = found["mcp_one_echo"]
    assert "\u202e" not in echo["summary"]
    assert "<img" in echo["summary"]
    assert echo["is_reading"]
    assert not found["mcp_one_pid"]["is_reading"]
    assert "default" in echo["recipes"]
    assert json.loads(page("tool", name="one:echo")["schema"])["properties"]["text"]["type"] == "string"
    said = call(page, "mcp_one_echo", confirmed=False, text="<b>hello</b>")
    assert "<b>hello</b>" in said["parts"][0]["text"]
    assert isinstance(page.fails("call_tool", name="mcp_one_pid", arguments="{}"), NotReady)
    failed = call(page, "mcp_one_fail")
    assert failed["is_error"]
    assert processes_of(SERVER) == []


def test_a_server_that_dies_in_a_call_is_told_as_the_result(sqlite_page):
    page = sqlite_page
    configure(page, one=rogue())
    page("test_upstream", name="one")
    died = call(page, "mcp_one_die")
    assert died["is_error"]
    assert "one" in died["parts"][0]["text"]
    assert processes_of(SERVER) == []


def test_tools_of_the_bridge_can_be_called_too(sqlite_page):
    assert not call(sqlite_page, "bridge_status", confirmed=False)["is_error"]
