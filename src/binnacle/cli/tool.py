"""`bn tool`: any tool of the catalog from the shell."""

import sys
from argparse import Namespace
from typing import Any

from binnacle.cli.command import READS, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen

TOOL = Group("tool")


def _show(answer: Any, screen: Screen) -> None:
    if "tools" in answer:
        rows = ((one["name"], one["category"], one["description"]) for one in answer["tools"])
        screen.table(rows, flexible=2, headings=("TOOL", "CATEGORY", "WHAT IT DOES"))
    else:
        screen.block(answer["text"], indent=0)


@TOOL.command(
    "",
    "call a tool as an agent would; without a name, list them",
    'bn tool task_add --json \'{"tasks": [{"title": "Mend the login form"}]}\'',
    arg("name", nargs="?", help="the tool, by any of its names"),
    arg("--json", dest="arguments", default="{}", metavar="ARGS", help="its arguments; - reads them from stdin"),
    arg("--schema", action="store_true", help="show what it takes instead of calling it"),
    view=_show,
    needs=READS,
)
def call(context: Context, args: Namespace) -> Any:
    import asyncio

    from binnacle.app.toolbox import open_access
    from binnacle.tools.caller import Caller
    from binnacle.tools.catalog import Catalog
    from binnacle.tools.dispatch import Dispatcher
    from binnacle.tools.schema import input_schema
    from binnacle.tools.work.catalog import work_tools

    with open_access(context.project) as access:
        catalog = Catalog(work_tools(access))
        if args.name is None:
            return {"tools": [{"name": s.name, "category": s.category, "description": s.description} for s in catalog]}
        found = catalog.find(args.name)
        if args.schema:
            schema = input_schema(found.spec, found.alias)
            return {"name": args.name, "description": found.spec.description, "schema": schema, "text": str(schema)}
        raw = context.read_input("-") if args.arguments == "-" else args.arguments
        caller = Caller(session=context.session)
        outcome = asyncio.run(
            Dispatcher(catalog, in_shell=True).call(args.name, raw.encode("utf-8", "replace"), caller)
        )
    if outcome.is_error:
        context.exit_code = 1
    if context.human and outcome.is_error:
        Screen(sys.stderr).block(outcome.text, indent=0)
        return None
    return {**outcome.envelope, "text": outcome.text} if context.human else outcome.envelope
