"""Errors over a real server: the hint names what this agent can call, whatever its recipe left it."""

import pytest

from plan.test_hints import COMMAND, FOR_PERSON, RUN
from plan.test_property import mentioned


def read(agent, tool: str, /, **arguments) -> str:
    """The hint of a call that must fail, after checking that the agent can follow it."""
    hint = agent.fails(tool, **arguments)["hint"]
    assert not COMMAND.search(FOR_PERSON.sub("", RUN.sub("", hint))), hint
    assert mentioned(hint) <= agent.tools().keys(), hint
    return hint


@pytest.fixture
def tasks(bn) -> dict[str, str]:
    """A task that someone holds, one that waits for it, one that is done, and one that is free."""
    found = {"held": bn.add("Held"), "done": bn.add("Done"), "free": bn.add("Free")}
    found["waits"] = bn.add("Waits", "--after", found["held"])
    bn("task", "start", found["held"])
    bn("task", "done", found["done"])
    return found


def test_an_agent_of_the_default_recipe_is_told_of_its_tools(connect, tasks):
    agent = connect()
    started = {"status": "in_progress"}
    assert read(agent, "task_status", id=tasks["held"], **started) == "take another task: task_claim"
    assert read(agent, "task_status", id=tasks["waits"], **started) == (
        f'take another task: task_claim; see which: task_dependencies {{"id":"{tasks["waits"]}"}}'
    )
    assert read(agent, "task_status", id=tasks["done"], **started) == (
        f'reopen it first: task_status {{"id":"{tasks["done"]}","status":"pending"}}'
    )
    assert read(agent, "task_update", id=tasks["held"], title="Mine").endswith(
        f'comment_add {{"task_id":"{tasks["held"]}","body":"…"}}'
    )
    assert read(agent, "task_get", id="bn-000") == 'list the tasks: task_list {"closed_too":true}'
    assert "task_get" in read(agent, "task_add", tasks=[{"title": "Free"}])
    assert "feature_add" in read(agent, "feature_get", name="nope")
    agent("feature_add", name="login")
    assert read(agent, "feature_add", name="logins") == "use 'login'; force: true adds it if they really differ"
    agent("task_claim")
    assert read(agent, "task_status", id=agent("task_add", tasks=[{"title": "Two"}])["tasks"][0]["id"], **started) == (
        f'finish or release it first: task_status {{"id":"{tasks["free"]}","status":"done"}}'
    )


def test_an_agent_in_a_loop_is_told_of_the_names_it_knows(connect, tasks):
    agent = connect("--recipe", "loop")
    started = {"status": "in_progress"}
    assert read(agent, "task-update", id=tasks["held"], **started) == "leave it to them"
    assert read(agent, "task-update", id=tasks["waits"], **started) == "take another task: task-next"
    assert read(agent, "task-update", id=tasks["done"], **started) == (
        f'reopen it first: task-update {{"id":"{tasks["done"]}","status":"pending"}}'
    )
    assert "task-list" in read(agent, "task-update", id="bn-000", title="x")
    assert "task-list" in read(agent, "task-add", tasks=[{"content": "Free"}])


def test_an_agent_bound_to_one_task_is_told_of_its_reports(connect, tasks):
    agent = connect("--recipe", "report", "--task", tasks["free"])
    read(agent, "get_task", id=tasks["done"])
    read(agent, "report_suggestion", what="Waits", why="it is not there yet", feature="nope")
    read(agent, "task_claim")


def test_an_agent_without_a_task_is_told_whom_to_ask(connect, tasks):
    agent = connect("--recipe", "report")
    assert read(agent, "get_task", id=tasks["free"]) == (
        "ask a person to start a session that has a task: bn mcp serve --task ID"
    )


def test_an_agent_that_has_only_commands_is_told_of_bn_run(connect, bn, tasks):
    agent = connect("--recipe", "passthrough")
    agent("binnacle-set_agent", path=str(bn.repo))
    assert read(agent, "task_claim") == "use bn_run instead"
    ran = agent("bn_run", args=["task", "start", tasks["done"]])
    assert f"bn task reopen {tasks['done']}" in ran["stderr"], "whoever runs commands is told of commands"


def test_the_same_call_that_fails_again_and_again_still_names_tools(connect, tasks):
    agent = connect()
    hints = [read(agent, "task_status", id=tasks["held"], status="in_progress") for _ in range(3)]
    assert "take another task: task_claim" in hints[-1]
    assert "calling it again will not help" in hints[-1]


def test_a_person_who_calls_a_tool_from_a_shell_is_told_of_commands(bn, tasks):
    done = bn.run("tool", "task_status", f'{{"id": "{tasks["done"]}", "status": "in_progress"}}')
    assert f"bn task reopen {tasks['done']}" in done.out
