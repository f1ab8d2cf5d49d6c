"""Tools of other servers through a real `bn mcp serve`: they come, are called, change, and are never in the way."""

import json
import signal

import pytest

from scenarios.agents import HttpAgent, StdioAgent
from server.clients import new_call, wait_for
from server.upstreams.servers import (
    flag,
    foreign,
    pid,
    rogue,
    said,
    wait_for_no_tool,
    wait_for_tool,
    wait_until_gone,
)


class TestJoining:
    def test_tools_of_every_server_join_under_its_name_and_are_announced(self, connect, servers):
        servers(one=rogue(), two=rogue("stateless"))
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        wait_for_tool(agent, "mcp_two_echo")
        assert said(agent, "mcp_one_echo", "grüße 🦆") == said(agent, "mcp_two_echo", "grüße 🦆") == "grüße 🦆"
        assert "bn_run" in agent.tools()

    def test_what_a_server_says_of_a_tool_is_passed_on(self, connect, servers):
        servers(one=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        tool = agent.tools()["mcp_one_echo"]
        assert tool["description"] == "The tool echo."
        assert tool["inputSchema"] == {"type": "object", "properties": {"text": {"type": "string"}}}
        assert (tool["annotations"], tool["x-own"]) == ({"readOnlyHint": True}, 1)

    def test_a_result_is_passed_on_with_all_that_is_in_it(self, connect, servers):
        servers(one=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        result = agent.result("mcp_one_echo", text="hi")
        assert result["structuredContent"] == {"said": "hi"}
        assert result["_meta"]["own"] == [1]
        assert result["unknown"] == {"kept": True}

    def test_a_client_is_told_when_tools_come(self, connect, servers):
        agent = connect()
        agent.tools()
        with agent.told_of_change():
            servers(one=rogue())
        wait_for_tool(agent, "mcp_one_echo")
        with agent.told_of_change():
            said(agent, "mcp_one_grow", "new_one")
        assert said(agent, "mcp_one_new_one", "hi") == "hi"

    def test_a_client_that_asks_only_once_has_them_from_the_second_start_on(self, connect, servers):
        servers(one=rogue("slow=1"))
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        agent.leave()
        again = connect()
        assert "mcp_one_echo" in again.tools()
        assert said(again, "mcp_one_echo", "there") == "there"

    def test_a_tool_is_also_called_as_it_is_shown(self, connect, servers):
        servers(one=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        assert said(agent, "one:echo", "hi") == "hi"

    def test_clients_of_the_new_era_have_them_too(self, bn, servers):
        servers(one=rogue())
        with HttpAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_echo")
            found = agent.server.ask(new_call(1, "mcp_one_echo", text="hi"), authorization="Bearer scenario")["result"]
            assert found["content"][0]["text"] == "hi"
            assert found["resultType"] == "complete"

    def test_servers_are_connected_to_at_once(self, bn, servers, tmp_path):
        (tmp_path / "meeting").mkdir()
        meet = f"meet={tmp_path / 'meeting'},5"
        servers(**{f"s{number}": rogue(meet) for number in range(5)})
        with StdioAgent(bn, env={}) as agent:
            for number in range(5):
                wait_for_tool(agent, f"mcp_s{number}_echo")


class TestConfiguration:
    def test_flags_beat_the_project_and_the_project_beats_the_user(self, bn, servers):
        servers(one=rogue("more=of_user"), two=rogue("more=of_user"))
        servers.in_project(one=rogue("more=of_project"), two=rogue("more=of_project"))
        servers.trust()
        with StdioAgent(bn, *flag("one", "more=of_flag"), env={}) as agent:
            wait_for_tool(agent, "mcp_one_of_flag")
            wait_for_tool(agent, "mcp_two_of_project")
            assert not [name for name in agent.tools() if name.endswith("of_user")]

    def test_a_wrong_entry_is_reported_and_the_others_start(self, bn, servers):
        servers(one=rogue(), two={"command": "x", "tols": {}})
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_echo")
        done = bn.run("upstream", "doctor")
        assert done.code == 1
        broken = {one["name"]: one for one in done.json["servers"]}["two"]
        assert broken["state"] == "broken"
        assert broken["problems"][0]["where"] == f"{servers.user}:1"
        assert broken["problems"][0]["hint"] == "did you mean 'tools'?"

    def test_rules_say_which_tools_join_and_under_which_names(self, bn, servers):
        rules = {"allow": ["e*", "p*"], "deny": ["progress"], "rename": {"echo": "repeat"}}
        servers(one=rogue(tools=rules))
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_repeat")
            assert set(foreign(agent)) == {"mcp_one_repeat", "mcp_one_pid"}
            assert agent.fails("mcp_one_die")["code"] in ("E_NOT_FOUND", "E_TOOL_DISABLED")

    def test_what_rules_leave_out_is_not_there_whatever_the_state_of_its_server(self, bn, servers):
        servers(one=rogue("crash", tools={"deny": ["die"], "rename": {"echo": "repeat"}}))
        with StdioAgent(bn, env={}) as agent:
            wait_for(lambda: agent.fails("mcp_one_repeat")["code"] == "E_UPSTREAM_DOWN", "it is not known")
            assert agent.fails("mcp_one_die")["code"] == "E_NOT_FOUND"

    def test_a_recipe_that_wants_none_gets_none(self, bn, servers, write_recipe):
        servers(one=rogue())
        write_recipe("alone", "description: on its own\ntools: [task_list]\nupstreams: false\n")
        write_recipe("joined", "description: not on its own\ntools: [task_list]\nupstreams: true\n")
        with StdioAgent(bn, "--recipe", "joined", env={}) as agent:
            wait_for_tool(agent, "mcp_one_echo")
        with StdioAgent(bn, "--recipe", "alone", env={}) as agent:
            assert list(agent.tools()) == ["task_list"]
            assert agent.fails("mcp_one_echo")["code"] in ("E_NOT_FOUND", "E_TOOL_DISABLED")

    def test_what_is_denied_to_a_discipline_is_not_there(self, bn, servers):
        servers(one=rogue(), two=rogue())
        bn("discipline", "add", "careful", "--deny", "mcp_one_*")
        with StdioAgent(bn, "--discipline", "careful", env={}) as agent:
            wait_for_tool(agent, "mcp_two_echo")
            wait_for(lambda: agent.fails("mcp_one_echo")["code"] == "E_TOOL_DISABLED", "it is not known")
            assert not [name for name in agent.tools() if name.startswith("mcp_one")]

    def test_the_servers_of_a_discipline_join_its_sessions_only(self, bn, servers):
        given = json.dumps({"own": rogue()})
        bn("discipline", "add", "writer", "--upstreams", "-", stdin=given)
        bn("discipline", "add", "other")
        bn("trust", "own", "--yes")
        with StdioAgent(bn, "--discipline", "writer", env={}) as agent:
            wait_for_tool(agent, "mcp_own_echo")
            with agent.told_of_change():
                bn.by_person("discipline", "update", "writer", "--upstreams", "")
            wait_for_no_tool(agent, "mcp_own_echo")
        servers(one=rogue())
        with StdioAgent(bn, "--discipline", "other", env={}) as agent:
            wait_for_tool(agent, "mcp_one_echo")
            assert "mcp_own_echo" not in agent.tools()


class TestNames:
    def test_no_two_tools_share_a_name_and_none_is_too_long(self, bn, servers):
        long = "x" * 80
        servers(**{"a.b": rogue(f"more=echo_,{long}"), "a_b": rogue(f"more={long}")})
        with StdioAgent(bn, env={}) as agent:
            wait_for(lambda: len([name for name in agent.tools() if "_pid" in name]) == 2, "not both are there")
            names = [name for name in agent.tools() if name.startswith("mcp_")]
            assert len(set(names)) == len(names)
            assert max(map(len, names)) <= 48
            pids = {said(agent, name) for name in names if "_pid" in name}
            assert len(pids) == 2

    def test_a_name_of_ours_stays_ours(self, bn, servers):
        servers(one=rogue("more=bn_run"))
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_bn_run")
            assert "bn_run" in agent.tools()


class TestCalls:
    def test_arguments_arrive_as_they_were_sent(self, connect, servers):
        servers(one=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        text = 'a "b" \\ \n\t\u0000 ü 🦆 ' + "x" * 100_000
        assert said(agent, "mcp_one_echo", text) == text

    def test_a_failure_of_a_tool_is_passed_on_and_an_error_is_told_by_name(self, connect, servers):
        servers(one=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_fail")
        failed = agent.result("mcp_one_fail")
        assert (failed["isError"], failed["content"]) == (True, [{"type": "text", "text": "no"}])
        error = agent.fails("mcp_one_refuse")
        assert error["code"] == "E_UPSTREAM"
        assert error["message"].startswith("one:refuse: no")

    def test_a_call_that_takes_too_long_is_given_up_and_the_server_is_told(self, connect, servers, tmp_path):
        servers(one=rogue(timeout=0.5))
        agent = connect()
        wait_for_tool(agent, "mcp_one_hang")
        error = agent.fails("mcp_one_hang", text=str(tmp_path / "told"))
        assert error["code"] == "E_TIMEOUT"
        assert "one:hang" in error["message"]
        wait_for((tmp_path / "told").exists, "nobody told the server")

    def test_a_result_that_is_too_large_is_saved_to_a_file_that_the_answer_names(self, connect, servers):
        servers(one=rogue(limits={"result_bytes": 10_000}))
        agent = connect()
        wait_for_tool(agent, "mcp_one_big")
        text = said(agent, "mcp_one_big", "50000")
        assert len(text) < 10_000
        (saved,) = (servers.folder / "results").glob("result-*")
        told = json.dumps(agent.result("mcp_one_big", text="50000"))
        assert str(servers.folder / "results") in told
        assert "x" * 50_000 in saved.read_text()

    def test_every_call_is_on_record(self, connect, servers):
        servers(one=rogue(), two=rogue(timeout=0.5))
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        wait_for_tool(agent, "mcp_two_hang")
        for tool in ("one_echo", "one_fail", "one_refuse", "two_hang", "one_die"):
            agent.result(f"mcp_{tool}", text="")
        lines = servers.audit()
        assert [(line["tool"], line["outcome"]) for line in lines] == [
            ("one:echo", "ok"),
            ("one:fail", "failed"),
            ("one:refuse", "E_UPSTREAM"),
            ("two:hang", "E_TIMEOUT"),
            ("one:die", "E_UPSTREAM_DOWN"),
        ]
        assert all(line["who"].startswith("mcp-") and line["ms"] >= 0 and line["at"] for line in lines)
        assert lines[0]["bytes"] > 0


class TestTrouble:
    def test_our_own_tools_answer_while_a_server_hangs(self, connect, servers):
        servers(hung=rogue("silent"), deaf=rogue("deaf"), slow=rogue("slow=30"), bad=rogue("crash"))
        agent = connect()
        assert "bn_run" in agent.tools()
        assert not foreign(agent)
        assert agent.result("bn_run", command="ready")["content"]
        assert agent.ask("resources/read", {"uri": "binnacle://status"})["contents"]

    def test_one_that_dies_stays_listed_its_call_fails_by_name_and_it_comes_back(self, connect, servers):
        servers(one=rogue(), two=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        wait_for_tool(agent, "mcp_two_echo")
        other = pid(agent, "two")
        error = agent.fails("mcp_one_die")
        assert error["code"] == "E_UPSTREAM_DOWN"
        assert "one ended with exit code 7" in error["message"]
        assert "these are my last words" in error["message"]
        assert "mcp_one_echo" in agent.tools()
        assert said(agent, "mcp_one_echo", "again") == "again"
        assert pid(agent, "two") == other

    def test_tools_are_read_again_when_a_server_comes_back(self, bn, servers, tmp_path):
        text = tmp_path / "says"
        text.write_text("before")
        servers(one=rogue(f"says={text}"))
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_echo")
            assert agent.tools()["mcp_one_echo"]["description"] == "before"
            text.write_text("after")
            agent.fails("mcp_one_die")
            wait_for(lambda: agent.tools()["mcp_one_echo"]["description"] == "after", "it was not read again")

    def test_one_that_cannot_be_started_says_so_in_the_doctor_and_the_log(self, bn, servers):
        servers(bad=rogue("crash"))
        row = bn.run("upstream", "doctor").json["servers"][0]
        assert row["state"] == "failed"
        assert "cannot open the vault" in row["reason"]
        assert any("cannot open the vault" in line for line in bn("upstream", "logs", "bad")["lines"])

    def test_how_they_stand_is_in_the_status_that_agents_read(self, connect, servers):
        servers(one=rogue(), bad=rogue("crash"), off=rogue(enabled=False))
        servers.in_project(new=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")

        def found():
            text = agent.ask("resources/read", {"uri": "binnacle://status"})["contents"][0]["text"]
            return {one["name"]: one for one in json.loads(text)["upstreams"]}

        wait_for(lambda: found()["bad"].get("next_retry") is not None, "it is not tried again")
        states = [found()[name]["state"] for name in ("one", "off", "new")]
        assert states == ["ready", "disabled", "awaiting_trust"]
        assert found()["one"]["since"]

    def test_nothing_is_left_when_the_client_goes(self, connect, servers):
        servers(one=rogue(), two=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_pid")
        wait_for_tool(agent, "mcp_two_pid")
        processes = [pid(agent, "one"), pid(agent, "two")]
        agent.leave()
        wait_until_gone(*processes)

    @pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
    def test_nothing_is_left_when_the_server_is_ended(self, connect, servers, how):
        servers(one=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_pid")
        process = pid(agent, "one")
        agent.server.process.send_signal(how)
        agent.server.wait()
        wait_until_gone(process)


class TestChanges:
    def test_only_what_changed_is_touched(self, connect, servers):
        servers(one=rogue(), two=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_pid")
        wait_for_tool(agent, "mcp_two_pid")
        one, two = pid(agent, "one"), pid(agent, "two")
        servers(new=rogue(), one=rogue(), two=rogue())
        wait_for_tool(agent, "mcp_new_echo")
        assert (pid(agent, "one"), pid(agent, "two")) == (one, two)
        servers(one=rogue(), two=rogue("more=other"))
        wait_for_tool(agent, "mcp_two_other")
        wait_for_no_tool(agent, "mcp_new_echo")
        assert pid(agent, "one") == one
        assert pid(agent, "two") != two
        wait_until_gone(two)

    def test_one_is_switched_off_and_on_while_another_works(self, connect, servers, bn):
        servers(one=rogue(), two=rogue())
        agent = connect()
        wait_for_tool(agent, "mcp_one_pid")
        wait_for_tool(agent, "mcp_two_pid")
        one, two = pid(agent, "one"), pid(agent, "two")
        with agent.told_of_change():
            bn.by_person("upstream", "disable", "one")
        wait_for_no_tool(agent, "mcp_one_pid")
        wait_until_gone(one)
        bn.by_person("upstream", "enable", "one")
        wait_for_tool(agent, "mcp_one_pid")
        assert pid(agent, "two") == two

    def test_a_file_in_the_middle_of_being_written_changes_nothing(self, bn, servers):
        servers(one=rogue())
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_pid")
            before = pid(agent, "one")
            servers.user.write_text('{"servers": {"one": ')
            servers.in_project(two=rogue())
            servers.trust()
            wait_for_tool(agent, "mcp_two_pid")
            assert pid(agent, "one") == before

    def test_trust_starts_a_server_that_waited_for_it(self, connect, servers, tmp_path):
        servers(one=rogue())
        servers.in_project(two=rogue(f"meet={tmp_path},0"))
        agent = connect()
        wait_for_tool(agent, "mcp_one_echo")
        assert "mcp_two_echo" not in agent.tools()
        assert not [one for one in tmp_path.iterdir() if one.name.isdecimal()]
        with agent.told_of_change():
            servers.trust()
        wait_for_tool(agent, "mcp_two_echo")

    def test_a_changed_command_waits_to_be_trusted_again(self, bn, servers):
        servers.in_project(one=rogue())
        servers.trust()
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_echo")
            before = pid(agent, "one")
            servers.in_project(one=rogue("more=harm"))
            wait_for_no_tool(agent, "mcp_one_echo")
            wait_until_gone(before)
            assert agent.fails("mcp_one_echo")["code"] in ("E_NOT_FOUND", "E_UPSTREAM_DOWN")

    def test_a_lazy_server_is_listed_from_what_it_offered_and_started_by_a_call(self, bn, servers, tmp_path):
        meeting = tmp_path / "meeting"
        meeting.mkdir()
        servers(one=rogue(f"meet={meeting},0", lazy=True))
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_echo")  # nobody knows yet what it offers
        started = len(list(meeting.iterdir()))
        with StdioAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_echo")
            assert len(list(meeting.iterdir())) == started
            assert said(agent, "mcp_one_echo", "hi") == "hi"
            assert len(list(meeting.iterdir())) == started + 1


class TestSharing:
    def test_sessions_of_one_http_server_share_a_process_for_each_server(self, bn, servers, write_recipe, planned):
        servers(one=rogue())
        write_recipe("joined", "description: with others\ntools: [task_list]\nupstreams: true\n")
        session, _ = planned("joined", bn.add("One"))
        with HttpAgent(bn, env={}) as agent:
            wait_for_tool(agent, "mcp_one_pid")
            mine = pid(agent, "one")
            servers(zero=rogue(), one=rogue())  # the same server, on another line
            wait_for_tool(agent, "mcp_zero_pid")
            agent.server.url += f"/{session}"
            token = bn("mcp", "token", "add", "--session", session)["token"]
            agent.server.client.headers["authorization"] = f"Bearer {token}"
            agent._headers = agent.server.session()
            wait_for_tool(agent, "mcp_one_pid")
            assert next(iter(agent.tools())) == "task_list"
            assert pid(agent, "one") == mine
