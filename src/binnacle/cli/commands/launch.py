"""`bn plan launch`: starts an agent client on a session of its own, and ends the session with it."""

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, NamedTuple

from binnacle.cli.command import READS, CommandAnswer, arg, by_person
from binnacle.cli.commands.plan import PLAN, SUBJECT
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.config.child_environment import for_agent
from binnacle.config.private_files import make_private_folder, private_opener
from binnacle.errors import InvalidInput, NotFound, Refused, UsageError, did_you_mean
from binnacle.plan.recipe import Recipe
from binnacle.project.session_locks import present
from binnacle.project.store_opening import open_store
from binnacle.store.sessions import issue_secret
from binnacle.store.transaction import Writer
from binnacle.upstream.configuration.variable_expansion import variables_in
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.session import SessionTerms
from binnacle.work.text import clean_text

if TYPE_CHECKING:
    from binnacle.config.clients.client_start import ClientLauncher, ClientStart
    from binnacle.plan.session_plan import SessionPlan
    from binnacle.sessions.planning import PlanWithRecipe

MAX_ARGUMENT_BYTES = 128 * 1024
"""Bytes that Linux allows one argument of a command, its end included."""

UNNAMED = "SESSION"
"""Stands for the id of a session that has not begun."""

INHERITED = ("BN_AGENT_ID", "BN_MCP_SESSION", "BN_SESSION")
"""Variables by which the session and its client would be taken for the agent that starts them."""


class PreparedSession(NamedTuple):
    """A session whose files are written."""

    session: str
    recipe: Recipe
    start: "ClientStart"
    secret: str
    """What proves to `bn` that the client and its shells belong to the session."""

    named: frozenset[str]
    """Variables that the servers of the session name."""


class LaunchAnswer(CommandAnswer):
    """How a client would be started on a session."""

    command: list[str]
    env: dict[str, str]
    prompt: str
    files: dict[str, str]


def _show(answer: LaunchAnswer, screen: Screen) -> None:
    import shlex

    settings = [f"{name}={value}" for name, value in answer.env.items()]
    words = [*(["env", *settings] if settings else []), *answer.command]
    prompt = f'"$(cat {shlex.quote(answer.files["prompt"])})"'
    quoted = [prompt if word == answer.prompt else shlex.quote(word) for word in words]
    screen.line(printable(" ".join(quoted)))


@PLAN.command(
    "launch",
    "start an agent client on a session: with its prompt, its MCP servers and no others",
    "bn plan launch claude --recipe task_intents --task bn-1f3a",
    arg("client", help="claude, copilot, opencode, codex, gemini or goose"),
    arg("--recipe", default="default", completes="recipe", help="what kind of session this is (default)"),
    *SUBJECT,
    arg("--input", metavar="TEXT", help="what you want of it, for its prompt; - reads it from standard input"),
    arg("--print", action="store_true", help="show the command; begin nothing, write nothing"),
    arg("arguments", nargs="*", metavar="ARGUMENT", is_passed_on=True, help="after --: for the client, as it is"),
    view=_show,
    needs=lambda args: READS if args.print else by_person("start a client on a plan"),
)
def launch(context: Context, args: Namespace) -> LaunchAnswer | None:
    import shutil

    launcher = _launcher(args.client)
    program = shutil.which(args.client)
    if program is None and not args.print:
        raise NotFound(f"{args.client} is not installed, or not on PATH", hint=launcher.install)
    said = clean_text(sys.stdin.read() if args.input == "-" else args.input or "", what="input")
    terms = SessionTerms(args.recipe, args.discipline, args.feature, args.task)
    by = context.actor
    for name in INHERITED:
        os.environ.pop(name, None)
    if program is None or args.print:
        return _preview(context, args, launcher, terms, said)
    begun = _begin(context, args, launcher, terms, said, by=by)
    context.exit_code = _run(context, args, program, begun)
    return None


def _launcher(name: str) -> "ClientLauncher":
    from binnacle.config.clients.client_start import LAUNCHERS

    if name not in LAUNCHERS:
        hint = did_you_mean(name, list(LAUNCHERS))
        raise UsageError(f"bn plan launch: unknown client {name!r}", hint=hint)
    return LAUNCHERS[name]


def _preview(
    context: Context, args: Namespace, launcher: "ClientLauncher", terms: SessionTerms, said: str
) -> LaunchAnswer:
    """How the client would be started now."""
    import msgspec

    from binnacle.plan.session_files import paths
    from binnacle.project.tool_catalog import catalog_of
    from binnacle.sessions.planning import make_plan, session_folder

    project = context.project
    with context.store(create=False).read() as tx:
        plan = make_plan(tx, project, catalog_of(project), terms, said=said).plan
    start = _find_start(context, args, launcher, msgspec.structs.replace(plan, session=UNNAMED))
    files = paths(session_folder(project, UNNAMED))._asdict()
    return LaunchAnswer(command=start.command, env=dict(start.env), prompt=plan.prompt.text.strip(), files=files)


def _begin(
    context: Context, args: Namespace, launcher: "ClientLauncher", terms: SessionTerms, said: str, *, by: Actor
) -> PreparedSession:
    """Opens the session and writes its files: both, or neither."""
    from binnacle.sessions.planning import session_folder

    project, folder = context.project, ""
    # Closed again before the client starts: it may run for hours.
    with open_store(project) as store:
        try:
            with store.write(by=by) as tx:
                recipe, plan = _make_plan(tx, context, args, terms, said)
                folder = session_folder(project, plan.session)
                start = _find_start(context, args, launcher, plan)
                _keep(context, plan, start)
                secret = issue_secret(tx, plan.session)
        except BaseException:
            if folder:
                _remove(folder, _home(folder))
            raise
    return PreparedSession(plan.session, recipe, start, secret, _named_variables(plan, project.repo))


def _make_plan(tx: Writer, context: Context, args: Namespace, terms: SessionTerms, said: str) -> "PlanWithRecipe":
    from binnacle.plan.recipe_loader import load_recipe
    from binnacle.project.tool_catalog import catalog_of
    from binnacle.sessions.planning import begin_session, make_plan

    catalog = catalog_of(context.project)
    recipe = load_recipe(terms.recipe, catalog, repo=context.project.repo)
    session = begin_session(tx, context.project, recipe, terms, name=args.client)
    return make_plan(tx, context.project, catalog, terms, session=session.id, said=said)


def _find_start(context: Context, args: Namespace, launcher: "ClientLauncher", plan: "SessionPlan") -> "ClientStart":
    """How the client is started on a plan."""
    from binnacle.config.clients.client_files import find_worktree
    from binnacle.config.clients.client_start import SessionInput
    from binnacle.plan.session_files import paths, session_servers
    from binnacle.sessions.planning import session_folder

    project = context.project
    folder = session_folder(project, plan.session)
    prompt = plan.prompt.text.strip()
    size = len(prompt.encode())
    if size >= MAX_ARGUMENT_BYTES:
        raise InvalidInput(
            f"the prompt has {size} bytes, a command line takes less than {MAX_ARGUMENT_BYTES}",
            hint=f"lower the budget of the recipe {plan.recipe!r}",
        )
    servers = session_servers(plan, cwd=project.repo)
    start = launcher.start(
        SessionInput(
            prompt=prompt,
            config=paths(folder).config,
            home=_home(folder),
            servers=servers.entries,
            ours=servers.ours,
            environ=os.environ,
            worktree=find_worktree(context.start),
            is_interactive=sys.stdout.isatty() and (_terminal(args) is not None or sys.stdin.isatty()),
        )
    )
    return start._replace(command=[*start.command, *args.arguments])


def _named_variables(plan: "SessionPlan", cwd: str) -> frozenset[str]:
    """The variables that the servers of a plan are filled in from."""
    import msgspec

    from binnacle.plan.session_files import session_servers

    return frozenset(variables_in(msgspec.json.encode(session_servers(plan, cwd=cwd).entries).decode()))


def _keep(context: Context, plan: "SessionPlan", start: "ClientStart") -> None:
    from binnacle.sessions.planning import keep_plan, session_folder

    keep_plan(context.project, plan)
    home = _home(session_folder(context.project, plan.session))
    for name in (*start.files, *start.links):
        make_private_folder(os.path.dirname(os.path.join(home, name)))
    for name, text in start.files.items():
        with open(os.path.join(home, name), "x", encoding="utf-8", opener=private_opener) as file:
            file.write(text)
    for name, target in start.links.items():
        os.symlink(target, os.path.join(home, name))


def _home(folder: str) -> str:
    """Where a client that needs a home of its own has it, as long as it runs; `folder` is that of the session."""
    return f"{folder}.home"


def _remove(*folders: str) -> None:
    import shutil

    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _terminal(args: Namespace) -> str | None:
    """Where the client reads when standard input was used up for its prompt, and a person is there."""
    if args.input != "-":
        return None
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None
    return "/dev/tty"


def _run(context: Context, args: Namespace, program: str, begun: PreparedSession) -> int:
    """Runs the client until it ends, and the session with it. Returns what the client ended with."""
    from contextlib import ExitStack

    from binnacle.config.store_access import password_in_file
    from binnacle.lifecycle.foreground import ForegroundProgram
    from binnacle.sessions.planning import session_folder

    project = context.project
    with ExitStack() as stack:
        terminal = _terminal(args)
        stdin = stack.enter_context(open(terminal, "rb")) if terminal else None
        # Until the session is over: a second Ctrl-C must not leave it half ended.
        client = stack.enter_context(ForegroundProgram())
        stack.enter_context(present(project, begun.session))
        stack.enter_context(password_in_file(os.environ, project.settings.text("store.url"), project.data_dir))
        reason = "the client could not be started"
        try:
            words = [os.path.abspath(program), *begun.start.command[1:]]
            env = for_agent(os.environ, args.client, also=begun.named) | dict(begun.start.env)
            env["BN_SESSION"] = begun.secret
            code = client.run(words, env=env, cwd=context.start, stdin=stdin)
            reason = f"the client ended with {code}"
        except OSError as error:
            raise Refused(
                f"cannot start {program}: {error.strerror}", hint="run it by itself to see what is wrong with it"
            ) from error
        finally:
            _end(context, begun, reason)
            _remove(_home(session_folder(context.project, begun.session)))
    return code


def _end(context: Context, begun: PreparedSession, reason: str) -> None:
    from binnacle.sessions.planning import end_session

    with open_store(context.project) as store, store.write(by=SYSTEM, session=begun.session) as tx:
        end_session(tx, begun.recipe, begun.session, reason=reason)
