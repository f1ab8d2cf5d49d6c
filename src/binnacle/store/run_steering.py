"""What people do to a run from wherever they are: pause it, resume it, send its agents a message, stop it.

It is written into the store, and the processes that drive the run take it from there, on whatever machine they are.
"""

from typing import NamedTuple

from binnacle.errors import InvalidInput, NotFound, Refused
from binnacle.store import attention, attention_answers, run_messages, runs
from binnacle.store.transaction import Reader, Writer
from binnacle.work import steps
from binnacle.work.run import Attention, RunRecord
from binnacle.work.session import SessionRecord


class SteeredRun(NamedTuple):
    """What was asked of a run."""

    run: RunRecord
    sessions: list[str]
    """The sessions that it reaches."""

    said: str = ""
    """What was done, in a sentence."""


def find_running(tx: Reader, text: str) -> tuple[RunRecord, list[SessionRecord]]:
    """The run, and the sessions of it that are driven now.

    Raises:
        Refused: nothing drives it.
    """
    run = runs.find(tx, text)
    driven = run_messages.list_driven(tx, run.id)
    if not driven:
        raise Refused(f"the run {run.name} is not running", hint=steps.resume_run(run.name))
    return run, driven


def set_paused(tx: Writer, text: str, *, is_paused: bool) -> SteeredRun:
    """Pauses a run or lets it go on."""
    run, driven = find_running(tx, text)
    has_changed = runs.set_paused(tx, run.id, is_paused=is_paused)
    if not has_changed:
        said = f"the run {run.name} {'is paused already' if is_paused else 'is not paused'}"
    elif is_paused:
        said = f"the run {run.name} pauses: attempts under way finish, and no other begins"
    else:
        said = f"the run {run.name} goes on"
    return SteeredRun(run, [one.id for one in driven], said)


def send_message(tx: Writer, text: str, said: str) -> SteeredRun:
    """Sends a message to the agent of a session, or to all agents of a run that are at work."""
    if not said.strip():
        raise InvalidInput("the message is empty", hint="write what the agent should know")
    run, driven = find_running(tx, text)
    chosen = [one for one in driven if one.id == text]
    if not chosen and text not in (run.id, run.name):
        raise Refused(f"nobody works in {text} now", hint=f"send it to all agents of the run: {run.name}")
    # A session is bound to a task while an agent works on it.
    chosen = chosen or [one for one in driven if one.task_id] or driven[:1]
    run_messages.send(tx, run.id, [one.id for one in chosen], "message", body=said)
    names = ", ".join(one.id for one in chosen)
    done = f"the agent{'s' if len(chosen) > 1 else ''} of {names} will read it after this turn"
    return SteeredRun(run, [one.id for one in chosen], done)


def send_stop(tx: Writer, text: str) -> SteeredRun:
    """Tells a run to stop, on all its machines. A second time, it does not wait for its agents."""
    run, driven = find_running(tx, text)
    sessions: list[str] = [one.id for one in driven]
    run_messages.send(tx, run.id, sessions, "stop")
    return SteeredRun(run, sessions, f"the run {run.name} was told to stop")


def list_left(tx: Reader, stopped: SteeredRun) -> list[SessionRecord]:
    """The sessions of a run that were told to stop and are still driven."""
    return [one for one in run_messages.list_driven(tx, stopped.run.id) if one.id in stopped.sessions]


def answer(tx: Writer, text: str, said: str) -> Attention:
    """Answers what waits for a person, named by its id or by the run or the session in which only it waits."""
    return attention_answers.answer(tx, _find_entry(tx, text), said)


def _find_entry(tx: Reader, text: str) -> Attention:
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
