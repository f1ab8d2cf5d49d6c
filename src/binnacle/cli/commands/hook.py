"""`bn hook`: the commands of a project that run around the iterations of a run."""

from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, CommandAnswer, Group, arg, changes
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.config.trust import is_trusted
from binnacle.store.tasks import get

if TYPE_CHECKING:
    from binnacle.runner.hooks.hook_runner import HookOutcome

HOOK = Group("hook")

NAMES = "by event or by event and number: post_iteration, or post_iteration.2"


class ListedHook(CommandAnswer):
    """A hook and whether runs use it."""

    name: str
    event: str
    state: str
    command: str
    timeout: float
    pipe_output: bool
    required: bool
    place: str


class HookListAnswer(CommandAnswer):
    """The hooks of a project."""

    hooks: list[ListedHook]


class TriedHook(CommandAnswer):
    """What came of running a hook."""

    name: str
    command: str
    ok: bool
    code: int | None
    fault: str
    output: str
    seconds: float


class HookRunAnswer(CommandAnswer):
    """The hooks that were run, in order."""

    hooks: list[TriedHook]


def _show_list(answer: HookListAnswer, screen: Screen) -> None:
    if not answer.hooks:
        screen.line("no hooks; put them into .binnacle/hooks.yaml")
        return
    rows = [(one.name, one.state, _limits(one), printable(one.command)) for one in answer.hooks]
    screen.table(rows, flexible=3, headings=("HOOK", "", "", "COMMAND"))
    if any(one.state == "not trusted" for one in answer.hooks):
        screen.line("review them and let runs use them: bn trust hook")


def _limits(one: ListedHook) -> str:
    parts = [f"{one.timeout:g} s", "output to the agent" if one.pipe_output else ""]
    return ", ".join(filter(None, [*parts, "required" if one.required else ""]))


@HOOK.command(
    "list", "the hooks of the project, and which wait for trust", "bn hook list", view=_show_list, needs=READS
)
def list_hooks(context: Context, args: Namespace) -> HookListAnswer:  # noqa: ARG001 - it has no arguments
    from binnacle.runner.hooks.hook_file import find_hooks, trust_item_of

    repo = context.project.repo
    rows = [
        ListedHook(
            name=one.name,
            event=one.event,
            state="trusted" if is_trusted(repo, trust_item_of(one)) else "not trusted",
            command=one.words,
            timeout=one.timeout,
            pipe_output=one.pipe_output,
            required=one.required,
            place=one.place,
        )
        for one in find_hooks(repo)
    ]
    return HookListAnswer(hooks=rows)


def _show_run(answer: HookRunAnswer, screen: Screen) -> None:
    for one in answer.hooks:
        screen.heading(printable(f"{one.name}: {one.command}"))
        screen.block(one.output)
        sign = screen.styled("✓", "green") if one.ok else screen.styled("✗", "red")
        screen.line(f"{sign} {printable(one.fault) or 'exit code ' + str(one.code)}, {one.seconds:g} s")
    if not answer.hooks:
        screen.line("no hooks of that event")


@HOOK.command(
    "run",
    "try the hooks of an event as a run would; prints what an agent would read",
    "bn hook run post_iteration --iteration 3",
    arg("names", nargs="+", metavar="NAME", help=NAMES),
    arg("--session", default="", metavar="ID", help="the value of BN_RUN_SESSION"),
    arg("--iteration", type=int, metavar="N", help="the value of BN_ITERATION"),
    arg("--task", default="", metavar="ID", help="the value of BN_TASK_ID, with its title"),
    arg("--error", default="", metavar="TEXT", help="the value of BN_ERROR"),
    view=_show_run,
    needs=changes("hook_run"),
)
def run(context: Context, args: Namespace) -> HookRunAnswer:
    import asyncio

    from binnacle.runner.hooks.hook_file import find_hooks, select_hooks
    from binnacle.runner.hooks.hook_runner import HookInput
    from binnacle.runner.hooks.hook_trial import try_hooks

    chosen = select_hooks(find_hooks(context.project.repo), args.names)
    task_id = title = ""
    if args.task:
        with context.reading() as tx:
            task = get(tx, args.task)
        task_id, title = task.id, task.title
    about = HookInput(
        session=args.session, iteration=args.iteration, task_id=task_id, task_title=title, error=args.error
    )
    rows = [_describe(one) for one in asyncio.run(try_hooks(context.project.repo, chosen, about))]
    context.exit_code = 0 if all(one.ok for one in rows) else 1
    return HookRunAnswer(hooks=rows)


def _describe(one: "HookOutcome") -> TriedHook:
    return TriedHook(
        name=one.hook.name,
        command=one.hook.words,
        ok=one.is_ok,
        code=one.code,
        fault=one.fault,
        output=one.output,
        seconds=round(one.seconds, 1),
    )
