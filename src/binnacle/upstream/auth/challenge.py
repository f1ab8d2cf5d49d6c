"""Reads `WWW-Authenticate`: what a server that refused us wants."""

import re
from typing import NamedTuple

_PART = re.compile(
    r"""(?:\s*,)?\s*(?:
        (?P<name>[\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s,"]+))
      | (?P<scheme>[\w!#$%&'*+.^`|~-]+)(?=\s|,|$)
    )""",
    re.VERBOSE,
)
MAX_CHALLENGE_CHARACTERS = 16 << 10


class AuthChallenge(NamedTuple):
    """What a server says about the login that it wants."""

    error: str = ""
    description: str = ""
    scopes: tuple[str, ...] = ()
    resource_metadata: str = ""
    """Where it describes itself (RFC 9728)."""


def parse_challenge(header: str) -> AuthChallenge:
    """The bearer challenge in a header; an empty one where there is none, or none that can be read."""
    header = header[:MAX_CHALLENGE_CHARACTERS]
    found: dict[str, str] = {}
    is_bearer = False
    at = 0
    while part := _PART.match(header, at):
        at = part.end()
        if part["scheme"]:
            is_bearer = part["scheme"].lower() == "bearer"
        elif is_bearer:
            value = part["plain"] if part["quoted"] is None else re.sub(r"\\(.)", r"\1", part["quoted"])
            found.setdefault(part["name"].lower(), value)
    return AuthChallenge(
        found.get("error", ""),
        found.get("error_description", ""),
        tuple(found.get("scope", "").split()),
        found.get("resource_metadata", ""),
    )
