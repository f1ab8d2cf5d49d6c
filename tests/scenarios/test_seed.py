"""Scenarios 1 to 10: those the design began with. docs/scenarios.md tells each as a story."""

import pytest


@pytest.fixture
def login(bn):
    """A feature with a finished task, the task that builds on it, and one that comes after."""
    bn("feature", "add", "auth", "-d", "Logging in")
    api = bn.add("Write the login endpoint", "-f", "auth")
    bn("task", "done", api, "--reason", "POST /login returns a token. Tests pass.")
    form = bn.add("Build the login form", "-f", "auth", "--after", api, "--hints", "follow RegisterForm.tsx")
    after = bn.add("Build the logout button", "-f", "auth", "--after", form)
    return api, form, after


def comments(bn, task: str) -> list[str]:
    return [one["body"] for one in bn("task", "show", task).get("comments", [])]


def status(bn, task: str) -> str:
    return bn("task", "show", task)["task"]["status"]


def test_01_a_finished_dependency_turns_out_unfinished(connect, bn, login):
    api, form, _ = login
    agent = connect("--recipe", "task_execution", "--task", form)
    agent("set_task_status", status="in_progress")
    refused = agent.fails("set_task_status", id=api, status="pending")
    assert (refused["code"], refused["details"]["task"]) == ("E_REFUSED", form)
    agent("add_task_comment", task_id=api, body="Returns { token }, the form needs { user, token }.")
    blocked = agent("report_blocker", reason="the user is missing from its answer", on=api)
    assert api in blocked["warnings"][0]
    agent.leave()
    assert status(bn, api) == "done"
    assert status(bn, form) == "blocked"
    assert comments(bn, api) == ["Returns { token }, the form needs { user, token }."]
    assert comments(bn, form) == ["Blocked: the user is missing from its answer"]


def test_02_the_hints_of_a_task_are_stale(connect, bn, login):
    _, form, _ = login
    agent = connect("--recipe", "task_execution", "--task", form)
    assert "RegisterForm.tsx" in agent.prompt()
    error = agent.fails("update_task", id=form, hints="follow SignUp.tsx")
    assert (error["code"], error["hint"]) == ("E_TOOL_DISABLED", "use update_task_context instead")
    agent("update_task_context", hints="follow SignUp.tsx, which replaced RegisterForm", files=["src/SignUp.tsx"])
    task = bn("task", "show", form)["task"]
    assert task["hints"] == "follow SignUp.tsx, which replaced RegisterForm"
    assert task["context_files"] == ["src/SignUp.tsx"]
    assert "SignUp.tsx" in agent.prompt()


def test_03_a_review_finds_that_a_feature_has_grown_beyond_itself(connect, bn):
    bn("feature", "add", "login", "-d", "Logging in")
    roles = [bn.add(f"Roles, part {number}", "-f", "login") for number in range(3)]
    agent = connect("--recipe", "opus_review", "--feature", "login")
    error = agent.fails("update_task", id=roles[0], feature="permissions")
    assert error["code"] == "E_INVALID_PARAMS"
    agent("create_feature", name="permissions", display_name="Permissions", description="Who may do what")
    for task in roles:
        agent("move_task_to_feature", task_id=task, feature_name="permissions")
    agent("update_feature", name="login", boundaries="no roles; those are permissions")
    assert {bn("task", "show", task)["task"]["feature"] for task in roles} == {"permissions"}
    assert bn("feature", "show", "login")["feature"]["boundaries"] == "no roles; those are permissions"


def test_04_a_draft_is_too_big(connect, bn):
    draft = bn.add("Add payments", "--draft", "-p", "high")
    agent = connect("--recipe", "enrichment", "--task", draft)
    error = agent.fails("delete_task", id=draft)
    assert (error["code"], error["hint"]) == ("E_TOOL_DISABLED", "use skip_task instead")
    parts = [{"title": "Choose a provider"}, {"title": "Store cards"}, {"title": "Charge", "depends_on": ["#2"]}]
    made = agent("spawn_subtasks", task_id=draft, subtasks=parts)["parts"]
    found = bn("task", "list", "--parent", draft)["tasks"]
    assert [(part["status"], part["priority"]) for part in found] == [("draft", 1)] * 3
    assert len(bn("task", "show", draft)["depends_on"]) == 3
    agent("enrich_task", id=made[0]["id"], pseudocode="compare three, choose one")
    assert [task["id"] for task in bn("ready")["tasks"]] == [made[0]["id"]]


def test_05_a_file_is_worth_remembering(connect, bn, login):
    _, form, after = login
    agent = connect("--recipe", "task_execution", "--task", form)
    agent("add_context_file", file_path="src/middleware/auth.ts")
    agent("add_feature_context_file", feature_name="auth", file_path="src/hooks/useAuth.ts")
    outside = agent.fails("add_context_file", file_path="../secrets.txt")
    assert outside["code"] == "E_INVALID_PARAMS"
    other = agent.fails("add_context_file", task_id=after, file_path="src/logout.ts")
    assert other["code"] == "E_REFUSED"
    agent.leave()
    assert bn("task", "show", form)["task"]["context_files"] == ["src/middleware/auth.ts"]
    assert bn("feature", "show", "auth")["feature"]["context_files"] == ["src/hooks/useAuth.ts"]
    assert "context_files" not in bn("task", "show", after)["task"]
    assert "src/middleware/auth.ts" in connect("--recipe", "task_execution", "--task", form).prompt()


def test_06_an_agent_asks_to_be_stopped(connect, bn, login, sessions):
    _, form, _ = login
    agent = connect("--recipe", "task_execution", "--task", form)
    agent("set_task_status", status="in_progress")
    ended = agent("signal_abort", reason="every command times out")["session"]
    assert (ended["status"], ended["reason"]) == ("aborted", "every command times out")
    agent.leave()
    (session,) = sessions()
    assert (session.status, session.reason, session.recipe) == ("aborted", "every command times out", "task")
    task = bn("task", "show", form)["task"]
    assert task["status"] == "pending"
    assert "claimed_by" not in task


def test_07_a_word_for_the_task_that_comes_after(connect, bn, login):
    _, form, after = login
    far = bn.add("Something else entirely")
    dependent = bn.add("Measure how often people log in", "--after", form)
    agent = connect("--recipe", "task_execution", "--task", form)
    agent("add_task_comment", task_id=after, author="haiku", body="useAuth() clears the token")
    agent("add_task_comment", task_id=dependent, body="the form sends an event named login")
    error = agent.fails("add_task_comment", task_id=far, body="hello")
    assert error["code"] == "E_REFUSED"
    assert comments(bn, after) == ["useAuth() clears the token"]
    assert comments(bn, dependent) == ["the form sends an event named login"]
    assert comments(bn, far) == []


def test_08_the_same_feature_under_two_names(connect, bn):
    agent = connect("--recipe", "braindump")
    agent("create_feature", name="auth", display_name="Authentication")
    error = agent.fails("create_feature", name="authentication", display_name="Authentication")
    assert (error["code"], error["details"]["existing"]) == ("E_DUPLICATE", "auth")
    disabled = agent.fails("merge_features", source="auth", target="login")
    assert disabled["code"] == "E_TOOL_DISABLED"
    agent("create_task", feature="auth", title="Log in with a passkey")
    assert [one["name"] for one in bn("feature", "list")["features"]] == ["auth"]
    assert bn("task", "list")["tasks"][0]["feature"] == "auth"


def test_09_what_a_dependency_left_behind(connect, bn, login):
    api, form, _ = login
    bn("task", "comment", api, "the token expires after an hour")
    agent = connect("--recipe", "task_execution", "--task", form)
    prompt = agent.prompt()
    assert "POST /login returns a token." in prompt
    text = agent.text("get_dependency_details", id=form)
    assert "POST /login returns a token. Tests pass." in text
    assert "the token expires after an hour" in text
    assert agent("get_task", id=api)["task"]["closed_reason"].startswith("POST /login")


def test_10_a_learning_that_is_there_already(connect, bn, login):
    _, form, _ = login
    bn("learning", "add", "Tokens are stored in an HTTP-only cookie by the middleware", "-f", "auth")
    agent = connect("--recipe", "task_execution", "--task", form)
    assert "HTTP-only cookie" in agent.prompt()
    assert "HTTP-only cookie" in agent.text("get_feature_learnings", feature_name="auth")
    again = agent("append_learning", text="tokens are stored in an HTTP-only cookie by the middleware!", feature="auth")
    assert again["outcome"] == "counted"
    for number in range(49):
        words = " ".join(f"{word}{number}" for word in ("alpha", "beta", "gamma", "delta"))
        agent("append_learning", text=words, feature="auth")
    last = agent("append_learning", text="one more than there is room for", feature="auth")
    assert len(last["pruned"]) == 1
    found = bn("learning", "list", "-f", "auth")["learnings"]
    assert len(found) == 50
    assert found[0]["hit_count"] == 2
