"""`bn session pause`, `resume`, `message`, `stop` and `answer`: steer a run from wherever you are.

They change the store. The process that drives the run takes it from there, on whatever machine it is.
"""

import time
from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import CommandAnswer, arg, by_person
from binnacle.cli.commands.session import SESSION
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import InvalidInput, NotFound, Refused
from binnacle.store import attention, attention_answers, run_messages, runs
from binnacle.work import steps
from binnacle.work.run import Attention, RunRecord
from binnacle.work.session import SessionRecord

if TYPE_CHECKING:
    from binnacle.store.transaction import Reader

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


def _find_running(tx: "Reader", text: str) -> tuple[RunRecord, list[SessionRecord]]:
    """The run, and the sessions of it that are driven now.

    Raises:
        Refused: nothing drives it.
    """
    run = runs.find(tx, text)
    driven = run_messages.list_driven(tx, run.id)
    if not driven:
        raise Refused(f"the run {run.name} is not running", hint=steps.resume_run(run.name))
    return run, driven


def _set_paused(context: Context, text: str, *, is_paused: bool) -> SteeredAnswer:
    with context.writing() as tx:
        run, driven = _find_running(tx, text)
        has_changed = runs.set_paused(tx, run.id, is_paused=is_paused)
    if not has_changed:
        done = f"the run {run.name} {'is paused already' if is_paused else 'is not paused'}"
    elif is_paused:
        done = f"the run {run.name} pauses: attempts under way finish, and no other begins"
    else:
        done = f"the run {run.name} goes on"
    return SteeredAnswer(run=run.id, name=run.name, sessions=[one.id for one in driven], done=done)


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
    if not said.strip():
        raise InvalidInput("the message is empty", hint="write what the agent should know")
    with context.writing() as tx:
        run, driven = _find_running(tx, args.id)
        chosen = [one for one in driven if one.id == args.id]
        if not chosen and args.id not in (run.id, run.name):
            raise Refused(f"nobody works in {args.id} now", hint=f"send it to all agents of the run: {run.name}")
        # A session is bound to a task while an agent works on it.
        chosen = chosen or [one for one in driven if one.task_id] or driven[:1]
        run_messages.send(tx, run.id, [one.id for one in chosen], "message", body=said)
    names = ", ".join(one.id for one in chosen)
    done = f"the agent{'s' if len(chosen) > 1 else ''} of {names} will read it after this turn"
    return SteeredAnswer(run=run.id, name=run.name, sessions=[one.id for one in chosen], done=done)


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
        run, driven = _find_running(tx, args.id)
        run_messages.send(tx, run.id, [one.id for one in driven], "stop")
    told: set[str] = {one.id for one in driven}
    left = _wait_for_end(context, run, told, seconds=args.wait)
    context.exit_code = 1 if left else 0
    still = tuple(sorted({one.place or one.id for one in left}))
    return StoppedAnswer(run=run.id, name=run.name, sessions=sorted(told), has_stopped=not left, still_running=still)


def _wait_for_end(context: Context, run: RunRecord, told: set[str], *, seconds: float) -> list[SessionRecord]:
    """Waits until nothing drives the sessions that were told to stop. Returns those that are still driven."""
    until = time.monotonic() + seconds
    while True:
        with context.reading() as tx:
            left = [one for one in run_messages.list_driven(tx, run.id) if one.id in told]
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
        entry = _find_entry(tx, args.id)
        said = " ".join(args.text)
        if not said and entry.kind != "ended":
            hint = (
                f"answer with one of: {', '.join(entry.options)}" if entry.options else "write the answer after the id"
            )
            raise InvalidInput(f"no answer to {entry.id}: {entry.title}", hint=hint)
        return AnsweredAttention(attention=attention_answers.answer(tx, entry, said))


def _find_entry(tx: "Reader", text: str) -> Attention:
    """What is named, or the only thing that waits in the run or the session that is named."""
    if (entry := attention_answers.find_entry(tx, text)) is not None:
        return entry
    run = runs.find(tx, text)
    waiting = [one for one in attention.list_open(tx, run=run.id) if text in (run.id, run.name, one.session)]
    if not waiting:
        raise NotFound(f"nothing waits for you in {text[:60]!r}", hint=steps.SHOW_STATUS)
    if len(waiting) > 1:
        listed = "; ".join(f"{one.id} {one.kind}: {one.title[:60]}" for one in waiting[:10])
        raise Refused(f"several things wait in {text[:60]!r}", hint=f"name one of: {listed}")
    return waiting[0]
