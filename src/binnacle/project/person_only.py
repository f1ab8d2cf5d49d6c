"""Actions that only a person may take: trust, settings, tokens, denials. No process of an agent may take them."""

import sys

from binnacle.errors import PersonNeeded


def require_person(what: str) -> None:
    """Refuses an agent, whatever it calls itself. `what` completes the sentence `only a person may`.

    Raises:
        PersonNeeded: an agent is an ancestor of this process.
    """
    from binnacle.lifecycle.agent_detection import find_agent_above

    if found := find_agent_above():
        raise refuse(what, found.reason)


def refuse(what: str, reason: str = "") -> PersonNeeded:
    """The error for an action that only a person may take."""
    message = f"only a person may {what}: {reason}" if reason else f"only a person may {what}"
    return PersonNeeded(message, hint="ask the person you work for to do this in their own terminal")


def is_at_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
