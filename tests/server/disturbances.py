"""Tools with which a test holds, watches and disturbs the engine.

Waiting is done by tools too (`hold`, `wait_until`), so that tests need no clock.
"""

import asyncio
import os
import subprocess
import sys

import msgspec
from catalog import Arguments, Result, Tools, said

from binnacle.server.request import McpRequest

TOOLS = Tools()
LOOK_AGAIN_SECONDS = 0.003


class Gates:
    """Requests that are held until told to go on, and what became of each: holding, released or cancelled."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._changed = asyncio.Condition()

    async def enter(self, name: str, state: str) -> None:
        async with self._changed:
            self._states[name] = state
            self._changed.notify_all()

    async def wait(self, name: str, state: str) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._states.get(name) == state)


GATES = Gates()


def note(text: str) -> None:
    """Says on standard error what the client may not hear of."""
    print(text, file=sys.stderr, flush=True)


@TOOLS.tool("text")
async def echo(call: McpRequest, arguments: Arguments) -> Result:
    """Returns the text it was given."""
    return said(arguments["text"])


@TOOLS.tool("region")
async def route(call: McpRequest, arguments: Arguments) -> Result:
    """Returns the region it was given, in the arguments and in a header."""
    return said(arguments["region"])


TOOLS["route"].definition["inputSchema"]["properties"]["region"]["x-mcp-header"] = "Region"


@TOOLS.tool("name")
async def hold(call: McpRequest, arguments: Arguments) -> Result:
    """Does not answer until released."""
    name = arguments["name"]
    await GATES.enter(name, "holding")
    try:
        await GATES.wait(name, "released")
    except asyncio.CancelledError:
        note(f"{name} was cancelled")
        await GATES.enter(name, "cancelled")
        raise
    return said(f"{name} was released")


@TOOLS.tool("name")
async def hold_long(call: McpRequest, arguments: Arguments) -> Result:
    """Goes on as a task of the protocol, if the client takes those, until released."""
    if call.continue_as_task():
        call.progress(1, None, "it is held")
    return await hold(call, arguments)


@TOOLS.tool("name")
async def work(call: McpRequest, arguments: Arguments) -> Result:
    """Goes on until a file of its name is there: whoever cannot ask any more can still write one."""
    await GATES.enter(arguments["name"], "holding")
    while not os.path.exists(arguments["name"]):  # noqa: ASYNC110 - it comes from outside
        await asyncio.sleep(LOOK_AGAIN_SECONDS)
    return said("done")


@TOOLS.tool("name")
async def release(call: McpRequest, arguments: Arguments) -> Result:
    """Lets a held request go on."""
    await GATES.enter(arguments["name"], "released")
    return said("ok")


@TOOLS.tool("name", "state")
async def wait_until(call: McpRequest, arguments: Arguments) -> Result:
    """Answers as soon as a held request is in a state."""
    await GATES.wait(arguments["name"], arguments["state"])
    return said("ok")


@TOOLS.tool(steps=3)
async def count(call: McpRequest, arguments: Arguments) -> Result:
    """Reports progress at every step, without a pause."""
    steps = arguments.get("steps", 3)
    for step in range(1, steps + 1):
        call.progress(step, steps)
    return said(f"{steps} steps")


@TOOLS.tool("level", "text")
async def log(call: McpRequest, arguments: Arguments) -> Result:
    """Logs one message."""
    call.log(arguments["level"], arguments["text"], logger="fixture")
    return said("ok")


@TOOLS.tool(messages=1, size=1)
async def chatter(call: McpRequest, arguments: Arguments) -> Result:
    """Logs many messages, giving others a turn after each."""
    for _ in range(arguments.get("messages", 1)):
        call.log("info", "x" * arguments.get("size", 1))
        await asyncio.sleep(0)
    note("the chatter is over")
    return said("ok")


@TOOLS.tool()
async def mingle(call: McpRequest, arguments: Arguments) -> Result:
    """Returns how many calls of it are under way at once."""
    mingling.add(call)
    for _ in range(5):
        await asyncio.sleep(0)
    at_once = len(mingling)
    mingling.remove(call)
    return said(str(at_once))


mingling: set[McpRequest] = set()


@TOOLS.tool(size=1)
async def big(call: McpRequest, arguments: Arguments) -> Result:
    """Returns a text of a certain size."""
    return said("x" * arguments.get("size", 1))


@TOOLS.tool()
async def stray(call: McpRequest, arguments: Arguments) -> Result:
    """Writes to standard output in three ways that are none of its business."""
    print("a stray print", flush=True)
    os.write(1, b"a stray write\n")
    await asyncio.to_thread(subprocess.run, ["echo", "a stray child"], check=True, timeout=60)
    return said("ok")


@TOOLS.tool()
async def leave_child(call: McpRequest, arguments: Arguments) -> Result:
    """Leaves a child process behind that outlives the server by a minute."""
    child = await asyncio.create_subprocess_exec("sleep", "60")
    return said(str(child.pid))


@TOOLS.tool()
async def break_down(call: McpRequest, arguments: Arguments) -> Result:
    """Has a defect."""
    raise ZeroDivisionError("a defect")


@TOOLS.tool()
async def ask_roots(call: McpRequest, arguments: Arguments) -> Result:
    """Asks the client for its roots."""
    answer = await call.ask("roots/list", {})
    return said(f"{len(answer['roots'])} roots")


@TOOLS.tool()
async def introduce(call: McpRequest, arguments: Arguments) -> Result:
    """Says who the client says it is."""
    return said(f"{call.client.get('name')} of {call.era}")


@TOOLS.tool()
async def pretty(call: McpRequest, arguments: Arguments) -> Result:
    """Returns what somebody else has written over several lines."""
    return said("ok") | {"structuredContent": msgspec.Raw(b'{\n  "a": 1,\r\n  "b": 2\n}')}
