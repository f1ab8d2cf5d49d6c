"""Several agents on one connection are told apart by their handles, and never mixed."""

import pytest

ERAS = ("old", "new")


@pytest.mark.parametrize("era", ERAS)
def test_two_agents_on_one_connection_act_each_as_itself(bn, connect, client, era):
    ids = [client().bn_json("orient", "--name", name)["agent_id"] for name in ("one", "two")]
    talk = connect(era)
    handles = [talk.data("binnacle-set_agent", path=str(bn.repo), agent_id=each)["session"] for each in ids]
    for title, handle in zip(("First", "Second"), handles, strict=True):
        talk.data("task_add", tasks=[{"title": title}], session=handle)
    assert created(bn) == {"First": ids[0], "Second": ids[1]}
    held = [talk.data("task_claim", session=handle)["task"] for handle in handles]
    assert [each["claimed_by"] for each in held] == ids
    ran = talk.data("bn_run", args=["task", "comment", held[0]["id"], "mine"], session=handles[0])
    assert ran["exit_code"] == 0
    assert bn("log", "--by", ids[0])["events"][-1]["entity"] == "comment"


def created(bn) -> dict[str, str]:
    tasks = {task["id"]: task["title"] for task in bn("task", "list")["tasks"]}
    return {
        tasks[event["entity_id"]]: event["actor"]
        for event in bn("log")["events"]
        if event["action"] in ("created", "added")
    }


def test_once_there_are_two_a_change_must_say_whose_it_is(bn, connect):
    talk = connect()
    assert "session" not in talk.tools()["task_add"]["inputSchema"]["properties"]
    first = talk.data("binnacle-orient", name="one")
    talk.data("task_add", tasks=[{"title": "First"}])
    second = talk.data("binnacle-orient", name="two")
    assert first["agent_id"] != second["agent_id"], "a second orient registers"
    for tool, arguments in (
        ("task_add", {"tasks": [{"title": "Whose?"}]}),
        ("task_claim", {}),
        ("bn_run", {"args": ["ready"]}),
    ):
        error = talk.error(tool, **arguments)
        assert error["code"] == "E_PREREQUISITE"
        assert "session" in error["hint"]
    assert talk.data("task_list")["tasks"], "reading mixes nobody"
    listed = talk.tools()
    assert all("session" in tool["inputSchema"]["properties"] for tool in listed.values())
    assert talk.data("task_claim", session=first["session"])["task"]["claimed_by"] == first["agent_id"]
    talk.data("binnacle-goodbye", session=first["session"])
    talk.data("task_add", tasks=[{"title": "One is left"}])
    assert created(bn)["One is left"] == second["agent_id"]


def test_orient_again_is_the_same_agent_unless_it_has_another_name(connect):
    talk = connect()
    first = talk.data("binnacle-orient", name="one")
    again = talk.data("binnacle-orient", name="one", type="reviewer")
    assert (again["agent_id"], again["session"]) == (first["agent_id"], first["session"])
    assert again["type"] == "reviewer"
    renamed = talk.data("binnacle-orient", name="uno", session=first["session"])
    assert renamed["name"] == "uno"


def test_an_agent_that_was_linked_is_named_by_the_next_set_agent(bn, connect, client):
    agent = client().bn_json("orient", "--name", "one")["agent_id"]
    talk = connect()
    linked = talk.data("binnacle-set_agent", path=str(bn.repo), agent_id=agent)
    again = talk.data("binnacle-set_agent", path=str(bn.repo))
    assert again["agent_id"] == linked["agent_id"] == agent
    assert again["session"] == linked["session"]
    talk.data("task_add", tasks=[{"title": "First"}])
    assert created(bn)["First"] == agent


@pytest.mark.parametrize("handle", ["mcp-nope", "mcp-12345678.00", "x" * 5000])
def test_a_handle_of_nobody_is_refused(connect, handle):
    error = connect().error("task_add", tasks=[{"title": "x"}], session=handle)
    assert error["code"] == "E_PREREQUISITE"
    assert "binnacle-set_agent" in error["hint"]


def test_a_public_id_is_no_handle(bn, connect):
    talk = connect()
    talk.data("binnacle-orient", name="one")
    (listed,) = bn("agent", "list")["agents"]
    assert talk.error("task_add", tasks=[{"title": "x"}], session=listed["session"])["code"] == "E_PREREQUISITE"


@pytest.mark.parametrize("era", ERAS)
def test_a_handle_is_good_on_every_server_of_its_client(bn, client, other, era):
    """As for a library that starts a server for every call, and makes several calls at once."""
    first = bn.add("First")
    someone = client()
    one, two = (someone.pipe(name, era=era, cwd=other) for name in ("a", "b"))
    opened = one.data("binnacle-set_agent", path=str(bn.repo))
    handle = opened["session"]
    assert two.data("task_claim", session=handle)["task"]["claimed_by"] == opened["agent_id"]
    one.data("comment_add", task_id=first, body="Tried", session=handle)
    two.data("task_status", id=first, status="done", session=handle)
    assert [agent["id"] for agent in bn("agent", "list")["agents"]] == [opened["agent_id"]]
    assert client().pipe(era=era).error("task_claim", session=handle)["code"] == "E_PREREQUISITE", (
        "it is another client"
    )


def test_a_handle_is_good_beside_another_agent_of_its_connection(bn, client):
    bn.add("First")
    someone = client()
    one, two = (someone.pipe(name) for name in ("a", "b"))
    opened = one.data("binnacle-set_agent", path=str(bn.repo))
    own = two.data("binnacle-set_agent", path=str(bn.repo))
    assert own["agent_id"] != opened["agent_id"]
    assert two.data("task_claim", session=opened["session"])["task"]["claimed_by"] == opened["agent_id"]
    assert two.error("task_claim")["code"] == "E_PREREQUISITE", "it could be of either"
    two.data("task_add", tasks=[{"title": "Mine"}], session=own["session"])
    assert created(bn)["Mine"] == own["agent_id"]
