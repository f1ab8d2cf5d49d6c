"""Clients of one HTTP endpoint: told apart by their process, their session, their handle or their token."""

import json
import time

import pytest


@pytest.mark.usefixtures("on_each_engine")
@pytest.mark.parametrize("era", ["old", "new"])
def test_two_instances_of_a_client_never_meet(bn, client, serve, other, era):
    for title in ("First", "Second"):
        bn.add(title)
    end = serve()
    one, two = (client().web("a", end.url, end.token, era=era) for _ in range(2))
    held = [talk.data("task_claim")["task"] for talk in (one, two)]
    assert len({each["id"] for each in held}) == len({each["claimed_by"] for each in held}) == 2
    assert [agent["name"] for agent in bn("agent", "list")["agents"]] == ["stub", "stub-2"]
    # places
    one.data("binnacle-set_agent", path=str(other))
    two.data("binnacle-set_agent", path=str(bn.repo))
    wheres = [json.loads(talk.data("bn_run", args=["status"])["stdout"])["repo"] for talk in (one, two)]
    assert wheres == [str(other), str(bn.repo)]
    # what they did wrong
    for _ in range(3):
        one.error("task_get", id="bn-ffff")
    assert "times" not in two.error("task_get", id="bn-ffff")["message"]


@pytest.mark.usefixtures("on_each_engine")
def test_a_claim_over_http_ends_with_its_client(bn, client, serve):
    first = bn.add("First")
    end = serve()
    someone = client()
    someone.web("a", end.url, end.token).data("task_claim")
    assert bn("task", "show", first)["task"]["status"] == "in_progress"
    someone.kill()
    assert bn("task", "show", first)["task"]["status"] == "pending"


def test_the_shell_and_the_stateless_calls_of_a_client_are_one_agent(bn, client, serve):
    first = bn.add("First")
    end = serve()
    someone = client()
    talk = someone.web("a", end.url, end.token)
    talk.data("task_claim")
    someone.bn_json("task", "done", first)


def test_many_connections_of_one_process_are_one_client_without_sessions(bn, client, serve):
    bn.add("First")
    end = serve()
    someone = client()
    one, two = someone.web("a", end.url, end.token), someone.web("b", end.url, end.token)
    held = one.data("task_claim")
    two.data("task_status", id=held["task"]["id"], status="done", fence=held["fence"])
    assert len(bn("agent", "list")["agents"]) == 1


def test_two_sessions_of_one_process_are_two_agents_and_one_made_again_is_the_same(bn, client, serve):
    for title in ("First", "Second"):
        bn.add(title)
    end = serve()
    someone = client()
    one, two = (someone.web(name, end.url, end.token, era="old") for name in ("a", "b"))
    held = [talk.data("task_claim") for talk in (one, two)]
    assert len({each["task"]["claimed_by"] for each in held}) == 2
    one.close()
    again = someone.web("c", end.url, end.token, era="old")
    again.data("task_status", id=held[0]["task"]["id"], status="done")
    assert len(bn("agent", "list")["agents"]) == 2


def test_a_client_that_cannot_be_told_apart_holds_nothing(bn, serve, client):
    bn.add("First")
    end = serve(is_blind=True)
    talk = client().web("a", end.url, end.token)
    talk.data("task_add", tasks=[{"title": "Anybody may add"}])
    first = bn("ready")["tasks"][0]["id"]
    for tool, arguments in (
        ("task_claim", {}),
        ("task_status", {"id": first, "status": "in_progress"}),
        ("bn_run", {"args": ["ready"]}),
    ):
        error = talk.error(tool, **arguments)
        assert error["code"] == "E_PREREQUISITE", tool
        assert "session" in error["hint"]
    opened = talk.data("binnacle-set_agent", path=str(bn.repo))
    assert talk.error("task_claim")["code"] == "E_PREREQUISITE", "it may be of somebody else"
    assert talk.data("task_claim", session=opened["session"])["task"]["claimed_by"] == opened["agent_id"]
    again = talk.data("binnacle-set_agent", path=str(bn.repo))
    assert again["agent_id"] != opened["agent_id"], "each who opens a session is somebody else"
    named = talk.data("binnacle-orient", name="third")
    assert named["agent_id"] not in (opened["agent_id"], again["agent_id"])
    assert talk.data("bn_run", args=["ready"], session=named["session"])["exit_code"] == 0


def test_what_is_known_by_its_server_alone_ends_with_it(bn, serve, client):
    first = bn.add("First")
    end = serve(is_blind=True)
    talk = client().web("a", end.url, end.token)
    opened = talk.data("binnacle-set_agent", path=str(bn.repo))
    talk.data("task_claim", session=opened["session"])
    end.process.kill()
    end.process.wait(timeout=60)
    assert bn("task", "show", first)["task"]["status"] == "pending"


def test_a_session_that_is_known_by_its_connection_alone_ends_with_it(bn, serve, client):
    first = bn.add("First")
    end = serve(is_blind=True)
    talk = client().web("a", end.url, end.token, era="old")
    assert talk.data("task_claim")["task"]["id"] == first, "the protocol's session tells it apart"
    talk.close()
    assert client().web("b", end.url, end.token, era="old").data("task_claim")["task"]["id"] == first


def test_every_session_endpoint_has_its_own_token(bn, client, serve, planned):
    session, _ = planned("chat", bn.add("First"))
    token = bn("mcp", "token", "add", "--session", session)["token"]
    end = serve()
    someone = client()
    names = set(someone.web("own", f"{end.url}/{session}", token).tools())
    assert names
    assert "bn_run" not in names
    for url, given in (
        (end.url, token),
        (f"{end.url}/{session}", end.token),
        (f"{end.url}/{session}", ""),
        (f"{end.url}/bns-ffff", token),
    ):
        assert someone.web("bad", url, given).ask("tools/list")["error"]["status"] == 401, url


def test_named_tokens_are_identities_that_can_be_revoked(bn, client, serve):
    bn.add("First")
    end = serve()
    tokens = {name: bn("mcp", "token", "add", name)["token"] for name in ("laptop", "phone")}
    assert [one["name"] for one in bn("mcp", "token", "list")["tokens"]] == ["laptop", "phone"]
    assert "token" not in json.dumps(bn("mcp", "token", "list")["tokens"])
    someone = client()
    laptop, phone = (someone.web(name, end.url, token) for name, token in tokens.items())
    one, two = laptop.data("binnacle-orient"), phone.data("binnacle-orient")
    assert one["agent_id"] != two["agent_id"], "one process with two tokens is two clients"
    assert phone.error("task_add", tasks=[{"title": "x"}], session=one["session"])["code"] == "E_PREREQUISITE"
    bn("mcp", "token", "revoke", "laptop")
    assert bn.fails("mcp", "token", "revoke", "laptop")["code"] == "E_NOT_FOUND"
    assert _refused(laptop)
    assert "result" in phone.ask("tools/list")


def test_one_process_with_one_token_after_another_is_two_agents(bn, client, serve):
    bn.add("First")
    end = serve()
    tokens = {name: bn("mcp", "token", "add", name)["token"] for name in ("laptop", "phone")}
    someone = client()
    laptop = someone.web("laptop", end.url, tokens["laptop"], era="old")
    held = laptop.data("task_claim")["task"]["claimed_by"]
    laptop.close()
    phone = someone.web("phone", end.url, tokens["phone"], era="old")
    assert phone.data("binnacle-set_agent", path=str(bn.repo))["agent_id"] != held


def _refused(talk) -> bool:
    """Whether a client is turned away soon: a running server looks at its tokens once a second."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if talk.ask("tools/list").get("error", {}).get("status") == 401:
            return True
    return False
