"""A server that offers or says too much: what is beyond a bound is held back with a reason; others notice nothing."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from binnacle.errors import UpstreamError
from binnacle.upstream import server_bounds
from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig
from binnacle.upstream.listing.list_cache import ListCache, OfferedLists
from upstream.test_gateway import a_server as an_honest_server
from upstream.test_gateway import at_desk, ready, said, until

HOSTILE = os.path.join(os.path.dirname(__file__), "hostile.py")
MEBIBYTE = 1 << 20


def hostile(*words: str, name: str = "bad", kind: str = "user", **options) -> ServerConfig:
    return ServerConfig(
        name=name,
        transport="stdio",
        command=sys.executable,
        args=("-S", HOSTILE, *words),
        source=ConfigSource(kind, "mcp.json", 1),
        **{"timeout": 10.0, **options},
    )


def noted(gateway, words: str, name: str = "bad") -> bool:
    return any(words in note for note in gateway.notes.get(name, ()))


async def settled(gateway, *names: str) -> None:
    """Waits until servers are connected, and has what they offer looked over."""
    await ready(gateway, *names)
    gateway.offers()
    gateway.contents()


@at_desk
async def test_of_forty_thousand_tools_the_first_are_offered_and_the_rest_is_noted(desk):
    gateway = desk.gateway(hostile("tools=40000", "page=500"), an_honest_server("good"))
    await settled(gateway, "bad", "good")
    assert len(gateway.servers["bad"].tools) == server_bounds.MAX_ENTRIES["tools"]
    assert noted(gateway, f"more than {server_bounds.MAX_ENTRIES['tools']} tools")
    assert await said(gateway, "mcp_good_echo", "hi") == "hi"


@pytest.mark.parametrize("word", ["endless", "repeats"])
def test_pages_without_end_are_not_read_to_the_end(tmp_path, word):
    count = tmp_path / "count"

    @at_desk
    async def scenario(desk):
        gateway = desk.gateway(hostile(word, "page=1", f"count={count}"), an_honest_server("good"))
        await settled(gateway, "bad", "good")
        assert len(count.read_text().splitlines()) <= server_bounds.MAX_LIST_PAGES
        for what in ("tools", "prompts", "resources", "templates"):
            assert noted(gateway, f"its list of {what}")
        assert await said(gateway, "mcp_bad_echo", "hi") == "hi"

    scenario(tmp_path)


@at_desk
async def test_pages_that_come_slowly_are_read_for_a_while_only(desk):
    gateway = desk.gateway(hostile("endless", "page=1", "slowly=0.3", connect_timeout=8.0))
    await settled(gateway, "bad")
    assert noted(gateway, "took too long")
    assert await said(gateway, "mcp_bad_echo", "hi") == "hi"


@at_desk
async def test_a_tool_that_is_too_large_too_deep_or_too_long_named_is_held_back_alone(desk):
    words = (f"huge={server_bounds.MAX_ENTRY_BYTES + 1}", "deep=300", f"name={server_bounds.MAX_NAME_CHARACTERS + 1}")
    gateway = desk.gateway(hostile(*words))
    await settled(gateway, "bad")
    assert sorted(gateway.offers()) == [f"mcp_bad_{name}" for name in ("ask", "echo", "fail", "link", "progress")]
    assert noted(gateway, "huge: not offered, it has more than")
    assert noted(gateway, "deep: its JSON is nested deeper than")
    assert noted(gateway, "its name has more than")


@at_desk
async def test_a_list_of_too_many_bytes_ends_where_the_room_does(desk):
    gateway = desk.gateway(hostile("tools=900", "page=20", "bulk=100000"))
    await settled(gateway, "bad")
    kept = gateway.servers["bad"].lists.offered.tools
    assert 0 < sum(len(bytes(one)) for one in kept) <= server_bounds.MAX_LIST_BYTES
    assert noted(gateway, "its list of tools has more than")


@at_desk
async def test_one_page_that_is_too_large_is_not_even_taken_apart(desk):
    gateway = desk.gateway(hostile("tools=100000"), an_honest_server("good"))
    await settled(gateway, "bad", "good")
    assert gateway.servers["bad"].tools == ()
    assert noted(gateway, "its list of tools has more than")


@pytest.mark.parametrize(
    ("words", "told"),
    [(f"line={200 * MEBIBYTE}", "a message of more than 64 MiB"), ("deep=10000", "a message that cannot be read")],
)
def test_a_message_that_cannot_be_taken_fails_its_request_at_once_and_says_why(tmp_path, words, told):
    @at_desk
    async def scenario(desk):
        gateway = desk.gateway(hostile(words, connect_timeout=25.0), an_honest_server("good"))
        await ready(gateway, "good")
        await until(lambda: gateway.servers["bad"].status.state == "failed")
        assert told in gateway.servers["bad"].status.reason
        assert await said(gateway, "mcp_good_echo", "hi") == "hi"

    scenario(tmp_path)


@pytest.mark.parametrize(
    "method",
    [
        "notifications/tools/list_changed",
        "notifications/resources/updated",
        "notifications/message",
        "notifications/progress",
        "notifications/unknown",
        "ping",
    ],
)
def test_a_storm_of_notifications_costs_others_nothing_and_lists_are_read_less_often(tmp_path, method):
    count = tmp_path / "count"

    @at_desk
    async def scenario(desk):
        gateway = desk.gateway(hostile(f"storm={method}", f"count={count}"), an_honest_server("good"))
        await ready(gateway, "good", "bad")
        heard = []
        gateway.updated = heard.append
        for number in range(50):
            assert await said(gateway, "mcp_good_echo", str(number)) == str(number)
        assert len(count.read_text().splitlines()) < 20
        assert len(heard) < 200

    scenario(tmp_path)


@at_desk
async def test_a_server_that_says_a_lot_when_it_is_met_is_known_by_little(desk):
    gateway = desk.gateway(hostile(f"hello={5 * MEBIBYTE}", "shouts"))
    await settled(gateway, "bad")
    client = gateway.servers["bad"].client
    known = json.dumps([client.server, client.capabilities])
    assert len(known) < 2000
    assert client.server["name"].isprintable()


@at_desk
async def test_an_error_is_cut_and_nothing_hides_in_it(desk):
    gateway = desk.gateway(hostile("shouts"))
    await settled(gateway, "bad")
    with pytest.raises(UpstreamError) as caught:
        await said(gateway, "mcp_bad_fail", str(5 * MEBIBYTE))
    assert len(caught.value.message) < server_bounds.MAX_ERROR_CHARACTERS + 200
    with pytest.raises(UpstreamError) as caught:
        await said(gateway, "mcp_bad_fail", "3")
    assert caught.value.message == "bad:fail: nnn"


@at_desk
async def test_a_storm_of_progress_reaches_the_client_in_part_and_cleaned(desk):
    gateway = desk.gateway(hostile("shouts"))
    await settled(gateway, "bad")
    told: list[Raw] = []
    text = Raw(msgspec.json.encode({"text": "5000"}))
    await gateway.call("mcp_bad_progress", text, None, who="ann", progress=told.append)
    assert 0 < len(told) < 1000


class Person:
    """A client that answers questions, and keeps them."""

    era = "handshake"
    wants_progress = False
    request_state = None
    input_responses = None

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.capabilities = {"elicitation": {}}

    async def ask(self, _, params):
        self.asked.append(msgspec.json.decode(msgspec.json.encode(params)))
        return {"action": "decline"}


async def asked(gateway, text: str) -> tuple[Person, list[dict]]:
    person = Person()
    answer = await gateway.call("mcp_bad_ask", Raw(msgspec.json.encode({"text": text})), person, who="ann")
    return person, json.loads(msgspec.json.decode(answer["content"])[0]["text"])


@at_desk
async def test_a_question_says_whose_it_is_and_nothing_hides_in_it(desk):
    gateway = desk.gateway(hostile("shouts"))
    await settled(gateway, "bad")
    person, _ = await asked(gateway, "1")
    assert [one["message"] for one in person.asked] == ["The MCP server 'bad' asks: which?"]


@at_desk
async def test_a_person_is_not_sent_to_a_page_that_a_server_names(desk):
    gateway = desk.gateway(hostile())
    await settled(gateway, "bad")
    person, answers = await asked(gateway, "https://evil.example/login")
    assert person.asked == []
    assert "message" in answers[0]


@at_desk
async def test_a_storm_of_questions_is_refused_beyond_a_few(desk):
    gateway = desk.gateway(hostile())
    await settled(gateway, "bad")
    person, answers = await asked(gateway, "300")
    assert len(person.asked) <= server_bounds.MAX_QUESTIONS_OF_A_CALL
    assert len(answers) >= 50


@at_desk
async def test_what_was_kept_of_a_server_is_bounded_when_it_is_read_again(desk):
    config = hostile(lazy=True)
    entry = Raw(b'{"name": "t", "inputSchema": {"type": "object"}}')
    ListCache(os.path.join(desk.folder, "lists")).keep(config, OfferedLists(tools=(entry,) * 40_000))
    gateway = desk.gateway(config)
    assert len(gateway.servers["bad"].tools) <= server_bounds.MAX_ENTRIES["tools"]


@at_desk
async def test_pins_do_not_grow_with_tools_that_come_and_go(desk):
    for _ in range(6):
        gateway = desk.gateway(hostile("fresh", "tools=50"))
        await settled(gateway, "bad")
        await gateway.aclose()
        desk.gateways.remove(gateway)
    with open(os.path.join(desk.folder, "pins.json"), encoding="utf-8") as file:
        assert len(json.load(file)["servers"]["bad"]["tools"]) < 130


def test_the_memory_of_a_gateway_stays_bounded_whatever_a_server_offers(tmp_path):
    """In a process of its own, so that only this is measured."""
    code = "\n".join(
        [
            "import sys, pathlib",
            f"sys.path[:0] = {[os.path.dirname(os.path.dirname(__file__))]!r}",
            "from upstream import test_bounds as t",
            f"print(t.measured(pathlib.Path({str(tmp_path)!r})))",
        ]
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout.split()[-1]) < 400, "MiB"


def measured(folder) -> int:
    """MiB that this process needed at most to offer what several hostile servers have."""

    @at_desk
    async def scenario(desk):
        gateway = desk.gateway(
            hostile("endless", "page=500", "bulk=1000", name="endless"),
            hostile("tools=40000", "page=500", name="many"),
            hostile(f"line={200 * MEBIBYTE}", name="line", connect_timeout=25.0),
        )
        await settled(gateway, "endless", "many")
        await until(lambda: gateway.servers["line"].status.state == "failed")
        await asyncio.sleep(0)

    scenario(folder)
    # Not `ru_maxrss`: a program that was started by a large one begins with the size of that.
    (peak,) = (line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return int(peak) >> 10


@at_desk
async def test_no_server_answers_for_our_own_addresses_or_for_files(desk):
    words = ("templates=file:///{+path},binnacle://{+any},{+all},own://{id}", "resources=binnacle://status,own://1")
    gateway = desk.gateway(hostile(*words, kind="project"))
    await settled(gateway, "bad")
    for uri in ("file:///etc/passwd", "binnacle://status", "binnacle://agents", "anything"):
        assert gateway.owners(uri) == ()
        link = Raw(msgspec.json.encode({"text": uri}))
        await gateway.call("mcp_bad_link", link, None, who="ann")
    assert gateway.owners("binnacle://status") == (), "not even if it points there"
    assert [gateway.owners(uri) for uri in ("own://1", "own://2")] == [("bad",), ("bad",)]
    assert noted(gateway, "file:///{+path}: not offered, it would answer for the files of this machine")
    assert noted(gateway, "binnacle://status: not offered, addresses that begin with binnacle: are ours")
