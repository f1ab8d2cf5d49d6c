"""The gateway by itself: who shares a server, what is offered, what is noted, and what stays when things change."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from binnacle.config.rolling_file import RollingFile, last_lines
from binnacle.errors import NotFound, UpstreamDown, UpstreamError
from binnacle.processes.keeper import Keeper
from binnacle.processes.output_log import OutputLog
from binnacle.upstream import supervisor as supervision
from binnacle.upstream.configuration.server_config import (
    ConfigSource,
    LoadedServers,
    ServerConfig,
    ServerLimits,
    ToolRules,
)
from binnacle.upstream.gateway import Gateway
from binnacle.upstream.listing.list_cache import ListCache, OfferedLists
from binnacle.upstream.listing.pins import Pins
from binnacle.upstream.pool import ServerPool
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.server_bounds import MAX_NOTES
from binnacle.upstream.transports.stdio import StdioTransport

ROGUE = os.path.join(os.path.dirname(__file__), "rogue.py")
WAIT = 30.0


def a_server(name: str, *words: str, line: int = 1, **options: Any) -> ServerConfig:
    return ServerConfig(
        name=name,
        transport="stdio",
        command=sys.executable,
        args=("-S", ROGUE, *words),
        source=ConfigSource("user", "mcp.json", line),
        **options,
    )


class Desk:
    """Gateways that share a pool, as the sessions of one process do."""

    def __init__(self, keeper: Keeper, folder: str) -> None:
        self.folder = folder
        self.redactor = Redactor()
        self.started: list[str] = []
        self.pool = ServerPool(self._open, clean=self.redactor.clean)
        self.gateways: list[Gateway] = []
        self._keeper = keeper

    def _open(self, config, receive):
        self.started.append(config.name)
        return StdioTransport(config, receive, keeper=self._keeper, log=OutputLog(clean=self.redactor.clean))

    def gateway(self, *configs: ServerConfig, is_allowed: Callable[[ServerConfig], bool] = lambda _: True) -> Gateway:
        """A gateway to these servers. What it loads can be changed by `now`."""
        gateway = Gateway(
            lambda: LoadedServers({one.name: one for one in gateway.now}, ()),
            self.pool,
            folder=self.folder,
            is_allowed=is_allowed,
            on_change=lambda: None,
            clean=self.redactor.clean,
        )
        gateway.now = configs
        for config in configs:
            self.redactor.learn(config)
        gateway.start()
        self.gateways.append(gateway)
        return gateway


def at_desk(scenario):
    """Runs a scenario within a bound, and leaves nothing running."""

    async def run(tmp_path):
        async with asyncio.timeout(WAIT * 2), Keeper() as keeper:
            desk = Desk(keeper, str(tmp_path))
            try:
                await scenario(desk)
            finally:
                await asyncio.gather(*(one.aclose() for one in desk.gateways))

    def test(tmp_path):
        asyncio.run(run(tmp_path))

    test.__name__ = scenario.__name__
    return test


async def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        await asyncio.sleep(0.02)


async def ready(gateway: Gateway, *names: str) -> None:
    await until(lambda: all(gateway.servers[name].status.state == "ready" for name in names))


async def said(gateway: Gateway, tool: str, text: str = "") -> str:
    result = await gateway.call(tool, Raw(msgspec.json.encode({"text": text})), None, who="ann")
    return msgspec.json.decode(result["content"])[0]["text"]


@at_desk
async def test_sessions_share_a_server_wherever_it_stands_and_the_last_one_ends_it(desk):
    first = desk.gateway(a_server("one", line=1))
    second = desk.gateway(a_server("one", line=7))
    await ready(first, "one")
    assert first.servers["one"] is second.servers["one"]
    before = await said(second, "mcp_one_pid")
    await first.aclose()
    desk.gateways.remove(first)
    assert await said(second, "mcp_one_pid") == before
    await second.aclose()
    desk.gateways.remove(second)
    await until(lambda: not os.path.exists(f"/proc/{before}"))


@at_desk
async def test_a_change_touches_nothing_else_and_a_moved_line_is_none(desk):
    gateway = desk.gateway(a_server("one"), a_server("two"))
    await ready(gateway, "one", "two")
    one, two = gateway.servers["one"], gateway.servers["two"]
    gateway.now = (a_server("one", line=9), a_server("two", "more=x"))
    await gateway.reload()
    assert gateway.servers["one"] is one
    assert gateway.servers["two"] is not two
    await ready(gateway, "two")
    assert "mcp_two_x" in gateway.offers()
    gateway.now = (a_server("one", line=9), a_server("two", "more=x", timeout=5.0))
    await gateway.reload()
    await ready(gateway, "two")
    gateway.offers()
    assert ListCache(os.path.join(desk.folder, "lists")).find(gateway.now[1]).tools, (
        "kept for another configuration only"
    )
    assert desk.started == ["one", "two", "two", "two"]


@at_desk
async def test_what_is_not_trusted_is_not_even_opened(desk):
    trusted: set[str] = set()
    gateway = desk.gateway(a_server("one"), is_allowed=lambda config: config.name in trusted)
    with pytest.raises(UpstreamDown, match="is not trusted"):
        await gateway.servers["one"].ready()
    assert not desk.started
    trusted.add("one")
    await gateway.reload()
    await ready(gateway, "one")


@at_desk
async def test_two_tools_with_one_name_are_both_there_and_it_is_noted(desk):
    gateway = desk.gateway(a_server("a.b"), a_server("a_b"))
    await ready(gateway, "a.b", "a_b")
    pids = [name for name in gateway.offers() if name.startswith("mcp_a_b_pid_")]
    assert len({await said(gateway, name) for name in pids}) == 2
    assert "pid: several tools would be called mcp_a_b_pid, so its name has a hash" in gateway.notes["a.b"]


@at_desk
async def test_a_name_that_was_given_twice_counts_once_and_is_noted_once(desk):
    rules = ToolRules(rename={"pid": "echo"})
    gateway = desk.gateway(a_server("one", tools=rules))
    await ready(gateway, "one")
    for _ in range(3):
        gateway._changed()
        gateway.offers()
    assert gateway.notes["one"] == ["pid: not offered, because another tool is called echo"]


@pytest.mark.parametrize("more", [0, 1])
def test_notes_are_shown_up_to_a_number_and_the_others_are_counted(tmp_path, more):
    @at_desk
    async def scenario(desk):
        names = [f"t{number}" for number in range(MAX_NOTES + more)]
        rules = ToolRules(rename=dict.fromkeys(names, "echo"))
        gateway = desk.gateway(a_server("one", f"more={','.join(names)}", tools=rules))
        await ready(gateway, "one")
        gateway.offers()
        counted = [f"… and {more} more notes"] if more else []
        assert len(gateway.notes["one"]) == MAX_NOTES + more
        assert gateway.notes["one"][MAX_NOTES:] == counted

    scenario(tmp_path)


@at_desk
async def test_nobody_is_asked_for_the_content_of_a_server_that_is_not_there(desk):
    gateway = desk.gateway(a_server("one"))
    with pytest.raises(NotFound, match="no upstream server 'two'"):
        gateway.ask("two", "resources/read", {"uri": "memo://x"}, None, who="ann")


@at_desk
async def test_what_a_session_follows_is_forgotten_when_it_ends(desk):
    first, second = desk.gateway(a_server("one")), desk.gateway(a_server("one"))
    await ready(first, "one")
    updates = second.servers["one"].updates
    assert updates.set_followed(first, frozenset({"memo://x"}))
    assert not updates.set_followed(first, frozenset({"memo://x"})), "it is known"
    await first.aclose()
    desk.gateways.remove(first)
    assert updates.set_followed(first, frozenset({"memo://x"})), "it is new again"


@at_desk
async def test_a_tool_that_is_not_offered_is_not_called(desk):
    gateway = desk.gateway(a_server("one", tools=ToolRules(deny=("die",))))
    await ready(gateway, "one")
    with pytest.raises(NotFound):
        await said(gateway, "mcp_one_die")
    assert await said(gateway, "mcp_one_echo", "alive") == "alive"


@at_desk
async def test_a_resource_that_a_result_links_to_is_asked_for_from_its_server(desk):
    gateway = desk.gateway(a_server("one"), a_server("two", "more=link", limits=ServerLimits(result_bytes=1000)))
    await ready(gateway, "one", "two")
    linked = "elsewhere://linked-by-a-result"
    assert gateway.owners(linked) == ()
    result = await gateway.call("mcp_two_link", Raw(msgspec.json.encode({"text": linked})), None, who="ann")
    assert linked not in bytes(result["content"]).decode().partition("[cut:")[0]
    assert b"[cut:" in bytes(result["content"]), "it was cut, and its links count all the same"
    assert gateway.owners(linked) == ("two",)
    in_prompt = "elsewhere://linked-by-a-prompt"
    asked = {"name": "greet", "arguments": {"uri": in_prompt}}
    await gateway.ask("one", "prompts/get", asked, None, who="ann")
    assert gateway.owners(in_prompt) == ("one",)


@at_desk
async def test_a_link_of_a_less_trusted_server_takes_no_resource_away(desk):
    own = a_server("own", "more=link")
    foreign = msgspec.structs.replace(a_server("foreign", "more=link"), source=ConfigSource("project", "mcp.json", 1))
    gateway = desk.gateway(own, foreign)
    await ready(gateway, "own", "foreign")
    arguments = Raw(msgspec.json.encode({"text": "elsewhere://both"}))
    await gateway.call("mcp_own_link", arguments, None, who="ann")
    await gateway.call("mcp_foreign_link", arguments, None, who="ann")
    assert gateway.owners("elsewhere://both") == ("own",)


@at_desk
async def test_what_was_held_back_is_offered_once_it_was_accepted_and_read_again(desk):
    gateway = desk.gateway(a_server("one", pin="strict"))
    await ready(gateway, "one")
    gateway.offers()
    gateway.now = (a_server("one", "more=later", pin="strict"),)
    await gateway.reload()
    await ready(gateway, "one")
    assert "mcp_one_later" not in gateway.offers()
    assert "later: added, withheld" in gateway.notes["one"]
    Pins(desk.folder).accept("one", "later")
    gateway._changed()
    assert "mcp_one_later" not in gateway.offers(), "what was screened is kept until the next reload"
    await gateway.reload()
    assert "mcp_one_later" in gateway.offers()
    assert "one" not in gateway.notes


@at_desk
async def test_secrets_are_in_nothing_that_is_said_about_a_server(desk):
    secret = "sk-planted-0123456789abcdef"
    gateway = desk.gateway(a_server("one", f"more={secret},{secret}\x07", env={"PLANTED": secret}))
    await ready(gateway, "one")
    gateway.offers()
    errors = []
    for tool, text in (("refuse", ""), ("leak", "die")):
        with pytest.raises(UpstreamError) as caught:
            await said(gateway, f"mcp_one_{tool}", text)
        errors.append(f"{caught.value.message} {caught.value.hint}")
    assert "‹env.PLANTED›" in errors[0]
    assert "exit code 9" in errors[1]
    with open(os.path.join(desk.folder, "calls.jsonl"), encoding="utf-8") as audit:
        told = [*errors, str(gateway.notes), str(gateway.servers["one"].status), audit.read()]
    assert not [text for text in told if secret in text]


def test_tools_of_a_server_that_is_lost_stay_listed_for_a_while_only(tmp_path, monkeypatch):
    says = tmp_path / "says"
    says.write_text("Repeats.")

    @at_desk
    async def scenario(desk):
        gateway = desk.gateway(a_server("one", f"says={says}"), a_server("two"))
        await ready(gateway, "one", "two")
        says.unlink()  # without it, it cannot tell its tools
        with pytest.raises(UpstreamDown):
            await said(gateway, "mcp_one_die")
        await until(lambda: gateway.servers["one"].status.state == "failed")
        assert "mcp_one_echo" in gateway.offers()
        monkeypatch.setattr(supervision, "KEEP_LISTED_SECONDS", 0.0)
        await until(lambda: "mcp_one_echo" not in gateway.offers())
        assert "mcp_two_echo" in gateway.offers()

    scenario(tmp_path)


@at_desk
async def test_a_lazy_server_rests_until_it_is_called_once_its_tools_are_known(desk):
    lazy = a_server("one", lazy=True)
    first = desk.gateway(lazy)
    await ready(first, "one")
    first.offers()
    await first.aclose()
    desk.gateways.remove(first)
    second = desk.gateway(lazy)
    assert "mcp_one_echo" in second.offers()
    assert list(second.contents().prompts) == ["mcp_one_greet"]
    assert list(second.contents().resources) == ["rogue://one"]
    assert desk.started == ["one"]
    read = await second.ask("one", "resources/read", {"uri": "rogue://one"}, None, who="ann")
    assert msgspec.json.decode(read["contents"])[0]["text"] == "what is in it"
    assert await said(second, "mcp_one_echo", "hi") == "hi"
    assert desk.started == ["one", "one"]


def test_calls_beyond_what_a_server_takes_at_once_wait_for_their_turn(tmp_path):
    go = tmp_path / "go"

    @at_desk
    async def scenario(desk):
        gateway = desk.gateway(a_server("one", limits=ServerLimits(concurrency=1)))
        await ready(gateway, "one")
        calls = [asyncio.create_task(said(gateway, "mcp_one_late", str(go))) for _ in range(3)]
        await until(lambda: gateway.servers["one"].gate.waiting == 2)
        go.touch()
        assert await asyncio.gather(*calls) == [str(go)] * 3

    scenario(tmp_path)


@at_desk
async def test_how_a_server_stands_is_known_once_it_was_tried(desk):
    gateway = desk.gateway(a_server("good"), a_server("bad", "crash"), a_server("hung", "silent", connect_timeout=0.5))
    found = await asyncio.gather(*(gateway.servers[name].settle() for name in ("good", "bad", "hung")))
    assert [status.state for status in found] == ["ready", "failed", "failed"]
    assert "cannot open the vault" in found[1].reason
    assert "not ready within 0.5 s" in found[2].reason
    assert await gateway.servers["good"].probe() > 0
    with pytest.raises(UpstreamDown):
        await gateway.servers["bad"].probe()


def test_lists_belong_to_a_configuration(tmp_path):
    lists = ListCache(str(tmp_path / "lists"))
    offered = OfferedLists(
        tools=(Raw(b'{"name":"a","inputSchema":{"type":"object"}}'),), resources=(Raw(b'{"uri":"x:1","name":"x"}'),)
    )
    lists.keep(a_server("one"), offered)
    assert lists.find(a_server("one", line=5)) == offered
    assert lists.find(a_server("one", "other")) == OfferedLists()
    assert lists.find(a_server("two")) == OfferedLists()
    (tmp_path / "lists" / "one.json").write_bytes(b"\xff{")
    assert lists.find(a_server("one")) == OfferedLists()


def test_a_rolling_file_keeps_the_end_of_what_was_written(tmp_path):
    path = str(tmp_path / "logs" / "one.log")
    file = RollingFile(path, 100)
    for number in range(100):
        file.append(f"line {number}\n".encode())
    file.close()
    assert last_lines(path, 3) == ["line 97", "line 98", "line 99"]
    assert last_lines(path, 1000)[-1] == "line 99"
    assert sum(os.path.getsize(one) for one in (path, f"{path}.old")) < 400
    assert last_lines(str(tmp_path / "nothing"), 3) == []
