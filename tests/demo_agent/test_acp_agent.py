"""The demo agent as an ACP client sees it."""

import asyncio
import json
import subprocess

import pytest

from demo_agent.driver import Fault, agent, started, until
from demo_agent.test_work import HELLO, add, prompt
from demo_commands import DEMO_AGENT, MISBEHAVING_AGENT

SLOW = ("--misbehave", "slow=30")


def test_it_says_what_it_can(env):
    async def scenario() -> None:
        async with agent(env) as driver:
            found = await driver.request("initialize", protocolVersion=1, clientCapabilities={})
            assert found["protocolVersion"] == 1
            assert found["agentCapabilities"]["loadSession"] is True
            assert found["agentCapabilities"]["mcpCapabilities"] == {"http": True}
            assert found["agentInfo"]["name"] == "demo-agent"
            with pytest.raises(Fault, match="no such method"):
                await driver.request("session/dance")
            with pytest.raises(Fault, match="no session 'demo-0' is open"):
                await driver.prompt("demo-0", "x")
            with pytest.raises(Fault, match="not a folder"):
                await driver.request("session/new", cwd="relative", mcpServers=[])

    asyncio.run(scenario())


def test_a_server_that_cannot_be_reached_is_named(shop, env):
    async def scenario() -> None:
        async with agent(env) as driver:
            gone = {"type": "http", "name": "gone", "url": "http://127.0.0.1:1/mcp", "headers": []}
            with pytest.raises(Fault, match="gone"):
                await driver.open(shop, gone)

    asyncio.run(scenario())


def test_a_cancelled_turn_ends_at_once_and_the_session_goes_on(shop, env):
    async def scenario() -> None:
        await add(shop, env, HELLO)
        async with agent(env, "--misbehave", "slow=300@1") as driver:
            session = await driver.open(shop, started("loop", env))
            turn = asyncio.create_task(driver.prompt(session, prompt(HELLO)))
            await driver.hear(lambda update: update["sessionUpdate"] == "plan")
            driver.notify("session/cancel", sessionId=session)
            assert (await turn)["stopReason"] == "cancelled"
            assert (await driver.prompt(session, prompt(HELLO)))["stopReason"] == "end_turn"
        assert (shop / "hello.py").exists()

    asyncio.run(scenario())


def test_a_cancelled_turn_takes_the_command_it_runs_along(shop, env):
    async def scenario() -> None:
        listed = "1. Wait\n   ```sh\n   echo $$ > pid; exec sleep 300\n   ```\n"
        await add(shop, env, listed)
        async with agent(env) as driver:
            session = await driver.open(shop, started("loop", env))
            turn = asyncio.create_task(driver.prompt(session, prompt(listed)))
            await driver.hear(lambda update: update.get("title", "").startswith("echo $$"))
            await until(lambda: (shop / "pid").exists() and (shop / "pid").read_text() != "")
            driver.notify("session/cancel", sessionId=session)
            assert (await turn)["stopReason"] == "cancelled"
            assert not is_running((shop / "pid").read_text().strip())

    asyncio.run(scenario())


def is_running(pid: str) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False, timeout=60)
    return state.stdout.strip().strip("Z") != ""


def test_a_session_is_loaded_by_another_process_with_its_turns(shop, env):
    async def scenario() -> None:
        await add(shop, env, HELLO)
        async with agent(env) as driver:
            session = await driver.open(shop, started("loop", env))
            await driver.prompt(session, prompt(HELLO))
            said = driver.said()
        async with agent(env) as driver:
            await driver.request("initialize", protocolVersion=1)
            servers = [started("loop", env)]
            await driver.request("session/load", sessionId=session, cwd=str(shop), mcpServers=servers)
            assert driver.words("user_message_chunk") == prompt(HELLO)
            assert driver.said() == said.strip()
            with pytest.raises(Fault, match="saved"):
                await driver.request("session/load", sessionId="demo-ffff", cwd=str(shop), mcpServers=[])
            assert await driver.request("session/set_model", sessionId=session, modelId="script") == {}

    asyncio.run(scenario())


def test_sessions_work_at_the_same_time_each_with_its_own_servers(shop, env):
    async def scenario() -> None:
        listed = f"{HELLO}2. Other\n   ```text other.txt\n   x\n   ```\n"
        await add(shop, env, listed)
        async with agent(env) as driver:
            first = await driver.open(shop, started("loop", env))
            servers = [started("plan", env)]
            second = (await driver.request("session/new", cwd=str(shop), mcpServers=servers))["sessionId"]
            await asyncio.gather(driver.prompt(first, prompt(listed)), driver.prompt(second, prompt(listed)))
            assert "Planned 2 tasks, 0 of them new" in driver.said()
            assert "Working on" in driver.said()

    asyncio.run(scenario())


def test_it_ends_when_its_input_does_even_in_a_turn(shop, env):
    async def scenario() -> None:
        await add(shop, env, HELLO)
        async with agent(env, *SLOW) as driver:
            session = await driver.open(shop, started("loop", env))
            turn = asyncio.create_task(driver.prompt(session, prompt(HELLO)))
            await driver.hear(lambda update: update["sessionUpdate"] == "plan")
            driver.process.stdin.close()
            assert await driver.ended() == 0
            with pytest.raises(ConnectionError):
                await turn

    asyncio.run(scenario())


def test_an_unknown_misbehaviour_is_refused_with_the_nearest(env):
    words = [*MISBEHAVING_AGENT, "--misbehave", "crsh@2"]
    done = subprocess.run(words, env=env, input="", capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        "error: no such misbehaviour: 'crsh@2'\nhint: did you mean 'crash'?\n",
    )


def test_streams_that_are_no_pipes_are_refused(env):
    words = list(DEMO_AGENT)
    nothing = subprocess.DEVNULL
    done = subprocess.run(
        words, env=env, stdin=nothing, stdout=nothing, stderr=subprocess.PIPE, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "pipes of a client" in done.stderr


def test_nonsense_is_answered_and_passed_over(env):
    words = list(DEMO_AGENT)
    given = 'nonsense\n\n{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
    done = subprocess.run(words, env=env, input=given, capture_output=True, text=True, check=True, timeout=60)
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["error"]["code"] == -32600 or first["error"]["code"] == -32700
    assert second["result"]["protocolVersion"] == 1
