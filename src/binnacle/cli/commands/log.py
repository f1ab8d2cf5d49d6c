"""`bn log`: who changed what, when."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from binnacle.cli.command import READS, CommandAnswer, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.escaping import escape_for_terminal
from binnacle.cli.paging import limit_arg
from binnacle.cli.screen import Screen
from binnacle.errors import BinnacleError
from binnacle.store import events
from binnacle.store.store import Store
from binnacle.store.transaction import Reader
from binnacle.work.journal import Event, is_about

LOG = Group("log")

OUTAGE_SECONDS = 120.0
"""How long a follower waits for a database that went away: longer than a restart takes."""

LOOK_AGAIN_SECONDS = 3600.0
"""Seconds of silence after which a follower looks again by itself."""


class LogAnswer(CommandAnswer):
    """Events, and for people the titles of the tasks they are about."""

    events: list[Event]
    titles: dict[str, str] | None = None


def _show(answer: LogAnswer, screen: Screen) -> None:
    if not answer.events:
        screen.line("nothing happened yet")
    for event in answer.events:
        _print_event(event, answer.titles or {}, screen)


def _print_event(event: Event, titles: Mapping[str, str], screen: Screen) -> None:
    from binnacle.work.event_sentences import describe

    when = screen.styled(f"{event.at:%Y-%m-%d %H:%M:%S}", "dim")
    screen.line(f"{when} {event.actor} {describe(event, titles)}")


def _emit(found: Sequence[Event], titles: Mapping[str, str], context: Context, screen: Screen) -> None:
    for event in found:
        if context.human:
            _print_event(event, titles, screen)
        else:
            sys.stdout.buffer.write(escape_for_terminal(msgspec.json.encode(event)) + b"\n")
    sys.stdout.flush()


@LOG.command(
    "",
    "the newest events; --follow prints each as a JSON line as it happens",
    "bn log -H --follow",
    limit_arg(50, what="how many of the newest to show"),
    arg("--of", metavar="ID", help="only of this task and its comments, or of anything by its full id or name"),
    arg("--by", metavar="ACTOR", help="only by this person or agent"),
    arg("--since", metavar="TIME", help="only since then: 2026-11-15, 2026-11-15T10:00, or 90m, 12h, 7d ago"),
    arg("-F", "--follow", action="store_true", help="keep printing until interrupted"),
    view=_show,
    needs=READS,
)
def show(context: Context, args: Namespace) -> LogAnswer | None:
    from binnacle.cli.dates import parse_moment

    since = parse_moment(args.since) if args.since else None
    with context.reading() as tx:
        entity_id = _entity(tx, args.of) if args.of else None
        found = events.list_events(tx, limit=args.limit, about=entity_id, actor=args.by, since=since)
        last = found[-1].seq if found else events.last_number(tx)
        titles = events.find_titles(tx, found) if context.human else {}
    if not args.follow:
        return LogAnswer(events=found, titles=titles or None)
    screen = Screen()
    _emit(found, titles, context, screen)
    # Following waits for the first event in a store of its own, so it must exist.
    context.close()
    store = context.store(create=True, outage=OUTAGE_SECONDS)
    for batch in events.follow(store, after=last, wait=LOOK_AGAIN_SECONDS):
        chosen = [e for e in batch if args.by in (None, e.actor) and (entity_id is None or is_about(e, entity_id))]
        if context.human and chosen:
            titles = store.repeat_if_lost(partial(_find_titles, store, chosen))
        _emit(chosen, titles, context, screen)
    return None


def _find_titles(store: Store, found: Sequence[Event]) -> dict[str, str]:
    with store.read() as tx:
        return events.find_titles(tx, found)


def _entity(tx: Reader, text: str) -> str:
    from binnacle.store.tasks import resolve

    try:
        return resolve(tx, text)
    except BinnacleError:
        # Not a task: features, agents and sessions go by their whole id or name.
        return text
