"""The state of one program."""

import asyncio
import os
import signal
from typing import Any

from binnacle.processes.keeper_connection import KeeperConnection

KEEPER_LOST = "the keeper was ended while it started the program"


class ProgramState:
    """A program from the request to start it until nothing of it is left."""

    def __init__(self, number: int, link: KeeperConnection) -> None:
        loop = asyncio.get_running_loop()
        self.number = number
        self.link = link
        self.pid = 0
        self.returncode: int | None = None
        self.started: asyncio.Future[str] = loop.create_future()
        """Why it did not start; empty if it did."""

        self.exited: asyncio.Future[int] = loop.create_future()
        """The return code."""

        self.gone: asyncio.Future[None] = loop.create_future()
        """Done when nothing is left, neither of it nor of what it started."""

    def end(self, *, grace: float) -> None:
        """Asks the keeper to end it."""
        self.link.send("end", self.number, grace)

    def hear(self, word: str, *rest: Any) -> None:
        """Handles a message of the keeper about it."""
        match word, *rest:
            case "started", pid, started:
                self.pid = pid
                self.link.leaders[pid] = started
                _settle(self.started, "")
            case "failed", message:
                _settle(self.started, os.fsdecode(message))
            case "exited", code:
                self.returncode = code
                _settle(self.exited, code)
            case ("lost",):
                self.link.hang_up()
                self.lose()
            case ("gone",):
                self.lose()

    def lose(self) -> None:
        """Notes that nothing of it is left, or that the keeper is gone."""
        self.link.leaders.pop(self.pid, None)
        if self.returncode is None:
            # A program whose end was not seen counts as killed, and so does one that survives a kill.
            self.returncode = -signal.SIGKILL
        _settle(self.started, KEEPER_LOST)
        _settle(self.exited, self.returncode)
        _settle(self.gone, None)


def _settle(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)
