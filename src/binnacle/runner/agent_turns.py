"""The turns of the agent of one iteration: what it is prompted with, one after another.

Its task; what people sent meanwhile; a reminder of what it has not said; the output of hooks; and, if it calls its task
done and checks show that it is not, what is missing, at most `MAX_FIX_TURNS` times. Who does the work at once is
prompted once.
"""

import time

from binnacle.runner.agents.agent_failures import error_of_limit
from binnacle.runner.agents.rate_limits import limit_in_words
from binnacle.runner.budget import seconds_left
from binnacle.runner.conversation import Conversation
from binnacle.runner.iteration_order import IterationOrder
from binnacle.runner.iteration_spending import IterationSpending
from binnacle.runner.ports import Worker
from binnacle.runner.run_context import RunContext
from binnacle.runner.run_control import RunStopped

REMINDER = "Before you stop: {missing}. Start no other task."
SUMMARY_MISSING = "write the summary of this iteration with {tool}: what was done, and what comes next"
STATUS_MISSING = (
    "your task is still in progress; set it to done with {tool} if all of it is done, or else say there why not"
)
VERDICT_MISSING = "give your verdict on the change with {tool}; nothing else that you say counts"
REPORT_MISSING = "report how the work on your task ended with {tool}, or with the tool for another outcome"
HOOK_OUTPUT_INTRODUCTION = (
    "After this iteration a check of the project reported the following. Fix it; start no other task.\n\n"
)
MAX_FIX_TURNS = 2
"""How often in one attempt an agent is told why its task is not done, and goes on."""

UNPROVEN_INTRODUCTION = (
    "You called the task done, and Binnacle ran its checks on the commit with your changes. This is missing:\n\n"
    "{missing}\n\n"
    "Fix the cause, and leave what judges your work as it is. Then say again that the task is done, in the same way as "
    "before; if you cannot finish it, report that instead. Start no other task."
)


class AgentTurns:
    """The turns of one agent. `make` is called once."""

    def __init__(
        self,
        context: RunContext,
        worker: Worker,
        conversation: Conversation,
        order: IterationOrder,
        spent: IterationSpending,
    ) -> None:
        self._context = context
        self._worker = worker
        self._conversation = conversation
        self._order = order
        self._spent = spent
        within = context.options.within
        self._until = time.monotonic() + min(within, order.within or within)

    async def make(self, prompt: str) -> None:
        """Prompts the agent until there is nothing left to say to it.

        Raises:
            AgentError: the agent failed.
            HookFailed: a required hook failed.
        """
        if not await self._pass_on_and_remind(prompt):
            return
        if (said := await self._run_hooks()) and not await self._pass_on(HOOK_OUTPUT_INTRODUCTION + said):
            return
        for turn in range(MAX_FIX_TURNS + 1):
            missing = await self._find_missing()
            if not missing or turn == MAX_FIX_TURNS:
                return
            if not await self._pass_on_and_remind(UNPROVEN_INTRODUCTION.format(missing=missing)):
                return

    async def _run_hooks(self) -> str:
        if not self._order.has_hooks:
            return ""
        return await self._context.run_hooks("post_iteration", self._worker, iteration=self._order.number)

    async def _find_missing(self) -> str:
        """What is missing before the task is done. The time of the checks is not the agent's."""
        if self._order.find_missing is None:
            return ""
        began = time.monotonic()
        try:
            return await self._order.find_missing()
        except RunStopped:
            self._conversation.break_off()
            return ""
        finally:
            took = time.monotonic() - began
            self._until += took
            self._spent.leave_out(took)

    async def _pass_on_and_remind(self, text: str) -> bool:
        """Prompts the agent, and then reminds it of what it has not said. Returns whether it can be prompted again."""
        if not await self._pass_on(text):
            return False
        reminder = await self._find_reminder()
        return not reminder or await self._pass_on(reminder)

    async def _pass_on(self, text: str) -> bool:
        """Prompts the agent, and then gives it what people sent meanwhile."""
        can_go_on = await self._say(text)
        while can_go_on and (messages := self._context.control.take_messages(self._worker.session)):
            can_go_on = await self._say("\n\n".join(messages))
        return can_go_on

    async def _say(self, text: str) -> bool:
        """Prompts the agent. Returns whether it can be prompted again."""
        context, conversation = self._context, self._conversation
        left = [self._until - time.monotonic(), seconds_left(context.options.budget, context.spent)]
        within = max(1.0, min(bound for bound in left if bound is not None))
        turn = await conversation.say(text, silence=context.options.silence, within=within)
        if turn is not None and not turn.tool_calls and (limit := limit_in_words(turn.text)) is not None:
            raise error_of_limit(self._order.choice.agent, turn.text.strip()[:200], limit.after)
        if turn is not None and conversation.wants_warning:
            return await self._say(conversation.take_warning())
        return turn is not None and not conversation.is_over

    async def _find_reminder(self) -> str:
        """What the agent has not said yet, as a prompt; empty if nothing is missing."""
        store, session, task = self._context.store, self._worker.session, self._order.task
        tools = self._context.services.tool_names(session)
        missing = []
        if self._order.has_verdict is not None and not await self._order.has_verdict() and "review_verdict" in tools:
            missing.append(VERDICT_MISSING.format(tool=tools["review_verdict"]))
        if task and not await store.is_reported(session, task):
            if "report_done" in tools:
                missing.append(REPORT_MISSING.format(tool=tools["report_done"]))
            elif "task_update" in tools or "task_status" in tools:
                missing.append(STATUS_MISSING.format(tool=tools.get("task_update") or tools["task_status"]))
        if "iteration_summary" in tools and not (await store.current_iteration(session)).summary:
            missing.append(SUMMARY_MISSING.format(tool=tools["iteration_summary"]))
        return REMINDER.format(missing=", and ".join(missing)) if missing else ""
