"""`bn plan coverage`: which tasks cover which requirements of a run's specification."""

from argparse import Namespace

from binnacle.cli.command import READS, CommandAnswer, arg
from binnacle.cli.commands.plan import PLAN
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import NotFound


class CoveredRequirement(CommandAnswer):
    """A requirement, its first line, and the tasks that cover it."""

    id: str
    text: str
    tasks: list[str]


class CoverageAnswer(CommandAnswer):
    """The requirements of a run's specification in the order of the text."""

    run: str
    name: str
    requirements: list[CoveredRequirement]
    missing: list[str]
    """Those that no task covers."""

    unknown: dict[str, list[str]]
    """What tasks claim to cover and the specification does not have, by task."""


def _show(answer: CoverageAnswer, screen: Screen) -> None:
    covered = len(answer.requirements) - len(answer.missing)
    screen.heading(f"{answer.name}: tasks cover {covered} of {len(answer.requirements)} requirements")
    rows = [(one.id, ", ".join(one.tasks) or screen.styled("none", "yellow"), one.text) for one in answer.requirements]
    if rows:
        screen.table(rows, flexible=2, headings=("ID", "TASKS", "REQUIREMENT"))
    for task_id, words in answer.unknown.items():
        screen.line(f"{task_id} covers what the specification does not have: {', '.join(words)}")
    if answer.missing:
        hint = f"bn task add TITLE --covers {answer.missing[0]}, or: bn task update ID --covers {answer.missing[0]}"
        screen.line(f"{screen.styled('hint:', 'cyan')} {hint}")


@PLAN.command(
    "coverage",
    "which tasks cover which requirements of a run's specification",
    "bn plan coverage",
    arg("run", nargs="?", metavar="RUN", help="its name or id; by default the newest with a specification"),
    view=_show,
    needs=READS,
)
def coverage(context: Context, args: Namespace) -> CoverageAnswer:
    from binnacle.store import run_planning, runs

    with context.reading() as tx:
        run = runs.find(tx, args.run) if args.run else runs.find_newest_asked(tx)
        if run is None or not run.asked:
            what = f"the run {args.run!r} has no specification" if run else "no run has a specification"
            raise NotFound(what, hint="start one with: bn run SPEC")
        spec, found = run_planning.load_coverage(tx, run)
    return CoverageAnswer(
        run=run.id,
        name=run.name,
        requirements=[
            CoveredRequirement(id=one.id, text=one.summary, tasks=found.covered[one.id]) for one in spec.requirements
        ],
        missing=[one.id for one in found.missing],
        unknown=found.unknown,
    )
