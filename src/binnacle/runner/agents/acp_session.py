"""A session of an agent: opened or loaded, then prompted turn by turn."""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from binnacle.errors import AgentProtocol, AgentSilent, InvalidInput, did_you_mean
from binnacle.runner.agents import agent_failures
from binnacle.runner.agents.acp_connection import AcpConnection, result_of
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.permissions import AskPermission
from binnacle.runner.agents.tool_calls import SeenToolCalls
from binnacle.runner.agents.turn import OnUpdate, RunningTurn, Turn
from binnacle.wire import acp
from binnacle.wire.jsonrpc import UNREADABLE, RpcError

CANCEL_TIMEOUT_SECONDS = 10.0
"""Seconds for a cancelled turn to end. Agents take one or two."""

CHOICE_TIMEOUT_SECONDS = 30.0
"""Seconds for an agent to change its mode or model."""


class AcpSession:
    """An open session of an agent. Ends with the agent."""

    def __init__(
        self,
        agent: AgentCommand,
        connection: AcpConnection,
        opened: acp.SessionOpened,
        *,
        session_id: str,
        was_loaded: bool = False,
        not_loaded: str = "",
    ) -> None:
        self._agent = agent
        self._connection = connection
        self._opened = opened
        self._turn: RunningTurn | None = None
        self._calls = SeenToolCalls()
        self.id = session_id
        """The id with which the agent can load it again."""

        self.was_loaded = was_loaded
        """Whether it resumes an earlier one."""

        self.not_loaded = not_loaded
        """Why it does not, if that was wanted."""

        self.model = _find_current_model(opened)
        """The model as the agent names it; empty if it does not say."""

    @property
    def is_running(self) -> bool:
        """Whether a turn is running."""
        return self._turn is not None and not self._turn.answer.done()

    async def prompt(
        self, text: str, *, on_update: OnUpdate, ask: AskPermission, silence: float, within: float
    ) -> Turn:
        """One turn: prompts the agent and waits until it is done.

        `silence` is how many seconds it may be silent while it waits for no person, `within` how many the turn may
        take. Updates after the turn go to its `on_update`. Cancelling the caller does not end the turn: call `cancel`,
        or end the agent.

        Raises:
            AgentError: the turn failed; the message says why.
        """
        assert not self.is_running, "a turn goes on already"
        params = acp.PromptRequest(session_id=self.id, prompt=(acp.text_block(text),))
        turn = self._turn = RunningTurn(self._connection.begin(acp.PROMPT, params), on_update, ask)
        calls_before = self._calls.count
        if why := await self._wait(turn, silence=silence, within=within):
            await self.cancel()
            hint = "see its transcript and log; it may need longer than it is given"
            raise AgentSilent(f"{self._agent.name} {why}", hint=hint)
        if turn.fault is not None:
            self._connection.tell(acp.CANCEL, acp.SessionReference(session_id=self.id))
            raise turn.fault
        done = self._result(turn)
        return Turn(
            stop_reason=done.stop_reason,
            text=turn.text,
            tool_calls=self._calls.count - calls_before,
            usage=done.usage,
            context=turn.context,
        )

    async def cancel(self) -> bool:
        """Stops a running turn. Returns whether it has ended. Open requests for permission are cancelled."""
        if self._turn is None or self._turn.answer.done():
            return True
        if not self._turn.cancelled.is_set():  # an agent that ignored it once is not asked again
            self._connection.tell(acp.CANCEL, acp.SessionReference(session_id=self.id))
            self._turn.cancelled.set()
            await asyncio.wait([self._turn.answer], timeout=CANCEL_TIMEOUT_SECONDS)
        return self._turn.answer.done()

    def touch(self) -> None:
        """Notes that the agent works in another way, for example with one of our tools."""
        if self._turn is not None:
            self._turn.heard = asyncio.get_running_loop().time()

    async def set_mode(self, mode: str) -> None:
        """Chooses a mode of the agent.

        Raises:
            AgentError: it does not take it.
        """
        await self._choose(acp.SET_MODE, acp.SetMode(session_id=self.id, mode_id=mode), what=f"the mode {mode!r}")

    async def set_model(self, model: str) -> None:
        """Chooses the model, as an option of the session or by the older request of agents without such an option.

        Raises:
            InvalidInput: it offers models, but none of that name.
            AgentError: it does not take it.
        """
        option = next((one for one in self._opened.config_options or () if one.category == "model"), None)
        what = f"the model {model!r}"
        if option is not None:
            chosen = self._find_model(model, list(_values(option.options or ())))
            params = acp.SetOption(session_id=self.id, config_id=option.id, value=chosen)
            await self._choose(acp.SET_OPTION, params, what=what)
        else:
            models = self._opened.models.available_models if self._opened.models else ()
            chosen = self._find_model(model, [one.model_id for one in models])
            await self._choose(acp.SET_MODEL, acp.SetModel(session_id=self.id, model_id=chosen), what=what)
        self.model = chosen

    def hear(self, update: acp.Update) -> None:
        """Handles an update of this session."""
        if isinstance(update, acp.ToolCallFields):
            self._calls.note(update)
        if self._turn is not None:
            self._turn.hear(update)

    async def permit(self, request: acp.RequestPermission) -> acp.Permission:
        """Answers a request for permission."""
        known = self._calls.asked(request)
        outcome = acp.PermissionCancelled() if self._turn is None else await self._turn.permit(known)
        return acp.Permission(outcome=outcome)

    async def _wait(self, turn: RunningTurn, *, silence: float, within: float) -> str:
        """Waits for the end of a turn. Returns what went wrong if it took too long."""
        loop = asyncio.get_running_loop()
        turn.heard = begun = loop.time()
        while not turn.answer.done():
            now = loop.time()
            heard = now if turn.questions else max(turn.heard, self._connection.heard)
            if now >= begun + within:
                return f"was not done after {within:g} seconds"
            if now >= heard + silence:
                return f"said nothing for {silence:g} seconds"
            await asyncio.wait([turn.answer], timeout=min(heard + silence, begun + within) - now)
        return ""

    def _result(self, turn: RunningTurn) -> acp.PromptAnswer:
        try:
            return msgspec.json.decode(result_of(turn.answer.result()), type=acp.PromptAnswer)
        except RpcError as error:
            if turn.cancelled.is_set():  # some agents answer a cancelled turn with an error
                return acp.PromptAnswer(stop_reason="cancelled")
            raise agent_failures.error_of_answer(self._agent, error, doing="its turn") from error
        except UNREADABLE as error:
            message = f"{self._agent.name} ended its turn in an unknown way: {error}"
            raise AgentProtocol(message, hint="try a newer version of it") from error

    async def _choose(self, method: str, params: object, *, what: str) -> None:
        try:
            await self._connection.ask(method, params, within=CHOICE_TIMEOUT_SECONDS)
        except RpcError as error:
            raise agent_failures.error_of_answer(self._agent, error, doing=what) from error

    def _find_model(self, model: str, offered: Sequence[str]) -> str:
        """The model as the agent names it. If it lists no models, the person's word is used."""
        found = [one for one in offered if one == model] or [one for one in offered if model.lower() in one.lower()]
        if len(found) == 1 or not offered:
            return found[0] if found else model
        hint = f"one of: {', '.join(found)}" if found else did_you_mean(model, offered)
        raise InvalidInput(f"{self._agent.name} has no model {model!r}", hint=hint)


def _find_current_model(opened: acp.SessionOpened) -> str:
    options = opened.config_options or ()
    chosen = next((one.current_value for one in options if one.category == "model"), None)
    known = opened.models.current_model_id if opened.models else ""
    return chosen if isinstance(chosen, str) else known


def _values(choices: Sequence[acp.OptionChoice]) -> Iterator[str]:
    for choice in choices:
        if choice.value is not None:
            yield choice.value
        yield from _values(choice.options or ())
