"""`bn trust`: what in a project has an effect only once a person has looked at it."""

import sys
from argparse import Namespace
from collections.abc import Sequence

from binnacle.app.trust_review import TrustFindings, TrustStanding, grant, look
from binnacle.app.trust_review import revoke as take_back
from binnacle.cli.command import READS, CommandAnswer, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.problem_list import ListedProblem, list_problems, show_problems
from binnacle.cli.screen import Screen, printable
from binnacle.cli.visible_text import visible
from binnacle.config.trust import How, differences, find_trusted
from binnacle.errors import NotFound, UsageError, did_you_mean
from binnacle.project.person_only import is_at_terminal

TRUST = Group("trust")

NAMES = arg(
    "names", nargs="*", metavar="NAME", help="such as server:github or hook; bn trust show lists them; default: all"
)


class TrustAnswer(CommandAnswer):
    """What a person decided, by key."""

    trusted: list[str]
    declined: list[str]
    unchanged: list[str]
    problems: list[ListedProblem]


class ListedTrustItem(CommandAnswer):
    """Something that needs trust, and whether it has it."""

    key: str
    state: str
    does: str
    place: str
    trusted_by: str | None = None
    trusted_at: str | None = None
    how: str | None = None
    content: str | None = None


class TrustListAnswer(CommandAnswer):
    """What needs trust in a project."""

    items: list[ListedTrustItem]
    problems: list[ListedProblem]


class RevokedTrustAnswer(CommandAnswer):
    """The keys of what is no longer trusted."""

    revoked: list[str]


def show_trust_answer(answer: TrustAnswer, screen: Screen) -> None:
    """Shows what a person decided."""
    for key in answer.trusted:
        screen.line(f"{screen.styled('✓', 'green')} trusted: {printable(key)}")
    for key in answer.declined:
        screen.line(f"⊘ not trusted, and without effect: {printable(key)}")
    for key in answer.unchanged:
        screen.line(f"✓ trusted before: {printable(key)}")
    if not (answer.trusted or answer.declined or answer.unchanged):
        screen.line("nothing in this project waits to be trusted")
    show_problems(answer.problems, screen)


@TRUST.command(
    "",
    "review what came with the project and let it have an effect; shows all of it, or the changes, and asks",
    "bn trust",
    NAMES,
    arg("-y", "--yes", action="store_true", help="ask nothing, for CI; refused to agents"),
    view=show_trust_answer,
    needs=by_person("trust a project"),
)
def trust(context: Context, args: Namespace) -> TrustAnswer:
    return review(context, args.names, yes=args.yes)


def review(context: Context, names: Sequence[str], *, yes: bool) -> TrustAnswer:
    """Shows a person what is called so, or all, and trusts what they say."""
    found = _look(context)
    chosen = _named(found, names)
    waiting = [one for one in chosen if one.state != "trusted"]
    trusted, how = ask_to_trust(waiting, yes=yes)
    if trusted:
        grant(context.project, [one.item for one in trusted], how=how)
    return TrustAnswer(
        trusted=[one.item.key for one in trusted],
        declined=[one.item.key for one in waiting if one not in trusted],
        unchanged=[one.item.key for one in chosen if one.state == "trusted"] if names else [],
        problems=list_problems(found.problems),
    )


def ask_to_trust(waiting: Sequence[TrustStanding], *, yes: bool) -> tuple[Sequence[TrustStanding], How]:
    """What a person trusts of it, and how they said so. One screen shows all, and there is no default but no.

    Raises:
        UsageError: there is no terminal to ask on.
    """

    if not waiting or yes:
        return waiting, "yes" if yes else "terminal"
    if not is_at_terminal():
        keys = " ".join(one.item.key for one in waiting)
        raise UsageError(
            "there is no terminal to ask on",
            hint=f"see: bn trust show; then in a terminal: bn trust; or: bn trust {keys} --yes",
        )
    screen = Screen(sys.stderr)
    is_one = len(waiting) == 1
    count = "1 thing in this project has" if is_one else f"{len(waiting)} things in this project have"
    screen.heading(f"{count} no effect until you trust {'it' if is_one else 'them'}:")
    for one in waiting:
        _show_standing(one, screen)
    answer = _ask("Trust all of this? [y]es, [n]o, [o]ne by one:", screen)
    if answer in ("o", "one"):
        return [
            one for one in waiting if _ask(f"Trust {printable(one.item.key)}? [y/N]", screen) in ("y", "yes")
        ], "terminal"
    return (waiting if answer in ("y", "yes") else []), "terminal"


def _ask(question: str, screen: Screen) -> str:
    screen.ask(question)
    return sys.stdin.readline().strip().lower()


def _show_standing(one: TrustStanding, screen: Screen) -> None:
    """An item before it is trusted: all of it, or all that changed since."""

    item = one.item
    screen.line()
    changed = ", which changed since you trusted it" if one.before else ""
    screen.heading(f"{visible(item.key)}{changed}")
    screen.line(f"  in {visible(item.place)}")
    screen.line(f"  it would {visible(item.does)}")
    # Only a line feed ends a line: what else some programs take for an end must be seen.
    lines = differences(item, one.before) if one.before else item.content.split("\n")
    for line in lines:
        style = {"+": "green", "-": "red"}.get(line[:1], "") if one.before else ""
        screen.line(f"  │ {screen.styled(visible(line), style)}")


def _show_list(answer: TrustListAnswer, screen: Screen) -> None:
    if not answer.items:
        screen.line("nothing in this project needs to be trusted")
    else:
        rows = [(one.key, one.state, f"would {one.does}") for one in answer.items]
        screen.table(rows, flexible=2, headings=("WHAT", "STATE", "IT"))
    show_problems(answer.problems, screen)
    if any(one.state != "trusted" for one in answer.items):
        screen.line("review what is not trusted: bn trust")


@TRUST.command(
    "show",
    "what needs a person's trust in this project, and what has it",
    "bn trust show",
    NAMES,
    view=_show_list,
    needs=READS,
)
def show(context: Context, args: Namespace) -> TrustListAnswer:
    found = _look(context)
    return TrustListAnswer(
        items=[_row(one, whole=bool(args.names)) for one in _named(found, args.names)],
        problems=list_problems(found.problems),
    )


def _row(one: TrustStanding, *, whole: bool) -> ListedTrustItem:
    item, before = one.item, one.before
    return ListedTrustItem(
        key=item.key,
        state=one.state,
        does=item.does,
        place=item.place,
        trusted_by=before.by if before else None,
        trusted_at=before.at if before else None,
        how=before.how if before else None,
        content=item.content if whole else None,
    )


def _show_revoked(answer: RevokedTrustAnswer, screen: Screen) -> None:
    for key in answer.revoked:
        screen.line(f"⊘ no longer trusted: {printable(key)}")
    if not answer.revoked:
        screen.line("nothing of that was trusted")


@TRUST.command(
    "revoke",
    "revoke trust, of everything or of what you name",
    "bn trust revoke",
    NAMES,
    view=_show_revoked,
    needs=by_person("take trust back"),
)
def revoke(context: Context, args: Namespace) -> RevokedTrustAnswer:

    known = find_trusted(context.project.repo)
    keys = None if not args.names else [key for key in known if _is_named(key, args.names)]
    return RevokedTrustAnswer(revoked=take_back(context.project, keys))


def _look(context: Context) -> TrustFindings:

    return look(context.project)


def _named(found: TrustFindings, names: Sequence[str]) -> list[TrustStanding]:
    """The items of these names, or of all.

    Raises:
        NotFound: there is none of that name.
    """
    if not names:
        return found.standings
    keys = [one.item.key for one in found.standings]
    for name in names:
        if not any(_is_named(key, [name]) for key in keys):
            hint = did_you_mean(name, keys) or "bn trust show lists what there is"
            raise NotFound(f"nothing to trust is called {name!r}", hint=hint)
    return [one for one in found.standings if _is_named(one.item.key, names)]


def _is_named(key: str, names: Sequence[str]) -> bool:
    """Whether a name means an item: its whole key, its kind, or its name alone."""
    kind, _, name = key.partition(":")
    return any(one in (key, kind, name) for one in names)
