"""Actions that only a person may take: trust, settings, tokens, denials. No process of an agent may take them."""

import sys

from binnacle.config.directories import user_config_file
from binnacle.errors import PersonNeeded, Refused


def require_person(what: str) -> None:
    """Refuses an agent, whatever it calls itself. `what` completes the sentence `only a person may`.

    Raises:
        PersonNeeded: an agent is an ancestor of this process.
    """
    from binnacle.lifecycle.agent_detection import find_agent_above

    if found := find_agent_above():
        raise refuse(what, found.reason)


def require_settings_of_person() -> None:
    """Refuses an agent whose shell leads to other settings, and so to other trust, than those of the agent itself.

    Raises:
        Refused: a variable of the shell leads elsewhere.
    """
    from binnacle.lifecycle.agent_detection import find_agent_environment

    environ = find_agent_environment()
    if environ is not None and (place := user_config_file(environ)) != (here := user_config_file()):
        hint = "leave HOME and XDG_CONFIG_HOME as they are"
        raise Refused(f"this shell looks for the person's settings in {here!r}, and its agent in {place!r}", hint=hint)


def refuse(what: str, reason: str = "") -> PersonNeeded:
    """The error for an action that only a person may take."""
    message = f"only a person may {what}: {reason}" if reason else f"only a person may {what}"
    return PersonNeeded(message, hint="ask the person you work for to do this in their own terminal")


def is_at_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
