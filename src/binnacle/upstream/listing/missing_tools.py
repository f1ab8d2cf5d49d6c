"""Why there is no tool of a name that belongs to a server: its state, and never another server's tool."""

from collections.abc import Iterable, Mapping, Sequence

from binnacle.errors import BinnacleError, Hint, NotFound, UpstreamDown, did_you_mean
from binnacle.upstream import upstream_steps
from binnacle.upstream.configuration.server_config import ConfigProblem
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.upstream.toolsets.selected import is_allowed
from binnacle.upstream.toolsets.tool_names import MAX_NAME_CHARACTERS, TOOL_PREFIX, may_own, prefix_of

UP_STATES = ("ready", "degraded")
"""States in which the tools of a server are known."""


def owners_of(name: str, servers: Iterable[str]) -> list[str]:
    """The servers that a tool's name may belong to, `mcp_SERVER_tool` or `SERVER:tool`, the likeliest first."""
    known = sorted(set(servers), key=lambda one: (-len(one), one))
    found = [one for one in known if name.startswith((prefix_of(one), f"{one}:"))]
    if not found and len(name) >= MAX_NAME_CHARACTERS:  # cut, and with a hash
        found = [one for one in known if may_own(one, name)]
    return found


def explain_missing(
    name: str,
    servers: Mapping[str, SupervisedServer],
    problems: Sequence[ConfigProblem],
    *,
    tools: Mapping[str, Sequence[str]],
    notes: Mapping[str, Sequence[str]],
) -> BinnacleError | None:
    """Why there is no tool of that name, if the name belongs to a server; None if it does not.

    `tools` are the names of each server's tools now, and `notes` those for people about each server.
    """
    broken = {one.server: one for one in problems if one.server and one.server not in servers}
    owners = owners_of(name, (*servers, *broken))
    if not owners:
        is_foreign = name.startswith(TOOL_PREFIX)
        return (
            NotFound(f"no tool {name!r}, and no server that it is of", hint=upstream_steps.LIST_SERVERS)
            if is_foreign
            else None
        )
    for owner in owners:  # a name may belong to several servers; the one that is down is the reason
        if owner in broken:
            return _explain_misconfigured(name, broken[owner])
        if servers[owner].status.state not in UP_STATES and not _is_left_out(servers[owner], _tool_in(name, owner)):
            error = servers[owner].describe_down()
            return UpstreamDown(f"no tool {name!r} now: {error.message}", hint=error.next_steps, details=error.details)
    return _not_among(name, owners[0], tools.get(owners[0], ()), notes.get(owners[0], ()))


def _tool_in(name: str, server: str) -> str:
    """The part of a name that is the tool's."""
    return name.removeprefix(prefix_of(server)).removeprefix(f"{server}:")


def _is_left_out(server: SupervisedServer, tool: str) -> bool:
    """Whether a server has no such tool for us in whatever state: rules exclude it, or it is listed but withheld."""
    rules = server.config.tools
    names = [name for name, called in rules.rename.items() if called == tool] or [tool]
    is_withheld = server.is_offered and any(one.name == tool for one in server.tools)
    return is_withheld or not any(is_allowed(rules, name) for name in names)


def _explain_misconfigured(name: str, problem: ConfigProblem) -> BinnacleError:
    return UpstreamDown(
        f"no tool {name!r}: {problem.server} is configured wrongly, {problem.where}: {problem.message}",
        hint=problem.hint or upstream_steps.LIST_SERVERS,
        details={"server": problem.server, "state": "broken"},
    )


def _not_among(name: str, server: str, tools: Sequence[str], notes: Sequence[str]) -> BinnacleError:
    tool = _tool_in(name, server)
    why = next((f": {note.removeprefix(f'{tool}: ')}" for note in notes if note.startswith(f"{tool}: ")), "")
    hint: Hint = did_you_mean(name, tools) or upstream_steps.list_tools(server)
    if why:  # suggest no other tool to get around a withheld one
        hint = upstream_steps.accept(server, tool) if why.endswith("withheld") else upstream_steps.list_tools(server)
    return NotFound(f"{server} offers no tool {tool!r}{why}", hint=hint, details={"server": server})
