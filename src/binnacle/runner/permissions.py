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
    """Of the tool, where the agent tells it besides the title; else the title that the call began with."""

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
    """Without any, every tool of the server is one, where its name could be neither a file nor a command."""

    def has(self, request: PermissionRequest) -> bool:
        """Whether a request is about one of them. Only a whole name counts: a title may be a command line."""
        if not self.tools and request.kind != "other":
            return False
        return any(self._is_name(name.strip()) for name in (request.name, request.title))

    def _is_name(self, name: str) -> bool:
        forms = (*NAMES, *LOOSE_NAMES) if self.tools else NAMES
        server = re.escape(self.server)
        found = (re.fullmatch(form.format(server=server, tool=r"([\w-]+)"), name, re.IGNORECASE) for form in forms)
        tools = {_plain(match[1]) for match in found if match}
        return bool(tools if not self.tools else tools & {_plain(known) for known in self.tools})


NAMES = (r"(?:mcp__?)?{server}(?:__|_|-){tool}", r"tool: {server}/{tool}", r"{tool} \({server} mcp server\)")
"""claude `mcp__x__tool`, goose `x__tool`, opencode `x_tool`, copilot `x-tool`, codex `Tool: x/tool`, gemini
`mcp_x_tool` and `tool (x MCP Server)`."""

LOOSE_NAMES = (r"(?:mcp\.)?{server}[/.]{tool}", r"{server}: ?{tool}")
"""codex `mcp.x.tool`, goose `x: tool`."""


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
