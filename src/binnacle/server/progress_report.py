"""Progress of a request, sent to its client at most a few times a second.

Progress from every source (scripts, commands, upstream servers) goes through here, however frequent it is. The first
few notes are sent at once. A note that comes too soon after them waits, and a later one replaces it; the last one is
always sent, before the answer.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from binnacle.wire.jsonrpc import notification_message

NOTES_AT_ONCE = 3
"""Notes of one request that are sent without delay, so that a short request is reported completely."""

NOTE_INTERVAL_SECONDS = 0.25
"""Seconds until one more may be sent."""


class ProgressReport:
    """The progress notes of one request. After `end`, no timer runs and nothing more is sent."""

    def __init__(self, token: str | int, send: Callable[[bytes], None]) -> None:
        self._token = token
        self._send = send
        self._waiting: dict[str, Any] | None = None
        """The newest note that was not sent yet."""

        self._left = NOTES_AT_ONCE
        self._timer: asyncio.TimerHandle | None = None
        """Runs while fewer than `NOTES_AT_ONCE` are left."""

        self._is_over = False

    def tell(self, done: float, total: float | None, message: str) -> None:
        """Sends a note now, or as soon as the rate allows."""
        if self._is_over:
            return
        self._waiting = {"progressToken": self._token, "progress": done}
        if total is not None:
            self._waiting["total"] = total
        if message:
            self._waiting["message"] = message
        self._send_if_allowed()

    def end(self, *, is_wanted: bool) -> None:
        """Sends the waiting note, if the client still wants it, and stops."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if is_wanted:
            self._send_waiting()
        self._waiting = None

    def _send_if_allowed(self) -> None:
        if self._waiting is not None and self._left > 0:
            self._left -= 1
            self._send_waiting()
        if self._timer is None and self._left < NOTES_AT_ONCE:
            self._timer = asyncio.get_running_loop().call_later(NOTE_INTERVAL_SECONDS, self._allow_one)

    def _allow_one(self) -> None:
        self._timer = None
        self._left += 1
        self._send_if_allowed()

    def _send_waiting(self) -> None:
        if self._waiting is not None:
            self._send(notification_message("notifications/progress", self._waiting))
            self._waiting = None
