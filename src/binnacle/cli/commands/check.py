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
    exclusive: str
    memory: int
    report: str
    place: str


class ListedPolicy(CommandAnswer):
    """A part of the file of checks that is no check: `protect` or `review`."""

    name: str
    state: str
    does: str
    place: str


class CheckListAnswer(CommandAnswer):
    """The checks of a project, and the policies beside them."""

    checks: list[ListedCheck]
    policies: list[ListedPolicy]


def _show_list(answer: CheckListAnswer, screen: Screen) -> None:
    if not answer.checks and not answer.policies:
        screen.line("no checks; put them into .binnacle/checks.yaml, or see what fits: bn check suggest")
        return
    rows = [(one.name, one.state, f"{one.tier}, {one.timeout:g} s", printable(one.command)) for one in answer.checks]
    screen.table(rows, flexible=3, headings=("CHECK", "", "", "COMMAND"))
    for policy in answer.policies:
        does = "decides" if policy.state == "trusted" else "would decide"
        screen.line(f"{policy.name}: {policy.state}; {does} {printable(policy.does)}")
    states = {*(one.state for one in answer.checks), *(one.state for one in answer.policies)}
    if states - {"trusted"}:
        screen.line("review them and let them have an effect: bn check approve")


@CHECK.command(
    "list", "the checks of the project, and which wait for trust", "bn check list", view=_show_list, needs=READS
)
def list_checks(context: Context, args: Namespace) -> CheckListAnswer:  # noqa: ARG001 - it has no arguments
    from binnacle.project.check_file import list_policies, read_check_file, trust_item_of

    known = find_trusted(context.project.repo)
    file = read_check_file(context.project.repo)
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
            exclusive=one.exclusive,
            memory=one.memory,
            report=one.report,
            place=one.place,
        )
        for one in file.checks
    ]
    policies = [
        ListedPolicy(
            name=one.name, state=STATES[state_of(one, known)], does=one.does.removeprefix("decide "), place=one.place
        )
        for one in list_policies(file)
    ]
    return CheckListAnswer(checks=rows, policies=policies)
