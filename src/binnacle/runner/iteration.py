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
from binnacle.plan.prompt_data import RunSituation
from binnacle.runner import run_events
from binnacle.runner.agents.acp_agent import AcpAgent, open_agent
from binnacle.runner.agents.acp_session import AcpSession
from binnacle.runner.agents.agent_failures import error_of_limit
from binnacle.runner.agents.codex import with_servers
from binnacle.runner.agents.rate_limits import limit_in_words
from binnacle.runner.budget import seconds_left
from binnacle.runner.conversation import Conversation
from binnacle.runner.iteration_spending import IterationSpending
from binnacle.runner.ports import AgentChoice, Stage, Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.run_control import RunStopped
from binnacle.runner.transcript import Transcript
from binnacle.wire import acp
from binnacle.work.session import SessionTerms

AGENT_SESSION_FILE = "agent.json"
"""A file of a session, with an `AgentSessionMemo`."""

REMINDER = "Before you stop: {missing}. Start no other task."
SUMMARY_MISSING = "write the summary of this iteration with {tool}: what was done, and what comes next"
STATUS_MISSING = (
    "your task is still in progress; set it to done with {tool} if all of it is done, or else say there why not"
)
REPORT_MISSING = "report how the work on your task ended with {tool}, or with the tool for another outcome"
HOOK_OUTPUT_INTRODUCTION = (
    "After this iteration a check of the project reported the following. Fix it; start no other task.\n\n"
)
RESUMED_NOTE = "This iteration was interrupted. See what is already done, and continue from there."


class AgentSessionMemo(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's own session in which an iteration runs, as kept in `AGENT_SESSION_FILE`."""

    agent: str
    session: str
    cost_before: float = 0.0
    """What other sessions of agents in the same iteration cost before it."""


class IterationOrder(NamedTuple):
    """What one iteration is to do."""

    number: int
    goes_on: bool
    """Whether it began earlier and was interrupted."""

    stage: Stage
    choice: AgentChoice
    terms: SessionTerms
    situation: RunSituation | None = None
    task: str = ""
    within: float | None = None
    """Seconds that it may take, if its task has little time left."""

    cost_left: float | None = None
    """What it may cost, with what it cost before it was interrupted; the other attempts at its task had the rest."""

    plans: str = ""
    """Of a planner, its part, if there are several."""


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
            plans=order.plans,
        )
    )
    agent = order.choice.agent
    await context.store.note_agent(worker.session, number, agent.name, agent.model or "")
    spent = await IterationSpending.load(context, worker.session, number)
    try:
        with Transcript(context.services.folder(worker.session)) as transcript:
            transcript.begin_iteration(number)
            conversation = await _run_agent(context, worker, order, transcript, spent)
    finally:
        await spent.save()
    if conversation is None or conversation.is_broken_off:
        return FinishedIteration(number, "", is_broken_off=True)
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
    if order.stage != "plan" and (said := await context.run_hooks("pre_iteration", worker, iteration=order.number)):
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
            await _converse(context, worker, conversation, prompt, order)
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


async def _converse(
    context: RunContext, worker: Worker, conversation: Conversation, prompt: str, order: IterationOrder
) -> None:
    """Prompts the agent: the task, messages of people, a reminder of the summary, the output of hooks."""
    options = context.options
    until = time.monotonic() + min(options.within, order.within or options.within)

    async def say(text: str) -> bool:
        """Prompts the agent. Returns whether it can be prompted again."""
        left = [until - time.monotonic(), seconds_left(options.budget, context.spent)]
        within = max(1.0, min(bound for bound in left if bound is not None))
        turn = await conversation.say(text, silence=options.silence, within=within)
        if turn is not None and not turn.tool_calls and (limit := limit_in_words(turn.text)) is not None:
            raise error_of_limit(order.choice.agent, turn.text.strip()[:200], limit.after)
        if turn is not None and conversation.wants_warning:
            return await say(conversation.take_warning())
        return turn is not None and not conversation.is_over

    async def pass_on(text: str) -> bool:
        """Prompts the agent, and then gives it what people sent meanwhile."""
        can_go_on = await say(text)
        while can_go_on and (messages := context.control.take_messages(worker.session)):
            can_go_on = await say("\n\n".join(messages))
        return can_go_on

    if not await pass_on(prompt):
        return
    if (reminder := await _reminder(context, worker, order)) and not await pass_on(reminder):
        return
    if order.stage != "plan" and (said := await context.run_hooks("post_iteration", worker, iteration=order.number)):
        await pass_on(HOOK_OUTPUT_INTRODUCTION + said)


async def _reminder(context: RunContext, worker: Worker, order: IterationOrder) -> str:
    """What the agent has not said yet, as a prompt; empty if nothing is missing."""
    tools = context.services.tool_names(worker.session)
    missing = []
    if order.task and not await context.store.is_reported(worker.session, order.task):
        if "report_done" in tools:
            missing.append(REPORT_MISSING.format(tool=tools["report_done"]))
        elif "task_update" in tools or "task_status" in tools:
            missing.append(STATUS_MISSING.format(tool=tools.get("task_update") or tools["task_status"]))
    if "iteration_summary" in tools and not (await context.store.current_iteration(worker.session)).summary:
        missing.append(SUMMARY_MISSING.format(tool=tools["iteration_summary"]))
    return REMINDER.format(missing=", and ".join(missing)) if missing else ""


@asynccontextmanager
async def _keep_alive(
    context: RunContext, worker: Worker, session: AcpSession, spent: IterationSpending
) -> AsyncIterator[None]:
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

    beating = [asyncio.create_task(renew()), asyncio.create_task(touch()), asyncio.create_task(spent.keep_saved())]
    try:
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
