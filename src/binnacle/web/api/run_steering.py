"""What a person does to a run on the page: the same as `bn session pause`, `resume`, `message` and `stop`."""

from msgspec import Struct

from binnacle.store import run_steering
from binnacle.store.run_steering import SteeredRun
from binnacle.web.endpoints import acts
from binnacle.web.page_project import PageProject


class SteerRun(Struct, frozen=True, kw_only=True):
    """A run, by its id, its name or one of its sessions."""

    run: str


class MessageRun(Struct, frozen=True, kw_only=True):
    """A message for the agents of a run, or for one of them by its session."""

    run: str
    text: str


class RunSteeringResult(Struct, frozen=True, kw_only=True):
    """What was asked of a run."""

    run: str
    name: str
    sessions: list[str]
    """The sessions that it reaches."""

    said: str
    """What was done, in a sentence."""


@acts("pause_run")
async def pause_run(project: PageProject, asked: SteerRun) -> RunSteeringResult:
    """Lets attempts under way finish, and no other begin."""
    return _result(await project.write(lambda tx: run_steering.set_paused(tx, asked.run, is_paused=True)))


@acts("resume_run")
async def resume_run(project: PageProject, asked: SteerRun) -> RunSteeringResult:
    """Lets a paused run go on. One that is interrupted or has ended is started again (`start_run`)."""
    return _result(await project.write(lambda tx: run_steering.set_paused(tx, asked.run, is_paused=False)))


@acts("message_run")
async def message_run(project: PageProject, asked: MessageRun) -> RunSteeringResult:
    """Sends a message, which agents read after their turn."""
    return _result(await project.write(lambda tx: run_steering.send_message(tx, asked.run, asked.text)))


@acts("stop_run")
async def stop_run(project: PageProject, asked: SteerRun) -> RunSteeringResult:
    """Tells a run to stop, on all its machines. The page sees its end by the events of the run."""
    return _result(await project.write(lambda tx: run_steering.send_stop(tx, asked.run)))


def _result(steered: SteeredRun) -> RunSteeringResult:
    return RunSteeringResult(run=steered.run.id, name=steered.run.name, sessions=steered.sessions, said=steered.said)
