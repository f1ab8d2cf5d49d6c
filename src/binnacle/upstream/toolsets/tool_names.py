"""What upstream tools are called in a session: names that every client accepts, and that never stand for two tools."""

import re
from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha256

ToolOwner = tuple[str, str]
"""A server and the tool it has, both as they call themselves."""

MAX_NAME_CHARACTERS = 48
"""Providers of models accept 64. Clients put up to 16 before it, as in `mcp__binnacle__`, and some cut what is longer
at its end, where the hash is."""

HASH_DIGITS = (0, 8, 16, 32)
"""How much of the hash a name carries: none, unless it is too long or would not be the only one of its kind."""

TOOL_PREFIX = "mcp_"
"""How the name of every tool of another server begins."""

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


def assign_names(tools: Iterable[ToolOwner]) -> dict[str, ToolOwner]:
    """The name each tool is called by, and whose it is.

    Where one name would stand for several tools, all of them get a hash of server and tool. It depends on
    nothing else, neither on the order nor on what other tools there are.
    """
    steps = dict.fromkeys(tools, 0)
    while crowded := [owners for owners in _by_name(steps).values() if len(owners) > 1]:
        for owners in crowded:
            # Only the least exact of them change: nobody loses a hashed name because another tool took its looks.
            least = min(steps[owner] for owner in owners)
            for owner in owners:
                steps[owner] += steps[owner] == least
    return {name: owner for name, (owner,) in _by_name(steps).items()}


def find_collisions(tools: Iterable[ToolOwner]) -> dict[str, list[ToolOwner]]:
    """The names that would have stood for several tools, and those tools."""
    found = _by_name(dict.fromkeys(tools, 0))
    return {name: sorted(owners) for name, owners in found.items() if len(owners) > 1}


def display_name(server: str, tool: str) -> str:
    """How a tool is shown to people."""
    return f"{server}:{tool}"


def may_own(server: str, name: str) -> bool:
    """Whether a tool of this server could have that name. Several may; whose it is, `assign_names` says."""
    return name.startswith(prefix_of(server)[: MAX_NAME_CHARACTERS - HASH_DIGITS[-1] - 1])


def may_share(server: str, other: str) -> bool:
    """Whether these two could have tools that would be called the same."""
    one, two = prefix_of(server), prefix_of(other)
    return one.startswith(two) or two.startswith(one)


def prefix_of(server: str) -> str:
    """How the names of a server's tools begin."""
    return _FOREIGN.sub("_", f"{TOOL_PREFIX}{server}_")


def _by_name(steps: dict[ToolOwner, int]) -> dict[str, list[ToolOwner]]:
    found: dict[str, list[ToolOwner]] = defaultdict(list)
    for owner, step in steps.items():
        found[_name(owner, HASH_DIGITS[step])].append(owner)
    return found


def _name(owner: ToolOwner, digits: int) -> str:
    server, tool = owner
    plain = prefix_of(server) + _FOREIGN.sub("_", tool)
    if not digits and len(plain) <= MAX_NAME_CHARACTERS:
        return plain
    # The length of the server's name goes in first, so that no two pairs are ever the same text.
    text = f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")
    suffix = sha256(text).hexdigest()[: digits or HASH_DIGITS[1]]
    return f"{plain[: MAX_NAME_CHARACTERS - len(suffix) - 1]}_{suffix}"
