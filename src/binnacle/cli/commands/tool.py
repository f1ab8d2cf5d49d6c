"""`bn tool`: any tool of the catalog from the shell."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from binnacle.cli.command import READS, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen

if TYPE_CHECKING:
    from binnacle.tools.catalog import Catalog
    from binnacle.tools.dispatch import Dispatcher
    from binnacle.tools.work.access import StoreAccess

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
    'bn tool task_add \'{"tasks": [{"title": "Fix the login form"}]}\'',
    arg("name", nargs="?", help="the tool, by any of its names"),
    arg("arguments", nargs="?", default="{}", metavar="ARGS", help="its arguments as JSON; - reads them from stdin"),
    arg("--schema", action="store_true", help="show what it takes instead of calling it"),
    view=_show,
    needs=READS,
)
def call(context: Context, args: Namespace) -> Any:
    import asyncio

    from binnacle.project.tool_catalog import open_access
    from binnacle.tools.caller import Caller
    from binnacle.tools.catalog import Catalog
    from binnacle.tools.json_schema import input_schema
    from binnacle.tools.work.all_work_tools import work_tools

    with open_access(context.project) as access:
        catalog = Catalog(work_tools(access))
        if args.name is None:
            return {"tools": [{"name": s.name, "category": s.category, "description": s.description} for s in catalog]}
        found = catalog.find(args.name)
        if args.schema:
            schema = input_schema(found.spec, found.alias)
            return {"name": args.name, "description": found.spec.description, "schema": schema, "text": str(schema)}
        raw = context.read_input("-") if args.arguments == "-" else args.arguments
        dispatcher = _dispatcher(context, catalog, access)
        caller = Caller(session=context.session)
        outcome = asyncio.run(dispatcher.call(args.name, raw.encode("utf-8", "replace"), caller))
    if outcome.is_error:
        context.exit_code = 1
    if context.human and outcome.is_error:
        Screen(sys.stderr).block(outcome.text, indent=0)
        return None
    return {**outcome.envelope, "text": outcome.text} if context.human else outcome.envelope


def _dispatcher(context: Context, catalog: "Catalog", access: "StoreAccess") -> "Dispatcher":
    """Calls the tools of the catalog that the caller may call, within the limits of their session."""
    from binnacle.tools.dispatch import Dispatcher

    if (rights := context.rights) is None:
        context.check_at_home()
        return Dispatcher(catalog, in_shell=True)
    known = {name: other for name, other in rights.recipe.instead.items() if name in catalog and other in catalog}
    return Dispatcher(catalog, exposed=rights.expose(catalog, access), instead=known, in_shell=True)
