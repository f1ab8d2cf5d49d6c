"""Names of upstream tools in a session: every client accepts them, and no two tools share one."""

import re
from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha256

ToolOwner = tuple[str, str]
"""A server and a tool, each by its own name."""

MAX_NAME_CHARACTERS = 48
"""Model providers accept 64. Clients add a prefix of up to 16, such as `mcp__binnacle__`, and some cut a longer name at
its end, where the hash is."""

HASH_DIGITS = (0, 8, 16, 32)
"""How much of the hash a name has: none, unless the name is too long or not unique."""

TOOL_PREFIX = "mcp_"
"""The prefix of every upstream tool."""

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


def assign_names(tools: Iterable[ToolOwner]) -> dict[str, ToolOwner]:
    """The names of all tools, each with its server and tool.

    If several tools would have one name, each gets a hash of server and tool. The hash depends on nothing else, neither
    on the order nor on other tools.
    """
    steps = dict.fromkeys(tools, 0)
    while crowded := [owners for owners in _by_name(steps).values() if len(owners) > 1]:
        for owners in crowded:
            # Only names without a hash change: no tool loses its hashed name because another one looks like it.
            least = min(steps[owner] for owner in owners)
            for owner in owners:
                steps[owner] += steps[owner] == least
    return {name: owner for name, (owner,) in _by_name(steps).items()}


def find_collisions(tools: Iterable[ToolOwner]) -> dict[str, list[ToolOwner]]:
    """The names that several tools would have had, and those tools."""
    found = _by_name(dict.fromkeys(tools, 0))
    return {name: sorted(owners) for name, owners in found.items() if len(owners) > 1}


def display_name(server: str, tool: str) -> str:
    """How a tool is shown to people."""
    return f"{server}:{tool}"


def may_own(server: str, name: str) -> bool:
    """Whether a tool of this server could have that name. `assign_names` decides which server has it."""
    return name.startswith(prefix_of(server)[: MAX_NAME_CHARACTERS - HASH_DIGITS[-1] - 1])


def may_share(server: str, other: str) -> bool:
    """Whether these two could have tools with the same name."""
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
    # The length of the server's name comes first, so that no two pairs give the same text.
    text = f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")
    suffix = sha256(text).hexdigest()[: digits or HASH_DIGITS[1]]
    return f"{plain[: MAX_NAME_CHARACTERS - len(suffix) - 1]}_{suffix}"
