"""`bn discipline`: the personas that work on tasks."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import field

from binnacle.cli.command import READS, CommandAnswer, CommandNeeds, Group, arg, by_person, changes, reads
from binnacle.cli.commands.feature import given_fields
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import InvalidInput
from binnacle.store import features
from binnacle.tools.denials import check_denied
from binnacle.tools.policy import check_discipline_change
from binnacle.work.feature import Discipline

if TYPE_CHECKING:
    from binnacle.plan.discipline_sets import ImportedDisciplines

DISCIPLINE = Group("discipline")

NAME = arg("name", completes="discipline", help="its name: letters, digits, '-' and '_'")
FIELDS = (
    arg("--title", help="its title in prompts and pages"),
    arg("--acronym", help="four letters or digits; by default made from the name"),
    arg("--icon", help="a symbol for boards"),
    arg("--colour", help="a colour for boards"),
    arg("--system-prompt", help="how it thinks; - reads it from stdin"),
    arg("--skill", dest="skills", action="append", metavar="TEXT", help="what it can do; may be repeated"),
    arg("--conventions", help="what it keeps to"),
    arg(
        "--deny",
        dest="denied_tools",
        action="append",
        metavar="TOOL",
        help="a tool or a pattern such as 'debug_*' it may not use; may be repeated",
    ),
    arg("--upstreams", metavar="FILE", help="its own MCP servers: a JSON file like mcp.json; - reads stdin"),
)
_NAMES = ("title", "acronym", "icon", "colour", "system_prompt", "skills", "conventions", "denied_tools", "upstreams")


class DisciplineListAnswer(CommandAnswer):
    """All disciplines."""

    disciplines: list[Discipline]


class DisciplineAnswer(CommandAnswer):
    """A discipline."""

    discipline: Discipline


class ListedDisciplineSet(CommandAnswer):
    """A ready-made set, with the names of its disciplines."""

    name: str = field(name="set")
    description: str
    disciplines: list[str]


class DisciplineSetsAnswer(CommandAnswer):
    """The ready-made sets."""

    sets: list[ListedDisciplineSet]


class ImportedDisciplinesAnswer(CommandAnswer):
    """What the import of a set came to."""

    name: str = field(name="set")
    imported: "ImportedDisciplines"


def _fields(context: Context, args: Namespace) -> dict[str, Any]:
    from binnacle.tools.work import all_work_tools

    found = given_fields(args, _NAMES)
    if found.get("system_prompt") == "-":
        found["system_prompt"] = context.read_input("-")
    if "upstreams" in found:
        found["upstreams"] = _upstreams(context, found["upstreams"])
    check_denied(found.get("denied_tools", ()), all_work_tools.names)
    return found


def _needs_of_fields(tool: str) -> Callable[[Namespace], CommandNeeds]:
    """What a discipline may not use, and what its servers run, is for people to say."""

    def needs(args: Namespace) -> CommandNeeds:
        if args.denied_tools is not None or args.upstreams is not None:
            return by_person("say which tools a discipline may not use, or which servers it brings")
        return changes(tool)

    return needs


def _upstreams(context: Context, file: str) -> object:
    """The servers in a JSON file, with or without the `mcpServers` around them that clients write; '' is none."""
    import msgspec

    if not file:
        return {}
    try:
        given = msgspec.json.decode(context.read_input(file))
    except msgspec.DecodeError as error:
        raise InvalidInput(f"not JSON: {file!r}: {error}", hint='{"docs": {"command": "docs-server"}}') from error
    return given["mcpServers"] if isinstance(given, dict) and [*given] == ["mcpServers"] else given


def _show_list(answer: DisciplineListAnswer, screen: Screen) -> None:
    if not answer.disciplines:
        screen.line("no disciplines; add one with: bn discipline add NAME")
        return
    rows = ((one.name, one.acronym, one.title, ", ".join(one.skills)) for one in answer.disciplines)
    screen.table(rows, flexible=3, headings=("NAME", "ACRONYM", "TITLE", "SKILLS"))


def _show_one(answer: DisciplineAnswer, screen: Screen) -> None:
    from binnacle.cli.views import fields, prose

    one = answer.discipline
    screen.heading(f"{one.name}  {one.title}")
    fields(
        (
            ("acronym", one.acronym),
            ("icon", one.icon),
            ("colour", one.colour),
            ("skills", one.skills),
            ("may not use", one.denied_tools),
            *((f"upstream {name}", _server(server)) for name, server in one.upstreams.items()),
            ("changed", one.updated_at),
        ),
        screen,
    )
    prose("System prompt", one.system_prompt, screen)
    prose("Conventions", one.conventions, screen)


def _server(server: Mapping[str, Any]) -> str:
    """Where a server is: its address, or the command that starts it. Not its environment, where secrets are."""
    args = server.get("args", ())
    words = (server.get("command", ""), *(args if isinstance(args, (list, tuple)) else ()))
    return str(server.get("url") or " ".join(map(str, words)))


def _show_sets(answer: DisciplineSetsAnswer, screen: Screen) -> None:
    rows = ((one.name, one.description, ", ".join(one.disciplines)) for one in answer.sets)
    screen.table(rows, flexible=2, headings=("SET", "FOR", "DISCIPLINES"))


def _show_imported(answer: ImportedDisciplinesAnswer, screen: Screen) -> None:
    said = answer.imported
    for what, names in (("added", said.added), ("updated", said.updated), ("kept as they are", said.kept)):
        if names:
            screen.line(f"{what}: {', '.join(names)}")
    for name, existing in said.near.items():
        screen.line(f"left out: {name}, because {existing} is almost the same; to have both: bn discipline add --force")


@DISCIPLINE.command(
    "add",
    "add a discipline",
    "bn discipline add testing --skill pytest --deny 'debug_*'",
    NAME,
    *FIELDS,
    arg("--force", action="store_true", help="even if the name is almost taken"),
    view=_show_one,
    needs=_needs_of_fields("discipline_add"),
)
def add(context: Context, args: Namespace) -> DisciplineAnswer:
    with context.writing() as tx:
        given = _fields(context, args)
        check_discipline_change(tx, args.name, given)
        return DisciplineAnswer(discipline=features.add_discipline(tx, args.name, given, force=args.force))


@DISCIPLINE.command("list", "all disciplines", "bn discipline list", view=_show_list, needs=reads("discipline_list"))
def list_disciplines(context: Context, args: Namespace) -> DisciplineListAnswer:  # noqa: ARG001
    with context.reading() as tx:
        return DisciplineListAnswer(disciplines=features.list_disciplines(tx))


@DISCIPLINE.command(
    "show",
    "everything about a discipline",
    "bn discipline show testing",
    NAME,
    view=_show_one,
    needs=reads("discipline_get"),
)
def show(context: Context, args: Namespace) -> DisciplineAnswer:
    with context.reading() as tx:
        return DisciplineAnswer(discipline=features.get_discipline(tx, args.name))


@DISCIPLINE.command(
    "update",
    "change a discipline; a list given replaces the old one, '' clears it",
    "bn discipline update testing --conventions 'no sleeps'",
    NAME,
    *FIELDS,
    view=_show_one,
    needs=_needs_of_fields("discipline_update"),
)
def update(context: Context, args: Namespace) -> DisciplineAnswer:
    with context.writing() as tx:
        given = _fields(context, args)
        check_discipline_change(tx, args.name, given)
        return DisciplineAnswer(discipline=features.update_discipline(tx, args.name, given))


@DISCIPLINE.command(
    "import",
    "add a ready-made set of disciplines; existing ones stay as they are",
    "bn discipline import generic",
    arg("source", metavar="SET", help="a set that bn discipline sets lists, or a FILE.yaml with the same keys"),
    arg("--update", action="store_true", help="also update existing ones from the set"),
    view=_show_imported,
    needs=by_person("import disciplines, which limit what their sessions may use"),
)
def import_disciplines(context: Context, args: Namespace) -> ImportedDisciplinesAnswer:
    from binnacle.plan.discipline_sets import import_set, load_set

    given = load_set(args.source)
    with context.writing() as tx:
        return ImportedDisciplinesAnswer(name=args.source, imported=import_set(tx, given, update=args.update))


@DISCIPLINE.command("sets", "the ready-made sets of disciplines", "bn discipline sets", view=_show_sets, needs=READS)
def list_sets(context: Context, args: Namespace) -> DisciplineSetsAnswer:  # noqa: ARG001
    from binnacle.plan.discipline_sets import sets

    return DisciplineSetsAnswer(
        sets=[
            ListedDisciplineSet(
                name=name, description=one.description, disciplines=[persona.name for persona in one.disciplines]
            )
            for name, one in sets().items()
        ]
    )


@DISCIPLINE.command(
    "delete",
    "delete a discipline that no task or active session refers to",
    "bn discipline delete testing",
    NAME,
    view=_show_one,
    needs=changes("discipline_delete"),
)
def delete(context: Context, args: Namespace) -> DisciplineAnswer:
    with context.writing() as tx:
        check_discipline_change(tx, args.name, None)
        return DisciplineAnswer(discipline=features.delete_discipline(tx, args.name))
