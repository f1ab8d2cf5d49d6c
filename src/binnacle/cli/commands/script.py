"""`bn script`: what scripts there are, and running one as an agent would."""

import sys
from argparse import Namespace
from typing import Any

from msgspec import field

from binnacle.bridge.manifest import ScriptEntry, shipped_scripts
from binnacle.bridge.metadata import ScriptMetadata
from binnacle.bridge.project_scripts import ProjectScript, find_project_scripts
from binnacle.cli.command import READS, CommandAnswer, Group, arg, changes
from binnacle.cli.context import Context
from binnacle.cli.outcome_answer import OutcomeAnswer, answer_with, show_outcome
from binnacle.cli.problem_list import ListedProblem, list_problems, show_problems
from binnacle.cli.screen import Screen
from binnacle.errors import InvalidInput, NotFound, did_you_mean
from binnacle.tools.caller import Caller
from binnacle.tools.json_schema import schema_of

SCRIPT = Group("script")

NAME = arg("name", metavar="NAME", help="the script, by its alias or the name of its tool; bn script list names them")


class ListedScript(CommandAnswer):
    """A script in a line."""

    alias: str
    tool: str
    category: str
    description: str
    state: str
    source: str = field(name="from")
    hosts: list[str]


class ScriptListAnswer(CommandAnswer):
    """All scripts, and files that are wrong."""

    scripts: list[ListedScript]
    problems: list[ListedProblem]


class ScriptAnswer(CommandAnswer, kw_only=True):
    """What a script takes and answers."""

    tool: str
    source: str = field(name="from")
    program: str | None = None
    trusted: bool | None = None
    hosts: list[str] | None = None
    metadata: ScriptMetadata
    schema: dict[str, Any]


def find_entry(context: Context, name: str) -> tuple[ScriptEntry, ProjectScript | None]:
    """A script by alias or by any name of its tool; with it the program, if it is one of the project's.

    Raises:
        NotFound: there is none.
        ConfigError: there is, but its metadata is wrong.
    """

    own = find_project_scripts(context.project.repo)
    for alias, one in own.scripts.items():
        if name in (alias, one.entry.metadata.tool, *one.entry.metadata.mcp.aliases):
            return one.entry, one
    alias = shipped_scripts().by_tool().get(name, name)
    if alias in shipped_scripts().scripts:
        return shipped_scripts().scripts[alias], None
    for problem in own.problems:
        if f"/{name}." in problem.message:
            raise problem
    known = [*own.scripts, *shipped_scripts().scripts]
    raise NotFound(f"no script {name!r}", hint=did_you_mean(name, known) or "bn script list names them")


def _show_list(answer: ScriptListAnswer, screen: Screen) -> None:
    rows = [(one.tool, one.state, one.source, one.description) for one in answer.scripts]
    screen.table(rows, flexible=3, headings=("TOOL", "STATE", "FROM", "WHAT IT DOES"))
    show_problems(answer.problems, screen)
    if waiting := [one.alias for one in answer.scripts if one.state == "not trusted"]:
        screen.line(f"review them and let agents run them: bn trust {' '.join(f'script:{alias}' for alias in waiting)}")


@SCRIPT.command(
    "list",
    "all scripts, ours and the project's, and their problems",
    "bn script list",
    view=_show_list,
    needs=READS,
)
def list_scripts(context: Context, args: Namespace) -> ScriptListAnswer:  # noqa: ARG001 - it has no arguments

    own = find_project_scripts(context.project.repo)
    rows = [_row(one.entry.metadata, "project", _state(one)) for one in own.scripts.values()]
    rows += [
        _row(one.metadata, "the box", "" if one.metadata.mcp.enabled else "no tool")
        for one in shipped_scripts().scripts.values()
    ]
    return ScriptListAnswer(scripts=rows, problems=list_problems(own.problems))


def _state(one: ProjectScript) -> str:
    if not one.program:
        return "no program"
    if not one.is_trusted:
        return "not trusted"
    return "" if one.entry.metadata.mcp.enabled else "no tool"


def _row(about: ScriptMetadata, source: str, state: str) -> ListedScript:
    return ListedScript(
        alias=about.alias,
        tool=about.tool,
        category=about.category,
        description=about.description,
        state=state or "tool",
        source=source,
        hosts=[] if source == "project" else list(about.hosts),
    )


def _show_info(answer: ScriptAnswer, screen: Screen) -> None:
    import msgspec

    about = msgspec.to_builtins(answer.metadata)
    screen.heading(f"{about['alias']} ({answer.tool})")
    screen.block(about["description"])
    rows = [
        (f"{name}{'!' if one.get('required') else ''}", one["type"], _describe_parameter(one))
        for name, one in about.get("params", {}).items()
    ]
    if rows:
        screen.table(rows, flexible=2, headings=("PARAMETER", "TYPE", ""))
    for example in about.get("cli", {}).get("examples", ()):
        screen.line(f"  {example}")


def _describe_parameter(one: dict[str, Any]) -> str:
    parts = [one.get("description", ""), ", ".join(one.get("values", ()))]
    parts += [f"default: {one['default']}"] if "default" in one else []
    return "; ".join(filter(None, parts))


@SCRIPT.command(
    "info", "what a script takes and answers", "bn script info debug.start", NAME, view=_show_info, needs=READS
)
def info(context: Context, args: Namespace) -> ScriptAnswer:
    from binnacle.tools.script_tools import parameter_struct

    entry, own = find_entry(context, args.name)
    about = entry.metadata
    return ScriptAnswer(
        tool=about.tool,
        source="project" if own else "the box",
        program=own.program if own else None,
        trusted=own.is_trusted if own else None,
        hosts=None if own else list(about.hosts),
        metadata=about,
        schema=schema_of(parameter_struct(about)),
    )


@SCRIPT.command(
    "run",
    "run a script as an agent would",
    "bn script run breakpoint.set -p path=src/cart.py -p line=12",
    NAME,
    arg("-p", "--param", action="append", default=[], metavar="K=V", help="a parameter; may be repeated"),
    arg("arguments", nargs="?", metavar="PARAMS", help="all parameters as JSON; - reads them from stdin"),
    view=show_outcome,
    needs=lambda args: changes(args.name),
)
def run(context: Context, args: Namespace) -> OutcomeAnswer | None:

    import msgspec

    entry, own = find_entry(context, args.name)
    given = _parameters(entry.metadata, args.param)
    raw = msgspec.json.encode(given)
    if args.arguments is not None:
        if given:
            raise InvalidInput("-p and parameters as JSON exclude each other", hint="give one of the two")
        raw = (context.read_input("-") if args.arguments == "-" else args.arguments).encode("utf-8", "replace")
    from binnacle.app.tool_call import call_script

    caller = Caller(session=context.session, progress=_tell) if context.human else Caller(session=context.session)
    return answer_with(context, call_script(context.project, entry, own, raw, caller, start=context.start))


def _tell(done: float, total: float | None, message: str) -> None:
    share = f"{done:3.0f} % " if total else ""
    Screen(sys.stderr).line(f"{share}{message}")


def _parameters(about: ScriptMetadata, words: list[str]) -> dict[str, Any]:
    """`k=v` as values. Lists and objects are JSON; a list may also be given item by item."""
    synonyms = {word: name for name, one in about.params.items() for word in one.aliases}
    found: dict[str, Any] = {}
    for word in words:
        key, separator, text = word.partition("=")
        if not separator or not key:
            raise InvalidInput(f"a parameter is written name=value: {word!r}", hint="bn script run NAME -p line=12")
        name = synonyms.get(key, key)
        kind = about.params[name].type if name in about.params else "string"
        value = _value(kind, text)
        if kind == "array" and not isinstance(value, list):
            value = [*found.get(name, []), value]
        found[name] = value
    return found


def _value(kind: str, text: str) -> object:
    import msgspec

    if kind in ("array", "object"):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            return text
    return text
