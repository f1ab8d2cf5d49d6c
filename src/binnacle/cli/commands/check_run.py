"""`bn check run`: what the checks of a project say about a commit."""

from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import CommandAnswer, arg, changes
from binnacle.cli.commands.check import CHECK
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable

if TYPE_CHECKING:
    from binnacle.proving.change_prover import CheckedChange
    from binnacle.work.evidence import Evidence
    from binnacle.work.gaming import ChangeFinding


class ShownFinding(CommandAnswer):
    """What a change does to what judges it."""

    kind: str
    path: str
    line: int = 0
    text: str = ""


class RunCheck(CommandAnswer):
    """What a check said about a commit."""

    evidence: str
    """The id under which the result is kept."""

    name: str
    verdict: str
    reason: str
    decision: str
    exit: int | None
    ran: int | None
    failed: list[str]
    new_failed: list[str]
    old_failed: list[str]
    flaky: list[str]
    findings: list[ShownFinding]
    seconds: float
    log: str
    log_excerpt: str


class CheckRunAnswer(CommandAnswer):
    """The checks that were run on a commit."""

    commit: str
    base: str
    definitions: str
    proven: bool
    decision: str
    findings: list[ShownFinding]
    uncommitted: list[str]
    checks: list[RunCheck]


VERDICT_SIGNS = {"pass": ("✓", "green"), "fail": ("✗", "red")}
DECISIONS = {"allow": "allowed", "ask": "a person has to decide", "refuse": "refused"}


def _show_run(answer: CheckRunAnswer, screen: Screen) -> None:
    _show_findings(answer.findings, answer.decision, screen)
    for one in answer.checks:
        sign, style = VERDICT_SIGNS.get(one.verdict, ("!", "yellow"))
        words = f"{one.name}: {one.verdict.replace('_', ' ')}, {one.seconds:.1f} s"
        screen.line(f"{screen.styled(sign, style)} {printable(words)}")
        if one.reason:
            screen.line(f"  {printable(one.reason)}")
        _show_findings(one.findings, one.decision, screen)
        if one.log_excerpt:
            screen.block(one.log_excerpt)
        screen.line(f"  log: {printable(one.log)}")
    if answer.uncommitted:
        screen.line(f"! not in the commit, and not checked: {_count(len(answer.uncommitted))} with uncommitted changes")
    against = f", compared with {answer.base[:8]}" if answer.base else ""
    screen.line(f"commit {answer.commit[:8]}{against}: {'proven' if answer.proven else 'not proven'}")


def _show_findings(findings: list[ShownFinding], decision: str, screen: Screen) -> None:
    if findings and decision != "allow":
        screen.heading(f"what judges the change was changed: {DECISIONS[decision]}")
    for one in findings if decision != "allow" else []:
        place = f"{one.path}:{one.line}" if one.line else one.path
        screen.line(f"  {one.kind.replace('_', ' ')}  {printable(place)}  {printable(one.text)}")


def _count(files: int) -> str:
    return "1 file" if files == 1 else f"{files} files"


@CHECK.command(
    "run",
    "run checks on a commit, in a clean checkout; exit code 0 only if all of it is proven",
    "bn check run",
    arg("names", nargs="*", metavar="NAME", help="default: all that are trusted"),
    arg("--commit", default="HEAD", metavar="REV", help="what to check; default: HEAD"),
    arg("--base", metavar="REV", help="what to compare with; default: where the commit left the main branch"),
    arg("--bug", action="store_true", help="it fixes a bug: a test of it must fail on the base"),
    view=_show_run,
    needs=changes("check_run"),
)
def run(context: Context, args: Namespace) -> CheckRunAnswer:
    import asyncio

    from binnacle.app.check_run import run_checks
    from binnacle.cli.progress_bar import ProgressBar

    done = 0

    def count(_result: object) -> None:
        nonlocal done
        done += 1

    with ProgressBar("check", 0) as bar:
        found = asyncio.run(
            run_checks(
                context.project,
                folder=context.workspace,
                asked_by=context.actor.name,
                names=args.names,
                commit=args.commit,
                base=args.base,
                is_bug=args.bug,
                tell=lambda name, what: bar.advance(done, printable(f"{name}: {what}")),
                on_result=count,
            )
        )
    context.exit_code = 0 if found.is_proven else 1
    return _describe(found)


def _describe(found: "CheckedChange") -> CheckRunAnswer:
    return CheckRunAnswer(
        commit=found.range.commit,
        base=found.range.base,
        definitions=found.definitions.source,
        proven=found.is_proven,
        decision=found.decision,
        findings=_list_findings(found.findings),
        uncommitted=list(found.range.uncommitted),
        checks=[_describe_result(one) for one in found.results],
    )


def _describe_result(one: "Evidence") -> RunCheck:
    return RunCheck(
        evidence=one.id,
        name=one.check_name,
        verdict=one.verdict,
        reason=one.reason,
        decision=one.decision,
        exit=one.exit_code,
        ran=one.ran,
        failed=list(one.failed),
        new_failed=list(one.new_failed),
        old_failed=list(one.old_failed),
        flaky=list(one.flaky),
        findings=_list_findings(one.findings),
        seconds=round(one.seconds, 1),
        log=one.log,
        log_excerpt=one.log_excerpt,
    )


def _list_findings(findings: "tuple[ChangeFinding, ...]") -> list[ShownFinding]:
    return [ShownFinding(kind=one.kind, path=one.path, line=one.line, text=one.text) for one in findings]
