"""Every way in which the demo agent can be told to misbehave."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from demo_agent.driver import Driver, Fault, agent, bn, started, tasks, until
from demo_agent.misbehaviour import Misbehaviour, Misdeed, parse_misdeeds
from demo_agent.test_acp_agent import is_running
from demo_agent.test_work import HELLO, add, prompt

SECOND = f"{HELLO}2. Other\n   ```text other.txt\n   x\n   ```\n"


def run(shop: Path, env: dict[str, str], word: str, scenario, listed: str = HELLO) -> None:
    """Plans with an agent that behaves, then has `scenario` use one that does not."""

    async def whole() -> None:
        await add(shop, env, listed)
        async with agent(env, "--misbehave", word) as driver:
            await scenario(driver, await driver.open(shop, started("loop", env)))

    asyncio.run(whole())


async def killed(driver: Driver) -> None:
    """Ends one that does not hear."""
    driver.process.terminate()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await driver.process.wait()
    driver.process.kill()
    assert await driver.ended() == -signal.SIGKILL


def test_words_are_read_with_argument_turn_and_once(tmp_path):
    assert parse_misdeeds("slow=0.5, crash@2:once") == [
        Misdeed(word="slow", argument="0.5"),
        Misdeed(word="crash", turn=2, once=True),
    ]
    wrong = Misbehaviour(parse_misdeeds("crash@2:once"), str(tmp_path))
    seen = []
    for _ in range(3):
        wrong.next_turn()
        seen.append(wrong.asks_for("crash") is not None)
    assert seen == [False, True, False]
    again = Misbehaviour(parse_misdeeds("crash:once"), str(tmp_path))
    again.next_turn()
    assert again.turn == 4
    assert again.asks_for("crash") is None


def test_hang_hears_neither_cancel_nor_sigterm(shop, env):
    async def scenario(driver: Driver, session: str) -> None:
        turn = asyncio.create_task(driver.prompt(session, prompt(HELLO)))
        assert await driver.process.stderr.readline() == b"the demo agent was told to hang\n"
        await driver.hear(lambda _: "Working on" in driver.said())
        driver.notify("session/cancel", sessionId=session)
        await killed(driver)
        with pytest.raises(ConnectionError):
            await turn

    run(shop, env, "hang", scenario)
    assert asyncio.run(tasks(shop, env)) == {"Greet": "in_progress"}


@pytest.mark.parametrize("word", ["crash-start", "hang-start"])
def test_it_fails_before_its_first_answer(env, word):
    async def scenario() -> None:
        async with agent(env, "--misbehave", word) as driver:
            asking = asyncio.create_task(driver.request("initialize", protocolVersion=1))
            if word == "crash-start":
                assert await driver.ended() == 3
                assert b"told to crash" in await driver.process.stderr.read()
            else:
                assert await driver.process.stderr.readline() == b"the demo agent was told to hang\n"
                await killed(driver)
            with pytest.raises(ConnectionError):
                await asking

    asyncio.run(scenario())


@pytest.mark.parametrize(("word", "size"), [("flood", 100_000_000), ("flood=line", 40 << 20)])
def test_flood_sends_that_much_and_then_works(shop, env, word, size):
    async def scenario(driver: Driver, session: str) -> None:
        await driver.prompt(session, prompt(HELLO))
        assert len(driver.said()) > size * 0.99

    run(shop, env, word, scenario)
    assert asyncio.run(tasks(shop, env)) == {"Greet": "done"}


def test_junk_is_between_the_messages(shop, env):
    async def scenario(driver: Driver, session: str) -> None:
        await driver.prompt(session, prompt(HELLO))
        assert b"this is no message\n" in driver.junk

    run(shop, env, "junk", scenario)


def test_a_flood_of_errors_is_written(shop, env):
    async def scenario(driver: Driver, session: str) -> None:
        turn = asyncio.create_task(driver.prompt(session, prompt(HELLO)))
        size = 0
        while not turn.done() and (data := await driver.process.stderr.read(1 << 20)):
            size += len(data)
            if size > 49_000_000:
                break
        assert size > 49_000_000
        assert (await turn)["stopReason"] == "end_turn"

    run(shop, env, "stderr-flood", scenario)


def test_loop_fails_again_and_again_until_it_is_cancelled(shop, env):
    async def scenario(driver: Driver, session: str) -> None:
        turn = asyncio.create_task(driver.prompt(session, prompt(HELLO)))
        await driver.hear(lambda _: len(driver.calls()) > 20)
        driver.notify("session/cancel", sessionId=session)
        assert (await turn)["stopReason"] == "cancelled"
        assert set(driver.calls()) == {"task-update"}
        assert "completed" not in {update.get("status") for update in driver.updates}

    run(shop, env, "loop", scenario)


def test_never_summarise_and_no_op_leave_out_what_they_say(shop, env):
    async def silent(driver: Driver, session: str) -> None:
        assert (await driver.prompt(session, prompt(HELLO)))["stopReason"] == "end_turn"
        assert "task-next" in driver.calls()
        await driver.prompt(session, "Please write the summary.")
        assert "iteration-summary" not in driver.calls()

    async def nothing(driver: Driver, session: str) -> None:
        assert (await driver.prompt(session, prompt(HELLO)))["stopReason"] == "end_turn"
        assert driver.calls() == []

    run(shop, env, "no-op", nothing)
    run(shop, env, "never-summarise", silent)


def test_a_second_task_is_tried(shop, env):
    async def scenario(driver: Driver, session: str) -> None:
        await driver.prompt(session, prompt(SECOND))
        assert driver.calls().count("task-next") == 2

    # Only the runner begins iterations, so nobody refuses it here.
    run(shop, env, "second-task", scenario, SECOND)
    assert asyncio.run(tasks(shop, env)) == {"Greet": "done", "Other": "in_progress"}


def test_re_exec_leaves_a_wrapper_whose_end_does_not_end_the_agent(shop, env):
    async def scenario(driver: Driver, session: str) -> None:
        children = Path(f"/proc/{driver.process.pid}/task/{driver.process.pid}/children").read_text().split()
        (child,) = [int(one) for one in children]
        assert os.getsid(child) == child != os.getsid(driver.process.pid)
        driver.process.kill()
        await until(lambda: not is_running(str(driver.process.pid)))
        assert (await driver.prompt(session, prompt(HELLO)))["stopReason"] == "end_turn"
        os.kill(child, signal.SIGKILL)

    run(shop, env, "re-exec", scenario)
    assert asyncio.run(tasks(shop, env)) == {"Greet": "done"}


def test_orphan_leaves_a_process_behind(shop, env):
    async def scenario(driver: Driver, session: str) -> None:
        await driver.prompt(session, prompt(HELLO))

    run(shop, env, "orphan", scenario)
    orphan = Path(env["XDG_STATE_HOME"], "binnacle", "demo-agent", "orphan.pid").read_text()
    assert is_running(orphan)
    os.kill(int(orphan), signal.SIGKILL)


def test_a_rate_limit_is_over_after_so_many_prompts(shop, env):
    async def scenario(driver: Driver, session: str) -> None:
        for _ in range(2):
            with pytest.raises(Fault, match="429"):
                await driver.prompt(session, prompt(HELLO))
        assert (await driver.prompt(session, prompt(HELLO)))["stopReason"] == "end_turn"

    run(shop, env, "rate-limit=2", scenario)
    assert asyncio.run(tasks(shop, env)) == {"Greet": "done"}


def test_ask_leaves_a_question(shop, env):
    async def scenario(driver: Driver, session: str) -> None:
        await driver.prompt(session, prompt(HELLO))

    run(shop, env, "ask", scenario)
    assert asyncio.run(tasks(shop, env)) == {"Greet": "needs_input"}
    (note,) = asyncio.run(bn(shop, env, "note", "list"))["notes"]
    assert note["content"].endswith("which of the two ways do you want?")
