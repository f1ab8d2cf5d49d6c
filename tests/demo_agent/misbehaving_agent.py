"""The demo agent, misbehaving on demand, so that whoever runs agents can be tested.

    python tests/misbehaving_agent.py --misbehave crash@2:once

`misbehaviour` says which words there are. Without one it behaves as the demo agent does.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from binnacle.errors import UsageError
from binnacle.wire import acp
from binnacle.wire.jsonrpc import INTERNAL_ERROR, RpcError
from demo_agent.misbehaviour import WORDS, Misbehaviour, parse_misdeeds
from scripted_agent.acp_agent import DemoAgent, Session
from scripted_agent.main import new_parser, serve
from scripted_agent.saved_sessions import state_folder
from scripted_agent.spec import Item
from scripted_agent.tools import Tools
from scripted_agent.turn import Turn
from scripted_agent.work_tools import Refusal, Task

FLOOD_BYTES = 100_000_000
STDERR_FLOOD_BYTES = 50_000_000
LONG_LINE_BYTES = 40 << 20
CHUNK_BYTES = 64 << 10
CRASH_CODE = 3
QUESTION = "which of the two ways do you want?"


class MisbehavingTurn(Turn):
    """A turn that goes wrong where it is told to."""

    misbehaviour: Misbehaviour

    async def add_tasks(self, items: Sequence[Item]) -> int:
        added = await super().add_tasks(items)
        self._hang_or_crash()
        return added

    async def do(self, task: Task) -> None:
        self._hang_or_crash()
        if self.misbehaviour.asks_for("ask"):
            await self.work.note("stuck", f"{task.title}: {QUESTION}")
            await self.work.move(task, "needs_input")
            await self.summarise(f"{task.title} waits for an answer: {QUESTION}")
        else:
            await super().do(task)

    async def finish(self, task: Task) -> None:
        await super().finish(task)
        if self.misbehaviour.asks_for("second-task"):
            try:
                if await self.take() is not None:
                    await self.reports.say("I started a second task, and nobody minded.")
            except Refusal as refusal:
                await self.reports.say(f"A second task was refused. {refusal.text}")

    async def summarise(self, summary: str) -> None:
        if not self.misbehaviour.asks_for("never-summarise"):
            await super().summarise(summary)

    def _hang_or_crash(self) -> None:
        """In the middle of a turn: something was begun and nothing of it is finished."""
        if self.misbehaviour.asks_for("hang"):
            hang()
        if self.misbehaviour.asks_for("crash"):
            crash("the demo agent was told to crash")


class MisbehavingAgent(DemoAgent):
    """An agent that goes wrong where it is told to."""

    def __init__(self, misbehaviour: Misbehaviour, folder: str) -> None:
        super().__init__(folder)
        self._misbehaviour = misbehaviour
        self.turn_type = type("TurnOfThisAgent", (MisbehavingTurn,), {"misbehaviour": misbehaviour})

    def initialize(self, asked: acp.Initialize) -> acp.Initialized:
        if self._misbehaviour.asks_for("hang-start"):
            hang()
        if self._misbehaviour.asks_for("crash-start"):
            crash("the demo agent was told to crash at its start")
        answer = super().initialize(asked)
        if self._misbehaviour.asks_for("stdio-only"):
            takes = replace(answer.agent_capabilities, mcp_capabilities=acp.McpCapabilities(http=False))
            return replace(answer, agent_capabilities=takes)
        return answer

    async def pace(self) -> None:
        if slow := self._misbehaviour.asks_for("slow"):
            await asyncio.sleep(float(slow.argument or 0.1))

    async def take_turn(self, session: Session, text: str) -> None:
        self._misbehaviour.next_turn()
        self._limit_rate()
        if self._misbehaviour.asks_for("junk"):
            self.peer.write(b'this is no message\n{"neither": "is this"}\n[1, 2\n\xff\xfe\n\n')
        if self._misbehaviour.asks_for("stderr-flood"):
            await asyncio.to_thread(flood_stderr)
        if self._misbehaviour.asks_for("orphan"):
            leave_orphan(self._misbehaviour.folder)
        await self._flood(session)
        if self._misbehaviour.asks_for("loop"):
            await self._fail_for_ever(session)
        if not self._misbehaviour.asks_for("no-op"):
            await super().take_turn(session, text)

    def _limit_rate(self) -> None:
        if limit := self._misbehaviour.asks_for("rate-limit"):
            wanted = int(limit.argument or 1)
            if any(self._misbehaviour.is_first(f"rate-limit-{number}") for number in range(1, wanted + 1)):
                data = {"status": 429, "retryAfter": 1}
                raise RpcError(INTERNAL_ERROR, "429 Too Many Requests: rate limit reached, try again in 1s", data)

    async def _flood(self, session: Session) -> None:
        if flood := self._misbehaviour.asks_for("flood"):
            is_one_line = flood.argument == "line"
            size = LONG_LINE_BYTES if is_one_line else CHUNK_BYTES
            chunk = acp.MessageChunk(content=acp.text_block("x" * size))
            for _ in range(1 if is_one_line else FLOOD_BYTES // size):
                await self.peer.tell(acp.UPDATE, acp.SessionUpdate(session_id=session.id, update=chunk))

    async def _fail_for_ever(self, session: Session) -> None:
        tools = Tools(session.servers, session.reports, self.pace)
        while True:
            await tools.use("task-update", "task_update", id="bn-ffffffff", status="done")


def become_wrapper(misbehaviour: Misbehaviour) -> None:
    """Starts this program again in a session of its own and only waits for it, if that is asked for."""
    if "DEMO_AGENT_WRAPPED" not in os.environ and misbehaviour.asks_for("re-exec"):
        child = subprocess.Popen(
            [sys.executable, *sys.argv], env={**os.environ, "DEMO_AGENT_WRAPPED": "1"}, start_new_session=True
        )
        os.close(0)
        os.close(1)
        sys.exit(child.wait())


def leave_orphan(folder: str) -> None:
    nothing = subprocess.DEVNULL
    child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing)
    Path(folder, "orphan.pid").write_text(str(child.pid))


def hang() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(2, b"the demo agent was told to hang\n")
    while True:
        time.sleep(60)


def crash(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
    os._exit(CRASH_CODE)


def flood_stderr() -> None:
    line = b"x" * (CHUNK_BYTES - 1) + b"\n"
    for _ in range(STDERR_FLOOD_BYTES // CHUNK_BYTES):
        os.write(2, line)


def run() -> None:
    """Serves ACP on standard input and output until the input ends."""
    parser = new_parser()
    words = "\n".join(f"  {word:16} {about}" for word, about in WORDS.items())
    parser.epilog = f"misbehaviour, as WORD[=ARGUMENT][@TURN][:once]:\n{words}"
    parser.add_argument("--misbehave", metavar="WORD", action="append", default=[], help="see below")
    try:
        misdeeds = parse_misdeeds(",".join(parser.parse_args().misbehave))
    except UsageError as error:
        parser.exit(2, f"error: {error.message}\nhint: {error.hint}\n")
    misbehaviour = Misbehaviour(misdeeds, state_folder())
    become_wrapper(misbehaviour)
    serve(MisbehavingAgent(misbehaviour, state_folder()), parser)
