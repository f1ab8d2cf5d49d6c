"""Acts that only a person may do: trust, settings, tokens, denials. No agent does them, nor what one started."""

import sys

from binnacle.errors import PersonNeeded


def require_person(what: str) -> None:
    """Refuses to go on for an agent, whatever it calls itself. `what` is the act, after `only a person may`.

    Raises:
        PersonNeeded: an agent is above this process.
    """
    from binnacle.lifecycle.agent_detection import find_agent_above

    if found := find_agent_above():
        raise refuse(what, found.reason)


def refuse(what: str, reason: str = "") -> PersonNeeded:
    """The error that says so."""
    message = f"only a person may {what}: {reason}" if reason else f"only a person may {what}"
    return PersonNeeded(message, hint="ask the person you work for to do this in a terminal of their own")


def is_at_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
