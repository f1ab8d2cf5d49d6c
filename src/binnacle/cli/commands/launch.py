"""`bn plan launch`: starts an agent client on a session of its own, and ends the session with it."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, arg, by_person
from binnacle.cli.commands.plan import PLAN, SUBJECT
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.work.session import SessionTerms
from binnacle.work.text import clean_text

if TYPE_CHECKING:
    from binnacle.app.client_launch import LaunchPreview


def _show(answer: "LaunchPreview", screen: Screen) -> None:
    import shlex

    settings = [f"{name}={value}" for name, value in answer.env.items()]
    words = [*(["env", *settings] if settings else []), *answer.command]
    prompt = f'"$(cat {shlex.quote(answer.files["prompt"])})"'
    quoted = [prompt if word == answer.prompt else shlex.quote(word) for word in words]
    screen.line(printable(" ".join(quoted)))


@PLAN.command(
    "launch",
    "start an agent client on a session, with only its prompt and its MCP servers",
    "bn plan launch claude --recipe report --task bn-1f3a",
    arg("client", help="claude, copilot, opencode, codex, gemini or goose"),
    arg("--recipe", default="default", completes="recipe", help="what kind of session this is (default)"),
    *SUBJECT,
    arg("--input", metavar="TEXT", help="what you want from it, for its prompt; - reads stdin"),
    arg("--print", action="store_true", help="only show the command"),
    arg("arguments", nargs="*", metavar="ARGUMENT", is_passed_on=True, help="after --: passed to the client unchanged"),
    view=_show,
    needs=lambda args: READS if args.print else by_person("start a client on a plan"),
)
def launch(context: Context, args: Namespace) -> "LaunchPreview | None":
    from binnacle.app import client_launch

    client_launch.find_launcher(args.client)
    program = "" if args.print else client_launch.find_program(args.client)
    said = clean_text(sys.stdin.read() if args.input == "-" else args.input or "", what="input")
    wanted = client_launch.ClientLaunchRequest(
        client=args.client,
        terms=SessionTerms(args.recipe, args.discipline, args.feature, args.task),
        said=said,
        start=context.start,
        arguments=tuple(args.arguments),
        is_input_used=args.input == "-",
    )
    by = context.actor
    client_launch.forget_caller()
    if args.print:
        with context.store(create=False).read() as tx:
            return client_launch.preview(context.project, tx, wanted)
    context.exit_code = client_launch.launch(context.project, wanted, program, by=by)
    return None
