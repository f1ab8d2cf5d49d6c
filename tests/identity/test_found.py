"""Faults that were found by trying to mix up who acts, where, and what is held."""

import json

import pytest


@pytest.fixture(params=["pipe", "web"])
def connect(request, client, serve):
    def start(era: str = "old"):
        if request.param == "pipe":
            return client().pipe(era=era)
        end = serve()
        return client().web("a", end.url, end.token, era=era)

    return start


def test_an_agent_id_that_is_wrong_leaves_the_connection_as_it_was(bn, connect):
    talk = connect()
    talk.data("binnacle-set_agent", path=str(bn.repo))
    assert talk.error("binnacle-set_agent", path=str(bn.repo), agent_id="bna-nope")["code"] == "E_NOT_FOUND"
    talk.data("task_add", tasks=[{"title": "Still alone"}])


def test_a_name_that_is_wrong_leaves_the_connection_as_it_was(bn, connect):
    talk = connect()
    talk.data("binnacle-orient", name="one")
    assert talk.error("binnacle-orient", name="x" * 500)
    talk.data("task_add", tasks=[{"title": "Still alone"}])


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "a\nb", "\x1b[31mred", "--", " "])
def test_hostile_names_are_answered_in_words(bn, client, name):
    talk = client().pipe()
    result = talk.tool("binnacle-orient", name=name)
    if result["isError"]:
        error = result["structuredContent"]["error"]
        assert error["code"] != "E_INTERNAL", error
    talk.data("task_add", tasks=[{"title": "Goes on"}])


@pytest.mark.parametrize("reason", ["a\0b", "\ud800"])
def test_hostile_reasons_are_answered_in_words(bn, client, reason):
    talk = client().pipe()
    talk.data("binnacle-orient", name="one")
    result = talk.tool("binnacle-goodbye", reason=reason)
    if result["isError"]:
        error = result["structuredContent"]["error"]
        assert error["code"] != "E_INTERNAL", error
    ran = talk.tool("bn_run", args=["task", "add", reason])
    if ran["isError"]:
        assert ran["structuredContent"]["error"]["code"] != "E_INTERNAL", ran


def test_set_agent_after_goodbye_is_a_new_agent(bn, connect):
    bn.add("First")
    talk = connect()
    first = talk.data("binnacle-set_agent", path=str(bn.repo))
    talk.data("binnacle-goodbye")
    again = talk.data("binnacle-set_agent", path=str(bn.repo))
    assert again["agent_id"] != first["agent_id"]
    assert talk.data("task_claim")["task"]["claimed_by"] == again["agent_id"]


def test_set_agent_after_a_kill_is_a_new_agent(bn, connect):
    bn.add("First")
    talk = connect()
    first = talk.data("binnacle-set_agent", path=str(bn.repo))
    bn("agent", "kill", first["agent_id"])
    again = talk.data("binnacle-set_agent", path=str(bn.repo))
    assert again["agent_id"] != first["agent_id"]


def test_a_session_of_null_is_none(bn, connect):
    connect("new").data("task_add", tasks=[{"title": "First"}], session=None)


def test_two_servers_that_come_at_once_are_two_agents(bn, client):
    for title in ("First", "Second"):
        bn.add(title)
    someone = client()
    first = someone.pipe("a")
    first.data("binnacle-set_agent", path=str(bn.repo))
    first.close()
    one, two = someone.pipe("b"), someone.pipe("c")
    held = [talk.data("task_claim")["task"]["claimed_by"] for talk in (one, two)]
    assert len(set(held)) == 2


def test_a_folder_that_is_removed_is_said_in_words(bn, client, tmp_path):
    talk = client().pipe()
    gone = bn.repo / "sub"
    gone.mkdir()
    talk.data("binnacle-set_agent", path=str(gone))
    gone.rmdir()
    result = talk.tool("bn_run", args=["status"])
    text = json.dumps(result)
    assert "no longer" in text or "gone" in text or "no such" in text.lower(), text
    talk.data("task_add", tasks=[{"title": "x"}])
