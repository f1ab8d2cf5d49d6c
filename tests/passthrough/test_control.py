"""What is known of a guard when it dies in the middle of a talk."""

import asyncio
import os
import socket
from contextlib import ExitStack

import pytest
import uvloop

from binnacle.passthrough.guard_connection import GuardConnection
from passthrough.stage import PATIENCE


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("request_is_read", [True, False])
def test_the_last_words_of_a_guard_and_its_death_are_both_noticed(new_loop, request_is_read):
    async def talk():
        control = GuardConnection()
        with ExitStack() as theirs:
            guard = socket.socket(fileno=os.dup(control.open(theirs)))
        with guard:
            await control.send(b"request")
            if request_is_read:
                guard.recv(4096)
            guard.sendall(b"ready 7\nended 3\n")
        async with asyncio.timeout(PATIENCE):
            await control.gone
        return control.pid, await control.ready, await control.ended

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(talk()) == (7, True, 3)
