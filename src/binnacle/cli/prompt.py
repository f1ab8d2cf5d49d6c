"""`bn prompt`: what the agent of a session reads first."""

from argparse import Namespace
from typing import Any

from binnacle.cli.command import Group, arg
from binnacle.cli.context import Context
from binnacle.cli.plan import SUBJECT, planned
from binnacle.cli.screen import Screen

PROMPT = Group("prompt")


def _show(answer: Any, screen: Screen) -> None:
    screen.block(answer["prompt"], indent=0)
    screen.line()
    rows = [(one["name"], str(one["tokens"]), one["cut"]) for one in answer["sections"]]
    rows += [("prompt", str(answer["tokens"]["prompt"]), ""), ("tools", str(answer["tokens"]["tools"]), "")]
    screen.table(rows, flexible=2, headings=("SECTION", "TOKENS", "LEFT OUT"))


@PROMPT.command(
    "show",
    "the prompt of a session, with what each section costs",
    "bn prompt show task_execution --task bn-1f3a -H",
    arg("recipe", nargs="?", default="default", completes="recipe", help="its recipe (default)"),
    *SUBJECT,
    arg("--input", metavar="TEXT", default="", help="what a person wants of it; - reads it from stdin"),
    view=_show,
)
def show(context: Context, args: Namespace) -> Any:
    said = context.read_input("-") if args.input == "-" else args.input
    plan = planned(context, args, recipe=args.recipe, said=said)
    sections = [{"name": one.name, "tokens": one.tokens, "cut": one.cut} for one in plan.prompt.sections]
    tokens = {"prompt": plan.prompt.tokens, "tools": plan.tool_tokens, "total": plan.tokens}
    return {"recipe": plan.recipe, "prompt": plan.prompt.text, "sections": sections, "tokens": tokens}
