"""Answers an agent's requests for permission: by policy, or by asking a person.

Agents name the answers differently, so one is chosen by its kind. The tools of our own session are always allowed: the
person gave them when the run was started, and their refusals come from the work model.
"""

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from binnacle.wire import acp

Approve = Literal["ask", "edits", "all", "none"]
APPROVALS: tuple[Approve, ...] = ("ask", "edits", "all", "none")

EDIT_KINDS = frozenset({"read", "search", "think", "edit", "move"})
"""Kinds of tool calls that `edits` allows. What a person can take back with git."""


@dataclass(frozen=True, kw_only=True)
class PermissionRequest:
    """What an agent wants to do, with all it has said about it before."""

    tool_call_id: str
    title: str = ""
    kind: str = "other"
    name: str = ""
    """Of the tool, where the agent tells it besides the title."""

    input: Any = None
    paths: tuple[str, ...] = ()
    options: tuple[acp.PermissionOption, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The answer to a request."""

    is_allowed: bool
    option_id: str | None
    """Of the agent's option. `None` when it offers none that means this: then its turn is told it was cancelled."""

    by: str
    """`own tool`, `policy` or `person`."""


Ask = Callable[[PermissionRequest], Awaitable[Decision]]
"""Decides on a request."""

Person = Callable[[PermissionRequest], Awaitable[bool]]
"""Asks the person whether a request is allowed."""


def decide(request: PermissionRequest, *, allow: bool, by: str) -> Decision:
    """A decision by the option that means it: for this once before for always."""
    wanted = ("allow_once", "allow_always") if allow else ("reject_once", "reject_always")
    found = {option.kind: option.option_id for option in reversed(request.options)}
    option_id = next((found[kind] for kind in wanted if kind in found), None)
    return Decision(is_allowed=allow and option_id is not None, option_id=option_id, by=by)


def outcome_of(decision: Decision) -> acp.Selected | acp.Cancelled:
    """A decision as the agent is told."""
    return acp.Cancelled() if decision.option_id is None else acp.Selected(option_id=decision.option_id)


@dataclass(frozen=True, kw_only=True)
class OwnTools:
    """The tools of our session, as agents name them."""

    server: str
    tools: Collection[str] = field(default_factory=frozenset)
    """Without any, a name that begins like those of the server is one, unless it could be a file or a command."""

    def has(self, request: PermissionRequest) -> bool:
        """Whether a request is about one of them. Only a whole name counts: a title may be a command line."""
        titles = (request.title,) if self.tools or request.kind == "other" else ()
        return any(self._is_name(name) for name in (request.name, *titles) if name)

    def _is_name(self, name: str) -> bool:
        found = re.fullmatch(_NAMES.format(server=re.escape(self.server)), name.strip(), re.IGNORECASE)
        if found is None:
            return False
        if not self.tools:
            return not re.search(r"[\s./]", name)
        tool = next(part for part in found.groups() if part)
        return _plain(tool) in {_plain(known) for known in self.tools}


_NAMES = r"(?:mcp(?:__|_|\.))?{server}(?:__|_|-|/|\.|: ?)([\w. -]+)|([\w-]+) \({server} mcp server\)"
"""claude `mcp__x__tool`, gemini `mcp_x_tool` and `tool (x MCP Server)`, goose `x__tool` and `x: tool`, opencode
`x_tool`, copilot `x-tool`, codex `mcp.x.tool`."""


def _plain(tool: str) -> str:
    """A tool's name without what agents change in it."""
    return re.sub(r"[^a-z0-9]", "", tool.lower())


def by_policy(approve: Approve, *, own: OwnTools, person: Person | None = None) -> Ask:
    """Decides as the person chose with `--approve`. With `ask` and nobody to ask, nothing is allowed."""

    async def decide_one(request: PermissionRequest) -> Decision:
        if own.has(request):
            return decide(request, allow=True, by="own tool")
        if approve == "ask" and person is not None:
            return decide(request, allow=await person(request), by="person")
        allow = approve == "all" or (approve == "edits" and request.kind in EDIT_KINDS)
        return decide(request, allow=allow, by="policy")

    return decide_one
