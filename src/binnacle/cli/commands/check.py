"""`bn check`: the commands of a project that show whether work is right."""

from argparse import Namespace

from binnacle.cli.command import READS, CommandAnswer, Group
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.config.trust import find_trusted, state_of

CHECK = Group("check")

STATES = {"trusted": "trusted", "changed": "changed", "new": "not trusted"}


class ListedCheck(CommandAnswer):
    """A check and whether it has an effect."""

    name: str
    state: str
    command: str
    setup: list[str]
    cache: list[str]
    timeout: float
    paths: list[str]
    tier: str
    needs: list[str]
    place: str


class CheckListAnswer(CommandAnswer):
    """The checks of a project."""

    checks: list[ListedCheck]


def _show_list(answer: CheckListAnswer, screen: Screen) -> None:
    if not answer.checks:
        screen.line("no checks; put them into .binnacle/checks.yaml, or see what fits: bn check suggest")
        return
    rows = [(one.name, one.state, f"{one.tier}, {one.timeout:g} s", printable(one.command)) for one in answer.checks]
    screen.table(rows, flexible=3, headings=("CHECK", "", "", "COMMAND"))
    if any(one.state != "trusted" for one in answer.checks):
        screen.line("review them and let them have an effect: bn check approve")


@CHECK.command(
    "list", "the checks of the project, and which wait for trust", "bn check list", view=_show_list, needs=READS
)
def list_checks(context: Context, args: Namespace) -> CheckListAnswer:  # noqa: ARG001 - it has no arguments
    from binnacle.project.check_file import find_checks, trust_item_of

    known = find_trusted(context.project.repo)
    rows = [
        ListedCheck(
            name=one.name,
            state=STATES[state_of(trust_item_of(one), known)],
            command=one.command,
            setup=list(one.setup),
            cache=list(one.cache),
            timeout=one.timeout,
            paths=list(one.paths),
            tier=one.tier,
            needs=list(one.needs),
            place=one.place,
        )
        for one in find_checks(context.project.repo)
    ]
    return CheckListAnswer(checks=rows)
