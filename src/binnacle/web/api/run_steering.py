"""What a person does to a run on the page: the same as `bn session pause`, `resume`, `message`, `stop` and `answer`."""

from msgspec import Struct

from binnacle.store import run_steering
from binnacle.store.run_steering import SteeredRun
from binnacle.store.transaction import Writer
from binnacle.web.endpoints import acts
from binnacle.web.page_project import PageProject
from binnacle.work.run import Attention


class SteerRun(Struct, frozen=True, kw_only=True):
    """A run, by its id, its name or one of its sessions."""

    run: str


class MessageRun(Struct, frozen=True, kw_only=True):
    """A message for the agents of a run, or for one of them by its session."""

    run: str
    text: str


class AnswerAttention(Struct, frozen=True, kw_only=True):
    """An answer to what waits for a person."""

    id: str
    """Of what waits (`bnp-…`), or of a question (`bnq-…`)."""

    text: str = ""


class RunSteeringResult(Struct, frozen=True, kw_only=True):
    """What was asked of a run."""

    run: str
    name: str
    sessions: list[str]
    """The sessions that it reaches."""

    said: str
    """What was done, in a sentence."""


class AnsweredEntry(Struct, frozen=True, kw_only=True):
    """What waited for a person, with the answer."""

    attention: Attention


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


@acts("answer_attention")
async def answer_attention(project: PageProject, asked: AnswerAttention) -> AnsweredEntry:
    """Answers a permission with yes, no or always, a question with words, a review with accept or reject."""

    def answer(tx: Writer) -> Attention:
        return run_steering.answer(tx, asked.id, asked.text)

    await project.read(lambda tx: None)  # noqa: ARG005 - closes what agents asked that are gone: nobody answers them
    return AnsweredEntry(attention=await project.write(answer))


def _result(steered: SteeredRun) -> RunSteeringResult:
    return RunSteeringResult(run=steered.run.id, name=steered.run.name, sessions=steered.sessions, said=steered.said)
