"""Answers an agent's requests for permission: by policy, or by asking a person.

Agents name the answers differently, so we choose one by its kind. The tools of our own session are always allowed: the
person chose them when they started the run, and the work model refuses what they must not do.
"""

import json
import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

from binnacle.runner.agents.changed_paths import is_work
from binnacle.wire import acp

Approve = Literal["ask", "edits", "all", "none"]
APPROVALS: tuple[Approve, ...] = ("ask", "edits", "all", "none")

EDIT_KINDS = frozenset({"read", "search", "think", "edit", "move"})
"""Kinds of tool calls that `edits` allows: what a person can revert with git."""

CHANGE_KINDS = frozenset({"edit", "move"})
"""Those of them that change files."""


@dataclass(frozen=True, kw_only=True)
class PermissionRequest:
    """What an agent wants to do, with everything it has sent about the call."""

    tool_call_id: str
    title: str = ""
    kind: str = "other"
    name: str = ""
    """The tool's name, if the agent sends it in addition to the title; else the first title of the call."""

    is_named: bool = False
    """Whether the agent sends the tool's name in addition to the title."""

    input: Any = None
    """None if it is too long to keep."""

    has_input: bool = False
    """Whether the agent has sent the call's input, kept or not."""

    is_quoted: bool = False
    """Whether the name occurs in the input or in a path: then it is a command or a file, not a tool."""

    paths: tuple[str, ...] = ()
    """The files that it is about, as far as the agent says it."""

    diff: str = ""
    """The change of files that it makes, as a unified diff, if the agent says it."""

    command: str = ""
    """The command line that it runs, if it does."""

    options: tuple[acp.PermissionOption, ...] = ()
    folders: tuple[str, ...] = ()
    """The folders in which the agent says it runs a command, if it says so."""

    folder: str = ""
    """The folder of the session whose agent asks."""

    session: str = ""
    """The session whose agent asks."""

    task: str = ""
    """The task that it works on."""


@dataclass(frozen=True, kw_only=True)
class PermissionDecision:
    """The answer to a request."""

    is_allowed: bool
    option_id: str | None
    """The id of the agent's option. `None` if it offers none for this: then the answer is "cancelled"."""

    by: str
    """`own tool`, `check`, `policy`, `person`, `person, always` if a person allowed the same before, or `nobody` if no
    person answered in time."""


PermissionAnswer = Literal["yes", "no", "always"]
"""What a person answers. `always` allows the same for the rest of the run: see `same_request`."""

PERMISSION_ANSWERS: dict[str, PermissionAnswer] = {"yes": "yes", "no": "no", "always": "always"}
"""The answers by their words."""

AskPermission = Callable[[PermissionRequest], Awaitable[PermissionDecision]]
"""Decides on a request."""

AskPerson = Callable[[PermissionRequest], Awaitable[PermissionAnswer | None]]
"""Asks a person whether a request is allowed; None if nobody answers."""


def decide(request: PermissionRequest, *, allow: bool, by: str) -> PermissionDecision:
    """A decision with the matching option: "once" before "always"."""
    wanted = ("allow_once", "allow_always") if allow else ("reject_once", "reject_always")
    found = {option.kind: option.option_id for option in reversed(request.options)}
    option_id = next((found[kind] for kind in wanted if kind in found), None)
    return PermissionDecision(is_allowed=allow and option_id is not None, option_id=option_id, by=by)


def outcome_of(decision: PermissionDecision) -> acp.PermissionSelected | acp.PermissionCancelled:
    """A decision as the protocol's answer."""
    return (
        acp.PermissionCancelled()
        if decision.option_id is None
        else acp.PermissionSelected(option_id=decision.option_id)
    )


@dataclass(frozen=True, kw_only=True)
class OwnTools:
    """The tools of our session, as agents name them.

    Agents guess the kind of a tool call from its name (Copilot takes `task-update` for an edit, codex-acp every MCP
    tool for a command), so the kind says nothing. A title may come from the model: a command line, a path. So a call is
    one of ours only if its complete name is that of a tool of this session, in a form that agents use, and the call's
    input does not contain that name.
    """

    server: str
    """The name of our server in the agent. No other server of the agent has it."""

    tools: Collection[str]
    """The names of the tools that the session lists."""

    has_upstreams: bool = False
    """Whether the session also lists tools of other servers, whose names begin with `mcp_`."""

    def has(self, request: PermissionRequest) -> bool:
        """Whether a request is for one of our tools."""
        tool = self._tool_in(request.name or request.title)
        if tool is None or not self._is_listed(tool):
            return False
        # Without its input, the title of a command may be the command itself.
        is_known = request.has_input or request.kind != "execute"
        return request.is_named or (is_known and not request.is_quoted)

    def _tool_in(self, name: str) -> str | None:
        server = re.escape(self.server)
        found = (re.fullmatch(form.format(server=server), name.strip(), re.IGNORECASE) for form in OWN_TOOL_PATTERNS)
        return next((_plain(match["tool"]) for match in found if match), None)

    def _is_listed(self, tool: str) -> bool:
        if self.has_upstreams and tool.startswith("mcp_"):
            return True
        return tool in {_plain(known) for known in self.tools}


OWN_TOOL_PATTERNS = (
    r"(?:mcp__?)?{server}(?:__|_|-)(?P<tool>[\w-]+)",
    r"tool: {server}/(?P<tool>[\w-]+)",
    r"(?:mcp\.)?{server}[/.](?P<tool>[\w-]+)",
    r"{server}: ?(?P<tool>[\w-]+)",
    r"(?P<tool>[\w-]+) \({server} mcp server\)",
)
"""claude `mcp__x__tool`, goose `x__tool` and `x: tool`, opencode `x_tool`, copilot `x-tool`, codex `Tool: x/tool` and
`mcp.x.tool`, gemini `mcp_x_tool` and `tool (x MCP Server)`."""


def _plain(tool: str) -> str:
    """A tool's name without what agents change: case, and dashes that become underscores."""
    return tool.lower().replace("-", "_")


def is_quoted_in(value: Any, name: str, *, kind: str) -> bool:
    """Whether a call's input contains a name as a text or at the end of a path; for a command, anywhere."""
    left = [value]
    while left:
        match left.pop():
            case str(text):
                if name in (text.strip(), text.strip().rpartition("/")[2]) or (kind == "execute" and name in text):
                    return True
            case dict(parts):
                left += parts.values()
            case list(parts):
                left += parts
    return False


def describe_request(request: PermissionRequest) -> str:
    """What an agent wants to do, in a line."""
    return request.title or request.name or request.kind


def request_body(request: PermissionRequest) -> str:
    """What an agent wants to do, in full: the command, the change of files, or else the input of the call."""
    given = "" if request.input is None else json.dumps(request.input, indent=1, default=str)
    said = [part for part in (request.command, request.diff) if part] or [given]
    return "\n".join(part for part in (f"kind: {request.kind}", *said, *request.paths) if part)


VARIABLE_INPUT = frozenset({"description", "explanation", "timeout"})
"""Parts of an input that say nothing about what is done."""


def same_request(request: PermissionRequest) -> str | None:
    """What two requests have in common if "always" for one allows the other; None if it allows no other.

    A change of files that can be reverted is the same if its tool is the same. Everything else, a command above all, is
    the same only if its complete input is.
    """
    if request.is_named and _can_revert(request):
        what: Any = None
    elif request.has_input:
        if request.input is None:
            return None
        given = request.input
        what = {k: v for k, v in given.items() if k not in VARIABLE_INPUT} if isinstance(given, dict) else given
    else:
        what = request.title
    name = request.name if request.is_named else ""
    return json.dumps([request.kind, name, what], sort_keys=True, default=str)


def by_policy(
    approve: Approve,
    *,
    own: Callable[[], OwnTools],
    person: AskPerson | None = None,
    is_check: Callable[[PermissionRequest], bool] = lambda _: False,
) -> AskPermission:
    """Decides as the person chose with `--approve`. `ask` without a person allows nothing but checks.

    `is_check` says whether a request runs one of the project's trusted checks, which every policy but `none` allows.

    `own` is called for every request: the tools of a session may change. What a person allows always is remembered as
    long as the result is used.
    """
    always: set[str] = set()

    async def ask(request: PermissionRequest, ask_person: AskPerson) -> PermissionDecision:
        same = same_request(request)
        if same in always:
            return decide(request, allow=True, by="person, always")
        said = await ask_person(request)
        if said is None:
            return decide(request, allow=False, by="nobody")
        if said == "always" and same is not None:
            always.add(same)
        return decide(request, allow=said != "no", by="person")

    async def decide_one(request: PermissionRequest) -> PermissionDecision:
        if own().has(request):
            return decide(request, allow=True, by="own tool")
        if approve in ("ask", "edits") and _may_allow_once(request) and is_check(request):
            return decide(request, allow=True, by="check")
        if approve == "ask" and person is not None:
            return await ask(request, person)
        allow = approve == "all" or (approve == "edits" and _can_revert(request))
        return decide(request, allow=allow, by="policy")

    return decide_one


def _can_revert(request: PermissionRequest) -> bool:
    """Whether a person can revert with git what a request does: no file of git, and none outside of the tree."""
    if request.kind in CHANGE_KINDS and request.folder:
        return all(is_work(path, request.folder) for path in request.paths)
    return request.kind in EDIT_KINDS


def _may_allow_once(request: PermissionRequest) -> bool:
    """Whether the agent lets us allow only this call. What it takes "always" to cover may be its whole shell."""
    return any(option.kind == "allow_once" for option in request.options)


SHELL_REFUSED = "Shell commands are refused."


def policy_sentences(approve: Approve, *, has_checks: bool, commits: bool) -> tuple[str, ...]:
    """What the policy means, in sentences for the agent's prompt, which lists the checks before them.

    `has_checks` says whether the project has trusted checks, `commits` whether the run commits the agent's changes.
    """
    match approve:
        case "all":
            may = "You may read, search and change files here, and run commands."
        case "edits":
            may = "You may read, search, change and move files here, but not delete them. "
            may += (
                f"{SHELL_REFUSED[:-1]}, except the checks, exactly as written above." if has_checks else SHELL_REFUSED
            )
        case "ask":
            may = "A person is asked before you change a file or run a command. What they refuse stays refused."
            may += " Nobody is asked about the checks, exactly as written above." if has_checks else ""
        case "none":
            may = "You may use only the tools of this session; changing files and running commands is refused."
    runs = approve in ("all", "ask") or (approve == "edits" and has_checks)
    check = ("Run what checks your work before you call it done.",) if runs else ()
    return (may, *check, _commit_sentence(approve, commits=commits))


def _commit_sentence(approve: Approve, *, commits: bool) -> str:
    if commits:
        return "Do not commit: your changes are committed when you have finished."
    if approve in ("all", "ask"):
        return "Commit what you changed when it works."
    return "Do not commit: a person looks at your changes and commits them."
