"""One iteration: a fresh agent is given its tools and its prompt, and works until it has summed up what it did."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import msgspec

from binnacle.config.atomic_write import write_atomically
from binnacle.errors import BinnacleError
from binnacle.runner import events
from binnacle.runner.acp.agent import Agent, open_agent
from binnacle.runner.acp.codex import with_servers
from binnacle.runner.acp.failures import limited
from binnacle.runner.acp.session import Session
from binnacle.runner.budget import seconds_left
from binnacle.runner.control import Stopped
from binnacle.runner.conversation import Conversation
from binnacle.runner.desk import PLANNING, Seat
from binnacle.runner.job import Job
from binnacle.runner.ledger import Begun
from binnacle.runner.limits import limit_in_words
from binnacle.runner.moments import run_hooks
from binnacle.runner.transcript import Transcript
from binnacle.wire import acp

MEMO = "agent.json"
"""Of a session: which session of the agent its iteration is in."""

NUDGE = (
    "You have not written the summary of this iteration. Do so now with the tool for it: what was done, and what comes "
    "next. Start no other task."
)
FIX = "After this iteration a check of the project said the following. Mend what it is about; start no other task.\n\n"
GOES_ON = "This iteration was broken off before it was finished. See what is there already, and go on from that."
HOLDS = "You hold the task {id} ({title}) from before: go on with it, and take no other in this iteration."


class Finished(NamedTuple):
    """What came of an iteration."""

    number: int
    summary: str
    task: str
    is_broken_off: bool
    """Whether it was stopped before its end. It is gone on with."""


async def iterate(job: Job, seat: Seat, *, is_planning: bool = False) -> Finished:
    """Makes one iteration, or goes on with one that was broken off.

    Raises:
        AgentError: the agent failed; the iteration is left to be gone on with.
        HookFailed: a hook that must not fail did.
    """
    begun = await job.ledger.begin(seat.session, is_planning=is_planning)
    held = begun.held.id if begun.held else ""
    job.tell(events.IterationStarted(worker=seat.number, number=begun.number, goes_on=begun.goes_on, task=held))
    started = time.monotonic()
    with Transcript(job.desk.folder(seat.session)) as transcript:
        transcript.iteration(begun.number)
        talked = await _talk(job, seat, begun, transcript, is_planning=is_planning)
    if talked is None or talked.is_broken_off:
        return Finished(begun.number, "", held, is_broken_off=True)
    ended = await job.ledger.finish(seat.session, last_words=talked.last_words)
    _forget(job, seat)
    seconds = round(time.monotonic() - started, 1)
    task = ended.task_started or ""
    job.tell(
        events.IterationEnded(
            worker=seat.number, number=ended.number, summary=ended.summary, task=task, seconds=seconds
        )
    )
    return Finished(ended.number, ended.summary, task, is_broken_off=False)


async def _talk(
    job: Job, seat: Seat, begun: Begun, transcript: Transcript, *, is_planning: bool
) -> Conversation | None:
    """Has an agent work, from its start to its end; None if the run was stopped before it had started.

    The server it uses outlives it.
    """
    recipe = PLANNING if is_planning else job.options.recipe
    if not is_planning and (said := await run_hooks(job, "pre_iteration", seat, iteration=begun.number)):
        job.pending.append(said)
    prompt = await job.desk.prompt(seat.session, recipe, iteration=begun.number, more=_more(job, begun))
    async with job.desk.serve(seat.session, recipe) as servers, AsyncExitStack() as stack:
        agent = open_agent(
            job.keeper,
            with_servers(job.options.agent, servers),
            cwd=seat.cwd,
            env=job.desk.environment(seat.session),
            log=os.path.join(job.desk.folder(seat.session), "agent.log"),
        )
        try:
            opened = await job.control.unless_stopped(stack.enter_async_context(agent))
            opening = _open(job, seat, opened, servers, goes_on=begun.goes_on)
            session = await job.control.unless_stopped(opening)
        except Stopped:
            return None
        conversation = Conversation(
            session,
            worker=seat.number,
            tell=job.tell,
            transcript=transcript,
            decide=job.decide,
            control=job.control,
            budget=job.options.budget,
            spent=job.spent,
        )
        async with _alive(job, seat, session):
            await _lead(job, seat, conversation, prompt, is_planning=is_planning)
    return conversation


def _more(job: Job, begun: Begun) -> str:
    said = [GOES_ON] if begun.goes_on else []
    said += [HOLDS.format(id=begun.held.id, title=begun.held.title)] if begun.held else []
    said += job.pending
    job.pending.clear()
    return "\n\n".join(said)


async def _open(job: Job, seat: Seat, agent: Agent, servers: Sequence[acp.McpServer], *, goes_on: bool) -> Session:
    """A session of the agent: that of the iteration that is gone on with, if the agent still knows it."""
    before = _remembered(job, seat) if goes_on else None
    session = await agent.open(servers=servers, cwd=seat.cwd, resume=before)
    _remember(job, seat, session.id)
    name = job.options.agent.name
    job.tell(
        events.AgentStarted(worker=seat.number, agent=name, agent_session=session.id, was_loaded=session.was_loaded)
    )
    return session


async def _lead(job: Job, seat: Seat, conversation: Conversation, prompt: str, *, is_planning: bool) -> None:
    """Says everything there is to say in an iteration."""
    options = job.options
    until = time.monotonic() + options.within

    async def say(text: str) -> bool:
        """Whether the agent is still there to listen."""
        left = [until - time.monotonic(), seconds_left(options.budget, job.spent)]
        within = max(1.0, min(bound for bound in left if bound is not None))
        turn = await conversation.say(text, silence=options.silence, within=within)
        if turn is not None and (limit := limit_in_words(turn.text)) is not None and not turn.tool_calls:
            raise limited(options.agent, turn.text.strip()[:200], limit.after)
        return turn is not None and not conversation.is_broken_off

    if not await say(prompt):
        return
    for message in job.control.take_messages():
        if not await say(message):
            return
    if not (await job.ledger.current(seat.session)).summary and not await say(NUDGE):
        return
    if not is_planning:
        iteration = (await job.ledger.current(seat.session)).number
        if said := await run_hooks(job, "post_iteration", seat, iteration=iteration):
            await say(FIX + said)


@asynccontextmanager
async def _alive(job: Job, seat: Seat, session: Session) -> AsyncIterator[None]:
    """Takes an agent for alive that works without calling tools, or waits for one of ours.

    What it holds does not lapse in the one case, and it is not silent in the other.
    """

    async def renew() -> None:
        while True:
            await asyncio.sleep(job.ledger.lease / 3)
            # The next time tries again; a store that stays away shows in the calls of the agent.
            with contextlib.suppress(BinnacleError):
                await job.ledger.renew(seat.session)

    async def touch() -> None:
        while True:
            await asyncio.sleep(min(1.0, job.options.silence / 3))
            if job.desk.is_busy(seat.session):
                session.touch()

    beating = [asyncio.create_task(renew()), asyncio.create_task(touch())]
    try:
        yield
    finally:
        for task in beating:
            task.cancel()
        await asyncio.gather(*beating, return_exceptions=True)


def _memo(job: Job, seat: Seat) -> str:
    return os.path.join(job.desk.folder(seat.session), MEMO)


def _remember(job: Job, seat: Seat, agent_session: str) -> None:
    memo = {"agent": job.options.agent.name, "session": agent_session}
    write_atomically(_memo(job, seat), msgspec.json.encode(memo))


def _remembered(job: Job, seat: Seat) -> str | None:
    """The session of this agent in which the iteration was begun."""
    try:
        with open(_memo(job, seat), "rb") as file:
            memo = msgspec.json.decode(file.read(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return None
    return memo.get("session") if memo.get("agent") == job.options.agent.name else None


def _forget(job: Job, seat: Seat) -> None:
    with contextlib.suppress(OSError):
        os.unlink(_memo(job, seat))
