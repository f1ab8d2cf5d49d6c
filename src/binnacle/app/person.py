"""Acts that only a person may do: approvals, settings, tokens, what is trusted."""

import sys

from binnacle.errors import PersonNeeded


def require_person(what: str) -> None:
    """Refuses to go on for an agent, whatever it calls itself. `what` is the act, after `only a person can`.

    Raises:
        PersonNeeded: an agent is above this process.
    """
    from binnacle.lifecycle.person import find_agent_above

    if found := find_agent_above():
        raise PersonNeeded(
            f"only a person can {what}: {found.reason}",
            hint="ask the person you work for to run it in a terminal of their own",
        )


def is_at_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
