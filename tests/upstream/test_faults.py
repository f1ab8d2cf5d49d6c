"""Servers that misbehave: what is asked of them fails in time and by name, and others do not notice."""

import asyncio
import contextlib
import json
import os
import sys
import time

import msgspec
import pytest
from msgspec import Raw

from binnacle.errors import TimedOut, UpstreamDown, UpstreamError
from binnacle.processes.keeper import Keeper
from binnacle.processes.output_log import OutputLog
from binnacle.upstream import supervisor as supervision
from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig
from binnacle.upstream.request_relay import RequestRelay
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.upstream.toolsets.toolset import UpstreamRequest
from binnacle.upstream.transports import stdio
from binnacle.upstream.transports.stdio import StdioTransport
from binnacle.upstream.transports.transport import OutgoingRequest

ROGUE = os.path.join(os.path.dirname(__file__), "rogue.py")
WAIT = 20.0


class Bench:
    """Servers under supervision, and short ways to use them."""

    def __init__(self, keeper):
        self.keeper = keeper
        self.logs = {}
        self.servers = []
        self.relay = RequestRelay()

    def server(self, *words, name="rogue", **options):
        options = {"timeout": 10.0, "connect_timeout": 10.0} | options
        config = ServerConfig(
            name=name,
            transport="stdio",
            command=sys.executable,
            args=("-S", ROGUE, *words),
            source=ConfigSource("cli"),
            **options,
        )
        log = self.logs[name] = OutputLog()
        server = SupervisedServer(
            config, lambda one, receive: StdioTransport(one, receive, keeper=self.keeper, log=log)
        )
        self.servers.append(server)
        server.start()
        return server

    async def call(self, server, tool, text="", *, face=None, repeatable=False, progress=None, timeout=None):
        config = msgspec.structs.replace(server.config, timeout=timeout or server.config.timeout)
        request = UpstreamRequest(
            kind="tool",
            subject=f"{server.config.name}:{tool}",
            method="tools/call",
            params={"name": tool, "arguments": Raw(msgspec.json.encode({"text": text}))},
            client=face,
            who="ann",
            on_progress=None if progress is None else lambda told: progress.append(msgspec.json.decode(told)),
        )

        def exchange(client):
            return self.relay.exchange(client, request, config)

        return (await server.call(exchange, is_repeatable=repeatable)).result

    async def said(self, server, tool, text="", **options):
        result = await self.call(server, tool, text, **options)
        return msgspec.json.decode(result["content"])[0]["text"]


def bench(scenario):
    """Runs a scenario on an event loop of its own, within a bound, and leaves nothing running."""

    async def run(*args, **kwargs):
        async with asyncio.timeout(60), Keeper() as keeper:
            made = Bench(keeper)
            try:
                await scenario(made, *args, **kwargs)
            finally:
                made.relay.close()
                await asyncio.gather(*(server.close() for server in made.servers))

    def test(tmp_path):
        asyncio.run(run(tmp_path))

    test.__name__ = scenario.__name__
    test.__doc__ = scenario.__doc__
    return test


async def until(holds):
    end = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        await asyncio.sleep(0.02)


@bench
async def test_what_a_server_says_passes_untouched(made, place):
    result = await made.call(made.server(), "echo", "grüße 🦆")
    assert msgspec.json.decode(result["structuredContent"]) == {"said": "grüße 🦆"}
    assert msgspec.json.decode(result["_meta"]) == {"own": [1]}
    assert msgspec.json.decode(result["unknown"]) == {"kept": True}


@bench
async def test_a_server_of_the_new_era_alone_is_spoken_to_in_it(made, place):
    server = made.server("stateless")
    assert await made.said(server, "echo", "hi") == "hi"
    assert server.client.era == "stateless"


@bench
async def test_a_server_that_does_not_answer_what_it_does_not_know_is_tried_the_old_way(made, place):
    server = made.server("mute")
    assert await made.said(server, "echo", "hi") == "hi"
    assert server.client.era == "handshake"


@bench
async def test_one_that_hangs_while_connecting_is_given_up_and_tried_again(made, place):
    server = made.server("silent", connect_timeout=2.5)
    await until(lambda: server.status.state == "failed")
    assert "not ready within 2.5 s" in server.status.reason
    assert server.status.next_retry is not None
    with pytest.raises(UpstreamDown, match="rogue is down"):
        await made.call(server, "echo")


@bench
async def test_one_that_cannot_start_says_why(made, place):
    server = made.server("crash")
    await until(lambda: server.status.state == "failed")
    assert "exit code 3" in server.status.reason
    assert "cannot open the vault" in server.status.reason
    nothing = ServerConfig(name="none", transport="stdio", command="no-such-command", source=ConfigSource("cli"))
    lost = SupervisedServer(
        nothing, lambda one, receive: StdioTransport(one, receive, keeper=made.keeper, log=OutputLog())
    )
    made.servers.append(lost)
    lost.start()
    await until(lambda: lost.status.state == "failed")
    assert "no-such-command" in lost.status.reason


@bench
async def test_one_that_has_closed_its_input_is_asked_for_its_last_words(made, place):
    # On a loaded machine an interpreter takes longer to end than a caller should wait.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stdio, "LAST_WORDS_SECONDS", WAIT)
        await _ask_one_that_ends(made, place)


async def _ask_one_that_ends(made, place):
    code = (
        "import os, sys; os.close(0); print('ready', flush=True); open(sys.argv[1]).read(); sys.exit('no vault here')"
    )
    gate = place / "gate"
    os.mkfifo(gate)
    config = ServerConfig(
        name="short",
        transport="stdio",
        command=sys.executable,
        args=("-c", code, str(gate)),
        source=ConfigSource("cli"),
    )
    transport = StdioTransport(config, lambda *_: None, keeper=made.keeper, log=OutputLog())
    await transport.open()
    try:
        await until(lambda: not transport._program.takes_input)
        asked = asyncio.ensure_future(transport.ask(OutgoingRequest(b"1", b"{}", "ping")))
        await asyncio.sleep(0)
        await asyncio.to_thread(gate.write_text, "")
        with pytest.raises(UpstreamDown, match="no vault here"):
            await asked
    finally:
        await transport.close()


@bench
async def test_a_slow_start_is_waited_for(made, place):
    server = made.server("slow=2")
    assert await made.said(server, "echo", "there") == "there"


@bench
async def test_a_call_that_hangs_is_given_up_by_name_and_the_server_is_told(made, tmp_path):
    server = made.server(timeout=1.0)
    with pytest.raises(TimedOut, match="rogue:hang did not answer within 1 s"):
        await made.call(server, "hang", str(tmp_path / "told"))
    await until((tmp_path / "told").exists)
    assert await made.said(server, "echo", "still here") == "still here"


@bench
async def test_a_call_that_its_client_cancels_is_cancelled_on_the_server(made, tmp_path):
    server = made.server()
    await server.ready()
    call = asyncio.ensure_future(made.call(server, "hang", str(tmp_path / "told")))
    await until((tmp_path / "told.began").exists)
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call
    await until((tmp_path / "told").exists)


@bench
async def test_one_that_dies_in_a_call_leaves_its_last_words_and_is_back_for_the_next(made, tmp_path):
    server = made.server()
    notes = [str(tmp_path / str(number)) for number in range(3)]
    others = asyncio.gather(*(made.call(server, "hang", note) for note in notes), return_exceptions=True)
    await until(lambda: all(os.path.exists(f"{note}.began") for note in notes))
    with pytest.raises(UpstreamDown, match=r"exit code 7[^$]*last words") as caught:
        await made.call(server, "die")
    assert "rogue" in caught.value.message
    assert all(isinstance(one, UpstreamDown) for one in await others)
    assert await made.said(server, "echo", "back") == "back"


@bench
async def test_a_failed_call_is_made_again_only_where_that_does_no_harm(made, tmp_path):
    server = made.server()
    with pytest.raises(UpstreamDown):
        await made.call(server, "die_once", str(tmp_path / "first"))
    assert await made.said(server, "die_once", str(tmp_path / "second"), repeatable=True) == str(tmp_path / "second")


@bench
async def test_one_that_keeps_dying_is_tried_less_and_less_often_but_never_given_up(made, place):
    server = made.server()
    for _ in range(8):
        with pytest.raises(UpstreamDown):
            await made.call(server, "die")
    assert await made.said(server, "echo", "alive") == "alive"


@pytest.mark.parametrize(("sustained", "waits"), [(0.0, False), (30.0, True)])
def test_what_failed_before_is_forgotten_once_it_was_up_for_long_enough(tmp_path, monkeypatch, sustained, waits):
    monkeypatch.setattr(supervision, "SUSTAINED_SECONDS", sustained)

    @bench
    async def scenario(made, place):
        server = made.server()
        states: list[str] = []
        server.listeners.append(lambda: states.append(server.status.state))
        for _ in range(4):
            with pytest.raises(UpstreamDown):
                await made.call(server, "die")
        assert await made.said(server, "echo", "alive") == "alive"
        assert ("failed" in states) == waits

    scenario(tmp_path)


@bench
async def test_junk_and_bytes_that_are_no_text_are_passed_over(made, place):
    server = made.server("junk")
    assert await made.said(server, "junk", "ok") == "ok"
    assert "welcome" in made.logs["rogue"].tail()


@bench
async def test_a_flood_on_standard_error_neither_blocks_nor_fills_the_memory(made, place):
    server = made.server("flood", connect_timeout=30.0)
    await until(lambda: server.status.state == "ready")
    assert await made.said(server, "flood", "20") == "20"
    assert sum(map(len, made.logs["rogue"].lines)) < 3_000_000


@bench
async def test_an_answer_of_fifty_megabytes_comes_through(made, place):
    assert len(await made.said(made.server(timeout=30.0), "big", str(50 << 20))) == 50 << 20


@bench
async def test_a_second_answer_is_dropped(made, place):
    server = made.server()
    assert await made.said(server, "twice", "once") == "once"
    assert await made.said(server, "echo", "next") == "next"


@bench
async def test_answers_out_of_order_find_their_calls(made, place):
    server = made.server()
    delays = ["0.4", "0", "0.2", "0.1"]
    assert await asyncio.gather(*(made.said(server, "late", delay) for delay in delays)) == delays


@bench
async def test_one_that_never_reads_its_input_fills_neither_memory_nor_time(made, place):
    """What it cannot take any more is refused at once, by name; what is on its way to it is given up in time."""
    server = made.server("deafened", timeout=2.0)
    assert await made.said(server, "echo", "the last that it reads", timeout=10) == "the last that it reads"
    size = 4 << 20
    outcomes = await asyncio.gather(*(made.call(server, "echo", "x" * size) for _ in range(8)), return_exceptions=True)
    on_the_way = [one for one in outcomes if isinstance(one, TimedOut)]
    assert 0 < len(on_the_way) * size <= stdio.MAX_BACKLOG_BYTES + size
    refused = [str(one) for one in outcomes if not isinstance(one, TimedOut)]
    assert set(refused) == {"rogue does not read what it is sent"}


@bench
async def test_tools_that_change_during_a_call_are_read_again(made, place):
    server = made.server()
    await made.call(server, "grow", "brand_new")
    await until(lambda: "brand_new" in {tool.name for tool in server.tools})


@bench
async def test_progress_is_told_and_gives_the_call_more_time(made, place):
    told = []
    server = made.server(timeout=1.0)
    assert await made.said(server, "progress", "6", progress=told) == "6"
    assert [one["progress"] for one in told] == [1, 2, 3, 4, 5, 6]


@bench
async def test_a_server_that_answers_no_more_is_spared_until_it_gives_a_sign_of_life(made, place):
    server = made.server(timeout=0.3)
    outcomes = await asyncio.gather(*(made.call(server, "hang") for _ in range(5)), return_exceptions=True)
    assert all(isinstance(one, TimedOut) for one in outcomes)
    await until(lambda: server.status.state == "ready")
    assert await made.said(server, "echo", "again", timeout=10) == "again"


@bench
async def test_one_bad_server_does_not_hold_up_the_others(made, place):
    good = [made.server(name=f"good{number}") for number in range(3)]
    for word in ("silent", "crash", "deaf", "flood", "slow=5"):
        made.server(word, name=word.partition("=")[0])
    said = await asyncio.gather(*(made.said(server, "echo", server.config.name) for server in good))
    assert said == ["good0", "good1", "good2"]


@bench
async def test_nothing_is_left_of_a_server_that_was_closed(made, place):
    server = made.server()
    pid = int(await made.said(server, "pid"))
    before = len(os.listdir("/proc/self/fd"))
    await server.close()
    assert not os.path.exists(f"/proc/{pid}")
    assert len(os.listdir("/proc/self/fd")) < before


class Face:
    """A client that answers questions."""

    wants_progress = False

    def __init__(self, era, *, can=("elicitation",), state=None, responses=None):
        self.era = era
        self.capabilities = {name: {} for name in can}
        self.request_state = state
        self.input_responses = responses
        self.asked = []

    async def ask(self, method, _):
        self.asked.append(method)
        return {"action": "accept", "content": {"which": "this"}}


@bench
async def test_a_question_of_an_old_server_reaches_an_old_client(made, place):
    face = Face("handshake")
    said = json.loads(await made.said(made.server(), "ask", face=face))
    assert (said["content"], face.asked) == ({"which": "this"}, ["elicitation/create"])


@bench
async def test_a_question_of_a_new_server_reaches_an_old_client(made, place):
    face = Face("handshake")
    said = json.loads(await made.said(made.server("stateless"), "ask", face=face))
    assert said == [{"action": "accept", "content": {"which": "this"}}, "kept"]


@bench
async def test_a_question_of_a_new_server_is_handed_to_a_new_client(made, place):
    server = made.server("stateless")
    result = await made.call(server, "ask", face=Face("stateless"))
    assert result["inputRequests"]["q"]["method"] == "elicitation/create"
    answered = Face("stateless", state=result["requestState"], responses={"q": {"action": "decline"}})
    assert json.loads(await made.said(server, "ask", face=answered)) == [{"action": "decline"}, "kept"]


@bench
async def test_a_question_of_an_old_server_is_handed_to_a_new_client_and_the_call_waits(made, place):
    server = made.server()
    result = await made.call(server, "ask", face=Face("stateless"))
    (key,) = result["inputRequests"]
    answered = Face("stateless", state=result["requestState"], responses={key: {"action": "decline"}})
    assert json.loads(await made.said(server, "ask", face=answered)) == {"action": "decline"}
    with pytest.raises(Exception, match="is over"):
        await made.call(server, "ask", face=answered)


@bench
async def test_a_client_that_cannot_be_asked_is_no_reason_to_hang(made, place):
    old, new = made.server(name="old"), made.server("stateless", name="new")
    assert "refused" in await made.said(old, "ask", face=Face("handshake", can=()))
    with pytest.raises(UpstreamError, match="nobody here can be asked"):
        await made.call(new, "ask", face=Face("handshake", can=()))
