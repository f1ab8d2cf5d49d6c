"""A real `bn mcp serve` of one planned session, on stdio and on HTTP."""

import json
import re
import zlib
from contextlib import contextmanager
from pathlib import Path

import pytest

from binnacle.store import sessions as store_sessions
from binnacle.work.actor import Actor
from cli.conftest import BN
from plan.test_property import mentioned
from scenarios.agents import CHANGED, TOKEN, HttpAgent, StdioAgent
from server.clients import Http, Stdio, call, new_call, request, stateless, text_of

STATUS = "binnacle://status"
UPDATED = "notifications/resources/updated"

on_each_transport = pytest.mark.parametrize("transport", [[], ["--http", "127.0.0.1:0"]], ids=["stdio", "http"])


def names_in(plan: dict) -> list[str]:
    return [tool["name"] for tool in plan["tools"]]


@pytest.fixture
def auth(bn) -> str:
    """A task with a feature and a discipline. Returns its id."""
    bn("feature", "add", "auth")
    bn("discipline", "add", "frontend", "--deny", "search_tasks", "--deny", "read_*")
    return bn.add("Build the form", "--feature", "auth", "--discipline", "frontend")


class TestWhatIsServed:
    @pytest.mark.parametrize(
        "words",
        [
            ["--recipe", "chat"],
            ["--recipe", "loop", "--feature", "auth"],
            ["--recipe", "review", "--discipline", "frontend"],
            ["--recipe", "task", "--task", "TASK"],
            ["--feature", "auth"],
        ],
        ids=" ".join,
    )
    def test_a_server_has_the_tools_and_the_prompt_of_its_plan(self, connect, bn, auth, words):
        words = [auth if word == "TASK" else word for word in words]
        asked = words[1:] if words[0] == "--recipe" else ["default", *words]
        plan, prompt = bn("plan", "show", *asked), bn("prompt", "show", *asked)
        agent = connect(*words)
        assert list(agent.tools()) == names_in(plan)
        assert [one["name"] for one in agent.ask("prompts/list")["prompts"]] == ["session"]
        assert agent.prompt() == prompt["prompt"]

    def test_without_a_recipe_it_has_the_default_tools_and_the_prompts_for_setting_up(self, connect, bn):
        agent = connect()
        assert list(agent.tools()) == names_in(bn("plan", "show", "default"))
        assert "session" not in [one["name"] for one in agent.ask("prompts/list")["prompts"]]

    def test_what_it_says_first_is_about_the_tools_that_are_there(self, bn, auth):
        with StdioAgent(bn, "--recipe", "task", "--task", auth, env={}) as agent:
            told = agent.server.initialize()["result"]["instructions"]
            assert "`get_task`" in told
            assert mentioned(told) <= set(agent.tools())

    def test_a_tool_that_is_not_there_is_refused_with_the_one_to_use(self, connect, auth):
        agent = connect("--recipe", "task", "--task", auth)
        error = agent.fails("delete_task", id=auth)
        assert (error["code"], error["hint"]) == ("E_TOOL_DISABLED", "use report_blocker instead")
        assert agent.fails("list_tasks")["hint"] == "tools/list names those that are", "what was denied is not advised"

    def test_a_session_that_was_planned_is_served_from_its_files(self, connect, bn, auth, planned):
        session, _ = planned("task", auth)
        agent = connect("--session", session)
        assert list(agent.tools()) == names_in(bn("plan", "show", "task", "--task", auth))
        agent("add_task_comment", body="half way")
        assert [event["session"] for event in bn("log")["events"] if event["entity"] == "comment"] == [session]

    def test_the_clients_configuration_starts_a_server_of_that_plan(self, bn, auth, planned):
        _, folder = planned("report", auth)
        ours = json.loads((folder / "mcp.json").read_text())["mcpServers"]["bns"]
        elsewhere = Path(bn.env["HOME"])
        with Stdio(command=[ours["command"], *ours["args"]], cwd=elsewhere, env=bn.env) as server:
            server.initialize()
            listed = server.ask(request(1, "tools/list"))["result"]["tools"]
            assert [tool["name"] for tool in listed] == json.loads((folder / "context.json").read_text())[
                "enabled_tools"
            ]
            assert auth in text_of(server.ask(call(2, "get_task")))

    @on_each_transport
    @pytest.mark.parametrize(
        ("words", "code", "said", "hint"),
        [
            (["--recipe", "yapp"], 1, "no recipe 'yapp'", "did you mean 'yap'?"),
            (["--recipe", "chat", "--discipline", "fronted"], 1, "'fronted'", "frontend"),
            (["--recipe", "chat", "--feature", "atuh"], 1, "'atuh'", "auth"),
            (["--recipe", "chat", "--task", "bn-000"], 1, "bn-000", ""),
            (["--session", "bns-0000"], 1, "no session 'bns-0000'", "another project"),
            (["--session", "bns-0000", "--feature", "auth"], 2, "--session brings its own subject", "leave out"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else None,
    )
    @pytest.mark.usefixtures("auth")
    def test_wrong_names_are_refused_before_anything_is_served(self, bn, sessions, transport, words, code, said, hint):
        error = bn.fails("mcp", "serve", *transport, *words, code=code)
        assert said in error["message"]
        assert hint in error["hint"]
        assert sessions() == [], "nothing was begun"

    def test_a_wrong_address_begins_no_session(self, bn, sessions):
        bn.add("One")
        bn.fails("mcp", "serve", "--recipe", "chat", "--http", "nowhere", code=2)
        assert sessions() == []

    def test_the_session_ends_with_its_server(self, connect, sessions):
        agent = connect("--recipe", "chat")
        assert [one.status for one in sessions()] == ["active"]
        agent.leave()
        assert [(one.status, one.reason) for one in sessions()] == [("aborted", "the client went away")]

    def test_a_session_that_has_ended_is_not_served_again(self, bn, auth, planned, store):
        session, _ = planned("chat", auth)
        with store.write(by=Actor("ann")) as tx:
            store_sessions.abort(tx, session, reason="enough")
        error = bn.fails("mcp", "serve", "--session", session)
        assert error["code"] == "E_REFUSED"
        assert "is aborted" in error["message"]


class TestFiles:
    def context(self, folder: Path) -> dict:
        return json.loads((folder / "context.json").read_text())

    def test_a_changed_recipe_makes_the_files_anew(self, connect, bn, auth, planned, write_recipe):
        write_recipe("mine", "description: mine\ntools: [get_task, list_tasks]\n")
        session, folder = planned("mine", auth)
        before = self.context(folder)
        (folder / "transcript.jsonl").write_text("{}\n")
        connect("--session", session).leave()
        assert self.context(folder) == before, "nothing has changed, nothing is written"
        write_recipe("mine", "description: mine\ntools: [get_task, bn_run]\n")
        agent = connect("--session", session)
        assert list(agent.tools()) == ["get_task"] == self.context(folder)["enabled_tools"], "less at once, no more"
        agent.leave()
        bn("plan", "renew", session)
        assert list(connect("--session", session).tools()) == ["get_task", "bn_run"]
        assert self.context(folder)["catalog"] != before["catalog"]
        assert (folder / "transcript.jsonl").read_text() == "{}\n"

    def test_files_of_another_version_are_made_anew(self, connect, auth, planned):
        session, folder = planned("chat", auth)
        context, checks = folder / "context.json", folder / "checks.json"
        other = context.read_text().replace('"schema": 1', '"schema": 0')
        sums = json.loads(checks.read_text())
        sums["context.json"] = [zlib.crc32(line.encode()) for line in other.split("\n")]
        context.write_text(other)
        checks.write_text(json.dumps(sums))
        connect("--session", session)
        assert self.context(folder)["schema"] == 1

    def test_files_that_are_gone_are_made_anew(self, connect, auth, planned):
        session, folder = planned("chat", auth)
        before = self.context(folder)
        for file in folder.iterdir():
            file.unlink()
        connect("--session", session)
        assert self.context(folder) == before

    @on_each_transport
    def test_a_file_that_was_removed_is_refused(self, bn, auth, planned, transport):
        session, folder = planned("chat", auth)
        (folder / "prompt.md").unlink()
        error = bn.fails("mcp", "serve", *transport, "--session", session)
        assert error["code"] == "E_REFUSED"
        assert error["details"] == {"file": str(folder / "prompt.md")}
        assert f"bn plan renew {session}" in error["hint"]
        bn("plan", "renew", session)
        assert (folder / "prompt.md").exists()


@contextmanager
def listening(agent, **wanted):
    """What a client of the stateless era hears that asked for it."""
    message = request("listen", "subscriptions/listen", stateless({"notifications": wanted}))
    if isinstance(agent, StdioAgent):
        agent.server.send(message)
        yield iter(agent.server.read, None)
    else:
        with agent.server.stream(message, {"authorization": f"Bearer {TOKEN}"}) as events:
            yield events


def heard(events, method: str) -> list[str]:
    """The methods of what is heard, up to one."""
    found: list[str] = []
    while not found or found[-1] != method:
        found.append(next(events)["method"])
    return found


class TestChanges:
    def test_a_client_that_listens_hears_of_tools_and_status_and_only_when_they_change(self, connect, bn, write_recipe):
        bn("discipline", "add", "reader")
        agent = connect("--recipe", "chat", "--discipline", "reader")
        agent.tools()
        with listening(agent, toolsListChanged=True, resourceSubscriptions=[STATUS]) as events:
            assert heard(events, "notifications/subscriptions/acknowledged")
            bn.add("One")
            bn("discipline", "update", "reader", "--deny", "debug_*")
            write_recipe("other", "tools: [get_task]\n")
            assert CHANGED not in heard(events, UPDATED), "none of that changes the tools"
            bn("discipline", "update", "reader", "--deny", "create_task")
            assert heard(events, CHANGED)[-1] == CHANGED
        assert "create_task" not in agent.tools()

    def test_a_client_that_subscribed_hears_that_the_status_has_changed(self, connect, bn):
        bn("discipline", "add", "reader")
        agent = connect("--recipe", "chat", "--discipline", "reader")
        agent.ask("resources/subscribe", {"uri": STATUS})
        if isinstance(agent, StdioAgent):
            bn.add("One")
            assert heard(iter(agent.server.read, None), UPDATED) == [UPDATED]
        else:
            with agent.server.stream(None, {**agent._headers, "authorization": f"Bearer {TOKEN}"}) as events:
                bn.add("One")
                assert heard(events, UPDATED) == [UPDATED]
        read = agent.ask("resources/read", {"uri": STATUS})["contents"][0]["text"]
        assert [task["title"] for task in json.loads(read)["ready"]] == ["One"]

    def test_a_server_without_a_plan_hears_of_its_recipe_too(self, connect, write_recipe):
        agent = connect()
        agent("task_list")
        with agent.told_of_change():
            write_recipe("default", "extends: default\nwithout: [task_search]\n")
        assert "task_search" not in agent.tools()

    def test_a_recipe_that_is_broken_meanwhile_changes_nothing_and_is_told_once(self, connect, bn, write_recipe):
        bn("discipline", "add", "reader")
        write_recipe("mine", "description: mine\ntools: [get_task, list_tasks]\n")
        agent = connect("--recipe", "mine", "--discipline", "reader")
        assert list(agent.tools()) == ["get_task", "list_tasks"]
        write_recipe("mine", "description: mine\ntools: [get_task, list_tsaks]\n")
        agent.server.wait_until_said("no tool 'list_tsaks'")
        with agent.told_of_change():
            bn("discipline", "update", "reader", "--deny", "get_task")
        assert list(agent.tools()) == ["list_tasks"], "the recipe as it was, and the discipline as it is"
        with agent.told_of_change():
            write_recipe("mine", "description: mine\ntools: [get_task, search_tasks]\n")
        assert list(agent.tools()) == []
        said = re.findall("cannot be made again: .*mine.yaml:2: no tool", agent.server.said)
        assert len(said) == 1


class TestLoops:
    """The same failing call, again and again, as one client makes it in either era."""

    @pytest.mark.parametrize("ask", [call, new_call], ids=["handshake", "stateless"])
    def test_the_third_time_says_so_on_stdio(self, bn, ask):
        with StdioAgent(bn, "--recipe", "chat", env={}) as agent:
            self.check(lambda number: agent.server.ask(ask(number, "get_task", id="bn-000")))

    @pytest.mark.parametrize("ask", [call, new_call], ids=["handshake", "stateless"])
    def test_the_third_time_says_so_on_http(self, bn, ask):
        with HttpAgent(bn, "--recipe", "chat", env={}) as agent:
            headers = agent._headers if ask is call else {}
            self.check(lambda number: agent.server.post(ask(number, "get_task", id="bn-000"), headers).json())

    def check(self, asked) -> None:
        texts = [text_of(asked(number)) for number in range(1, 5)]
        assert ["will not help" in text for text in texts] == [False, False, True, True]
        assert "the same call has failed 3 times" in texts[2]
        assert texts[2].startswith("error: "), "it says what is wrong all the same"


def test_two_sessions_on_one_port_see_nothing_of_each_other(bn, auth, planned):
    """Each by its own endpoint, at the same time, in both eras."""
    other = bn.add("Another")
    first, _ = planned("task", auth)
    second, _ = planned("report", other)
    command = [BN, "mcp", "serve", "--http", "127.0.0.1:0", "--token", TOKEN, "-H"]
    with Http(command=command, cwd=bn.repo, env=bn.env) as server:
        main = server.url
        tokens = {session: bn("mcp", "token", "add", "--session", session)["token"] for session in (first, second)}

        def ask(session: str, message: dict) -> dict:
            server.url = f"{main}/{session}"
            answer = server.post(message, {"authorization": f"Bearer {tokens[session]}"})
            assert answer.status_code == 200, (answer.text, server.said)
            return answer.json()["result"]

        for _ in range(2):
            lists = {
                session: [tool["name"] for tool in ask(session, request(1, "tools/list", stateless()))["tools"]]
                for session in (first, second)
            }
            assert lists[first] == names_in(bn("plan", "show", "task", "--task", auth))
            assert lists[second] == names_in(bn("plan", "show", "report", "--task", other))
        prompts = [
            ask(session, request(2, "prompts/get", stateless({"name": "session"})))["messages"][0]["content"]["text"]
            for session in (first, second)
        ]
        assert [(auth in prompt, other in prompt) for prompt in prompts] == [(True, False), (False, True)]
        error = ask(first, new_call(3, "report_done", summary="x"))["structuredContent"]["error"]
        assert error["code"] == "E_TOOL_DISABLED"
        server.url = main
        listing = server.post(request(4, "tools/list", stateless()), {"authorization": f"Bearer {TOKEN}"})
        tools = listing.json()["result"]["tools"]
        assert [tool["name"] for tool in tools] == names_in(bn("plan", "show", "default"))


def test_on_postgresql_too_a_client_hears_of_its_discipline_before_its_first_call(connect, bn, postgres_place):
    where = {"BN_STORE_URL": postgres_place.where, "BN_STORE_SCHEMA": postgres_place.schema}
    bn("discipline", "add", "reader", env=where)
    agent = connect("--recipe", "chat", "--discipline", "reader", **where)
    assert "create_task" in agent.tools()
    with agent.told_of_change():
        bn("discipline", "update", "reader", "--deny", "create_task", env=where)
    assert agent.fails("create_task", title="One")["code"] == "E_TOOL_DISABLED"
