"""How far a request is, told to its client a few times a second at most.

Every source of progress (scripts, commands, other servers) comes through here, however often it speaks. What comes too
soon after the last note waits, and gives way to what comes after it; the last one is always sent, before the answer.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from binnacle.wire.jsonrpc import notification_message

NOTE_INTERVAL_SECONDS = 0.25
"""Seconds between two notes of progress of one request."""


class ProgressReport:
    """The notes of one request. Ending it leaves no timer, and nothing is sent from then on."""

    def __init__(self, token: str | int, send: Callable[[bytes], None]) -> None:
        self._token = token
        self._send = send
        self._waiting: dict[str, Any] | None = None
        """The newest note that was not sent yet."""

        self._timer: asyncio.TimerHandle | None = None
        """Runs from one note until the next may be sent."""

        self._is_over = False

    def tell(self, done: float, total: float | None, message: str) -> None:
        """Sends a note now, or as soon as it may be sent."""
        if self._is_over:
            return
        self._waiting = {"progressToken": self._token, "progress": done}
        if total is not None:
            self._waiting["total"] = total
        if message:
            self._waiting["message"] = message
        if self._timer is None:
            self._send_waiting()

    def end(self, *, is_wanted: bool) -> None:
        """Sends what is left, if the client still wants to know."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting is not None and is_wanted:
            self._send(notification_message("notifications/progress", self._waiting))
        self._waiting = None

    def _send_waiting(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        self._send(notification_message("notifications/progress", self._waiting))
        self._waiting = None
        self._timer = asyncio.get_running_loop().call_later(NOTE_INTERVAL_SECONDS, self._send_waiting)
