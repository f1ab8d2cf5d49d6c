"""`bn check suggest`, `add` and `approve`: the file of a project's checks, and a person's word on it."""

import os
import shlex
import shutil
from argparse import Namespace

from binnacle.cli.command import READS, CommandAnswer, arg, by_person
from binnacle.cli.commands.check import CHECK
from binnacle.cli.commands.trust import TrustAnswer, review, show_trust_answer
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable


@CHECK.command(
    "approve",
    "review checks and let them have an effect; shows all of each, or what changed, and asks",
    "bn check approve",
    arg("names", nargs="*", metavar="NAME", help="default: all"),
    arg("-y", "--yes", action="store_true", help="ask nothing, for CI; refused to agents"),
    view=show_trust_answer,
    needs=by_person("trust a check"),
)
def approve(context: Context, args: Namespace) -> TrustAnswer:
    names = [f"check:{name}" for name in args.names] or ["check"]
    return review(context, names, yes=args.yes)


class ProposedCheck(CommandAnswer):
    """A check that fits the repository."""

    name: str
    command: str
    setup: str
    cache: list[str]
    tier: str
    why: str
    missing: str = ""
    """The program that it needs and that is not installed here; then it is not written."""


class CheckSuggestions(CommandAnswer):
    """The checks that fit a repository."""

    checks: list[ProposedCheck]
    file: str = ""
    """The file that they were written into."""


def _show_suggestions(answer: CheckSuggestions, screen: Screen) -> None:
    if not answer.checks:
        screen.line("nothing here says how it is tested; write one: bn check add tests 'make test'")
        return
    rows = [(one.name, one.tier, printable(one.command), printable(_explain(one))) for one in answer.checks]
    screen.table(rows, flexible=2, headings=("CHECK", "", "COMMAND", "BECAUSE"))
    if answer.file:
        screen.line(
            f"written into {printable(answer.file)}; they have an effect once you approve them: bn check approve"
        )
    else:
        screen.line("write them into .binnacle/checks.yaml: bn check suggest --write")


def _explain(one: ProposedCheck) -> str:
    return f"{one.why}, but {one.missing} is not installed here: left out" if one.missing else one.why


@CHECK.command(
    "suggest",
    "propose checks that fit the repository: pytest, npm, cargo, go, make, pre-commit and others",
    "bn check suggest",
    arg("--write", action="store_true", help="write them into .binnacle/checks.yaml, where they wait for approval"),
    view=_show_suggestions,
    needs=lambda args: by_person("write checks") if args.write else READS,
)
def suggest(context: Context, args: Namespace) -> CheckSuggestions:
    from binnacle.checks.suggestions import suggest_checks
    from binnacle.config.repository_files import read_inside
    from binnacle.project.check_file import find_checks

    repo = context.project.repo

    def read(name: str) -> str:
        try:
            return read_inside(repo, os.path.join(repo, name)).decode(errors="replace")
        except OSError:
            return ""

    known = {one.name for one in find_checks(repo)}
    found = [one for one in suggest_checks(set(os.listdir(repo)), read) if one.name not in known]
    rows = [
        ProposedCheck(
            name=one.name,
            command=one.command,
            setup=one.setup,
            cache=list(one.cache),
            tier=one.tier,
            why=one.why,
            missing=_find_missing(one.setup or one.command),
        )
        for one in found
    ]
    found = [one for one, row in zip(found, rows, strict=True) if not row.missing]
    file = ""
    if args.write and found:
        from binnacle.project.check_file_edits import WrittenCheck, add_checks

        written = [
            WrittenCheck(name=one.name, command=one.command, setup=one.setup, cache=one.cache, tier=one.tier)
            for one in found
        ]
        file = add_checks(repo, written)
    return CheckSuggestions(checks=rows, file=file)


def _find_missing(command: str) -> str:
    """The program of a command, if it is not installed. A check that cannot run would let no task be done."""
    program = shlex.split(command)[0]
    return "" if "/" in program or shutil.which(program) else program


class AddedCheck(CommandAnswer):
    """A check that was written into the project."""

    name: str
    file: str


def _show_added(answer: AddedCheck, screen: Screen) -> None:
    screen.line(f"added {printable(answer.name)} to {printable(answer.file)}")


@CHECK.command(
    "add",
    "write a check into .binnacle/checks.yaml; it has an effect at once",
    "bn check add lint 'make lint' --setup 'make install'",
    arg("name", metavar="NAME"),
    arg("command", metavar="COMMAND", help="one word for the shell: put it in quotes"),
    arg("--setup", default="", metavar="COMMAND", help="prepares a fresh checkout"),
    arg(
        "--cache",
        action="append",
        default=[],
        metavar="FILE",
        help="a lock file on which the setup alone depends, so that what it made is kept; may be repeated",
    ),
    arg("--timeout", type=float, default=600.0, metavar="SECONDS"),
    arg("--tier", choices=("fast", "full"), default="fast", help="fast: when a task is done; full: when it is merged"),
    view=_show_added,
    needs=by_person("add a check"),
)
def add(context: Context, args: Namespace) -> AddedCheck:
    from binnacle.app.trust_review import grant_written
    from binnacle.project.check_file_edits import WrittenCheck, add_checks

    written = WrittenCheck(
        name=args.name,
        command=args.command,
        setup=args.setup,
        cache=tuple(args.cache),
        timeout=args.timeout,
        tier=args.tier,
    )
    file = add_checks(context.project.repo, [written])
    grant_written(context.project, f"check:{args.name}")
    return AddedCheck(name=args.name, file=file)
