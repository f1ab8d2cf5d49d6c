"""Starts an agent client on a session of its own: its prompt, its MCP servers and no others. The session ends with it.

The session and its files are begun in one transaction, so that there are both or neither. The client runs in the
foreground of the terminal; whichever way it ends, its session is ended and its home removed.
"""

import os
import shutil
import sys
from contextlib import ExitStack
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from binnacle.config.child_environment import for_agent
from binnacle.config.clients.client_files import find_worktree
from binnacle.config.clients.client_start import LAUNCHERS, ClientLauncher, ClientStart, SessionInput
from binnacle.config.private_files import make_private_folder, private_opener
from binnacle.config.store_access import password_in_file
from binnacle.errors import InvalidInput, NotFound, Refused, UsageError, did_you_mean
from binnacle.lifecycle.foreground import ForegroundProgram
from binnacle.plan.recipe import Recipe
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_files import paths, session_servers
from binnacle.plan.session_plan import SessionPlan
from binnacle.project.project import Project
from binnacle.project.session_locks import hold_session_lock
from binnacle.project.store_opening import open_store
from binnacle.project.tool_catalog import catalog_of
from binnacle.sessions.planning import PlanWithRecipe, begin_session, end_session, keep_plan, make_plan, session_folder
from binnacle.store.sessions import issue_secret
from binnacle.store.transaction import Reader, Writer
from binnacle.upstream.configuration.variable_expansion import variables_in
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.session import SessionTerms

MAX_ARGUMENT_BYTES = 128 * 1024
"""Bytes that Linux allows one argument of a command, its end included."""

UNNAMED = "SESSION"
"""Stands for the id of a session that has not begun."""

INHERITED = ("BN_AGENT_ID", "BN_MCP_SESSION", "BN_SESSION")
"""Variables by which the session and its client would be taken for the agent that starts them."""


class ClientLaunchRequest(NamedTuple):
    """What a person asks of a client."""

    client: str
    terms: SessionTerms
    said: str
    """What the session is for, in their words."""

    start: str | None
    """The folder they are in; None for the current one."""

    arguments: tuple[str, ...] = ()
    """For the client, as they are."""

    is_input_used: bool = False
    """Whether standard input was used up for the prompt."""


class LaunchPreview(Struct, frozen=True):
    """How a client would be started on a session."""

    command: list[str]
    env: dict[str, str]
    prompt: str
    files: dict[str, str]


class _BegunSession(NamedTuple):
    """A session whose files are written."""

    session: str
    recipe: Recipe
    start: ClientStart
    secret: str
    """What proves to `bn` that the client and its shells belong to the session."""

    named: frozenset[str]
    """Variables that the servers of the session name."""


def find_launcher(name: str) -> ClientLauncher:
    """How a client is started.

    Raises:
        UsageError: there is no such client.
    """
    if name not in LAUNCHERS:
        hint = did_you_mean(name, list(LAUNCHERS))
        raise UsageError(f"bn plan launch: unknown client {name!r}", hint=hint)
    return LAUNCHERS[name]


def find_program(client: str) -> str:
    """The program of a client.

    Raises:
        NotFound: it is not installed.
    """
    launcher, program = find_launcher(client), shutil.which(client)
    if program is None:
        raise NotFound(f"{client} is not installed, or not on PATH", hint=launcher.install)
    return program


def forget_caller() -> None:
    """Has nothing that is started from here on taken for the agent that starts it."""
    for name in INHERITED:
        os.environ.pop(name, None)


def preview(project: Project, tx: Reader, wanted: ClientLaunchRequest) -> LaunchPreview:
    """How the client would be started now. Begins nothing and writes nothing."""
    plan = make_plan(tx, project, catalog_of(project), wanted.terms, said=wanted.said).plan
    start = _find_start(project, wanted, replace(plan, session=UNNAMED))
    files = paths(session_folder(project, UNNAMED))._asdict()
    return LaunchPreview(start.command, dict(start.env), plan.prompt.text.strip(), files)


def launch(project: Project, wanted: ClientLaunchRequest, program: str, *, by: Actor) -> int:
    """Runs the client until it ends, and the session with it. Returns what the client ended with.

    Raises:
        Refused: the client cannot be started.
    """
    begun = _begin(project, wanted, by=by)
    with ExitStack() as stack:
        terminal = _find_terminal(wanted)
        stdin = stack.enter_context(open(terminal, "rb")) if terminal else None
        # Until the session is over: a second Ctrl-C must not leave it half ended.
        client = stack.enter_context(ForegroundProgram())
        stack.enter_context(hold_session_lock(project, begun.session))
        stack.enter_context(password_in_file(os.environ, project.settings.text("store.url"), project.data_dir))
        reason, is_good = "the client could not be started", False
        try:
            words = [os.path.abspath(program), *begun.start.command[1:]]
            env = for_agent(os.environ, wanted.client, also=begun.named) | dict(begun.start.env)
            env["BN_SESSION"] = begun.secret
            code = client.run(words, env=env, cwd=wanted.start, stdin=stdin)
            reason, is_good = f"the client ended with {code}", code == 0
        except OSError as error:
            raise Refused(
                f"cannot start {program}: {error.strerror}", hint="run it by hand to see what is wrong"
            ) from error
        finally:
            _end(project, begun, reason, is_good=is_good)
            _remove(_home(session_folder(project, begun.session)))
    return code


def _begin(project: Project, wanted: ClientLaunchRequest, *, by: Actor) -> _BegunSession:
    """Opens the session and writes its files: both, or neither."""
    folder = ""
    # Closed again before the client starts: it may run for hours.
    with open_store(project) as store:
        try:
            with store.write(by=by) as tx:
                recipe, plan = _make_plan(tx, project, wanted)
                folder = session_folder(project, plan.session)
                start = _find_start(project, wanted, plan)
                _keep(project, plan, start)
                secret = issue_secret(tx, plan.session)
        except BaseException:
            if folder:
                _remove(folder, _home(folder))
            raise
    return _BegunSession(plan.session, recipe, start, secret, _named_variables(plan, project.repo))


def _make_plan(tx: Writer, project: Project, wanted: ClientLaunchRequest) -> PlanWithRecipe:
    catalog = catalog_of(project)
    recipe = load_recipe(wanted.terms.recipe, catalog, repo=project.repo)
    session = begin_session(tx, project, recipe, wanted.terms, name=wanted.client)
    return make_plan(tx, project, catalog, wanted.terms, session=session.id, said=wanted.said)


def _find_start(project: Project, wanted: ClientLaunchRequest, plan: SessionPlan) -> ClientStart:
    """How the client is started on a plan."""
    folder = session_folder(project, plan.session)
    prompt = plan.prompt.text.strip()
    size = len(prompt.encode())
    if size >= MAX_ARGUMENT_BYTES:
        raise InvalidInput(
            f"the prompt has {size} bytes, a command line takes less than {MAX_ARGUMENT_BYTES}",
            hint=f"lower the budget of the recipe {plan.recipe!r}",
        )
    servers = session_servers(plan, cwd=project.repo)
    start = find_launcher(wanted.client).start(
        SessionInput(
            prompt=prompt,
            config=paths(folder).config,
            home=_home(folder),
            servers=servers.entries,
            ours=servers.ours,
            environ=os.environ,
            worktree=find_worktree(wanted.start),
            is_interactive=sys.stdout.isatty() and (_find_terminal(wanted) is not None or sys.stdin.isatty()),
        )
    )
    return start._replace(command=[*start.command, *wanted.arguments])


def _named_variables(plan: SessionPlan, cwd: str) -> frozenset[str]:
    """The variables that the servers of a plan are filled in from."""
    return frozenset(variables_in(msgspec.json.encode(session_servers(plan, cwd=cwd).entries).decode()))


def _keep(project: Project, plan: SessionPlan, start: ClientStart) -> None:
    keep_plan(project, plan)
    home = _home(session_folder(project, plan.session))
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
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _find_terminal(wanted: ClientLaunchRequest) -> str | None:
    """Where the client reads when standard input was used up for its prompt, and a person is there."""
    if not wanted.is_input_used:
        return None
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None
    return "/dev/tty"


def _end(project: Project, begun: _BegunSession, reason: str, *, is_good: bool) -> None:
    with open_store(project) as store, store.write(by=SYSTEM, session=begun.session) as tx:
        end_session(tx, begun.recipe, begun.session, reason=reason, is_good=is_good)
