"""`bn doctor`: checks the store and fixes it."""

from argparse import Namespace
from typing import TYPE_CHECKING

from msgspec.structs import replace

from binnacle.cli.command import READS, CommandAnswer, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import StoreCorrupt
from binnacle.project.machine_stores import examine_place
from binnacle.store.maintenance.checks import StoreFinding, check_store

if TYPE_CHECKING:
    from binnacle.store.maintenance.recovery import RecoveredStore

DOCTOR = Group("doctor")


class DoctorAnswer(CommandAnswer):
    """How the store is, and what was saved of a damaged one."""

    healthy: bool
    findings: list[StoreFinding]
    location: str
    salvaged: "RecoveredStore | None" = None


def _show(answer: DoctorAnswer, screen: Screen) -> None:
    for finding in answer.findings:
        style = {"error": "red", "warning": "yellow", "info": "cyan"}[finding.severity]
        fixed = screen.styled(" (fixed)", "green") if finding.fixed else ""
        screen.line(f"{screen.styled(finding.severity + ':', style)} {finding.check}: {finding.message}{fixed}")
        if finding.hint:
            screen.line(f"  {screen.styled('hint:', 'cyan')} {finding.hint}")
    if salvaged := answer.salvaged:
        saved = ", ".join(f"{count} {name}" for name, count in salvaged.rows.items()) or "nothing"
        screen.line(f"saved {saved}; the damaged file is {salvaged.kept}")
    screen.line("all is well" if answer.healthy else "not all is well")


@DOCTOR.command(
    "",
    "check the store; --fix fixes what it can",
    "bn doctor --fix",
    arg("--fix", action="store_true", help="fix what can be computed; save what is readable in a damaged file"),
    view=_show,
    needs=lambda args: by_person("repair the store") if args.fix else READS,
)
def doctor(context: Context, args: Namespace) -> DoctorAnswer:
    salvaged = None
    try:
        findings = check_store(context.store(create=False), fix=args.fix)
        damaged = [f for f in findings if f.check == "integrity" and "the file is damaged" in f.message]
    except StoreCorrupt as error:
        if not args.fix:
            raise
        findings, damaged = [], [StoreFinding(severity="error", check="integrity", message=error.message, fixable=True)]
    if damaged and args.fix:
        findings, salvaged = _salvaged(context, damaged)
    findings = [*findings, *_examine_place(context, is_readable=not damaged or args.fix)]
    healthy = all(finding.fixed or finding.severity == "info" for finding in findings)
    context.exit_code = 0 if healthy else 1
    return DoctorAnswer(healthy=healthy, findings=findings, location=context.project.store_file, salvaged=salvaged)


def _examine_place(context: Context, *, is_readable: bool) -> list[StoreFinding]:

    if not is_readable:
        return []
    with context.store(create=False).read() as tx:
        return examine_place(context.project, tasks=tx.count("select count(*) from task"))


def _salvaged(context: Context, damaged: list[StoreFinding]) -> "tuple[list[StoreFinding], RecoveredStore]":
    """A damaged file is set aside and what can be read of it put into a new one, which is then examined."""
    from binnacle.store.maintenance.recovery import recover_file

    context.close()
    saved = recover_file(context.project.store_file)
    findings = [replace(finding, fixed=True, fixable=True, hint="") for finding in damaged]
    if loss := saved.describe_loss():
        hint = f"import the newest export, if there is one: bn store import FILE; the damaged file is {saved.kept}"
        findings.append(StoreFinding(severity="error", check="salvage", message=loss, hint=hint))
    findings += check_store(context.store(create=True), fix=True)
    return findings, saved
