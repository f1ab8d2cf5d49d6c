"""One iteration: a fresh agent gets its tools and its prompt, and works until it writes its summary."""

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
from binnacle.runner import run_events
from binnacle.runner.agents.acp_agent import AcpAgent, open_agent
from binnacle.runner.agents.acp_session import AcpSession
from binnacle.runner.agents.agent_failures import error_of_limit
from binnacle.runner.agents.codex import with_servers
from binnacle.runner.agents.rate_limits import limit_in_words
from binnacle.runner.budget import seconds_left
from binnacle.runner.conversation import Conversation
from binnacle.runner.ports import PLANNING_RECIPE, Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.run_control import RunStopped
from binnacle.runner.run_store import BegunIteration
from binnacle.runner.transcript import Transcript
from binnacle.wire import acp

AGENT_SESSION_FILE = "agent.json"
"""A file of a session: the agent's own session in which its iteration runs."""

SUMMARY_REMINDER = (
    "You have not written the summary of this iteration. Do so now with the tool for it: what was done, and what comes "
    "next. Start no other task."
)
HOOK_OUTPUT_INTRODUCTION = (
    "After this iteration a check of the project reported the following. Fix it; start no other task.\n\n"
)
RESUMED_NOTE = "This iteration was interrupted. See what is already done, and continue from there."
HELD_TASK_NOTE = "You still hold the task {id} ({title}): continue with it, and take no other in this iteration."


class FinishedIteration(NamedTuple):
    """The result of an iteration."""

    number: int
    summary: str
    task: str
    is_broken_off: bool
    """Whether it was stopped before its end. The next one resumes it."""


async def iterate(context: RunContext, worker: Worker, *, is_planning: bool = False) -> FinishedIteration:
    """Makes one iteration, or resumes an interrupted one.

    Raises:
        AgentError: the agent failed; the next call resumes the iteration.
        HookFailed: a required hook failed.
    """
    begun = await context.store.begin_iteration(worker.session, is_planning=is_planning)
    held = begun.held.id if begun.held else ""
    context.tell(
        run_events.IterationStarted(worker=worker.number, number=begun.number, goes_on=begun.goes_on, task=held)
    )
    started = time.monotonic()
    with Transcript(context.services.folder(worker.session)) as transcript:
        transcript.begin_iteration(begun.number)
        conversation = await _run_agent(context, worker, begun, transcript, is_planning=is_planning)
    if conversation is None or conversation.is_broken_off:
        return FinishedIteration(begun.number, "", held, is_broken_off=True)
    ended = await context.store.finish_iteration(worker.session, last_words=conversation.last_words)
    _forget_agent_session(context, worker)
    seconds = round(time.monotonic() - started, 1)
    task = ended.task_started or ""
    context.tell(
        run_events.IterationEnded(
            worker=worker.number, number=ended.number, summary=ended.summary, task=task, seconds=seconds
        )
    )
    return FinishedIteration(ended.number, ended.summary, task, is_broken_off=False)


async def _run_agent(
    context: RunContext, worker: Worker, begun: BegunIteration, transcript: Transcript, *, is_planning: bool
) -> Conversation | None:
    """Runs an agent from its start to its end; None if the run was stopped before it started.

    The server it uses outlives it.
    """
    recipe = PLANNING_RECIPE if is_planning else context.options.recipe
    if not is_planning and (said := await context.run_hooks("pre_iteration", worker, iteration=begun.number)):
        context.pending.append(said)
    prompt = await context.services.prompt(
        worker.session, recipe, iteration=begun.number, more=_extra_text(context, begun)
    )
    async with context.services.serve(worker.session, recipe) as servers, AsyncExitStack() as stack:
        agent = open_agent(
            context.keeper,
            with_servers(context.options.agent, servers),
            cwd=worker.cwd,
            env=context.services.environment(worker.session),
            log=os.path.join(context.services.folder(worker.session), "agent.log"),
        )
        try:
            opened = await context.control.unless_stopped(stack.enter_async_context(agent))
            opening = _open(context, worker, opened, servers, goes_on=begun.goes_on)
            session = await context.control.unless_stopped(opening)
        except RunStopped:
            return None
        conversation = Conversation(
            session,
            worker=worker.number,
            tell=context.tell,
            transcript=transcript,
            decide=context.decide,
            control=context.control,
            budget=context.options.budget,
            spent=context.spent,
        )
        async with _keep_alive(context, worker, session):
            await _converse(context, worker, conversation, prompt, is_planning=is_planning)
    return conversation


def _extra_text(context: RunContext, begun: BegunIteration) -> str:
    said = [RESUMED_NOTE] if begun.goes_on else []
    said += [HELD_TASK_NOTE.format(id=begun.held.id, title=begun.held.title)] if begun.held else []
    said += context.pending
    context.pending.clear()
    return "\n\n".join(said)


async def _open(
    context: RunContext, worker: Worker, agent: AcpAgent, servers: Sequence[acp.McpServer], *, goes_on: bool
) -> AcpSession:
    """A session of the agent: that of the resumed iteration, if the agent can load it."""
    before = _load_agent_session(context, worker) if goes_on else None
    session = await agent.open(servers=servers, cwd=worker.cwd, resume=before)
    _save_agent_session(context, worker, session.id)
    name = context.options.agent.name
    context.tell(
        run_events.AgentStarted(
            worker=worker.number, agent=name, agent_session=session.id, was_loaded=session.was_loaded
        )
    )
    return session


async def _converse(
    context: RunContext, worker: Worker, conversation: Conversation, prompt: str, *, is_planning: bool
) -> None:
    """Prompts the agent: the task, messages of people, a reminder of the summary, the output of hooks."""
    options = context.options
    until = time.monotonic() + options.within

    async def say(text: str) -> bool:
        """Prompts the agent. Returns whether it can be prompted again."""
        left = [until - time.monotonic(), seconds_left(options.budget, context.spent)]
        within = max(1.0, min(bound for bound in left if bound is not None))
        turn = await conversation.say(text, silence=options.silence, within=within)
        if turn is not None and (limit := limit_in_words(turn.text)) is not None and not turn.tool_calls:
            raise error_of_limit(options.agent, turn.text.strip()[:200], limit.after)
        return turn is not None and not conversation.is_broken_off

    if not await say(prompt):
        return
    for message in context.control.take_messages():
        if not await say(message):
            return
    if not (await context.store.current_iteration(worker.session)).summary and not await say(SUMMARY_REMINDER):
        return
    if not is_planning:
        iteration = (await context.store.current_iteration(worker.session)).number
        if said := await context.run_hooks("post_iteration", worker, iteration=iteration):
            await say(HOOK_OUTPUT_INTRODUCTION + said)


@asynccontextmanager
async def _keep_alive(context: RunContext, worker: Worker, session: AcpSession) -> AsyncIterator[None]:
    """Shows that the agent is alive while it works without calling tools, or waits for one of our tools.

    In the first case its claims are renewed; in the second its silence does not count.
    """

    async def renew() -> None:
        while True:
            await asyncio.sleep(context.store.lease / 3)
            # The next round tries again; a store that stays away fails the agent's calls.
            with contextlib.suppress(BinnacleError):
                await context.store.renew_claims(worker.session)

    async def touch() -> None:
        while True:
            await asyncio.sleep(min(1.0, context.options.silence / 3))
            if context.services.is_busy(worker.session):
                session.touch()

    beating = [asyncio.create_task(renew()), asyncio.create_task(touch())]
    try:
        yield
    finally:
        for task in beating:
            task.cancel()
        await asyncio.gather(*beating, return_exceptions=True)


def _agent_session_path(context: RunContext, worker: Worker) -> str:
    return os.path.join(context.services.folder(worker.session), AGENT_SESSION_FILE)


def _save_agent_session(context: RunContext, worker: Worker, agent_session: str) -> None:
    memo = {"agent": context.options.agent.name, "session": agent_session}
    write_atomically(_agent_session_path(context, worker), msgspec.json.encode(memo))


def _load_agent_session(context: RunContext, worker: Worker) -> str | None:
    """The agent's session in which the iteration began."""
    try:
        with open(_agent_session_path(context, worker), "rb") as file:
            memo = msgspec.json.decode(file.read(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return None
    return memo.get("session") if memo.get("agent") == context.options.agent.name else None


def _forget_agent_session(context: RunContext, worker: Worker) -> None:
    with contextlib.suppress(OSError):
        os.unlink(_agent_session_path(context, worker))
