"""What an agent of a run tests by itself is seen as far as its client reports exit codes, and is no proof."""

import pytest

from binnacle.project.store_opening import open_store
from binnacle.runner.observed_commands import ObservedCommands, find_exit_code
from binnacle.store.views.task_details import load_details
from binnacle.wire import acp
from binnacle.work.observation import ObservedCommand
from binnacle.work.task import NewTask

RUN = """
agent.write("work.txt", "good\\n")
agent.tool("Shell", given={{"command": "{command}"}}, rawOutput={output})
{then}
agent.done()
"""


@pytest.mark.parametrize(
    ("command", "output", "then", "level"),
    [
        ("pytest -q", {"exit_code": 0, "stdout": "4 passed"}, "", "observed"),
        ("pytest -q", {"output": "4 passed", "metadata": {"exit": 0}}, "", "observed"),
        ("pytest -q", {"exit_code": 1}, "", "said"),
        ("pytest -q", {"stdout": "4 passed, exit code 0"}, "", "said"),
        ("pytest -q || true", {"exit_code": 0}, "", "said"),
        ("pytest -q", {"exit_code": 0}, 'agent.tool("Edit", kind="edit")', "said"),
    ],
)
def test_a_task_that_nothing_checks_is_at_best_observed(play, command, output, then, level):
    (task,) = play.add(NewTask(title="the work"))
    ended = play.run(RUN.format(command=command, output=output, then=then), has_worktree=True)
    assert ended.why == "unproven"
    assert (ended.proof.observed, ended.proof.said) == ((1, 0) if level == "observed" else (0, 1))
    with open_store(play.runs.project) as store, store.read() as tx:
        details = load_details(tx, task)
    assert (details.task.status, details.task.evidence_level) == ("done", level)
    if level == "observed":
        assert details.observed == (ObservedCommand("pytest -q", 0),)


def test_what_was_seen_of_an_earlier_attempt_does_not_count(play):
    (task,) = play.add(NewTask(title="the work"))
    script = """
if agent.times("turn") == 1:
    agent.tool("Shell", given={"command": "pytest"}, rawOutput={"exit_code": 0})
    agent.call("task-update", id=agent.task, status="partial", reason="half of it")
    agent.call("iteration-summary", summary="half of it")
else:
    agent.write("work.txt", "good\\n")
    agent.done()
"""
    assert play.run(script, has_worktree=True).why == "unproven"
    with open_store(play.runs.project) as store, store.read() as tx:
        details = load_details(tx, task)
    assert (details.task.evidence_level, details.observed) == ("said", ())


def see(**fields: object) -> acp.ToolCallChanged:
    return acp.ToolCallChanged(tool_call_id="call", **fields)


def test_the_last_end_of_each_command_counts():
    watch = ObservedCommands()
    for code in (1, 0):
        watch.see(see(raw_input={"command": ["pytest", "-q"]}))
        watch.see(see(raw_output={"exit_code": code}, status="completed"))
    assert watch.found == (ObservedCommand("pytest -q", 0),)
    watch.see(see(raw_input={"command": "cat notes"}, raw_output={"exit_code": 0}))
    watch.see(see(raw_input={"command": f"pytest {'x' * 500}"}, raw_output={"exit_code": 1}))
    assert len(watch.found) == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"raw_output": {"exitCode": 2}}, 2),
        ({"raw_output": {"exit_code": 0, "children": {"exit_code": 3}}}, 3),
        ({"meta": {"terminal_exit": {"exit_code": 0}}}, 0),
        ({"raw_output": {"exit_code": True}}, None),
        ({"raw_output": "exit code 0"}, None),
        ({"raw_output": {"a": {"b": {"c": {"d": {"exit": 0}}}}}}, None),
        ({}, None),
    ],
)
def test_an_exit_code_is_found_where_clients_put_it(fields, code):
    assert find_exit_code(see(**fields)) == code
