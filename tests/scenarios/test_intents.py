"""Scenarios about an agent that reports on its one task instead of moving it."""

import pytest


@pytest.fixture
def task(bn) -> str:
    bn("feature", "add", "auth")
    return bn.add("Build the login form", "-f", "auth")


@pytest.fixture
def work_on(connect):
    """Opens a session that is bound to a task."""
    return lambda task: connect("--recipe", "report", "--task", task)


def status(bn, task: str) -> str:
    return bn("task", "show", task)["task"]["status"]


def comments(bn, task: str) -> list[str]:
    return [one["body"] for one in bn("task", "show", task).get("comments", [])]


def test_46_an_agent_reports_its_task_done(bn, task, work_on):
    agent = work_on(task)
    agent("report_done", summary="the form logs people in; tests/test_form.py shows it")
    assert status(bn, task) == "in_progress"
    agent.leave()
    found = bn("task", "show", task)["task"]
    assert (found["status"], found["closed_reason"]) == (
        *("done", "the form logs people in; tests/test_form.py shows it"),
    )


def test_47_the_last_closing_report_counts(bn, task, work_on):
    agent = work_on(task)
    agent("done", summary="it is done")
    agent("partial", summary="the form is there", remaining="the button does nothing yet")
    agent.leave()
    assert status(bn, task) == "pending"
    (said,) = comments(bn, task)
    assert "the button does nothing yet" in said


def test_48_an_agent_never_closes(bn, task, work_on, sessions):
    agent = work_on(task)
    agent("get_task")
    agent.leave()
    assert status(bn, task) == "pending"
    assert comments(bn, task) == ["Stuck: the session ended without a report"]
    assert [session.status for session in sessions()] == ["aborted"]


def test_49_three_agents_get_stuck(bn, task, work_on):
    for reason in ("no such route", "the mock server is down"):
        agent = work_on(task)
        agent("report_stuck", reason=reason)
        agent.leave()
        assert status(bn, task) == "pending"
    prompt = (agent := work_on(task)).prompt()
    assert "no such route" in prompt
    assert "the mock server is down" in prompt
    agent("report_stuck", reason="still down")
    agent.leave()
    assert status(bn, task) == "blocked"
    assert all(
        reason in comments(bn, task)[-1] for reason in ("no such route", "the mock server is down", "still down")
    )
    assert bn("ready")["tasks"] == []


def test_50_what_remains_is_carried_over(bn, task, work_on):
    agent = work_on(task)
    agent("report_partial", summary="the form is there", remaining="show the error when the password is wrong")
    agent.leave()
    assert [one["id"] for one in bn("ready")["tasks"]] == [task]
    assert "show the error when the password is wrong" in work_on(task).prompt()


def test_51_a_question_holds_the_task_up_until_a_person_answers(bn, task, work_on):
    agent = work_on(task)
    asked = agent("report_question", question="Email or user name?", blocking=True, options=["email", "user name"])
    agent("report_partial", summary="the form is there", remaining="the first field")
    agent.leave()
    question = asked["question"]["id"]
    assert status(bn, task) == "needs_input"
    assert "Email or user name?" in bn.human()
    assert bn("ready")["tasks"] == []
    bn("ask", "answer", question, "1")
    assert status(bn, task) == "pending"
    prompt = work_on(task).prompt()
    assert "Email or user name?" in prompt
    assert "email" in prompt.partition("Email or user name?")[2]


def test_52_an_agent_may_not_answer_its_own_question(connect, bn, task, work_on):
    agent = work_on(task)
    question = agent("report_question", question="Email or user name?", blocking=True)["question"]["id"]
    agent("report_partial", summary="a form", remaining="a field")
    agent.leave()
    other = connect("--recipe", "passthrough")
    other("binnacle-set_agent", path=str(bn.repo))
    ran = other("bn_run", args=["ask", "answer", question, "email"])
    assert ran["exit_code"] == 1
    assert "only a person may answer" in ran["stderr"]
    assert status(bn, task) == "needs_input"


def test_53_a_suggestion_becomes_a_draft(bn, task, work_on):
    agent = work_on(task)
    made = agent("report_suggestion", what="Limit how often a password can be tried", why="it can be guessed")
    error = agent.fails("report_suggestion", what="limit how often a password can be tried!", why="again")
    assert (error["code"], error["details"]["existing"]) == ("E_DUPLICATE", made["task"])
    draft = bn("task", "show", made["task"])["task"]
    assert (draft["status"], draft["provenance"], draft["feature"]) == ("draft", "agent", "auth")
    assert "it can be guessed" in draft["description"]
    assert bn("ready")["tasks"] == []


def test_54_what_is_said_along_the_way_counts_at_once(bn, task, work_on):
    agent = work_on(task)
    agent("report_flag", what="the endpoint accepts an empty password", severity="blocking", category="security")
    agent("report_learning", text="Forms are validated by the schema in src/forms.ts", rationale="read it")
    agent.kill()
    flag, *_ = comments(bn, task)
    assert "security" in flag
    assert "the endpoint accepts an empty password" in flag
    (learning,) = bn("learning", "list", "-f", "auth")["learnings"]
    assert learning["text"] == "Forms are validated by the schema in src/forms.ts"


def test_55_a_server_is_killed_and_the_next_session_settles(bn, task, work_on, sessions):
    agent = work_on(task)
    agent("report_partial", summary="the form is there", remaining="its tests")
    agent.kill()
    assert status(bn, task) == "pending", "whoever looks next gives back what it held"
    successor = work_on(task)
    assert "its tests" in successor.prompt()
    (said,) = comments(bn, task)
    assert "its tests" in said
    successor("report_done", summary="tested")
    successor.leave()
    assert status(bn, task) == "done"
    assert len(sessions()) == 2


def test_56_a_person_was_faster(bn, task, work_on):
    agent = work_on(task)
    bn("task", "done", task, "--reason", "did it myself")
    agent("report_stuck", reason="the file changes under my hands")
    agent.leave()
    found = bn("task", "show", task)["task"]
    assert (found["status"], found["closed_reason"]) == ("done", "did it myself")
    assert "the file changes under my hands" in comments(bn, task)[-1]


def test_57_a_report_of_a_blocker_makes_the_task_wait(bn, task, work_on):
    other = bn.add("Write the login endpoint")
    agent = work_on(task)
    agent("report_blocked", on=other, detail="there is nothing to call yet")
    agent.leave()
    assert [one["id"] for one in bn("ready")["tasks"]] == [other]
    assert bn("task", "done", other)["unblocked"] == [task]
    assert [one["id"] for one in bn("ready")["tasks"]] == [task]


def test_58_a_report_of_a_blocker_that_is_said_to_be_done(bn, task, work_on):
    other = bn.add("Write the login endpoint")
    bn("task", "done", other, "--reason", "it answers")
    agent = work_on(task)
    assert "a person has to unblock it" in agent.text("report_blocked", on=other, detail="it answers without a user")
    agent.leave()
    assert status(bn, task) == "blocked"
    assert bn("ready")["tasks"] == []
    assert "it answers without a user" in comments(bn, task)[0]


def test_59_done_is_reported_while_parts_are_open(bn, task, work_on):
    agent = work_on(task)
    bn("task", "split", task, "Draw the form", "Send the form")
    agent("report_done", summary="all of it")
    agent.leave()
    assert status(bn, task) == "pending"
    (said,) = comments(bn, task)
    assert said.startswith("Reported done, but not finished")


def test_60_an_agent_with_intents_tries_to_move_tasks(bn, task, work_on):
    agent = work_on(task)
    assert {name for name in agent.tools() if not name.startswith("report_")} == {"get_task"}
    for tool, instead in {"set_task_status": "report_done", "create_task": "report_suggestion"}.items():
        error = agent.fails(tool, id=task, status="done")
        assert (error["code"], error["hint"]) == ("E_TOOL_DISABLED", f"use {instead} instead")
    other = bn.add("Not mine")
    assert agent.fails("get_task", id=other)["code"] == "E_REFUSED"
    assert status(bn, task) == "in_progress"


def test_61_a_second_agent_is_sent_to_a_task_that_is_worked_on(bn, task, work_on, sessions):
    agent = work_on(task)
    error = bn.fails("mcp", "serve", "--recipe", "report", "--task", task)
    assert (error["code"], error["details"]["holder"]) == ("E_CLAIMED", sessions()[0].id)
    assert len(sessions()) == 1
    agent("report_done", summary="alone")
    agent.leave()
    assert status(bn, task) == "done"
