"""`bn run`: agents in iterations until the work is done."""

import os
import re
import sys
from argparse import BooleanOptionalAction, Namespace
from functools import partial
from typing import TYPE_CHECKING, cast

from binnacle.app.trust_review import grant, look
from binnacle.cli.command import Group, arg, by_person
from binnacle.cli.commands.trust import ask_to_trust
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.config.store_access import password_in_file
from binnacle.errors import ConfigError, InvalidInput, UsageError, did_you_mean
from binnacle.runner.budget import RunBudget, parse_budget
from binnacle.runner.run_events import RunEnded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from binnacle.app.run_request import RunRequest
    from binnacle.runner.agents.agent_commands import AgentCommand
    from binnacle.runner.agents.permissions import Approve
    from binnacle.runner.run_control import RunControl
    from binnacle.runner.run_events import RunEvent, Tell

RUN = Group("run")

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
APPROVE = ("ask", "edits", "all", "none")
EXIT_CODES = {"complete": 0, "unproven": 3, "interrupted": 130}
"""Exit codes of a run by how it ended; 1 for any other end."""


def _ended(answer: RunEnded, screen: Screen) -> None:
    """The last lines of a run, for people."""
    from binnacle.cli.run_lines import show_end

    show_end(answer, screen)


@RUN.command(
    "",
    "run agents in iterations until the work is done; --json prints each event as a line",
    "bn run spec.md --agent goose",
    arg("spec", nargs="?", metavar="SPEC", help="a file that says what to do; planned first (- for stdin)"),
    arg("--agent", metavar="NAME|COMMAND", help="opencode, goose, claude, codex, gemini, copilot, or any command that "
        "speaks ACP (run.agent)"),
    arg("--agent-for", action="append", default=[], metavar="WHO=AGENT",
        help="another agent for a stage (plan, review, merge) or a discipline; `model=` and `recipe=` may follow"),
    arg("--model", help="the model it uses (run.model)"),
    arg("--name", help="the name of the run; by default that of the specification"),
    arg("--feature", completes="feature", help="only tasks of this feature"),
    arg("--task", dest="tasks", action="append", default=[], completes="task", metavar="ID",
        help="only this task and its parts; may be repeated"),
    arg("--recipe", completes="recipe", help="the tools and the prompt of its iterations (loop)"),
    arg("--discipline", completes="discipline", help="who the agent is"),
    arg("--template", metavar="FILE", help="a prompt of your own; see: bn prompt template"),
    arg("--extra", default="", metavar="TEXT", help="more text for the prompt"),
    arg("--iterations", type=int, metavar="N", help="at most this many"),
    arg("--budget", action="append", default=[], metavar="KIND=N",
        help="at most this many iterations, minutes, tokens or cost; may be repeated"),
    arg("--task-budget", action="append", default=[], metavar="KIND=N",
        help="at most this many minutes or this cost for one task (run.task_minutes, run.task_cost)"),
    arg("--attempts", type=int, metavar="N", help="attempts at a task before a person is asked (run.attempts)"),
    arg("--approve", choices=APPROVE, help="what the agent may do: ask (on a terminal), edits, all, none"),
    arg("--allow-gaps", action="store_true", help="go on if tasks do not cover every requirement of the specification, "
        "or if an agent cannot be given all of it"),
    arg("--auto-commit", action=BooleanOptionalAction, default=True, help="commit what each attempt changed"),
    arg("--worktree", action="store_true", help="in a separate working tree and on its own branch"),
    arg("--workers", type=int, default=1, metavar="N", help="this many agents at once, each in its own working tree"),
    arg("--remote", metavar="NAME", help="the git remote that machines with the same run share (run.remote)"),
    arg("--resume", action="store_true", help="resume a run that was stopped; without a name, the newest"),
    arg("--reset", action="store_true", help="abandon the run of that name and its open tasks, and start over"),
    arg("--mcp-server", dest="servers", action="append", default=[], metavar="NAME=…", help="as in bn mcp serve"),
    arg("-y", "--yes", action="store_true", help="trust what the run uses of the project, without asking"),
    arg("--gui", action="store_true", help="also serve the page for people, as bn gui does, while it runs"),
    arg("--headless", action="store_true", help="plain lines instead of the live view"),
    view=_ended, needs=by_person("start a run"),
)  # fmt: skip
def run(context: Context, args: Namespace) -> RunEnded | None:
    import asyncio

    _ask_about_project(context, args)
    # In this process every session has its own agent, whatever process started us.
    os.environ.pop("BN_AGENT_ID", None)
    wanted = _read_request(context, args)
    project = context.project
    with (
        password_in_file(os.environ, project.settings.text("store.url"), project.data_dir),
        asyncio.Runner() as runner,
    ):
        ended = runner.run(_drive_beside_page(context, args, wanted) if args.gui else _drive(context, args, wanted))
    context.exit_code = EXIT_CODES.get(ended.why, 1)
    return None if context.asked == "json" else ended


def _ask_about_project(context: Context, args: Namespace) -> None:
    """Asks about what the run would use and nobody has trusted, where there is somebody; the rest has no effect."""

    found = look(context.project).standings
    waiting = [
        one for one in found if one.state != "trusted" and one.item.kind in ("setting", "hook", "check", "template")
    ]
    if not waiting or not (args.yes or _has_person(context, args)):
        return
    trusted, how = ask_to_trust(waiting, yes=args.yes)
    if trusted:
        grant(context.project, [one.item for one in trusted], how=how)
        context.reread()


def _read_request(context: Context, args: Namespace) -> "RunRequest":
    from msgspec.structs import replace

    from binnacle.app.prompt_templates import read_template
    from binnacle.app.run_request import RunRequest
    from binnacle.runner.agents.agent_commands import resolve_agent

    settings = context.project.settings
    words = args.agent or settings.text("run.agent")
    if not words:
        hint = "name one with --agent, or permanently with: bn config set run.agent goose"
        raise UsageError("bn run: no agent given", hint=hint)
    if not 1 <= args.workers <= 64:
        raise UsageError(f"bn run: not a number of workers: {args.workers}", hint="1 to 64")
    if args.resume and args.reset:
        raise UsageError("bn run: --resume and --reset exclude each other", hint="leave one out")
    if args.spec and args.tasks:
        hint = "plan the specification first, and then run the tasks that you choose"
        raise UsageError("bn run: a specification and --task exclude each other", hint=hint)
    budget = parse_budget(args.budget)
    if args.iterations is not None:
        budget = replace(budget, iterations=args.iterations)
    attempts = args.attempts if args.attempts is not None else int(settings.number("run.attempts"))
    if attempts < 1:
        raise UsageError(f"bn run: not a number of attempts: {attempts}", hint="1 or more")
    spec = context.read_input(args.spec) if args.spec else ""
    if args.spec and not spec.strip():
        raise InvalidInput(f"the file is empty: {args.spec!r}", hint="write what to do into it")
    return RunRequest(
        agent=resolve_agent(words, model=args.model or settings.text("run.model") or None),
        name=_name(context, args),
        start=context.start or os.getcwd(),
        spec=spec,
        spec_file=args.spec if args.spec and args.spec != "-" else "",
        allows_gaps=args.allow_gaps,
        extra=args.extra,
        template=read_template(context.project, args.template),
        recipe=args.recipe or settings.text("run.recipe") or None,
        discipline=args.discipline,
        feature=args.feature,
        tasks=tuple(args.tasks),
        agents=tuple(_agents(settings.text("run.agents").split(";") + args.agent_for)),
        budget=budget,
        task_budget=_task_budget(context, args),
        max_attempts=attempts,
        max_outage=settings.number("run.outage_hours") * 3600,
        remote=args.remote or settings.text("run.remote"),
        approve=_approve(context, args),
        auto_commit=args.auto_commit,
        is_reset=args.reset,
        is_resumed=args.resume,
        workers=args.workers,
        has_worktree=args.worktree,
        servers=tuple(args.servers),
        permission_wait=settings.number("run.permission_minutes") * 60,
        notifies=settings.text("run.notify") == "true",
        silence=settings.number("run.silence_minutes") * 60,
        within=settings.number("run.iteration_minutes") * 60,
    )


def _agents(entries: list[str]) -> "Iterator[tuple[str, AgentCommand, str]]":
    """The agents of stages and disciplines, each with its recipe; a later entry for the same replaces the earlier."""
    from binnacle.runner.agents.agent_commands import resolve_agent

    chosen: dict[str, tuple[str, AgentCommand, str]] = {}
    for entry in filter(None, map(str.strip, entries)):
        who, _, words = entry.partition("=")
        found = re.fullmatch(r"(?P<agent>.*?)(?:\s+model=(?P<model>\S+))?(?:\s+recipe=(?P<recipe>\S+))?", words.strip())
        if not found or not found["agent"] or not who.strip():
            hint = "as in: plan=claude, or: frontend=codex model=NAME recipe=NAME"
            raise InvalidInput(f"not an agent for a stage or a discipline: {entry!r}", hint=hint)
        agent = resolve_agent(found["agent"], model=found["model"])
        chosen[who.strip()] = (who.strip(), agent, found["recipe"] or "")
    yield from chosen.values()


def _task_budget(context: Context, args: Namespace) -> RunBudget:
    settings = context.project.settings
    by_settings = {
        "minutes": settings.number("run.task_minutes") or None,
        "cost": settings.number("run.task_cost") or None,
    }
    given = parse_budget(args.task_budget)
    if given.iterations is not None or given.tokens is not None:
        raise InvalidInput("a task has a budget of minutes and cost", hint="attempts are limited by --attempts")
    return RunBudget(minutes=given.minutes or by_settings["minutes"], cost=given.cost or by_settings["cost"])


def _approve(context: Context, args: Namespace) -> "Approve":
    configured = context.project.settings.text("run.approve")
    chosen = args.approve or configured or ("ask" if _has_person(context, args) else "edits")
    if chosen not in APPROVE:
        hint = did_you_mean(chosen, APPROVE)
        raise ConfigError(f"run.approve takes ask, edits, all or none, not {chosen!r}", hint=hint)
    return cast("Approve", chosen)


def _name(context: Context, args: Namespace) -> str:
    """What the run is called: as was said, after its specification, or as the one that is gone on with."""
    if args.name:
        if not NAME.fullmatch(args.name):
            raise InvalidInput(f"not a name for a run: {args.name!r}", hint="letters, digits, - and _, 64 at most")
        return str(args.name)
    if args.spec and args.spec != "-":
        stem = os.path.basename(args.spec).rsplit(".", 1)[0] or "run"
        return re.sub(r"[^A-Za-z0-9_-]+", "-", stem)[:64]
    if args.resume:
        from binnacle.sessions.run_sessions import newest_run

        with context.reading() as tx:
            if (newest := newest_run(tx, context.project)) is not None:
                return newest
    if args.tasks:
        more = f"-and-{len(args.tasks) - 1}-more" if len(args.tasks) > 1 else ""
        return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', args.tasks[0])[:40]}{more}"
    return args.feature or "work"


def _has_person(context: Context, args: Namespace) -> bool:
    return not (args.headless or context.asked == "json") and sys.stdin.isatty() and sys.stderr.isatty()


def _tell_or_stop(control: "RunControl", tell: "Tell", event: "RunEvent") -> None:
    """Says what happens. If nobody can read it any more, as in `bn run --json | head`, the run stops."""
    try:
        tell(event)
    except BrokenPipeError:
        if not control.is_stopped:
            control.stop()


async def _drive_beside_page(context: Context, args: Namespace, wanted: "RunRequest") -> RunEnded:
    from binnacle.web.page_serving import beside_run

    async with beside_run(context.project, context.workspace) as link:
        if link:
            sys.stderr.write(f"page: {link}\n")
            sys.stderr.flush()
        return await _drive(context, args, wanted)


async def _drive(context: Context, args: Namespace, wanted: "RunRequest") -> RunEnded:
    import asyncio
    import signal

    from binnacle.app import run
    from binnacle.cli.run_lines import RunLines, local_time, print_json
    from binnacle.runner.run_control import RunControl

    control = RunControl()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, control.stop)
    go = partial(run.run, context.project, wanted, control=control)
    if not _has_person(context, args):
        lines = RunLines(Screen(sys.stderr), clock=local_time)
        tell = print_json if context.asked == "json" else lines.tell
        return await go(tell=partial(_tell_or_stop, control, tell), person=None)
    from binnacle.cli.run_view import LiveView
    from binnacle.sessions.run_additions import RunAdditions

    adding = RunAdditions(context.project, wanted.name, wanted.feature, context.actor)
    view = LiveView(control, add_task=adding.add_task, add_note=adding.add_note)
    async with view.shown():
        return await go(tell=view.tell, person=view.ask, confirm=view.confirm)
