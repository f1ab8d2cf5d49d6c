"""A process that leads the rogue, for tests: `owner.py FOLDER` says when it hangs, and waits to be killed."""

import asyncio
import os
import sys
from pathlib import Path

from binnacle.processes.keeper import Keeper
from binnacle.runner.agents.acp_agent import open_agent
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.permissions import OwnTools, by_policy
from binnacle.wire import acp

ROGUE = str(Path(__file__).with_name("rogue.py"))


def tell(update: acp.Update) -> None:
    if isinstance(update, acp.MessageChunk):
        print(update.content.text, flush=True)


async def main(folder: str) -> None:
    command = AgentCommand(name="rogue", argv=(sys.executable, ROGUE, "--again", "--stubborn"))
    log = os.path.join(folder, "agent.log")
    async with (
        Keeper() as keeper,
        open_agent(keeper, command, cwd=folder, env=os.environ, log=log) as agent,
    ):
        session = await agent.open(servers=(), cwd=folder)
        ask = by_policy("none", own=lambda: OwnTools(server="x", tools=()))
        await session.prompt("child\nhang", on_update=tell, ask=ask, silence=600, within=600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
