"""`bn tool`: any tool of the catalog from the shell."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from binnacle.cli.command import READS, CommandAnswer, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.outcome_answer import OutcomeAnswer, answer_with, show_outcome
from binnacle.cli.screen import Screen
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.json_schema import input_schema

if TYPE_CHECKING:
    from binnacle.tools.dispatch import Dispatcher
    from binnacle.tools.work.access import StoreAccess

TOOL = Group("tool")


class ToolLine(CommandAnswer):
    """A tool in a line."""

    name: str
    category: str
    description: str


class ToolListAnswer(CommandAnswer):
    """Every tool."""

    tools: list[ToolLine]


class ToolSchemaAnswer(CommandAnswer):
    """What a tool takes."""

    name: str
    description: str
    schema: dict[str, Any]
    text: str


def _show(answer: ToolListAnswer | ToolSchemaAnswer | OutcomeAnswer, screen: Screen) -> None:
    if isinstance(answer, ToolListAnswer):
        rows = ((one.name, one.category, one.description) for one in answer.tools)
        screen.table(rows, flexible=2, headings=("TOOL", "CATEGORY", "WHAT IT DOES"))
    elif isinstance(answer, ToolSchemaAnswer):
        screen.block(answer.text, indent=0)
    else:
        show_outcome(answer, screen)


@TOOL.command(
    "",
    "call a tool as an agent would; without a name, list them",
    'bn tool task_add \'{"tasks": [{"title": "Fix the login form"}]}\'',
    arg("name", nargs="?", help="the tool, by any of its names"),
    arg("arguments", nargs="?", default="{}", metavar="ARGS", help="its arguments as JSON; - reads them from stdin"),
    arg("--schema", action="store_true", help="show what it takes instead of calling it"),
    view=_show,
    needs=READS,
)
def call(context: Context, args: Namespace) -> ToolListAnswer | ToolSchemaAnswer | OutcomeAnswer | None:
    import asyncio

    from binnacle.project.tool_catalog import open_access
    from binnacle.tools.work.all_work_tools import work_tools

    with open_access(context.project) as access:
        catalog = Catalog(work_tools(access))
        if args.name is None:
            listed = [ToolLine(name=s.name, category=s.category, description=s.description) for s in catalog]
            return ToolListAnswer(tools=listed)
        found = catalog.find(args.name)
        if args.schema:
            schema = input_schema(found.spec, found.alias)
            about = found.spec.description
            return ToolSchemaAnswer(name=args.name, description=about, schema=schema, text=str(schema))
        raw = context.read_input("-") if args.arguments == "-" else args.arguments
        dispatcher = _dispatcher(context, catalog, access)
        caller = Caller(session=context.session)
        outcome = asyncio.run(dispatcher.call(args.name, raw.encode("utf-8", "replace"), caller))
    return answer_with(context, outcome)


def _dispatcher(context: Context, catalog: Catalog, access: "StoreAccess") -> "Dispatcher":
    """Calls the tools of the catalog that the caller may call, within the limits of their session."""
    from binnacle.tools.dispatch import Dispatcher

    if (rights := context.rights) is None:
        context.check_at_home()
        return Dispatcher(catalog, in_shell=True)
    known = {name: other for name, other in rights.recipe.instead.items() if name in catalog and other in catalog}
    return Dispatcher(catalog, exposed=rights.expose(catalog, access), instead=known, in_shell=True)
