"""One iteration: a fresh agent gets its tools and its prompt, and works until it writes its summary."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import msgspec

from binnacle.config.atomic_write import write_atomically
from binnacle.runner import run_events
from binnacle.runner.agent_turns import AgentTurns
from binnacle.runner.agents.acp_agent import AcpAgent, open_agent
from binnacle.runner.agents.acp_session import AcpSession
from binnacle.runner.agents.codex import with_servers
from binnacle.runner.conversation import Conversation
from binnacle.runner.iteration_order import IterationOrder
from binnacle.runner.iteration_spending import IterationSpending
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.run_control import RunStopped
from binnacle.runner.transcript import Transcript
from binnacle.wire import acp

AGENT_SESSION_FILE = "agent.json"
"""A file of a session, with an `AgentSessionMemo`."""

RESUMED_NOTE = "This iteration was interrupted. See what is already done, and continue from there."


class AgentSessionMemo(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's own session in which an iteration runs, as kept in `AGENT_SESSION_FILE`."""

    agent: str
    session: str
    cost_before: float = 0.0
    """What other sessions of agents in the same iteration cost before it."""


class FinishedIteration(NamedTuple):
    """The result of an iteration."""

    number: int
    summary: str
    is_broken_off: bool
    """Whether the run was stopped before its end. The next one resumes it."""

    is_over_limit: bool = False
    """Whether its task took too much."""

    is_repeating: bool = False
    """Whether its agent did the same again and again, although it was told."""


async def iterate(context: RunContext, worker: Worker, order: IterationOrder) -> FinishedIteration:
    """Makes one iteration, or resumes an interrupted one.

    Raises:
        AgentError: the agent failed; the next call resumes the iteration.
        HookFailed: a required hook failed.
    """
    number = order.number
    context.tell(
        run_events.IterationStarted(
            worker=worker.number,
            number=number,
            goes_on=order.goes_on,
            task=order.task,
            is_planning=order.stage == "plan",
            reviewer=order.reviewer,
            plans=order.plans,
        )
    )
    agent = order.choice.agent
    await context.store.note_agent(worker.session, number, agent.name, agent.model or "")
    spent = await IterationSpending.load(context, worker.session, number)
    try:
        call_later = asyncio.get_running_loop().call_later
        with Transcript(context.services.folder(worker.session), call_later=call_later) as transcript:
            transcript.begin_iteration(number)
            conversation = await _run_agent(context, worker, order, transcript, spent)
    finally:
        await spent.save()
    if conversation is None or conversation.is_broken_off:
        return FinishedIteration(number, "", is_broken_off=True)
    if order.task and not order.reviewer:
        await context.store.note_observed(worker.session, order.task, conversation.observed.found)
    ended = await context.store.finish_iteration(worker.session, last_words=conversation.last_words)
    _forget_agent_session(context, worker)
    context.tell(
        run_events.IterationEnded(
            worker=worker.number,
            number=number,
            summary=ended.summary,
            task=order.task,
            seconds=round(spent.seconds, 1),
        )
    )
    return FinishedIteration(
        number,
        ended.summary,
        is_broken_off=False,
        is_over_limit=conversation.is_over_limit,
        is_repeating=conversation.is_repeating,
    )


async def _run_agent(
    context: RunContext, worker: Worker, order: IterationOrder, transcript: Transcript, spent: IterationSpending
) -> Conversation | None:
    """Runs an agent from its start to its end; None if the run was stopped before it started.

    The server it uses outlives it.
    """
    agent_command = order.choice.agent
    if order.has_hooks and (said := await context.run_hooks("pre_iteration", worker, iteration=order.number)):
        context.pending.append(said)
    more = _extra_text(context, order)
    prompt = await context.services.prompt(
        worker.session, order.terms, iteration=order.number, more=more, situation=order.situation
    )
    async with (
        context.services.serve(worker.session, order.terms, agent_command.name) as servers,
        AsyncExitStack() as stack,
    ):
        agent = open_agent(
            context.keeper,
            with_servers(agent_command, servers),
            cwd=worker.cwd,
            env=context.services.environment(worker.session, agent_command.name),
            log=os.path.join(context.services.folder(worker.session), "agent.log"),
        )
        try:
            opened = await context.control.unless_stopped(stack.enter_async_context(agent))
            opening = _open(context, worker, opened, servers, order, spent)
            session = await context.control.unless_stopped(opening)
        except RunStopped:
            return None
        if session.model and session.model != agent_command.model:
            await context.store.note_agent(worker.session, order.number, agent_command.name, session.model)
        conversation = Conversation(
            session,
            worker=worker,
            task=order.task,
            tell=context.tell,
            transcript=transcript,
            decide=context.decide,
            control=context.control,
            spent=spent,
            cost_left=order.cost_left,
        )
        async with _keep_alive(context, worker, session, spent):
            await AgentTurns(context, worker, conversation, order, spent).make(prompt)
    return conversation


def _extra_text(context: RunContext, order: IterationOrder) -> str:
    said = [RESUMED_NOTE] if order.goes_on else []
    said += context.pending
    context.pending.clear()
    return "\n\n".join(said)


async def _open(
    context: RunContext,
    worker: Worker,
    agent: AcpAgent,
    servers: Sequence[acp.McpServer],
    order: IterationOrder,
    spent: IterationSpending,
) -> AcpSession:
    """A session of the agent: that of the resumed iteration, if the agent can load it."""
    name = order.choice.agent.name
    before = _load_agent_session(context, worker, name) if order.goes_on else None
    session = await agent.open(servers=servers, cwd=worker.cwd, resume=before.session if before else None)
    spent.begin(loaded_after=before.cost_before if before and session.was_loaded else None)
    memo = AgentSessionMemo(agent=name, session=session.id, cost_before=spent.cost_before)
    write_atomically(_agent_session_path(context, worker), msgspec.json.encode(memo))
    context.tell(
        run_events.AgentStarted(
            worker=worker.number, agent=name, agent_session=session.id, was_loaded=session.was_loaded
        )
    )
    return session


@asynccontextmanager
async def _keep_alive(
    context: RunContext, worker: Worker, session: AcpSession, spent: IterationSpending
) -> AsyncIterator[None]:
    """Shows that the agent is alive while it works without calling tools, or waits for one of our tools.

    In the first case its claims are renewed; in the second its silence does not count.
    """

    async def touch() -> None:
        while True:
            await asyncio.sleep(min(1.0, context.options.silence / 3))
            if context.services.is_busy(worker.session):
                session.touch()

    beating = [asyncio.create_task(touch()), asyncio.create_task(spent.keep_saved())]
    try:
        async with context.store.keep_claims(worker.session):
            yield
    finally:
        for task in beating:
            task.cancel()
        await asyncio.gather(*beating, return_exceptions=True)


def _agent_session_path(context: RunContext, worker: Worker) -> str:
    return os.path.join(context.services.folder(worker.session), AGENT_SESSION_FILE)


def _load_agent_session(context: RunContext, worker: Worker, agent: str) -> AgentSessionMemo | None:
    """The agent's session in which the iteration began."""
    try:
        with open(_agent_session_path(context, worker), "rb") as file:
            memo = msgspec.json.decode(file.read(), type=AgentSessionMemo)
    except (OSError, msgspec.DecodeError):
        return None
    return memo if memo.agent == agent else None


def _forget_agent_session(context: RunContext, worker: Worker) -> None:
    with contextlib.suppress(OSError):
        os.unlink(_agent_session_path(context, worker))
