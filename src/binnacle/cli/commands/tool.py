"""`bn tool`: any tool of the catalog from the shell."""

from argparse import Namespace
from typing import Any

from binnacle.cli.command import READS, CommandAnswer, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.outcome_answer import OutcomeAnswer, answer_with, show_outcome
from binnacle.cli.screen import Screen
from binnacle.tools.caller import Caller
from binnacle.tools.json_schema import input_schema

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
    from binnacle.app.tool_call import call_tool, list_tools

    catalog = list_tools(context.project)
    if args.name is None:
        listed = [ToolLine(name=s.name, category=s.category, description=s.description) for s in catalog]
        return ToolListAnswer(tools=listed)
    found = catalog.find(args.name)
    if args.schema:
        schema = input_schema(found.spec, found.alias)
        about = found.spec.description
        return ToolSchemaAnswer(name=args.name, description=about, schema=schema, text=str(schema))
    raw = context.read_input("-") if args.arguments == "-" else args.arguments
    if (rights := context.rights) is None:
        context.check_at_home()
    caller = Caller(session=context.session)
    outcome = call_tool(
        context.project, args.name, raw.encode("utf-8", "replace"), caller, rights, workspace=context.workspace
    )
    return answer_with(context, outcome)
