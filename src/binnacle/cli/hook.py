"""`bn hook`: the commands of a project that run around the iterations of a run."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from binnacle.cli.command import Group, arg
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.errors import Refused, UsageError

if TYPE_CHECKING:
    from binnacle.runner.hooks import Hook

HOOK = Group("hook")

NAMES = "by event or by event and number: post_iteration, or post_iteration.2"


def _show_list(answer: Any, screen: Screen) -> None:
    if not answer["hooks"]:
        screen.line("no hooks; they stand in .binnacle/hooks.yaml")
        return
    rows = [(one["name"], one["state"], _limits(one), printable(one["command"])) for one in answer["hooks"]]
    screen.table(rows, flexible=3, headings=("HOOK", "", "", "COMMAND"))
    if any(one["state"] == "not approved" for one in answer["hooks"]):
        screen.line("let runs use them with: bn hook approve")


def _limits(one: dict[str, Any]) -> str:
    parts = [f"{one['timeout']:g} s", "told to the agent" if one["pipe_output"] else ""]
    return ", ".join(filter(None, [*parts, "required" if one["required"] else ""]))


@HOOK.command("list", "the hooks of the project, and which wait for approval", "bn hook list -H", view=_show_list)
def list_hooks(context: Context, args: Namespace) -> Any:  # noqa: ARG001 - it has no arguments
    from binnacle.runner.hooks import find_hooks, is_approved

    repo = context.project.repo
    rows = [
        {
            "name": one.name,
            "event": one.event,
            "state": "approved" if is_approved(one, repo) else "not approved",
            "command": one.words,
            "timeout": one.timeout,
            "pipe_output": one.pipe_output,
            "required": one.required,
            "place": one.place,
        }
        for one in find_hooks(repo)
    ]
    return {"hooks": rows}


def _show_approved(answer: Any, screen: Screen) -> None:
    from binnacle.cli.views import approvals

    approvals(answer, screen, may="runs may use")


@HOOK.command(
    "approve",
    "let runs use a hook, exactly as it is; shows it and asks",
    "bn hook approve post_iteration",
    arg("names", nargs="*", metavar="NAME", help=f"{NAMES}; all that wait, one by one, when left out"),
    arg("-y", "--yes", action="store_true", help="ask nothing; the hooks must be named"),
    view=_show_approved,
)
def approve(context: Context, args: Namespace) -> Any:
    from binnacle.runner.hooks import find_hooks, named, waiting

    if context.actor.kind == "agent":
        raise Refused("only a person can approve hooks", hint="ask someone to run: bn hook approve")
    if args.yes and not args.names:
        raise UsageError("--yes needs to know what it approves", hint="name the hooks")
    hooks = find_hooks(context.project.repo)
    chosen = named(hooks, args.names) if args.names else hooks
    new = waiting(chosen, context.project.repo)
    approved = approve_hooks(context, new, yes=args.yes)
    return {
        "approved": [one.name for one in new if one in approved],
        "declined": [one.name for one in new if one not in approved],
        "unchanged": [one.name for one in chosen if one not in new] if args.names else [],
    }


def approve_hooks(context: Context, hooks: "Sequence[Hook]", *, yes: bool) -> "list[Hook]":
    """Approves hooks for the project after asking about each, or without asking; returns those that are approved.

    Raises:
        UsageError: there is no terminal to ask on.
        Refused: an agent asked for it.
    """
    from binnacle.runner.hooks import approve as keep

    repo, actor = context.project.repo, context.actor
    approved = []
    for one in hooks:
        if yes or _confirm(one):
            keep(one, repo, by=actor.name, is_agent=actor.kind == "agent")
            approved.append(one)
    return approved


def _confirm(one: "Hook") -> bool:
    """Shows a command on the terminal and asks. There is no default but no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        hint = f"look at {one.place}; then: bn hook approve {one.name} --yes"
        raise UsageError("there is no terminal to ask on", hint=hint)
    screen = Screen(sys.stderr)
    screen.heading(printable(f"{one.name}, from {one.place}, would run:"))
    screen.block(one.words)
    sys.stderr.write("Let runs use it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _show_run(answer: Any, screen: Screen) -> None:
    for one in answer["hooks"]:
        screen.heading(printable(f"{one['name']}: {one['command']}"))
        screen.block(one["output"])
        sign = screen.styled("✓", "green") if one["ok"] else screen.styled("✗", "red")
        screen.line(f"{sign} {printable(one['fault']) or 'exit code ' + str(one['code'])}, {one['seconds']:g} s")
    if not answer["hooks"]:
        screen.line("no hooks of that event")


@HOOK.command(
    "run",
    "try the hooks of an event, as a run would use them; you are told what an agent would be",
    "bn hook run post_iteration --iteration 3",
    arg("names", nargs="+", metavar="NAME", help=NAMES),
    arg("--session", default="", metavar="ID", help="what they find in BN_RUN_SESSION"),
    arg("--iteration", type=int, metavar="N", help="what they find in BN_ITERATION"),
    arg("--task", default="", metavar="ID", help="what they find in BN_TASK_ID, with its title"),
    arg("--error", default="", metavar="TEXT", help="what they find in BN_ERROR"),
    view=_show_run,
)
def run(context: Context, args: Namespace) -> Any:
    import asyncio

    from binnacle.runner.hooking import Occasion
    from binnacle.runner.hooks import find_hooks, named

    chosen = named(find_hooks(context.project.repo), args.names)
    task_id = title = ""
    if args.task:
        from binnacle.store.tasks import get

        with context.reading() as tx:
            task = get(tx, args.task)
        task_id, title = task.id, task.title
    about = Occasion(
        session=args.session, iteration=args.iteration, task_id=task_id, task_title=title, error=args.error
    )
    rows = asyncio.run(_run(context, chosen, about))
    context.exit_code = 0 if all(one["ok"] for one in rows) else 1
    return {"hooks": rows}


async def _run(context: Context, hooks: "Sequence[Hook]", about: Any) -> list[dict[str, Any]]:
    """A person who runs a hook approves of it; an agent may run those that are approved."""
    from binnacle.processes.keeper import Keeper
    from binnacle.runner.hooking import run_hook
    from binnacle.runner.hooks import waiting

    if context.actor.kind == "agent" and (new := waiting(hooks, context.project.repo)):
        hint = f"ask someone to run: bn hook approve {new[0].name}"
        raise Refused(f"nobody has approved {new[0].name!r} as it is now", hint=hint)
    rows = []
    async with Keeper() as keeper:
        for hook in hooks:
            one = await run_hook(keeper, hook, about, cwd=context.project.repo)
            rows.append(
                {
                    "name": hook.name,
                    "command": hook.words,
                    "ok": one.is_ok,
                    "code": one.code,
                    "fault": one.fault,
                    "output": one.output,
                    "seconds": round(one.seconds, 1),
                }
            )
    return rows
