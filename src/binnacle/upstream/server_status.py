"""The states of a server, and the sentences about them."""

import time
from typing import Literal, NamedTuple

from binnacle.errors import Hint, UpstreamDown
from binnacle.upstream import upstream_steps

ServerState = Literal["connecting", "ready", "degraded", "failed", "needs_login", "disabled", "awaiting_trust"]


class ServerStatus(NamedTuple):
    """The state of a server, why it is in it, and since when."""

    state: ServerState
    reason: str
    since: float
    """In seconds of the epoch."""

    next_retry: float | None


def describe_state(name: str, state: str) -> str:
    """The state of a server as a sentence."""
    words = {"failed": "is down", "needs_login": "wants a login", "awaiting_trust": "is not trusted"}
    return f"{name} {words.get(state, f'is {state}')}"


def unusable(name: str, status: ServerStatus) -> UpstreamDown:
    """The error for a caller: why the server cannot be used now, and what to do about it."""
    state, reason, _, retry = status
    hints: dict[str, Hint] = {
        "needs_login": upstream_steps.sign_in(name),
        "awaiting_trust": upstream_steps.trust(name),
        "disabled": upstream_steps.enable(name),
        "connecting": "it is on its way: call again in a moment",
    }
    soon = f"it is tried again in {max(0.0, retry - time.time()):.0f} s; " if retry else ""
    return UpstreamDown(
        f"{describe_state(name, state)}{f': {reason}' if reason else ''}",
        hint=hints.get(state, f"{soon}do without it for now"),
        details={"server": name, "state": state},
    )
