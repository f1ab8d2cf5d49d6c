"""Tools made from the metadata of scripts: those that a script host runs, and those of a project."""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct

from binnacle.bridge.jobs.protocol import EDITOR_NEEDED, BridgeError
from binnacle.bridge.manifest import ScriptEntry, ScriptManifest
from binnacle.bridge.metadata import (
    TIMEOUT_PARAMETER,
    ParameterHint,
    ScriptMetadata,
    ScriptParameter,
    tool_name,
    value_type,
)
from binnacle.errors import InvalidInput
from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply, as_json
from binnacle.tools.tool_spec import ToolAlias, ToolErrorContract, ToolHints, ToolSpec

DEADLINE_MARGIN_MILLISECONDS = 2000
"""Milliseconds beyond the caller's own timeout, so that the script can report the timeout itself."""

MAX_REPLY_CHARACTERS = 100_000
"""Most characters of an answer; about 25 000 tokens."""

MAX_PREVIEW_CHARACTERS = 4000

ReportProgress = Callable[[float | None, str], None]


class ScriptRunner(NamedTuple):
    """A script to run, with valid parameters."""

    entry: ScriptEntry
    params: dict[str, Any]
    timeout: float
    """Seconds."""

    tell: ReportProgress

    @property
    def metadata(self) -> ScriptMetadata:
        return self.entry.metadata


Execute = Callable[[ScriptRunner], Awaitable[Any]]


class ScriptPlace(NamedTuple):
    """What paths are relative to."""

    workspace: str
    cwd: str


def script_tools(
    manifest: ScriptManifest, execute: Execute, place: ScriptPlace, *, is_own: bool = False, every: bool = False
) -> list[ToolSpec]:
    """The tools of all scripts that are enabled as tools, or of `every` script.

    With `is_own`, they are scripts of the project, which no recipe names.
    """
    tools = {alias: entry.metadata.tool for alias, entry in manifest.scripts.items()}
    return [
        _spec(entry, execute, place, tools, is_own=is_own)
        for entry in manifest.scripts.values()
        if entry.metadata.mcp.enabled or every
    ]


def status_tool(status: Callable[[], Awaitable[Mapping[str, object]]]) -> ToolSpec:
    """`bridge_status`, which needs no host."""

    async def run(caller: Caller, values: Any) -> ToolReply:  # noqa: ARG001 - it takes nothing
        found = await status()
        return ToolReply(found, as_json(found))

    return ToolSpec(
        name="bridge_status",
        title="Bridge status",
        description="Whether a debug host answers, which debug adapters are installed and how to get others.",
        when_to_use="Use it first, and when a debug tool fails with a host error.",
        category="bridge",
        hints=ToolHints(read_only=True),
        parameters=msgspec.defstruct("BridgeStatus", [], forbid_unknown_fields=True, kw_only=True),
        run=run,
        timeout=None,
        prefix=True,
        has_remarks=True,
    )


def _spec(
    entry: ScriptEntry, execute: Execute, place: ScriptPlace, tools: Mapping[str, str], *, is_own: bool
) -> ToolSpec:
    about = entry.metadata
    mcp = about.mcp

    async def run(caller: Caller, values: Any) -> ToolReply:
        given = parameters_of(about, values)
        resolved = resolve_paths(about, given, place)
        work = ScriptRunner(entry, resolved, _timeout_seconds(about, resolved), _progress_reporter(caller))
        try:
            data = await execute(work)
        except BridgeError as error:
            raise _add_paths(error, about, given, resolved) from error
        return _reply(data)

    return ToolSpec(
        name=about.tool,
        title=about.name,
        description=mcp.description or about.description,
        when_to_use=_guidance(about, tools),
        category=about.category,
        hints=ToolHints(
            read_only=about.is_read_only,
            destructive=mcp.safety.destructive,
            idempotent=about.is_idempotent,
            open_world=is_own,
        ),
        parameters=parameter_struct(about),
        run=run,
        aliases=tuple(ToolAlias(name=name) for name in mcp.aliases),
        timeout=None,
        # Only the host knows whether a program is being debugged; earlier calls do not show it.
        prerequisites=tuple(tools.get(one, tool_name(one)) for one in mcp.relationships.requires) if is_own else (),
        errors=tuple(ToolErrorContract(code=one.code, when=one.summary) for one in mcp.error_contract.errors),
        prefix=True,
        has_remarks=not is_own,
        joins=is_own,
        synonyms={word: name for name, one in about.params.items() for word in one.aliases},
    )


def _guidance(about: ScriptMetadata, tools: Mapping[str, str]) -> str:
    """When to use a script, and the first tool that it requires."""
    text = about.mcp.llm.when_to_use
    first = next((tools.get(one, tool_name(one)) for one in about.mcp.relationships.requires), None)
    return f"{text} Needs {first} first.".strip() if first and first not in text else text


def parameter_struct(about: ScriptMetadata) -> type[Struct]:
    """A type that checks a script's parameters."""
    hints = about.mcp.llm.parameter_hints
    fields = [_field(name, one, hints.get(name, ParameterHint())) for name, one in about.params.items()]
    name = "".join(word.capitalize() for word in about.tool.split("_"))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def _field(name: str, one: ScriptParameter, hint: ParameterHint) -> Any:
    kind = value_type(one)
    told = (hint.description or one.description, hint.note, *hint.pitfalls)
    description = "; ".join(text for text in told if text)
    if description or hint.examples:
        kind = Annotated[kind, Meta(description=description or None, examples=list(hint.examples) or None)]
    if one.required:
        return name, kind
    if one.default is UNSET:
        return name, kind | None, None
    if isinstance(one.default, (list, dict)):
        default = one.default
        return name, kind, msgspec.field(default_factory=lambda: msgspec.convert(default, type(default)))
    return name, kind, one.default


def parameters_of(about: ScriptMetadata, values: Any) -> dict[str, Any]:
    """The given parameters and the defaults, without those that are None."""
    found = {name: getattr(values, name) for name in about.params}
    return {name: value for name, value in found.items() if value is not None}


def resolve_paths(about: ScriptMetadata, given: Mapping[str, Any], place: ScriptPlace) -> dict[str, Any]:
    """The parameters with every path resolved.

    Raises:
        InvalidInput: a path must be absolute and is not.
    """
    found = dict(given)
    for name, one in about.params.items():
        if one.resolve is None or name not in found:
            continue
        path = os.path.expanduser(found[name])
        if one.resolve == "absolute" and not os.path.isabs(path):
            raise InvalidInput(
                f"{about.tool}: {name} must be an absolute path: {path!r}",
                hint=f"relative to the workspace it is {os.path.join(place.workspace, path)}",
                details={"parameter": name, "original": found[name]},
            )
        base = place.cwd if one.resolve == "cwd-relative" else place.workspace
        found[name] = os.path.normpath(os.path.join(base, path))
    return found


def _add_paths(
    error: BridgeError, about: ScriptMetadata, given: Mapping[str, Any], resolved: Mapping[str, Any]
) -> BridgeError:
    """An error about a file, with the path as given and as resolved."""
    if error.code not in ("E_FILE_NOT_FOUND", "E_INVALID_PATH"):
        return error
    name = next((name for name, one in about.params.items() if one.resolve is not None and name in given), None)
    if name is None:
        return error
    path = {"original": given[name], "resolved": resolved[name]}
    told = "" if path["resolved"] in error.message else f": {path['original']!r} is {path['resolved']}"
    return BridgeError(
        error.code,
        f"{error.message}{told}",
        hint=error.next_steps,
        retryable=error.retryable,
        details={**error.details, **path},
    )


def _timeout_seconds(about: ScriptMetadata, params: Mapping[str, Any]) -> float:
    """How long a call may take: the metadata's timeout, or the caller's own if that is longer."""
    allowed = params.get(TIMEOUT_PARAMETER, 0) if isinstance(params.get(TIMEOUT_PARAMETER, 0), (int, float)) else 0
    return float(max(about.mcp.timeout, allowed + DEADLINE_MARGIN_MILLISECONDS)) / 1000


def _progress_reporter(caller: Caller) -> ReportProgress:
    count = 0

    def tell(pct: float | None, text: str) -> None:
        nonlocal count
        count += 1
        if pct is None:
            caller.progress(count, None, text)
        else:
            caller.progress(pct, 100, text)

    return tell


def _reply(data: Any) -> ToolReply:
    text = as_json(data)
    if len(text) <= MAX_REPLY_CHARACTERS:
        return ToolReply(data, text)
    cut = {
        "truncated": True,
        "characters": len(text),
        "preview": text[:MAX_PREVIEW_CHARACTERS],
        "hint": "ask for less: a smaller count, limit or maxDepth",
    }
    return ToolReply(cut, as_json(cut))


def unsupported(about: ScriptMetadata, kind: str) -> BridgeError:
    """The error for a script that the present host cannot run. It names the hosts that can."""
    able = [one for one in about.hosts if one != kind]
    named = " or ".join({"vscode": "VS Code", "headless": "headless"}[one] for one in able) or "another"
    return BridgeError(
        "E_UNSUPPORTED",
        f"{about.tool} needs a {named} host; the {kind} host cannot run it",
        hint=EDITOR_NEEDED if "vscode" in able else "end the other host, then call it again",
        details={"hosts": list(about.hosts), "host": kind},
    )
