"""By default an agent is a process: its shell and its connections are one agent, and what it holds ends with it."""

import os
import signal

import pytest

pytestmark = pytest.mark.usefixtures("on_each_engine")

ERAS = ("old", "new")


def task(bn, task_id):
    return bn("task", "show", task_id)["task"]


@pytest.mark.parametrize("era", ERAS)
def test_the_shell_and_the_connection_of_a_client_are_one_agent(bn, client, era):
    first = bn.add("First")
    someone = client()
    talk = someone.pipe(era=era)
    agent = talk.data("task_claim")["task"]["claimed_by"]
    assert agent.startswith("bna-")
    done = someone.bn_json("task", "done", first, "-m", "by its shell")
    assert done["task"]["status"] == "done"
    actors = [event["actor"] for event in bn("log", "--of", first)["events"] if event["action"] in ("started", "done")]
    assert actors == [agent, agent]


def test_the_step_that_orient_prints_is_taken_by_the_agent(bn, client):
    first = bn.add("First")
    someone = client()
    oriented = someone.bn_json("orient", "--name", "shelly")
    taken = someone.bn_json("next", "--claim")["task"]
    assert taken["id"] == first
    assert taken["claimed_by"] == oriented["agent_id"]
    assert task(bn, first)["claim_expires_at"], "an agent's claim lapses"
    with pytest.raises(AssertionError, match="the client is gone"):
        someone.shell("goodbye", "enough")
    assert someone.process.wait(timeout=60) == -signal.SIGTERM, "its process ended with it"
    assert task(bn, first)["status"] == "pending"


def test_a_connection_made_after_orient_is_that_agent(bn, client):
    bn.add("First")
    someone = client()
    agent = someone.bn_json("orient", "--name", "shelly")["agent_id"]
    talk = someone.pipe()
    assert talk.data("task_claim")["task"]["claimed_by"] == agent
    listed = bn("agent", "list")["agents"]
    assert [one["id"] for one in listed] == [agent]


def test_an_orient_after_a_connection_is_that_agent(bn, client):
    bn.add("First")
    someone = client()
    talk = someone.pipe()
    agent = talk.data("task_claim")["task"]["claimed_by"]
    oriented = someone.bn_json("orient", "--name", "shelly")
    assert oriented["agent_id"] == agent
    assert oriented["name"] == "shelly"
    assert oriented["current_task"]


def test_people_stay_people_beside_an_agent(bn, client):
    someone = client()
    someone.pipe().data("task_add", tasks=[{"title": "By the agent"}])
    bn.add("By a person")
    actors = {event["actor"] for event in bn("log")["events"] if event["entity"] == "task"}
    assert "ann" in actors
    assert len(actors) == 2


@pytest.mark.parametrize("how", ["kill", "leave"])
def test_a_claim_ends_with_its_client_at_once(bn, client, how):
    first = bn.add("First")
    someone = client()
    someone.pipe().data("task_claim")
    assert task(bn, first)["status"] == "in_progress"
    getattr(someone, how)()
    assert task(bn, first)["status"] == "pending"
    assert bn("doctor")["healthy"] is True
    assert client().pipe().data("task_claim")["task"]["id"] == first


def test_a_claim_of_a_dead_client_is_free_for_who_names_the_task(bn, client):
    first = bn.add("First")
    someone = client()
    someone.pipe().data("task_claim")
    successor = client().pipe()
    assert successor.error("task_status", id=first, status="in_progress")["code"] == "E_CLAIMED"
    someone.kill()
    assert not successor.tool("task_status", id=first, status="in_progress")["isError"]


@pytest.mark.parametrize("ending", ["close", "kill_server"])
def test_a_connection_made_again_is_the_same_agent(bn, client, ending):
    """As with a client library that starts a server for every call."""
    first = bn.add("First")
    someone = client()
    talk = someone.pipe("one")
    claimed = talk.data("task_claim")
    getattr(talk, ending)()
    assert task(bn, first)["status"] == "in_progress", "its process is alive"
    again = someone.pipe("two")
    assert again.data("task_status", id=first, status="done", fence=claimed["fence"])
    assert len(bn("agent", "list")["agents"]) == 1


@pytest.mark.parametrize("era", ERAS)
def test_the_first_look_on_a_connection_made_again_offers_what_the_agent_holds(bn, client, era):
    first = bn.add("First")
    bn.add("Second")
    someone = client()
    talk = someone.pipe("a", era=era)
    talk.data("task_claim")
    talk.close()
    offered = someone.pipe("b", era=era).data("task_next")
    assert (offered["task"]["id"], offered.get("held")) == (first, True)


def test_a_server_for_every_call_keeps_its_place_and_runs_commands(bn, client, other, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    someone = client()

    def once(tool: str, **arguments):
        talk = someone.pipe("once", cwd=outside)
        answer = talk.data(tool, **arguments)
        talk.close()
        return answer

    opened = once("binnacle-set_agent", path=str(other))
    assert once("bn_run", args=["task", "add", "One"])["exit_code"] == 0
    claimed = once("task_claim")
    assert claimed["task"]["claimed_by"] == opened["agent_id"]
    assert once("task_list", session=opened["session"])["tasks"]
    once("task_status", id=claimed["task"]["id"], status="done", fence=claimed["fence"])


def test_two_connections_of_one_client_are_two_agents(bn, client):
    for title in ("First", "Second"):
        bn.add(title)
    someone = client()
    one, two = someone.pipe("one"), someone.pipe("two", era="new")
    held = [talk.data("task_claim")["task"] for talk in (one, two)]
    assert len({each["id"] for each in held}) == len({each["claimed_by"] for each in held}) == 2
    names = [each["name"] for each in bn("agent", "list")["agents"]]
    assert names == ["stub", "stub-2"]
    refused = someone.shell("task", "add", "Whose?")
    assert refused["code"] == 1
    assert "several agents" in refused["err"]
    assert "BN_AGENT_ID" in refused["err"]
    someone.bn_json("task", "add", "Mine", BN_AGENT_ID=held[1]["claimed_by"])


def test_the_right_fence_from_another_connection_of_the_process_is_accepted(bn, client):
    first = bn.add("First")
    someone = client()
    one, two = someone.pipe("one"), someone.pipe("two")
    fence = one.data("task_claim")["fence"]
    assert two.error("task_status", id=first, status="done")["code"] == "E_CLAIMED"
    assert two.error("task_status", id=first, status="done", fence=fence + 1)["code"] == "E_STALE_CLAIM"
    two.data("task_status", id=first, status="done", fence=fence)
    stranger = client().pipe()
    second = bn.add("Second")
    fence = one.data("task_claim")["fence"]
    assert stranger.error("task_status", id=second, status="done", fence=fence)["code"] == "E_CLAIMED"


def test_an_agent_that_ended_is_no_longer_valid(bn, client):
    bn.add("First")
    someone = client()
    talk = someone.pipe()
    agent = talk.data("binnacle-orient", name="gone")["agent_id"]
    talk.data("task_claim")
    bn("agent", "kill", agent)
    error = talk.error("task_claim")
    assert error["code"] == "E_PREREQUISITE"
    assert "binnacle-orient" in error["hint"]
    stranger = client().pipe()
    refused = stranger.error("binnacle-set_agent", path=str(bn.repo), agent_id=agent)
    assert refused["code"] == "E_NOT_FOUND"
    assert "ended" in refused["message"]
    shell = client().shell("task", "add", "No", BN_AGENT_ID=agent)
    assert shell["code"] == 1
    assert "ended" in shell["err"]
    back = talk.data("binnacle-orient", name="back")
    assert back["agent_id"] != agent
    talk.data("task_claim")


def test_goodbye_ends_the_agent_of_a_connection(bn, client):
    first = bn.add("First")
    talk = client().pipe()
    agent = talk.data("binnacle-orient")["agent_id"]
    talk.data("task_claim")
    talk.data("binnacle-goodbye", reason="--force")
    assert task(bn, first)["status"] == "pending"
    ended = [event for event in bn("log", "--of", agent)["events"] if event["action"] == "ended"]
    assert ended[0]["changes"]["reason"] == "--force", "a value is never an option"
    assert talk.error("task_claim")["code"] == "E_PREREQUISITE"
    assert talk.error("binnacle-set_agent", path=str(bn.repo), agent_id=agent)["code"] == "E_NOT_FOUND"


def test_values_are_never_options(client):
    talk = client().pipe()
    assert talk.data("binnacle-orient", name="-n")["name"] == "-n"


def test_an_unknown_agent_in_the_environment_is_refused_with_what_to_do(bn, client):
    for variable, code in (("BN_AGENT_ID", "E_NOT_FOUND"), ("BN_SESSION", "E_PREREQUISITE")):
        error = bn.fails("task", "add", "No", env={variable: "bna-beef.x"})
        assert error["code"] == code
        assert error["hint"]
        assert bn("ready", env={variable: "bna-beef.x"})["total"] == 0, "reading needs no name"
    talk = client().pipe(BN_AGENT_ID="bna-beef")
    assert talk.error("task_add", tasks=[{"title": "No"}])["code"] == "E_NOT_FOUND"


def test_the_list_shows_who_can_hold_something(bn, client):
    bn.add("First")
    someone = client()
    talk = someone.pipe()
    held = talk.data("task_claim")["task"]
    (listed,) = bn("agent", "list")["agents"]
    assert listed["pid"] == someone.pid
    assert listed["host"] == os.uname().nodename
    assert listed["client"] == "stub"
    assert listed["session"].startswith("mcp-")
    assert listed["current_task"] == held["id"]
    assert listed["status"] == "active"
    assert "stub" in bn.human("agent", "list")
    assert "." not in listed["session"], "what is shown is not what proves"
