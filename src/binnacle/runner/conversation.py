"""The conversation with the agent of one iteration: prompts, updates, and answers to its requests."""

import asyncio
from dataclasses import replace

from binnacle.runner import run_events
from binnacle.runner.agents.acp_session import AcpSession
from binnacle.runner.agents.permissions import AskPermission, PermissionDecision, PermissionRequest
from binnacle.runner.agents.turn import Turn
from binnacle.runner.iteration_spending import IterationSpending
from binnacle.runner.observed_commands import ObservedCommands
from binnacle.runner.ports import Worker
from binnacle.runner.repetition import RepetitionWatch
from binnacle.runner.run_control import RunControl, RunStopped
from binnacle.runner.run_events import Tell
from binnacle.runner.transcript import Transcript
from binnacle.wire import acp

MAX_WARNINGS = 1
"""How often an agent that repeats itself is told so before its attempt ends."""

REPEATING_WARNING = (
    "You were interrupted because you did the same again and again without a new result: {what}. Do not do it once "
    "more. Say what you know, try another way, or, if there is none, say why with the tool that reports it, write the "
    "summary and stop."
)


class Conversation:
    """Prompts one session of an agent, records and reports what it does, and answers its requests."""

    def __init__(
        self,
        session: AcpSession,
        *,
        worker: Worker,
        task: str,
        tell: Tell,
        transcript: Transcript,
        decide: AskPermission,
        control: RunControl,
        spent: IterationSpending,
        cost_left: float | None = None,
    ) -> None:
        """`task` is the task of the agent, if it has one; `cost_left` is what this iteration may cost."""
        self._session = session
        self._worker = worker.number
        self._worker_session, self._folder, self._task = worker.session, worker.cwd, task
        self._tell = tell
        self._transcript = transcript
        self._decide = decide
        self._control = control
        self._spent = spent
        self._cost_left = cost_left
        self._repetition = RepetitionWatch()
        self.observed = ObservedCommands()
        self._warnings = 0
        self._ignores_cancel = False
        self._breaking_off = asyncio.Event()
        self.is_broken_off = False
        """Whether the run was stopped, or has used up its budget."""

        self.is_over_limit = False
        """Whether the task of the agent costs too much."""

        self.last_words = ""

    @property
    def is_repeating(self) -> bool:
        """Whether the agent did the same again and again, although it was told, or cannot be told."""
        return self._repetition.found != "" and (self._warnings >= MAX_WARNINGS or self._ignores_cancel)

    @property
    def is_over(self) -> bool:
        """Whether the agent gets no further prompt."""
        return self.is_broken_off or self.is_over_limit or self.is_repeating

    @property
    def wants_warning(self) -> bool:
        """Whether the agent repeats itself and has not been told so."""
        return self._repetition.found != "" and not self.is_over

    def take_warning(self) -> str:
        """The message for an agent that repeats itself."""
        said = REPEATING_WARNING.format(what=self._repetition.found)
        self._warnings += 1
        self._repetition = RepetitionWatch()
        self._breaking_off.clear()
        return said

    def break_off(self) -> None:
        """Ends the conversation: the run was stopped, or has used up its budget."""
        self.is_broken_off = True
        self._breaking_off.set()

    async def say(self, text: str, *, silence: float, within: float) -> Turn | None:
        """One turn; None if it was interrupted and the agent does not stop.

        Raises:
            AgentError: the turn failed; the message says why.
        """
        self._tell(run_events.AgentPrompted(worker=self._worker, text=text))
        self._transcript.record_prompt(text)
        take_back = self._control.on_stop(self.break_off)
        speaking = asyncio.create_task(
            self._session.prompt(text, on_update=self._hear, ask=self._ask, silence=silence, within=within)
        )
        breaking = asyncio.create_task(self._breaking_off.wait())
        try:
            await asyncio.wait({speaking, breaking}, return_when=asyncio.FIRST_COMPLETED)
            if not speaking.done() and not await self._control.unless_hurried(self._session.cancel()):
                self._ignores_cancel = True
                return None
            turn = await speaking
        except RunStopped:
            return None
        finally:
            take_back()
            for task in (speaking, breaking):
                task.cancel()
            await asyncio.gather(speaking, breaking, return_exceptions=True)
        self._count(turn)
        self.last_words = turn.text or self.last_words
        return turn

    def _count(self, turn: Turn) -> None:
        self._transcript.record_end(turn.stop_reason)
        if turn.usage is not None and turn.usage.total_tokens:
            self._spent.add_tokens(turn.usage.total_tokens)
            self._tell(self._spent.as_event(self._worker))

    def _hear(self, update: acp.Update) -> None:
        self._transcript.record_update(update)
        if isinstance(update, acp.ToolCallStarted | acp.ToolCallChanged):
            self._repetition.see(update)
            self.observed.see(update)
            if self._repetition.found:
                self._breaking_off.set()
        for event in self._events(update):
            self._tell(event)

    def _events(self, update: acp.Update) -> list[run_events.RunEvent]:
        worker = self._worker
        match update:
            case acp.MessageChunk(content=acp.ContentBlock(text=str(text))):
                return [run_events.AgentSaid(worker=worker, text=text)]
            case acp.ThoughtChunk(content=acp.ContentBlock(text=str(text))):
                return [run_events.AgentSaid(worker=worker, text=text, is_thought=True)]
            case acp.ToolCallStarted() | acp.ToolCallChanged():
                return [
                    run_events.ToolCalled(
                        worker=worker,
                        id=update.tool_call_id,
                        title=update.title or "",
                        kind=update.kind or "",
                        status=update.status or "",
                    )
                ]
            case acp.Plan():
                return [
                    run_events.PlanTold(worker=worker, steps=tuple((one.content, one.status) for one in update.entries))
                ]
            case acp.UsageUpdate():
                return self._costs(update)
        return []

    def _costs(self, update: acp.UsageUpdate) -> list[run_events.RunEvent]:
        """Notes the total cost of the session; interrupts the turn when it exceeds the budget."""
        if update.cost is None:
            return []
        self._spent.set_cost(update.cost.amount, update.cost.currency)
        if self._spent.is_run_over_budget:
            self.break_off()
        elif self._cost_left is not None and self._spent.cost > self._cost_left:
            self.is_over_limit = True
            self._breaking_off.set()
        return [self._spent.as_event(self._worker)]

    async def _ask(self, request: PermissionRequest) -> PermissionDecision:
        asked = replace(request, session=self._worker_session, folder=self._folder, task=self._task)
        decision = await self._decide(asked)
        self._transcript.record_decision(request, decision)
        self._tell(
            run_events.PermissionDecided(
                worker=self._worker,
                title=request.title,
                kind=request.kind,
                is_allowed=decision.is_allowed,
                by=decision.by,
            )
        )
        return decision
