"""`bn log`: who changed what, when."""

import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

import msgspec

from binnacle.cli.command import READS, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.escaping import escape_for_terminal
from binnacle.cli.screen import Screen
from binnacle.store import events
from binnacle.work.journal import Event

LOG = Group("log")

OUTAGE_SECONDS = 120.0
"""How long a follower waits for a database that went away: longer than a restart takes."""

PATIENCE = 3600.0
"""Seconds of silence after which a follower looks again by itself."""


def _show(answer: Any, screen: Screen) -> None:
    for event in answer["events"]:
        _line(event, screen)


def _line(event: Event, screen: Screen) -> None:
    when = screen.styled(f"{event.at:%Y-%m-%d %H:%M:%S}", "dim")
    what = f"{event.entity} {event.entity_id} {event.action}"
    told = msgspec.json.encode(event.changes).decode() if event.changes else ""
    room = max(20, screen.width - len(what) - len(event.actor) - 26)
    screen.line(f"{when} {event.actor}: {what} {screen.styled(told[:room], 'dim')}".rstrip())


def _emit(found: Iterable[Event], context: Context, screen: Screen) -> None:
    for event in found:
        if context.human:
            _line(event, screen)
        else:
            sys.stdout.buffer.write(escape_for_terminal(msgspec.json.encode(event)) + b"\n")
    sys.stdout.flush()


@LOG.command(
    "",
    "the newest events; --follow prints each as it happens, a JSON line each",
    "bn log -H --follow",
    arg("-n", "--limit", type=int, default=50, metavar="N", help="how many of the newest to show (50)"),
    arg("--of", metavar="ID", help="only of this task, or of anything by its whole id or name"),
    arg("--by", metavar="ACTOR", help="only by this person or agent"),
    arg("--since", metavar="TIME", help="only since then: 2026-11-15, 2026-11-15T10:00, or 90m, 12h, 7d ago"),
    arg("-F", "--follow", action="store_true", help="go on until interrupted"),
    view=_show,
    needs=READS,
)
def show(context: Context, args: Namespace) -> Any:
    from binnacle.cli.moments import parse_moment

    since = parse_moment(args.since) if args.since else None
    with context.reading() as tx:
        entity_id = _entity(tx, args.of) if args.of else None
        found = events.listed(tx, limit=args.limit, entity_id=entity_id, actor=args.by, since=since)
        last = found[-1].seq if found else events.last(tx)
    if not args.follow:
        return {"events": found}
    screen = Screen()
    _emit(found, context, screen)
    # Following waits for the first event in a store of its own, so it must exist.
    context.close()
    for batch in events.follow(context.store(create=True, outage=OUTAGE_SECONDS), after=last, wait=PATIENCE):
        chosen = (e for e in batch if args.by in (None, e.actor) and entity_id in (None, e.entity_id))
        _emit(chosen, context, screen)
    return None


def _entity(tx: Any, text: str) -> str:
    from binnacle.errors import BinnacleError
    from binnacle.store.tasks import resolve

    try:
        return resolve(tx, text)
    except BinnacleError:
        # Not a task: features, agents and sessions go by their whole id or name.
        return text
