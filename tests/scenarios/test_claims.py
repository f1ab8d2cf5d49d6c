"""Scenarios about who works on what: races, claims, dependencies, parts."""

from concurrent.futures import ThreadPoolExecutor

from server.clients import wait_for


def ready(bn) -> list[str]:
    return [task["id"] for task in bn("ready")["tasks"]]


def task_of(bn, task: str) -> dict:
    return bn("task", "show", task)["task"]


def test_11_two_agents_race_for_one_task(connect, bn):
    task = bn.add("The only one")
    agents = [connect(), connect()]
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda agent: agent("task_claim"), agents))
    assert sorted(one["task"] is None for one in found) == [False, True]
    winner = next(one for one in found if one["task"])
    assert winner["task"]["id"] == task
    assert task_of(bn, task)["claimed_by"] == winner["task"]["claimed_by"]
    events = bn("log")["events"]
    assert [event["entity_id"] for event in events if event["action"] == "started"] == [task]


def test_12_a_certain_task_is_taken_already(connect, bn):
    task = bn.add("Mine")
    holder, other = connect(), connect()
    held_by = holder("task_status", id=task, status="in_progress")["task"]["claimed_by"]
    for arguments in ({"status": "in_progress"}, {"status": "done", "reason": "surely finished"}):
        error = other.fails("task_status", id=task, **arguments)
        assert (error["code"], error["details"]["holder"]) == ("E_CLAIMED", held_by)
    other("comment_add", task_id=task, body="there is a test for this in tests/test_mine.py")
    found = task_of(bn, task)
    assert (found["status"], found["claimed_by"]) == ("in_progress", held_by)


def test_13_an_agent_reaches_for_a_second_task(connect, bn):
    first, second = bn.add("First"), bn.add("Second")
    agent = connect(**bn.agent("agent-1"))
    agent("task_claim")
    again = agent("task_claim")
    assert (again["task"]["id"], again["held"]) == (first, True)
    error = agent.fails("task_status", id=second, status="in_progress")
    assert error["code"] == "E_HOLDS_ANOTHER"
    assert first in error["message"]
    agent("task_release", id=first)
    agent("task_status", id=second, status="in_progress")
    assert (task_of(bn, first)["status"], task_of(bn, second)["status"]) == ("pending", "in_progress")


def test_14_a_claim_lapses_and_the_late_write_is_refused(connect, bn):
    task = bn.add("Slow work")
    late = connect(BN_CLAIM_MINUTES="0.01")
    lost = late("task_claim")
    fence = lost["fence"]
    successor = connect()
    wait_for(lambda: successor("task_claim")["task"] is not None, "the claim does not lapse")
    for tool, arguments in (
        ("task_status", {"status": "done", "reason": "finished after all"}),
        ("task_update", {"description": "mine"}),
        ("task_release", {}),
    ):
        assert late.fails(tool, id=task, fence=fence, **arguments)["code"] == "E_STALE_CLAIM"
    assert late.fails("task_status", id=task, status="done")["code"] == "E_CLAIMED"
    found = task_of(bn, task)
    assert (found["status"], found["fence"]) == ("in_progress", fence + 1)
    assert found["claimed_by"] not in (None, lost["task"]["claimed_by"])
    assert "description" not in found


def test_15_a_task_is_split_and_waits_for_its_parts(connect, bn):
    whole = bn.add("Too big for one sitting")
    agent = connect(**bn.agent("agent-1"))
    agent("task_status", id=whole, status="in_progress")
    one, two = (part["id"] for part in agent("task_split", id=whole, parts=[{"title": "A"}, {"title": "B"}])["parts"])
    assert ready(bn) == [one, two]
    refused = agent.fails("task_status", id=whole, status="done", reason="good enough")
    assert refused["code"] == "E_REFUSED"
    agent("task_status", id=one, status="done", reason="A is there")
    last = agent("task_status", id=two, status="done", reason="B is there")
    assert last["unblocked"] == [whole]
    assert ready(bn) == [whole]
    agent("task_status", id=whole, status="done", reason="checked as a whole")
    assert task_of(bn, whole)["status"] == "done"


def test_16_a_blocked_task_becomes_ready_by_itself(connect, bn):
    first, second = bn.add("Rename the column"), bn.add("Show the column")
    agent = connect(**bn.agent("agent-1"))
    agent("task_status", id=second, status="in_progress")
    agent("task_block", id=second, reason="the column has no name yet", on=first)
    assert ready(bn) == [first]
    assert agent("task_claim")["task"]["id"] == first
    assert agent("task_status", id=first, status="done", reason="renamed")["unblocked"] == [second]
    assert ready(bn) == [second]
    assert [one["body"] for one in bn("task", "show", second)["comments"]] == ["Blocked: the column has no name yet"]


def test_17_a_dependency_is_reopened(connect, bn):
    first = bn.add("Write the endpoint")
    second = bn.add("Call the endpoint", "--after", first)
    bn("task", "done", first, "--reason", "answers 200")
    assert ready(bn) == [second]
    connect("--recipe", "review")("set_task_status", id=first, status="pending")
    assert ready(bn) == [first]
    refused = connect().fails("task_status", id=second, status="in_progress")
    assert refused["code"] == "E_REFUSED"
    assert "waits for 1 unfinished" in refused["message"]
    assert task_of(bn, second)["open_dependencies"] == 1


def test_18_a_cancelled_dependency_no_longer_holds_but_warns(connect, bn):
    first = bn.add("Buy a certificate")
    second = bn.add("Install the certificate", "--after", first)
    agent = connect()
    agent("task_skip", id=first, reason="the host brings its own")
    assert ready(bn) == [second]
    taken = agent("task_claim")
    assert taken["warnings"] == [f"depends on cancelled work: {first}"]
    assert task_of(bn, first)["closed_reason"] == "the host brings its own"


def test_19_a_dependency_would_close_a_circle(connect, bn):
    first = bn.add("First")
    second = bn.add("Second", "--after", first)
    third = bn.add("Third", "--after", second)
    error = connect().fails("task_update", id=first, title="First of all", depends_on=[third])
    assert error["code"] == "E_CYCLE"
    assert all(task in error["message"] for task in (first, second, third))
    assert task_of(bn, first)["title"] == "First"
    assert ready(bn) == [first]
