"""How a server on stdio begins and ends: with its input, its output or a signal, and what becomes of its requests."""

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from server.clients import Server, Stdio, call, request, stateless, text_of


def test_a_server_whose_input_ends_has_nothing_more_to_do(on_any_loop: Stdio):
    on_any_loop.initialize()
    on_any_loop.close_input()
    assert on_any_loop.wait() == 0
    assert on_any_loop.rest() == []
    assert on_any_loop.said == ""


def test_a_server_whose_input_ends_at_once_ends_too(on_any_loop: Stdio):
    on_any_loop.close_input()
    assert on_any_loop.wait() == 0
    assert on_any_loop.said == ""


def test_requests_under_way_are_answered_after_the_input_has_ended(on_any_loop: Stdio):
    on_any_loop.send(call(1, "hold", name="a"))
    assert on_any_loop.ask(call(2, "wait_until", name="a", state="holding"))
    on_any_loop.send(call(3, "stray"), call(4, "release", name="a"))
    on_any_loop.close_input()
    assert sorted(message["id"] for message in on_any_loop.rest()) == [1, 3, 4]
    assert on_any_loop.wait() == 0


def test_answers_longer_than_the_pipe_are_whole_after_the_input_has_ended(on_any_loop: Stdio):
    on_any_loop.send(call(1, "big", size=3_000_000), call(2, "big", size=3_000_000))
    on_any_loop.close_input()
    assert [len(text_of(message)) for message in on_any_loop.rest()] == [3_000_000, 3_000_000]
    assert on_any_loop.wait() == 0


def test_a_request_that_does_not_end_is_cancelled_when_the_patience_is_over():
    with Stdio("stdio", "--grace", "0.1") as server:
        server.send(call(1, "hold", name="a"))
        assert server.ask(call(2, "wait_until", name="a", state="holding"))
        server.close_input()
        assert server.rest() == []
        assert server.wait() == 0
        assert server.said == "a was cancelled\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_what_is_under_way_and_the_server(on_any_loop: Stdio, number: signal.Signals):
    on_any_loop.send(call(1, "hold", name="a"))
    assert on_any_loop.ask(call(2, "wait_until", name="a", state="holding"))
    on_any_loop.process.send_signal(number)
    assert on_any_loop.rest() == []
    assert on_any_loop.wait() == 0
    assert on_any_loop.said == "a was cancelled\n"


def test_a_signal_ends_a_server_whose_client_does_not_read(on_any_loop: Stdio):
    on_any_loop.send(call(1, "big", size=1_000_000))
    on_any_loop.wait_until_full()
    on_any_loop.terminate()
    assert on_any_loop.wait() == 0


def test_a_listener_is_told_when_the_server_ends(on_any_loop: Stdio):
    on_any_loop.send(request("l", "subscriptions/listen", stateless({"notifications": {"toolsListChanged": True}})))
    assert on_any_loop.read()["method"] == "notifications/subscriptions/acknowledged"
    on_any_loop.terminate()
    (farewell,) = on_any_loop.rest()
    assert (farewell["id"], farewell["result"]["resultType"]) == ("l", "complete")
    assert farewell["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "l"


def test_a_server_whose_output_is_gone_ends(on_any_loop: Stdio):
    on_any_loop.initialize()
    assert on_any_loop.process.stdout is not None
    on_any_loop.process.stdout.close()
    with contextlib.suppress(BrokenPipeError):  # it may notice before anything is sent, and be gone
        on_any_loop.send(call(1, "hold", name="a"), request(2, "ping"))
    assert on_any_loop.wait() == 0
    assert "Traceback" not in on_any_loop.said


def test_a_silent_server_notices_that_its_output_is_gone(stdio: Stdio):
    stdio.send(call(1, "hold", name="a"))
    assert stdio.ask(call(2, "wait_until", name="a", state="holding"))
    assert stdio.process.stdout is not None
    stdio.process.stdout.close()
    assert stdio.wait() == 0
    assert stdio.said == "a was cancelled\n"


def test_a_server_without_input_ends_at_once():
    with Server("stdio", stdin=subprocess.DEVNULL) as server:
        assert server.wait() == 0
        assert server.said == ""


def test_input_and_output_may_be_files(tmp_path: Path):
    given, made = tmp_path / "in", tmp_path / "out"
    given.write_text("".join(json.dumps(call(number, "big", size=100_000)) + "\n" for number in range(20)))
    with given.open() as source, made.open("w") as sink, Server("stdio", stdin=source, stdout=sink) as server:
        assert server.wait() == 0
        assert server.said == ""
    assert sorted(json.loads(line)["id"] for line in made.read_text().splitlines()) == list(range(20))


def test_children_of_a_tool_do_not_keep_the_client_waiting(stdio: Stdio):
    """The pipes belong to the server alone: when it is gone, the client sees the end."""
    child = int(text_of(stdio.ask(call(1, "leave_child"))))
    stdio.process.kill()
    try:
        assert stdio.rest() == []
    finally:
        os.kill(child, signal.SIGKILL)
