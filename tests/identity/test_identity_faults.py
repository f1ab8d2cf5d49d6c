"""Faults that were found by trying to mix up who acts, where, and what is held."""

import concurrent.futures
import json
import sys
import time

import pytest

from cli.conftest import BN


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


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_session_that_says_nothing_is_none(connect, nothing):
    connect("new").data("task_add", tasks=[{"title": "First"}], session=nothing)


def test_an_agent_of_another_process_keeps_its_process_when_somebody_speaks_for_it(bn, client):
    first = bn.add("First")
    holder, speaker = client(), client()
    agent = holder.pipe().data("task_claim")["task"]["claimed_by"]
    speaker.pipe().data("binnacle-set_agent", path=str(bn.repo), agent_id=agent)
    speaker.kill()
    assert bn("task", "show", first)["task"]["status"] == "in_progress", "its own process lives"
    holder.kill()
    assert bn("task", "show", first)["task"]["status"] == "pending"


def test_a_type_that_is_wrong_registers_nobody(bn, connect):
    talk = connect("old")
    assert talk.error("binnacle-orient", name="two", type="boss")["code"] == "E_INVALID_PARAMS"
    assert bn("agent", "list")["agents"] == []


def test_two_servers_that_are_open_together_are_two_agents(bn, client):
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


def test_a_server_in_another_folder_is_in_that_project(bn, client, other):
    someone = client()
    first = someone.pipe("a")
    first.data("binnacle-set_agent", path=str(bn.repo))
    first.close()
    second = someone.pipe("b", cwd=other)
    second.data("task_add", tasks=[{"title": "For the other one"}])
    assert not bn("task", "list")["tasks"]


def test_tokens_that_are_added_at_once_are_all_kept(bn):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: bn("mcp", "token", "add", f"t{number}"), range(8)))
    assert len(bn("mcp", "token", "list")["tokens"]) == 8


def test_a_broken_file_of_tokens_is_said_and_opens_nothing(bn, client, serve):
    token = bn("mcp", "token", "add", "laptop")["token"]
    end = serve()
    assert client().web("a", end.url, token).data("task_list") is not None
    (file,) = (bn.repo.parent / "data").rglob("tokens.json")
    file.write_text("{broken")
    assert is_refused(client().web("a", end.url, token))
    assert client().web("a", end.url, end.token).data("task_list") is not None


def test_a_new_token_of_a_session_makes_the_one_before_void(bn, client, serve, planned):
    session, _ = planned("chat", bn.add("First"))
    first = bn("mcp", "token", "add", "--session", session)["token"]
    end = serve()
    url = f"{end.url}/{session}"
    assert "result" in client().web("a", url, first).ask("tools/list")
    second = bn("mcp", "token", "add", "--session", session)["token"]
    assert "result" in client().web("a", url, second).ask("tools/list")
    assert is_refused(client().web("a", url, first))


def test_an_agent_in_the_environment_is_not_every_client_of_a_server(bn, client, serve):
    for title in ("First", "Second"):
        bn.add(title)
    bn.env |= bn.agent("one")
    end = serve()
    held = [client().web("a", end.url, end.token).tool("task_claim") for _ in range(2)]
    names = [each["structuredContent"]["data"]["task"]["claimed_by"] for each in held if not each["isError"]]
    assert len(names) == len(set(names)), names


def test_a_planned_session_is_not_taken_over_by_its_public_id(bn, client, planned):
    session, _ = planned("chat", bn.add("First"))
    bn("mcp", "token", "add", "--session", session)
    assert client().pipe().error("binnacle-set_agent", path=str(bn.repo), agent_id=session)


def test_whoever_is_in_one_planned_session_cannot_serve_another(bn, planned):
    one, other = (planned("chat", bn.add(title))[0] for title in ("First", "Second"))
    secret = bn("mcp", "token", "add", "--session", one)["token"]
    error = bn.fails("mcp", "serve", "--session", other, env={"BN_SESSION": secret})
    assert error["code"] == "E_PERSON_NEEDED"
    assert bn.run("mcp", "serve", "--session", one, env={"BN_SESSION": secret}).code == 0


def test_an_agent_of_one_token_is_not_taken_over_with_another(bn, client, serve):
    bn.add("First")
    tokens = [bn("mcp", "token", "add", name)["token"] for name in ("a", "b")]
    end = serve()
    one, two = (client().web("x", end.url, token) for token in tokens)
    held = one.data("task_claim")["task"]
    assert two.error("binnacle-set_agent", path=str(bn.repo), agent_id=held["claimed_by"])


def test_a_client_in_the_shell_of_an_agent_is_an_agent_of_its_own(bn, client):
    bn.add("First")
    shell = f'"{BN}" -C "{bn.repo}" orient --name outer >&2; "$@"; exit $?'
    run = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    inner = client(through=(sys.executable, "-c", run, "bash", "-c", shell, "bash"))
    held = inner.pipe().data("task_claim")["task"]
    names = {agent["id"]: agent["name"] for agent in bn("agent", "list")["agents"]}
    assert set(names.values()) == {"outer", "stub"}
    assert names[held["claimed_by"]] == "stub"
    inner.bn_json("task", "done", held["id"])


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "via"])
def test_clients_behind_a_proxy_are_not_taken_for_the_proxy(bn, client, serve, header):
    bn.add("First")
    end = serve()
    proxy = client()
    talk = proxy.web("a", end.url, end.token)
    proxy.do("header", on="a", name=header, value="for=10.0.0.7")
    assert talk.error("task_claim")["code"] == "E_PREREQUISITE"
    handle = talk.data("binnacle-set_agent", path=str(bn.repo))["session"]
    assert talk.data("task_claim", session=handle)["task"]


def is_refused(talk) -> bool:
    """Whether a client is turned away soon: a running server looks at its tokens once a second."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if talk.ask("tools/list").get("error", {}).get("status") == 401:
            return True
    return False
