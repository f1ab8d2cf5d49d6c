"""`bn check quarantine`: flaky tests whose failures do not count until a date. They go on running."""

from argparse import Namespace
from datetime import UTC, datetime, timedelta

from binnacle.cli.command import READS, CommandAnswer, arg, by_person
from binnacle.cli.commands.check import CHECK
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.errors import InvalidInput, NotFound, UsageError, did_you_mean
from binnacle.store import quarantine
from binnacle.work.evidence import QuarantinedTest

MAX_DAYS = 90
"""A test that nobody needs for longer can be removed."""


class ListedTest(CommandAnswer):
    """A test in quarantine."""

    check: str
    test: str
    owner: str
    reason: str
    ends_at: datetime
    active: bool
    """Whether its failures still do not count."""


class QuarantineAnswer(CommandAnswer):
    """A test that was put into quarantine, or taken out."""

    test: ListedTest
    ended: bool = False


class QuarantineListAnswer(CommandAnswer):
    """The tests in quarantine."""

    tests: list[ListedTest]


def _describe(one: QuarantinedTest, *, now: datetime) -> ListedTest:
    return ListedTest(
        check=one.check_name,
        test=one.test_id,
        owner=one.owner,
        reason=one.reason,
        ends_at=one.ends_at,
        active=one.ends_at > now,
    )


def _show_one(answer: QuarantineAnswer, screen: Screen) -> None:
    one = answer.test
    if answer.ended:
        screen.line(f"{printable(one.test)} of {printable(one.check)} counts again")
        return
    until = f"{one.ends_at.astimezone():%Y-%m-%d %H:%M}"
    screen.line(f"{printable(one.test)} of {printable(one.check)} goes on running; its failures count again on {until}")


def _show_list(answer: QuarantineListAnswer, screen: Screen) -> None:
    if not answer.tests:
        screen.line("no test is in quarantine")
        return
    rows = [
        (
            printable(one.check),
            f"{'until' if one.active else 'ended'} {one.ends_at.astimezone():%Y-%m-%d}",
            printable(one.owner),
            printable(one.test),
            printable(one.reason),
        )
        for one in answer.tests
    ]
    screen.table(rows, flexible=3, headings=("CHECK", "", "OWNER", "TEST", "REASON"))


@CHECK.command(
    "quarantine add",
    "let failures of a flaky test not count until a date; it goes on running",
    "bn check quarantine add tests tests.test_cart::test_total --days 14 --reason 'the clock of the CI machine'",
    arg("check", metavar="CHECK"),
    arg("test", metavar="TEST", help="its id, as bn check run shows it"),
    arg("--until", metavar="DATE", help="the last day on which it does not count, or a time: 2026-12-01"),
    arg("--days", type=int, metavar="N", help=f"the same from now on; {MAX_DAYS} at most"),
    arg("--owner", default="", metavar="NAME", help="who fixes it; default: you"),
    arg("--reason", default="", metavar="TEXT"),
    view=_show_one,
    needs=by_person("put a test into quarantine"),
)
def add(context: Context, args: Namespace) -> QuarantineAnswer:
    _check_name(context, args.check)
    ends_at = _find_end(args.until, args.days)
    with context.writing() as tx:
        entry = quarantine.add(tx, args.check, args.test, ends_at=ends_at, owner=args.owner, reason=args.reason)
        return QuarantineAnswer(test=_describe(entry, now=tx.now))


def _check_name(context: Context, name: str) -> None:
    from binnacle.project.check_file import find_checks

    known = [one.name for one in find_checks(context.project.repo)]
    if name not in known:
        raise NotFound(f"no check {name!r}", hint=did_you_mean(name, known) or "bn check list names them")


def _find_end(until: str | None, days: int | None) -> datetime:
    if (until is None) == (days is None):
        hint = "bn check quarantine add tests tests.test_cart::test_total --days 14"
        raise UsageError("bn check quarantine add: an end is needed, --until DATE or --days N", hint=hint)
    now = datetime.now(UTC)
    latest = now + timedelta(days=MAX_DAYS)
    if until is not None:
        from binnacle.cli.dates import parse_end

        found = parse_end(until)
    else:
        found = now + timedelta(days=min(days or 0, MAX_DAYS + 1))
    if found > latest:
        hint = "fix the test by then, or remove it; a quarantine can be extended by the same command"
        raise InvalidInput(f"a quarantine lasts {MAX_DAYS} days at most", hint=hint)
    return found


@CHECK.command(
    "quarantine list",
    "tests whose failures do not count, until when, and who fixes them",
    "bn check quarantine list",
    arg("--all", action="store_true", help="also those that count again"),
    view=_show_list,
    needs=READS,
)
def list_tests(context: Context, args: Namespace) -> QuarantineListAnswer:
    with context.reading() as tx:
        found = quarantine.list_all(tx) if args.all else quarantine.list_active(tx)
        return QuarantineListAnswer(tests=[_describe(one, now=tx.now) for one in found])


@CHECK.command(
    "quarantine end",
    "let the failures of a test count again",
    "bn check quarantine end tests tests.test_cart::test_total",
    arg("check", metavar="CHECK"),
    arg("test", metavar="TEST"),
    view=_show_one,
    needs=by_person("take a test out of quarantine"),
)
def end(context: Context, args: Namespace) -> QuarantineAnswer:
    with context.writing() as tx:
        entry = quarantine.end(tx, args.check, args.test)
        return QuarantineAnswer(test=_describe(entry, now=tx.now), ended=True)
