"""One turn of an agent, from the prompt to its end."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from binnacle.runner.agents.permissions import AskPermission, PermissionRequest, outcome_of
from binnacle.wire import acp
from binnacle.wire.jsonrpc import Response

MAX_TEXT_CHARACTERS = 1 << 20
"""Last characters of an agent's text that are kept for a turn."""

OnUpdate = Callable[[acp.Update], None]
"""Called with every update of an agent. Nothing else of the agent is read until it returns."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A turn that has ended."""

    stop_reason: str
    """An `acp.StopReason`, or the agent's own word."""

    text: str
    """Its text, without thoughts."""

    tool_calls: int
    """How many tool calls it reported."""

    usage: acp.TokenUsage | None
    """Tokens of this turn, if it reports them."""

    context: acp.UsageUpdate | None
    """How full its context is and what the session has cost, if it reports that."""


class RunningTurn:
    """A turn that is running."""

    def __init__(self, answer: "asyncio.Future[Response]", on_update: OnUpdate, ask: AskPermission) -> None:
        self.answer = answer
        self.cancelled = asyncio.Event()
        """Set when the turn is cancelled."""

        self.fault: Exception | None = None
        """What one of the caller's functions raised."""

        self.questions = 0
        """Open requests for permission: while there are any, silence does not count."""

        self.heard = 0.0
        """Time of the last sign of life other than a message."""

        self.context: acp.UsageUpdate | None = None
        self._on_update = on_update
        self._ask = ask
        self._said: deque[str] = deque()
        self._length = 0

    @property
    def text(self) -> str:
        """The end of its text."""
        return "".join(self._said)[-MAX_TEXT_CHARACTERS:]

    def hear(self, update: acp.Update) -> None:
        """Records an update, and passes it on."""
        match update:
            case acp.MessageChunk(content=acp.ContentBlock(text=str(text))) if text:
                self._said.append(text)
                self._length += len(text)
                while self._length - len(self._said[0]) > MAX_TEXT_CHARACTERS:
                    self._length -= len(self._said.popleft())
            case acp.UsageUpdate():
                self.context = update
        try:
            self._on_update(update)
        except Exception as error:  # noqa: BLE001 - the caller's function, whose fault is raised where the caller waits
            self._fail(error)

    async def permit(self, request: PermissionRequest) -> acp.PermissionSelected | acp.PermissionCancelled:
        """Asks for a decision, unless the turn is cancelled meanwhile."""
        if self.answer.done() or self.cancelled.is_set():
            return acp.PermissionCancelled()
        self.questions += 1
        deciding = asyncio.ensure_future(self._ask(request))
        stopped = asyncio.ensure_future(self.cancelled.wait())
        try:
            some: list[asyncio.Future[Any]] = [deciding, stopped, self.answer]
            await asyncio.wait(some, return_when=asyncio.FIRST_COMPLETED)
            return outcome_of(deciding.result()) if deciding.done() else acp.PermissionCancelled()
        except Exception as error:  # noqa: BLE001 - likewise
            self._fail(error)
            return acp.PermissionCancelled()
        finally:
            deciding.cancel()
            stopped.cancel()
            await asyncio.gather(deciding, stopped, return_exceptions=True)
            self.questions -= 1
            self.heard = asyncio.get_running_loop().time()

    def _fail(self, fault: Exception) -> None:
        self.fault = self.fault or fault
        self.answer.cancel()
