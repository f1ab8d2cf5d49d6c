"""A script's metadata in `X.meta.yaml`: the only source of its tool, its checks and its guidance."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from binnacle.errors import ConfigError, did_you_mean

METADATA_SUFFIX = ".meta.yaml"
DEFAULT_TIMEOUT_MS = 30_000
"""Milliseconds, unless the script says otherwise."""

TIMEOUT_PARAMETER = "timeoutMs"
"""The parameter with which a caller limits the time of a script."""

_ALIAS = re.compile(r"[a-z][a-z0-9]*(?:[.-][a-z0-9]+)*")
_TOOL = re.compile(r"[a-z][a-z0-9_]{0,62}")
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CODE = re.compile(r"E_[A-Z0-9_]+")

Resolve = Literal["workspace-relative", "cwd-relative", "absolute"]
ParameterType = Literal["string", "number", "boolean", "enum", "object", "array"]
Host = Literal["headless", "vscode"]


class _Strict(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"):
    """Refuses unknown keys."""


class ScriptParameter(_Strict, frozen=True):
    """A parameter of a script."""

    type: ParameterType
    required: bool = False
    default: Any = UNSET
    description: str = ""
    values: tuple[str, ...] = ()
    """The values of an enum."""

    min: float | None = None
    max: float | None = None
    integer: bool = False
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    resolve: Resolve | None = None
    """The base of a relative path; None if it is no path."""

    aliases: tuple[str, ...] = ()
    """Other names of it."""

    items: "ScriptParameter | None" = None
    """The type of an array's items."""


class CliMetadata(_Strict, frozen=True):
    """How people run a script."""

    command: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()


class _Snake(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Keys of the part about MCP are in snake_case."""


class ScriptRelationships(_Snake, frozen=True):
    """Related scripts, by alias."""

    requires: tuple[str, ...] = ()
    """Scripts to run before it."""

    recommended: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()


class ContractedError(_Snake, frozen=True):
    """An error of a script, and what to do about it."""

    code: str
    summary: str = ""
    is_retryable: bool = False
    user_fix_hint: str = ""


class ErrorContract(_Snake, frozen=True):
    """The errors that a script may answer with."""

    errors: tuple[ContractedError, ...] = ()


class SafetyMetadata(_Snake, frozen=True):
    """What a call may do to files and programs."""

    idempotent: bool | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    destructive: bool = False


class ParameterHint(_Snake, frozen=True):
    """How an agent should fill in a parameter."""

    description: str = ""
    required: bool | UnsetType = UNSET
    examples: tuple[Any, ...] = ()
    note: str = ""
    language_specific: dict[str, Any] = {}
    pitfalls: tuple[str, ...] = ()


class LlmMetadata(_Snake, frozen=True):
    """Guidance for the model that chooses the tool."""

    when_to_use: str = ""
    parameter_hints: dict[str, ParameterHint] = {}


class McpMetadata(_Snake, frozen=True):
    """The script as a tool."""

    enabled: bool = True
    tool: str = ""
    """Its name, if it is not made from the alias."""

    aliases: tuple[str, ...] = ()
    """Other names that agents know."""

    description: str = ""
    timeout: Annotated[int, Meta(ge=1, le=3_600_000)] = DEFAULT_TIMEOUT_MS
    """Milliseconds."""

    relationships: ScriptRelationships = ScriptRelationships()
    error_contract: ErrorContract = ErrorContract()
    safety: SafetyMetadata = SafetyMetadata()
    llm: LlmMetadata = LlmMetadata()


class ScriptMetadata(_Strict, frozen=True):
    """The metadata of a script."""

    alias: str
    name: str
    category: str
    description: str
    danger_only: bool = False
    params: dict[str, ScriptParameter] = {}
    response: Literal["action", "query", "waitable", "mutate"] = "action"
    result: Any = None
    errors: tuple[str, ...] = ()
    hosts: tuple[Host, ...] = ("headless", "vscode")
    """The hosts that can run it."""

    cli: CliMetadata = CliMetadata()
    mcp: McpMetadata = McpMetadata()

    @property
    def tool(self) -> str:
        """The name of its tool."""
        return self.mcp.tool or tool_name(self.alias)

    @property
    def is_read_only(self) -> bool:
        said = self.mcp.safety.read_only
        return self.response == "query" if said is UNSET else said

    @property
    def is_idempotent(self) -> bool:
        said = self.mcp.safety.idempotent
        return self.is_read_only if said is UNSET else said


def is_alias(word: str) -> bool:
    return _ALIAS.fullmatch(word) is not None


def tool_name(alias: str) -> str:
    """`debug.step-over` → `debug_step_over`. Two aliases may give one name, which is then refused."""
    return alias.replace(".", "_").replace("-", "_")


def load_metadata(file: str) -> ScriptMetadata:
    """Reads a file of metadata.

    Raises:
        ConfigError: with the file, the line, what is wrong there, and the nearest word.
    """
    from binnacle.config.yaml_file import load

    found, lines = load(file, ScriptMetadata)
    for place, problem, hint in _problems(found):
        raise ConfigError(f"{lines.at(*place)}: {problem}", hint=hint)
    return found


Problem = tuple[tuple[str | int, ...], str, str]
"""Where, what is wrong, and what to do."""


def _problems(found: ScriptMetadata) -> Iterator[Problem]:
    if not is_alias(found.alias):
        yield ("alias",), f"{found.alias!r} is no alias", "lower-case words joined by . and -: debug.step-over"
    for key in ("name", "category", "description"):
        if not getattr(found, key).strip():
            yield (key,), f"{key} is empty", "say it in a few words"
    if not _TOOL.fullmatch(found.tool):
        yield ("mcp", "tool"), f"{found.tool!r} is no name of a tool", "lower-case letters, digits and underscores"
    for index, name in enumerate(found.mcp.aliases):
        if not _TOOL.fullmatch(name):
            yield ("mcp", "aliases", index), f"{name!r} is no name of a tool", "lower-case letters, digits, underscores"
    yield from _bad_codes(found)
    yield from _bad_words(found)
    for name, parameter in found.params.items():
        yield from _bad_parameter(parameter, ("params", name), name)


def _bad_codes(found: ScriptMetadata) -> Iterator[Problem]:
    codes = [(("errors", index), code) for index, code in enumerate(found.errors)]
    contracted = enumerate(found.mcp.error_contract.errors)
    codes += [(("mcp", "error_contract", "errors", index, "code"), one.code) for index, one in contracted]  # type: ignore[misc]
    for place, code in codes:
        if not _CODE.fullmatch(code):
            yield place, f"{code!r} is no error code", "E_ and capitals: E_NOT_FOUND"


def _bad_words(found: ScriptMetadata) -> Iterator[Problem]:
    """Problems with names of parameters: unknown, or used twice."""
    taken = set(found.params)
    for name, parameter in found.params.items():
        for index, word in enumerate(parameter.aliases):
            if word in taken:
                yield ("params", name, "aliases", index), f"{word!r} stands for two parameters", "take another word"
            taken.add(word)
    for name in found.mcp.llm.parameter_hints:
        if name not in found.params:
            hint = did_you_mean(name, list(found.params)) or "it takes no parameters"
            yield ("mcp", "llm", "parameter_hints", name), f"no parameter {name!r}", hint


def _bad_parameter(one: ScriptParameter, place: tuple[str, ...], name: str) -> Iterator[Problem]:
    if not _PARAMETER.fullmatch(name):
        yield place, f"{name!r} is no name of a parameter", "letters, digits and underscores"
    if (one.type == "enum") != bool(one.values):
        yield place, f"{name}: an enum has values, and nothing else does", "type: enum, values: [a, b]"
    for key, kinds in _ONLY.items():
        if getattr(one, key) not in (None, "", False) and one.type not in kinds:
            yield (*place, key), f"{name}: {key} is for {' and '.join(kinds)}", "leave it out, or change the type"
    if one.min is not None and one.max is not None and one.min > one.max:
        yield (*place, "min"), f"{name}: min is larger than max", "swap them"
    if one.pattern and (wrong := _bad_pattern(one.pattern)):
        yield (*place, "pattern"), f"{name}: no pattern: {wrong}", "it is a regular expression"
    if one.required and one.default is not UNSET:
        yield (*place, "default"), f"{name} is required, so it has no default", "leave out one of the two"
    if one.default is not UNSET and (wrong := _unfit(one)):
        yield (*place, "default"), f"{name}: the default does not fit: {wrong}", "it must be a value that it takes"
    if one.items is not None:
        yield from _bad_parameter(one.items, (*place, "items"), name)


_ONLY: dict[str, tuple[ParameterType, ...]] = {
    "min": ("number",),
    "max": ("number",),
    "integer": ("number",),
    "min_length": ("string", "array"),
    "max_length": ("string", "array"),
    "pattern": ("string",),
    "resolve": ("string",),
    "items": ("array",),
}
"""Which keys are allowed for which types."""


def _bad_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    return ""


def _unfit(one: ScriptParameter) -> str:
    try:
        msgspec.convert(one.default, value_type(one))
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def value_type(one: ScriptParameter) -> Any:
    """The type of a parameter's values, as msgspec checks it."""
    limits: dict[str, Any] = {}
    match one.type:
        case "string":
            kind: Any = str
            limits = {"pattern": one.pattern or None}
        case "number":
            kind = int if one.integer else float
            limits = {"ge": _bound(one.min, one.integer), "le": _bound(one.max, one.integer)}
        case "boolean":
            kind = bool
        case "enum":
            kind = Literal[one.values]
        case "object":
            kind = dict[str, Any]
        case "array":
            kind = list[value_type(one.items) if one.items else Any]  # type: ignore[misc]
    limits |= {"min_length": one.min_length, "max_length": one.max_length}
    given = {key: value for key, value in limits.items() if value is not None}
    return Annotated[kind, Meta(**given)] if given else kind


def _bound(value: float | None, integer: bool) -> float | None:
    return int(value) if value is not None and integer else value
