"""A client on stdio that does not read: the server keeps little for it, and goes on when it reads again."""

import json
import threading
from collections.abc import Iterator

import pytest

from server.clients import WAIT, Stdio, call, cancelled, request, stateless, text_of

MEGABYTE = 1 << 20


@pytest.fixture
def server(on_any_loop: Stdio) -> Iterator[Stdio]:
    on_any_loop.initialize()
    return on_any_loop


def test_requests_are_not_begun_while_nobody_takes_their_answers(server: Stdio):
    before = server.peak
    # Many that are read at once, and so long ones after them that the pipe does not take them all.
    ballast = ["" if number < 500 else "x" * 1000 for number in range(700)]
    requests = [json.dumps(call(at, "big", size=100_000, b=more)).encode() for at, more in enumerate(ballast)]
    writer = threading.Thread(target=server.write, args=(b"\n".join([*requests, b""]),), daemon=True)
    writer.start()
    server.wait_until_full()
    # A server that went on reading would take them all now.
    writer.join(timeout=0.5)
    assert writer.is_alive()
    answered = {server.read()["id"] for _ in requests}
    writer.join(timeout=WAIT)
    assert answered == set(range(700))
    assert server.peak - before < 20 * MEGABYTE
    assert text_of(server.ask(call("then", "echo", text="as before"))) == "as before"


def test_logs_are_dropped_that_nobody_reads(server: Stdio):
    before = server.peak
    server.send(call(1, "chatter", messages=40_000, size=1000))
    server.wait_until_said("the chatter is over")
    assert server.peak - before < 20 * MEGABYTE
    assert text_of(server.answer(1)) == "ok"
    assert 1000 < len(server.seen) < 40_000
    assert text_of(server.ask(call("then", "echo", text="as before"))) == "as before"


def test_all_logs_arrive_at_a_client_that_reads(server: Stdio):
    server.send(call(1, "chatter", messages=2000, size=1000))
    assert text_of(server.answer(1)) == "ok"
    assert len(server.seen) == 2000


def test_a_change_that_came_while_nobody_read_is_told_once_when_somebody_does(server: Stdio):
    server.send(request("l", "subscriptions/listen", stateless({"notifications": {"toolsListChanged": True}})))
    assert server.read()["method"] == "notifications/subscriptions/acknowledged"
    server.send(call(1, "crowd"))
    server.wait_until_said("the crowd has gone")
    server.answer(1)
    server.ask(request("then", "ping"))
    changes = [one["params"].get("_meta") for one in server.seen if one["method"] == "notifications/tools/list_changed"]
    assert changes == [None, {"io.modelcontextprotocol/subscriptionId": "l"}]


def test_a_flood_of_requests_is_answered_whole(server: Stdio):
    requests = b"".join(json.dumps(call(number, "echo", text="x")).encode() + b"\n" for number in range(5000))
    writer = threading.Thread(target=server.write, args=(requests,), daemon=True)
    writer.start()
    assert sorted(server.read()["id"] for _ in range(5000)) == list(range(5000))
    writer.join(timeout=WAIT)


def test_only_so_many_requests_are_handled_at_once(server: Stdio):
    requests = b"".join(json.dumps(call(number, "mingle")).encode() + b"\n" for number in range(600))
    server.write(requests)
    at_once = [int(text_of(server.read())) for _ in range(600)]
    assert 1 < max(at_once) <= 256


def test_more_requests_than_are_handled_at_once_can_still_be_cancelled(server: Stdio):
    server.send(*(call(number, "hold", name=str(number)) for number in range(400)))
    server.send(*(cancelled(number) for number in range(400)))
    assert text_of(server.ask(call("then", "echo", text="as before"))) == "as before"
    assert server.seen == []
