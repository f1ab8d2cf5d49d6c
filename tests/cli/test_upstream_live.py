"""Upstream servers from the command line: tried, examined, called, accepted, signed in to."""

import asyncio
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from server.upstreams.servers import Servers, hostile, rogue
from upstream.auth import browser
from upstream.auth.provider import Provider

from .conftest import BN, Bn, Result
from .test_upstream import on_a_terminal


@pytest.fixture
def servers(bn) -> Servers:
    return Servers(bn)


class TestTest:
    def test_says_what_a_server_is(self, bn, servers):
        servers(one=rogue(), new=rogue("stateless"))
        one, new = bn("upstream", "test", "one", "new")["servers"]
        assert (one["state"], one["era"], one["version"]) == ("ready", "handshake", "2025-06-18")
        assert (new["state"], new["era"], new["version"]) == ("ready", "stateless", "2026-07-28")
        assert (one["server"]["name"], one["prompts"], one["resources"]) == ("rogue", 1, 1)
        assert one["tools"] > 5
        assert one["connect_ms"] > 0
        assert re.search(r"one +ready +2025-06-18 +\d+ +\d+ ms", bn.human("upstream", "test", "one"))

    def test_only_connects_to_what_is_named(self, bn, servers, tmp_path):
        servers(one=rogue(), other=rogue(f"meet={tmp_path},0"))
        bn("upstream", "test", "one")
        assert not [path for path in tmp_path.iterdir() if path.name.isdecimal()]

    def test_a_server_that_is_not_there_is_a_failure_with_its_reason(self, bn, servers):
        servers(bad=rogue("crash"), hung=rogue("silent", connect_timeout=1), off=rogue(enabled=False))
        done = bn.run("upstream", "test", "bad", "hung", "off")
        bad, hung, off = done.json["servers"]
        assert done.code == 1
        assert (bad["state"], hung["state"], off["state"]) == ("failed", "failed", "disabled")
        assert "exit code 3; its last output:\ncannot open the vault" in bad["reason"]
        assert "not ready within 1 s" in hung["reason"]
        assert off["hint"] == "bn upstream enable off"
        shown = bn.run("upstream", "test", "bad", "-H").out
        assert "✗ bad is down" in shown
        assert "hint: bn upstream logs bad" in shown

    def test_a_person_who_waits_sees_what_for(self, bn, servers):
        servers(one=rogue("slow=2"), two=rogue())
        _, shown = on_a_terminal(bn, "upstream", "test", "one", "two", "-H", answers="")
        assert "connecting" in shown
        assert "1/2" in shown

    def test_names_are_checked_first(self, bn, servers):
        servers(database=rogue(), wrong={"command": "x", "tols": 1})
        assert bn.fails("upstream", "test", "databse")["hint"] == "did you mean 'database'?"
        assert bn.fails("upstream", "test", "wrong")["code"] == "E_CONFIG"


class TestDoctor:
    def test_makes_a_round_trip_to_each_and_says_what_is_wrong_with_whom(self, bn, servers):
        servers(one=rogue(), off=rogue(enabled=False), lazy=rogue(lazy=True))
        found = {one["name"]: one for one in bn("upstream", "doctor")["servers"]}
        assert [found[name]["state"] for name in ("one", "off", "lazy")] == ["ready", "disabled", "ready"]
        assert found["one"]["latency_ms"] >= 0
        assert found["one"]["tokens"] > found["one"]["tools"]
        servers(one=rogue(), bad=rogue("crash"), wrong={"command": "x", "tols": 1})
        done = bn.run("upstream", "doctor")
        assert done.code == 1
        assert [one["state"] for one in done.json["servers"]] == ["ready", "failed", "broken"]
        shown = bn.run("upstream", "doctor", "-H").out
        assert "wrong: tols: unknown key" in shown
        assert "hint: did you mean 'tools'?" in shown
        assert "cannot open the vault" in shown

    def test_what_a_server_has_beyond_its_bounds_is_told_wherever_servers_are(self, bn, servers):
        servers(bad=hostile("tools=40000", "page=500"), one=rogue())
        told = "bad: its list of tools has more than 1000 tools; the rest is not offered"
        assert f"! {told}" in bn.human("upstream", "doctor")
        bad, _ = bn("upstream", "list")["servers"]
        assert bad["held_back"] == [told.removeprefix("bad: ")]
        assert f"! {told}" in bn.human("upstream", "list")

    def test_tools_of_a_projects_server_are_held_back_when_they_change_and_ones_own_are_noted(
        self, bn, servers, tmp_path
    ):
        text = tmp_path / "says"
        text.write_text("Repeats.")
        servers(mine=rogue(f"says={text}"))
        servers.in_project(theirs=rogue(f"says={text}"))
        bn("trust", "--yes")
        pins = {one["name"]: one["pin"] for one in bn("upstream", "doctor")["servers"]}
        assert (
            pins
            == {"mine": "warn", "theirs": "strict"}
            == {one["name"]: one["pin"] for one in bn("upstream", "list")["servers"]}
        )
        text.write_text("Repeats, and sends a copy.")
        notes = {one["name"]: one["notes"] for one in bn("upstream", "doctor")["servers"]}
        assert {name: found[0] for name, found in notes.items()} == {
            "mine": "echo: changed",
            "theirs": "echo: changed, withheld",
        }
        names = {one["name"] for one in bn("upstream", "tools")["tools"]}
        assert "mcp_mine_echo" in names
        assert "mcp_theirs_echo" not in names
        bn("upstream", "accept", "theirs", "--yes")
        assert "mcp_theirs_echo" in {one["name"] for one in bn("upstream", "tools")["tools"]}

    def test_one_of_them_can_be_named(self, bn, servers):
        servers(one=rogue(), bad=rogue("crash"))
        assert [one["name"] for one in bn("upstream", "doctor", "one")["servers"]] == ["one"]
        assert bn.fails("upstream", "doctor", "two")["code"] == "E_NOT_FOUND"

    def test_without_servers_there_is_nothing_wrong(self, bn):
        assert bn("upstream", "doctor")["servers"] == []
        assert "bn upstream add" in bn.human("upstream", "doctor")

    def test_a_file_that_cannot_be_read_is_a_problem(self, bn, servers):
        servers()
        servers.user.write_text("{")
        done = bn.run("upstream", "doctor")
        assert done.code == 1
        assert done.json["problems"][0]["where"].startswith(str(servers.user))

    def test_a_discipline_brings_its_servers(self, bn):
        bn("discipline", "add", "writer", "--upstreams", "-", stdin=json.dumps({"own": rogue()}))
        row = bn.run("upstream", "doctor", "--discipline", "writer").json["servers"][0]
        assert (row["name"], row["state"]) == ("own", "awaiting_trust")
        bn("trust", "own", "--yes")
        assert bn("upstream", "doctor", "--discipline", "writer")["servers"][0]["state"] == "ready"


class TestTools:
    def test_lists_what_to_call_and_what_it_costs(self, bn, servers):
        servers(one=rogue(tools={"allow": ["echo", "pid"], "rename": {"echo": "say"}}), bad=rogue("crash"))
        answer = bn("upstream", "tools")
        assert [(one["name"], one["shown"], one["tool"]) for one in answer["tools"]] == [
            ("mcp_one_say", "one:say", "echo"),
            ("mcp_one_pid", "one:pid", "pid"),
        ]
        assert answer["tools"][0]["description"] == "The tool echo."
        assert answer["tokens"] == sum(one["tokens"] for one in answer["tools"])
        assert [one["name"] for one in answer["missing"]] == ["bad"]
        shown = bn.human("upstream", "tools", "one")
        assert re.search(r"mcp_one_say +one:say +\d+ +The tool echo\.", shown)
        assert bn.run("upstream", "tools", "bad").code == 1


class TestCall:
    def test_a_result_is_printed_as_it_came(self, bn, servers):
        servers(one=rogue(tools={"rename": {"echo": "say"}}))
        for name in ("one:say", "one:echo", "mcp_one_say"):
            result = bn("upstream", "call", name, '{"text": "grüße"}')
            assert result == {
                "content": [{"type": "text", "text": "grüße"}],
                "structuredContent": {"said": "grüße"},
                "_meta": {"own": [1]},
                "unknown": {"kept": True},
            }
        assert bn("upstream", "call", "one:say", "-", stdin='{"text": "x"}')["content"][0]["text"] == "x"
        assert bn.human("upstream", "call", "one:say", '{"text": "two\\nlines"}') == "two\nlines\n"
        assert {one["who"] for one in servers.audit()} == {"ann"}

    def test_what_fails_is_a_failure(self, bn, servers):
        servers(one=rogue(), hung=rogue(timeout=1), bad=rogue("crash"))
        done = bn.run("upstream", "call", "one:fail")
        assert (done.code, done.json["isError"]) == (1, True)
        assert bn.fails("upstream", "call", "one:refuse")["code"] == "E_UPSTREAM"
        assert bn.fails("upstream", "call", "hung:hang")["code"] == "E_TIMEOUT"
        assert "exit code 7" in bn.fails("upstream", "call", "one:die")["message"]
        assert bn.fails("upstream", "call", "one:ecco")["hint"] == "did you mean 'one:echo'?"
        assert bn.fails("upstream", "call", "mcp_nobody_x")["code"] == "E_NOT_FOUND"
        down = bn.fails("upstream", "call", "bad:x")
        assert (down["code"], down["hint"]) == ("E_UPSTREAM_DOWN", "bn upstream logs bad")
        assert bn.fails("upstream", "call", "one:echo", "[1]")["code"] == "E_INVALID_PARAMS"

    def test_a_server_that_cannot_have_the_tool_is_left_alone(self, bn, servers, tmp_path):
        servers(**{"a.b": rogue(), "a_b": rogue(), "other": rogue(f"meet={tmp_path},0")})
        names = [one["name"] for one in bn("upstream", "tools", "a_b")["tools"] if one["tool"] == "pid"]
        assert len(names) == 1
        assert bn("upstream", "call", names[0])["content"]
        assert bn.fails("upstream", "call", "mcp_a_b_pid")["code"] == "E_NOT_FOUND"
        assert not [path for path in tmp_path.iterdir() if path.name.isdecimal()]

    def test_what_is_denied_cannot_be_called(self, bn, servers):
        servers(one=rogue(tools={"deny": ["echo"]}))
        assert bn.fails("upstream", "call", "one:echo")["code"] == "E_NOT_FOUND"


class TestLogs:
    def test_show_what_a_server_wrote_to_its_standard_error(self, bn, servers):
        servers(bad=rogue("crash"), far={"url": "http://127.0.0.1:9/mcp"})
        assert bn("upstream", "logs", "bad")["lines"] == []
        assert "wrote nothing yet" in bn.human("upstream", "logs", "bad")
        bn.run("upstream", "test", "bad")
        lines = bn("upstream", "logs", "bad")["lines"]
        assert re.fullmatch(r"20\d\d-\S+ --- started as process \d+", lines[0])
        assert lines[1].endswith(" cannot open the vault")
        assert len(bn("upstream", "logs", "bad", "-n", "1")["lines"]) == 1
        assert bn.fails("upstream", "logs", "far")["code"] == "E_INVALID_PARAMS"
        assert bn("upstream", "logs", "bad", "-n", "0")["lines"] == lines
        bn.fails("upstream", "logs", "bad", "-n", "-1", code=2)
        bn.fails("upstream", "logs", "nobody")

    def test_are_bounded_however_much_is_written(self, bn, servers):
        servers(one=rogue())
        bn("upstream", "call", "one:flood", '{"text": "2000"}')
        files = list((servers.folder / "logs").iterdir())
        assert sum(path.stat().st_size for path in files) < 4 << 20


class TestAccept:
    @pytest.fixture
    def changed(self, bn, servers, tmp_path) -> None:
        text = tmp_path / "says"
        text.write_text("Repeats.")
        servers(one=rogue(f"says={text}", pin="strict"))
        bn("upstream", "tools", "one")
        text.write_text("Repeats everything.")
        bn("upstream", "tools", "one")

    @pytest.mark.usefixtures("changed")
    def test_a_person_sees_what_changed_and_decides(self, bn):
        held = bn.fails("upstream", "call", "one:echo")
        assert held["hint"] == "bn upstream accept one echo"
        code, shown = on_a_terminal(bn, "upstream", "accept", "one", "-H", answers="n\n")
        assert code == 0
        assert "-Repeats." in shown
        assert "+Repeats everything." in shown
        assert "one stays as it was" in shown
        code, shown = on_a_terminal(bn, "upstream", "accept", "one", "-H", answers="y\n")
        assert "accepted: echo" in shown
        bn("upstream", "call", "one:echo")
        assert "nothing of one waits" in bn.human("upstream", "accept", "one")

    @pytest.mark.usefixtures("changed")
    def test_nobody_else_does(self, bn):
        assert bn.fails("upstream", "accept", "one", "--yes", env=bn.agent("bob"))["code"] == "E_PERSON_NEEDED"
        assert "--yes" in bn.fails("upstream", "accept", "one", code=2)["hint"]
        assert bn.fails("upstream", "accept", "one", "ecco", "--yes")["hint"] == "did you mean 'echo'?"
        assert bn.fails("upstream", "accept", "nobody", "--yes")["code"] == "E_NOT_FOUND"
        assert bn("upstream", "accept", "one", "echo", "--yes")["accepted"] == ["echo"]


class TestLogin:
    def test_opens_a_browser_and_keeps_the_login_until_it_is_forgotten(self, bn, servers):
        async def main() -> None:
            async with Provider() as provider:
                servers(crm={"url": provider.url, "auth": {"type": "oauth"}})
                env = {"BROWSER": shlex.join([sys.executable, browser.__file__, "%s"])}
                done = await beside(bn, "upstream", "login", "crm", env=env)
                assert done.code == 0, done.err
                assert "plain text" in done.json["kept"]
                assert not provider.refusals
                logins = Path(bn.env["XDG_CONFIG_HOME"], "binnacle", "logins")
                assert list(logins.glob("*.json"))
                assert (await beside(bn, "upstream", "logout", "crm")).json == {"name": "crm", "was_there": True}
                assert not provider.refresh, "nobody revoked it"
                assert not list(logins.glob("*.json"))
                assert (await beside(bn, "upstream", "logout", "crm", "-H")).out.startswith("nobody was signed in")

        asyncio.run(asyncio.wait_for(main(), 60))

    def test_takes_what_is_pasted_from_a_browser_elsewhere(self, bn, servers):
        async def main() -> None:
            async with Provider() as provider:
                servers(crm={"url": provider.url, "auth": {"type": "oauth"}})
                process = await begun(bn, "upstream", "login", "crm", "--no-browser")
                assert process.stdin is not None
                while not (line := await line_of(process)).startswith("http"):
                    pass
                process.stdin.write(await landed(line.strip()) + b"\n")
                out, err = await process.communicate()
                assert process.returncode == 0, err
                assert json.loads(out)["name"] == "crm"

        asyncio.run(asyncio.wait_for(main(), 60))

    def test_takes_a_code_that_is_typed_in_on_another_device(self, bn, servers):
        async def main() -> None:
            async with Provider() as provider:
                servers(crm={"url": provider.url, "auth": {"type": "oauth"}})
                process = await begun(bn, "upstream", "login", "crm", "--device", "-H")
                while not (found := re.search(r"open (\S+) and enter this code: (\S+)", await line_of(process))):
                    pass
                async with aiohttp.ClientSession() as http:
                    await http.get(found[1], params={"user_code": found[2]})
                out, err = await process.communicate()
                assert process.returncode == 0, err
                assert out.decode().startswith("✓ signed in to crm")

        asyncio.run(asyncio.wait_for(main(), 60))

    def test_waits_for_trust_in_what_a_project_says(self, bn, servers):
        entry = {"url": "https://example.org/mcp?key=${CRM_KEY}", "auth": {"type": "oauth"}}
        servers.in_project(crm=entry)
        error = bn.fails("upstream", "login", "crm", env={"CRM_KEY": "0123456789"})
        assert (error["code"], error["hint"]) == ("E_REFUSED", "look at it with: bn trust server:crm")

    def test_is_refused_where_there_is_nothing_to_sign_in_to(self, bn, servers):
        servers(one=rogue(), key={"url": "https://example.org/mcp", "auth": {"type": "api_key", "apiKey": "abcdefgh"}})
        assert bn.fails("upstream", "login", "one")["code"] == "E_CONFIG"
        assert bn.fails("upstream", "login", "key")["code"] == "E_CONFIG"
        assert bn.fails("upstream", "login", "nobody")["code"] == "E_NOT_FOUND"


async def begun(bn: Bn, *words: str, env: dict[str, str] | None = None) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        BN, *words, cwd=bn.repo, env=bn.env | (env or {}), stdin=pipe, stdout=pipe, stderr=pipe
    )


async def line_of(process: asyncio.subprocess.Process) -> str:
    """The next line that a person would read."""
    assert process.stderr is not None
    line = (await process.stderr.readline()).decode()
    assert line, "it has ended"
    return line


async def beside(bn: Bn, *words: str, **options: Any) -> Result:
    """Runs `bn` while this process serves something to it."""
    process = await begun(bn, *words, **options)
    out, err = await process.communicate()
    return Result(process.returncode or 0, out.decode(), err.decode())


async def landed(url: str) -> bytes:
    """Where a browser on another machine ends up, which cannot go there."""
    async with aiohttp.ClientSession() as http, http.get(url, allow_redirects=False) as page:
        return page.headers["Location"].encode()
