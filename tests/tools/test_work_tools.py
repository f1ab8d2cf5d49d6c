"""The work tools, called as agents call them, on both engines."""

import pytest

from binnacle.tools.caller import Caller
from binnacle.work.actor import Actor
from binnacle.work.session import Session

ALIASES = {
    "task-add": "task_add", "create_task": "task_add", "spawn_subtasks": "task_split", "task-update": "task_update",
    "update_task": "task_update", "set_task_status": "task_status", "task-next": "task_next", "task-list": "task_list",
    "list_tasks": "task_list", "get_task": "task_get", "get_dependency_details": "task_dependencies",
    "search_tasks": "task_search", "report_blocker": "task_block", "skip_task": "task_skip",
    "move_task_to_feature": "task_move", "update_task_context": "task_context", "add_context_file": "task_context",
    "enrich_task": "task_enrich", "delete_task": "task_delete", "add_task_comment": "comment_add",
    "update_task_comment": "comment_update", "delete_task_comment": "comment_delete", "create_feature": "feature_add",
    "update_feature": "feature_update", "get_feature": "feature_get", "list_features": "feature_list",
    "delete_feature": "feature_delete", "merge_features": "feature_merge",
    "add_feature_context_file": "feature_context", "create_discipline": "discipline_add",
    "update_discipline": "discipline_update", "get_discipline": "discipline_get",
    "list_disciplines": "discipline_list", "delete_discipline": "discipline_delete",
    "append_learning": "learning_add", "append_feature_learning": "learning_add", "read_learnings": "learning_list",
    "get_feature_learnings": "learning_list", "append_progress": "progress_add", "read_progress": "progress_list",
    "note-add": "note_add", "note-list": "note_list", "get_project_info": "project_info",
    "get_project_progress": "project_progress", "iteration-summary": "iteration_summary",
    "session-complete": "session_complete", "signal_abort": "session_abort",
}  # fmt: skip


def add(tools, *titles, **fields) -> list[str]:
    made = tools("task_add", tasks=[{"title": title, **fields} for title in titles])
    return [task["id"] for task in made["tasks"]]


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_the_names_of_the_older_systems_lead_to_the_same_tools(tools, alias, name):
    assert tools.catalog.find(alias).spec.name == name


def test_a_day_of_an_agent(tools):
    first, second = add(tools, "design", "build")
    tools("task_update", id=second, depends_on=[first])
    claimed = tools("task_claim")
    assert (claimed["task"]["id"], claimed["fence"]) == (first, 1)
    tools("comment_add", task_id=first, body="looked around")
    done = tools("task_status", id=first, status="completed", reason="merged", fence=1)
    assert done["unblocked"] == [second]
    builds_on = tools("task_dependencies", id=second)["dependencies"][0]
    assert (builds_on["closed_reason"], builds_on["comments"][0]["body"]) == ("merged", "looked around")
    assert tools("task_next")["task"]["id"] == second


def test_what_exists_is_left_out_of_a_batch_and_named_if_the_caller_wants_that(tools):
    (known,) = add(tools, "write the tests")
    given = [{"title": "Write tests"}, {"title": "ship it", "depends_on": ["#1"]}]
    refused = tools.outcome("task_add", tasks=given)
    assert (refused.is_error, known in refused.text) == (True, True)
    outcome = tools.outcome("task_add", tasks=given, duplicates="skip")
    (made,) = outcome.envelope["data"]["tasks"]
    assert outcome.text == (
        f"Added 1 task(s):\n  {made.id}: ship it\nLeft out 1 that exist:\n  Write tests: {known} write the tests"
    )
    assert outcome.envelope["data"]["skipped"][0].existing == known
    assert tools("task_dependencies", id=made.id)["dependencies"][0]["task"]["id"] == known
    assert tools.outcome("create_task", title="Ship it!", duplicates="skip").text.startswith("Added 0 task(s):")


def test_a_task_says_which_requirements_it_covers(tools):
    whole, _ = add(tools, "one", "two", covers=["R1", "R2", "R1"])
    assert tools("task_get", id=whole)["task"]["covers"] == ["R1", "R2"]
    assert "covers: R1; R2" in tools.outcome("task_get", id=whole).text
    tools("task_update", id=whole, covers=["R3"])
    assert tools("task_get", id=whole)["task"]["covers"] == ["R3"]
    parts = tools("task_split", id=whole, parts=[{"title": "a", "covers": ["R3"]}, {"title": "b"}])["parts"]
    assert tools("task_get", id=parts[0]["id"])["task"]["covers"] == ["R3"]


def test_the_loop_gets_its_own_shapes_and_texts(tools):
    added = tools.outcome("task-add", tasks=[{"content": "one", "priority": 0}, {"content": "two"}])
    first, second = (task.id for task in added.envelope["data"]["tasks"])
    assert added.text == f"Added 2 task(s):\n  {first}: one\n  {second}: two"
    assert tools.outcome("task-next").text == f'{{"id":"{first}","content":"one","priority":0,"status":"pending"}}'
    assert tools.outcome("task-list").text == f"Pending:\n  [{first}] P0 one\n  [{second}] P2 two"
    updated = tools.outcome("task-update", id=first, status="cancelled", priority=3)
    assert updated.is_error  # cancelling wants a reason
    third = tools("task-add", tasks=[{"content": "three"}])["tasks"][0]["id"]
    assert tools("task-update", id=third, status="blocked", reason="no key")["task"]["status"] == "blocked"
    tools("task-update", id=third, status="cancelled", reason="not needed")
    tools("task-update", id=first, status="in_progress", priority=3)
    tools("task-update", id=first, status="completed")
    tools("task-update", id=second, status="in_progress")
    tools("task-update", id=second, status="completed")
    assert tools.outcome("task-next").text == "No ready tasks"
    tools("note-add", notes=[{"content": "careful", "type": "tip"}])
    assert tools.outcome("note-list", type="tip").text == "[tip] careful"
    assert tools("iteration-summary", summary="did it")["iteration"]["number"] == 0
    assert tools.fails("iteration-summary", summary="again")["code"] == "E_REFUSED"
    assert tools("session-complete")["session"]["status"] == "complete"


def test_an_alias_takes_one_item_of_a_batch(tools):
    made = tools("create_task", title="one", priority="high", tags=["x"])
    assert made["tasks"][0]["priority"] == 1
    assert len(tools("task_list")["tasks"]) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("task_add", {"task": []}, ("'task'", "'tasks'")),
        ("task_add", {}, ("'tasks'", "parameters: tasks!")),
        ("task_add", {"tasks": "x"}, ("array", "parameters")),
        ("task_add", {"tasks": [{"titel": "x"}]}, ("titel", "parameters")),
        ("task_add", {"tasks": [{"title": "x", "priority": 9}]}, ("9", "0 critical")),
        ("task_get", {"id": "bn-000"}, ("bn-000", "task_list")),
        ("task_get", {"ids": "x"}, ("'ids'", "'id'")),
        ("task_status", {"id": "abc", "status": "dnoe"}, ("dnoe", "done")),
        ("task_list", {"limit": 0}, ("limit", "parameters")),
        ("task_list", {"limit": "many"}, ("limit", "parameters")),
        ("task_lst", {}, ("task_lst", "task_list")),
        ("feature_get", {"name": "nope"}, ("nope", "feature_add")),
        ("note_add", {"notes": [{"content": "x", "type": "tpi"}]}, ("tpi", "tip")),
        ("task_search", {"query": "!!"}, ("!!", "word")),
    ],
)
def test_wrong_arguments_are_named_with_the_nearest_right_ones(tools, name, arguments, words):
    error = tools.fails(name, **arguments)
    assert words[0] in error["message"]
    assert words[1] in error["hint"]
    assert tools("task_list")["total"] == 0


def test_numbers_and_lists_may_come_as_text(tools):
    (task,) = add(tools, "one")
    tools("task_update", id=task, priority="0", estimated_turns="3")
    assert tools("task_get", id=task)["task"]["priority"] == 0
    tools("add_context_file", task_id=task, file_path="src/a.py")
    tools("task_context", id=task, files=["src/b.py"])
    assert tools("task_get", id=task)["task"]["context_files"] == ["src/a.py", "src/b.py"]


def test_text_and_structure_each_suffice_alone(tools):
    (task,) = add(tools, "one", description="the whole story", acceptance_criteria=["it works"])
    outcome = tools.outcome("task_get", id=task)
    for text in ("one", "the whole story", "it works", task):
        assert text in outcome.text
    envelope = outcome.envelope
    assert (envelope["ok"], envelope["type"], envelope["data"].task.id) == (True, "success", task)
    failed = tools.outcome("task_get", id="bn-000")
    assert failed.envelope["error"]["hint"] in failed.text
    assert failed.to_mcp()["isError"] is True


def test_bookkeeping_is_beside_what_the_model_reads(tools):
    for outcome in (tools.outcome("task_list"), tools.outcome("task_get", id="bn-000")):
        result = outcome.to_mcp()
        assert result["structuredContent"].keys() <= {"ok", "type", "data", "error"}
        assert result["_meta"].keys() == {"binnacle/requestId", "binnacle/timestamp", "binnacle/duration"}
        assert result["_meta"]["binnacle/duration"] > 0


def test_features_disciplines_learnings_and_the_project(tools):
    tools("create_feature", name="auth", display_name="Login", description="who you are")
    assert tools.fails("feature_add", name="authentication")["details"]["existing"] == "auth"
    tools("create_discipline", name="testing", display_name="Testing", color="red", icon="x")
    tools("append_feature_learning", feature_name="auth", text="tokens expire after an hour", source="agent")
    known = tools("get_feature_learnings", feature_name="auth")["learnings"]
    assert [(one["text"], one["source"]) for one in known] == [("tokens expire after an hour", "agent")]
    tools("add_feature_context_file", feature_name="auth", file_path="src/auth.py")
    assert tools("get_feature", name="auth")["feature"]["context_files"] == ["src/auth.py"]
    tools("append_progress", text="begun")
    assert tools("read_progress")["progress"][0]["text"] == "begun"
    info = tools("get_project_info")
    assert (info["features"], info["disciplines"]) == (["auth"], ["testing"])


def test_every_change_carries_the_agent_and_failures_leave_nothing(tools, place):
    from binnacle.store import events

    add(tools, "one")
    tools.fails("task_add", tasks=[{"title": "two"}, {"title": "one"}])
    with place.open() as store, store.read() as tx:
        found = events.list_events(tx, limit=100)
    assert [(event.actor, event.action) for event in found] == [("bna-1", "added")]


def test_an_agent_that_comes_back_is_offered_the_task_it_holds(tools):
    mine, other = add(tools, "mine"), add(tools, "other", priority=0)
    fence = tools("task_status", id=mine[0], status="in_progress")["fence"]
    offered = tools("task_next")
    assert (offered["task"]["id"], offered["held"], offered["fence"]) == (mine[0], True, fence)
    assert "you already work on this task" in tools.outcome("task_next").text
    again = tools.outcome("task_claim")
    assert again.text.startswith(f"You already work on: {mine[0]}")
    assert tools("task_claim")["fence"] == fence
    assert tools("task_claim", force=True)["task"]["id"] == other[0]


def test_another_agent_is_offered_what_is_free(tools):
    mine, other = add(tools, "mine"), add(tools, "other")
    tools("task_status", id=mine[0], status="in_progress")
    offered = tools.outcome("task_next", by=Caller(session=Session(actor=Actor("bna-2", "agent")))).envelope["data"]
    assert offered["task"].id == other[0]
    assert "held" not in offered
