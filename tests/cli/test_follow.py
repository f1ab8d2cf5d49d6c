"""`bn log --follow` prints what others do as they do it, and ends when told to."""

import json
import os
import select
import signal
import subprocess
import time

import pytest

import forked_bn
from cli.conftest import BN


@pytest.fixture
def follower(bn):
    """A running `bn log --follow`, ended by its process id."""
    running = []

    def start(*words: str, **env: str) -> subprocess.Popen[bytes]:
        child = forked_bn.start([BN, "log", "--follow", *words], cwd=bn.repo, env=bn.env | env, stdout=subprocess.PIPE)
        running.append(child)
        return child

    yield start
    for child in running:
        child.kill()
        child.wait(timeout=60)
        child.stdout.close()


def lines(child: subprocess.Popen[bytes], count: int) -> list[str]:
    """The next lines a follower prints, waited for at most half a minute."""
    found = b""
    end = time.monotonic() + 30
    while found.count(b"\n") < count and time.monotonic() < end:
        if select.select([child.stdout], [], [], 1)[0]:
            found += os.read(child.stdout.fileno(), 65536)
    assert found.count(b"\n") >= count, found
    return found.decode().splitlines()


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_events_of_other_processes_arrive_in_order(bn, follower, engine, request):
    if engine == "postgres":
        place = request.getfixturevalue("postgres_place")
        bn.env |= {"BN_STORE_URL": place.where, "BN_STORE_SCHEMA": place.schema}
    bn.add("before")
    child = follower()
    assert json.loads(lines(child, 1)[0])["changes"]["title"] == "before"
    for number in range(5):
        bn.add(f"task {number}")
    events = [json.loads(line) for line in lines(child, 5)]
    assert [event["changes"]["title"] for event in events] == [f"task {number}" for number in range(5)]
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)


def test_following_begins_before_the_first_event(bn, follower):
    child = follower("-H")
    bn.add("the first")
    assert "the first" in lines(child, 1)[0]


def test_following_only_one_task_or_one_actor(bn, follower):
    one, two = bn.add("One"), bn.add("Two")
    of_one, by_bob = follower("--of", one), follower("--by", "bob")
    bn("task", "start", two)
    bn("task", "comment", one, "mine", env={"BN_USER": "bob"})
    bn("task", "start", one, env={"BN_USER": "bob"})
    added, *of_one_lines = lines(of_one, 3)
    assert json.loads(added)["action"] == "added"
    for found in (of_one_lines, lines(by_bob, 2)):
        comment, event = map(json.loads, found)
        assert (comment["entity"], comment["changes"]["task"]) == ("comment", one)
        assert (event["entity_id"], event["actor"]) == (one, "bob")


def test_an_interrupted_follower_ends_quietly(bn, follower):
    bn.add("One")
    child = follower()
    lines(child, 1)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=30) == 130
