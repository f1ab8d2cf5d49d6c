"""`bn discipline`: the personas that work on tasks."""

from argparse import Namespace
from typing import Any

from binnacle.cli.command import Group, arg
from binnacle.cli.context import Context
from binnacle.cli.feature import given_fields
from binnacle.cli.screen import Screen
from binnacle.store import features

DISCIPLINE = Group("discipline")

NAME = arg("name", completes="discipline", help="its name: letters, digits, '-' and '_'")
FIELDS = (
    arg("--title", help="how it is called in prompts and pages"),
    arg("--acronym", help="four letters or digits; made from the name when left out"),
    arg("--icon", help="a sign for boards"),
    arg("--colour", help="a colour for boards"),
    arg("--system-prompt", help="how it thinks; - reads it from stdin"),
    arg("--skill", dest="skills", action="append", metavar="TEXT", help="what it can do; may be repeated"),
    arg("--conventions", help="what it keeps to"),
    arg(
        "--deny",
        dest="denied_tools",
        action="append",
        metavar="TOOL",
        help="a tool or pattern it may not use; may be repeated",
    ),
)
_NAMES = ("title", "acronym", "icon", "colour", "system_prompt", "skills", "conventions", "denied_tools")


def _fields(context: Context, args: Namespace) -> dict[str, Any]:
    found = given_fields(args, _NAMES)
    if found.get("system_prompt") == "-":
        found["system_prompt"] = context.read_input("-")
    return found


def _show_list(answer: Any, screen: Screen) -> None:
    if not answer["disciplines"]:
        screen.line("no disciplines; add one with: bn discipline add NAME")
        return
    rows = ((one.name, one.acronym, one.title, ", ".join(one.skills)) for one in answer["disciplines"])
    screen.table(rows, flexible=3, headings=("NAME", "ACRONYM", "TITLE", "SKILLS"))


def _show_one(answer: Any, screen: Screen) -> None:
    from binnacle.cli.views import fields, prose

    one = answer["discipline"]
    screen.heading(f"{one.name}  {one.title}")
    fields(
        (
            ("acronym", one.acronym),
            ("icon", one.icon),
            ("colour", one.colour),
            ("skills", one.skills),
            ("may not use", one.denied_tools),
            ("changed", one.updated_at),
        ),
        screen,
    )
    prose("System prompt", one.system_prompt, screen)
    prose("Conventions", one.conventions, screen)


@DISCIPLINE.command(
    "add",
    "add a discipline",
    "bn discipline add testing --skill pytest --deny 'debug_*'",
    NAME,
    *FIELDS,
    arg("--force", action="store_true", help="although one is called nearly the same"),
    view=_show_one,
)
def add(context: Context, args: Namespace) -> Any:
    with context.writing() as tx:
        return {"discipline": features.add_discipline(tx, args.name, _fields(context, args), force=args.force)}


@DISCIPLINE.command("list", "all disciplines", "bn discipline list -H", view=_show_list)
def list_disciplines(context: Context, args: Namespace) -> Any:  # noqa: ARG001
    with context.reading() as tx:
        return {"disciplines": features.listed_disciplines(tx)}


@DISCIPLINE.command("show", "everything about a discipline", "bn discipline show testing -H", NAME, view=_show_one)
def show(context: Context, args: Namespace) -> Any:
    with context.reading() as tx:
        return {"discipline": features.get_discipline(tx, args.name)}


@DISCIPLINE.command(
    "update",
    "change a discipline; a list given replaces the old one, '' clears it",
    "bn discipline update testing --conventions 'no sleeps'",
    NAME,
    *FIELDS,
    view=_show_one,
)
def update(context: Context, args: Namespace) -> Any:
    with context.writing() as tx:
        return {"discipline": features.update_discipline(tx, args.name, _fields(context, args))}


@DISCIPLINE.command(
    "delete", "delete a discipline no task refers to", "bn discipline delete testing", NAME, view=_show_one
)
def delete(context: Context, args: Namespace) -> Any:
    with context.writing() as tx:
        return {"discipline": features.delete_discipline(tx, args.name)}
