"""`bn session pause`, `resume`, `message`, `stop` and `answer`: steer a run from wherever you are.

They change the store. The process that drives the run takes it from there, on whatever machine it is.
"""

import time
from argparse import Namespace

from binnacle.cli.command import CommandAnswer, arg, by_person
from binnacle.cli.commands.session import SESSION
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.store import run_steering
from binnacle.store.run_steering import SteeredRun
from binnacle.work.run import Attention
from binnacle.work.session import SessionRecord

RUN = arg("id", metavar="RUN", help="the name or the id of a run, or a session of it")
LOOK_SECONDS = 0.25
"""How often to look whether a run has stopped."""


class SteeredAnswer(CommandAnswer):
    """What was asked of a run."""

    run: str
    name: str
    sessions: list[str]
    """The sessions that it reaches."""

    done: str
    """What was done, in a sentence."""


class StoppedAnswer(CommandAnswer):
    """A run that was told to stop."""

    run: str
    name: str
    sessions: list[str]
    has_stopped: bool
    """Whether everything of it has ended."""

    still_running: tuple[str, ...] = ()
    """Where it has not: the machine and the folder."""


class AnsweredAttention(CommandAnswer):
    """What waited for a person, with the answer."""

    attention: Attention


def _show_steered(answer: SteeredAnswer, screen: Screen) -> None:
    screen.line(answer.done)


def _show_stopped(answer: StoppedAnswer, screen: Screen) -> None:
    if answer.has_stopped:
        screen.line(f"the run {answer.name} has stopped; resume it with: bn run --resume --name {answer.name}")
        return
    screen.line(f"the run {answer.name} has not stopped yet: {', '.join(answer.still_running)}")
    screen.line("it was told to; the same command again does not wait for its agents")


def _show_answered(answer: AnsweredAttention, screen: Screen) -> None:
    entry = answer.attention
    screen.line(f"{entry.id} answered: {entry.answer}  ({entry.kind}: {entry.title})")


def _set_paused(context: Context, text: str, *, is_paused: bool) -> SteeredAnswer:
    with context.writing() as tx:
        return _answer(run_steering.set_paused(tx, text, is_paused=is_paused))


def _answer(steered: SteeredRun) -> SteeredAnswer:
    return SteeredAnswer(run=steered.run.id, name=steered.run.name, sessions=steered.sessions, done=steered.said)


@SESSION.command(
    "pause",
    "pause a run, wherever it is running: attempts under way finish, and no other begins",
    "bn session pause auth",
    RUN,
    view=_show_steered,
    needs=by_person("pause a run"),
)
def pause(context: Context, args: Namespace) -> SteeredAnswer:
    return _set_paused(context, args.id, is_paused=True)


@SESSION.command(
    "resume",
    "let a paused run go on; a run that has ended is resumed with bn run --resume",
    "bn session resume auth",
    RUN,
    view=_show_steered,
    needs=by_person("resume a run"),
)
def resume(context: Context, args: Namespace) -> SteeredAnswer:
    return _set_paused(context, args.id, is_paused=False)


@SESSION.command(
    "message",
    "send the agents of a run a message, which they read after their turn",
    "bn session message auth 'Use the new client, not the old one'",
    arg("id", metavar="RUN|SESSION", help="a run for all its agents at work, or the session of one"),
    arg("text", nargs="+", metavar="TEXT", help="the message; - reads stdin"),
    view=_show_steered,
    needs=by_person("send agents a message"),
)
def message(context: Context, args: Namespace) -> SteeredAnswer:
    said = context.read_input("-") if args.text == ["-"] else " ".join(args.text)
    with context.writing() as tx:
        return _answer(run_steering.send_message(tx, args.id, said))


@SESSION.command(
    "stop",
    "stop a run on all its machines, and wait until everything of it has ended",
    "bn session stop auth",
    RUN,
    arg("--wait", type=float, default=60.0, metavar="SECONDS", help="how long to wait for its end (60)"),
    view=_show_stopped,
    needs=by_person("stop a run"),
)
def stop(context: Context, args: Namespace) -> StoppedAnswer:
    with context.writing() as tx:
        stopped = run_steering.send_stop(tx, args.id)
    left = _wait_for_end(context, stopped, seconds=args.wait)
    context.exit_code = 1 if left else 0
    return StoppedAnswer(
        run=stopped.run.id,
        name=stopped.run.name,
        sessions=sorted(stopped.sessions),
        has_stopped=not left,
        still_running=tuple(sorted({one.place or one.id for one in left})),
    )


def _wait_for_end(context: Context, stopped: SteeredRun, *, seconds: float) -> list[SessionRecord]:
    """Waits until nothing drives the sessions that were told to stop. Returns those that are still driven."""
    until = time.monotonic() + seconds
    while True:
        with context.reading() as tx:
            left = run_steering.list_left(tx, stopped)
        remaining = until - time.monotonic()
        if not left or remaining <= 0:
            return left
        time.sleep(min(LOOK_SECONDS, remaining))


@SESSION.command(
    "answer",
    "answer what waits for you: a permission with yes, no or always, a question with words",
    "bn session answer bnp-1f3a yes",
    arg("id", metavar="ID", help="what waits (bnp-…), a question (bnq-…), or a run or session if only one thing waits"),
    arg("text", nargs="*", metavar="TEXT", help="the answer; none means that you have seen it"),
    view=_show_answered,
    needs=by_person("answer what waits for a person"),
)
def answer(context: Context, args: Namespace) -> AnsweredAttention:
    with context.reading():
        pass  # closes what agents asked that are gone, so that nobody answers them
    with context.writing() as tx:
        return AnsweredAttention(attention=run_steering.answer(tx, args.id, " ".join(args.text)))
