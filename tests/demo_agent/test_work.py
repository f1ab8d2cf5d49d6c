"""The demo agent at work with real servers: plans, does tasks, repairs, reports, obeys."""

import asyncio
import subprocess

import pytest

from demo_agent.conftest import CART
from demo_agent.driver import agent, bn, served, started, tasks

HELLO = "1. Greet\n   ```python hello.py\n   def hello():\n       return 'hello'\n   ```\n"
FIX = "1. Make tests/test_cart.py::test_discount pass\n"


def git(folder, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout


def prompt(listed: str) -> str:
    return f"## Input\n\n# Shop\n\n## Tasks\n\n{listed}\n## Instructions\n\n1. Work.\n"


async def add(shop, env, listed: str) -> None:
    """Has the tasks planned by an agent of its own."""
    async with agent(env) as driver:
        session = await driver.open(shop, started("plan", env))
        assert (await driver.prompt(session, prompt(listed)))["stopReason"] == "end_turn"


async def notes(shop, env) -> list[str]:
    return [f"{one['type']}: {one['content']}" for one in (await bn(shop, env, "note", "list"))["notes"]]


def test_it_plans_what_the_specification_lists_and_nothing_twice(shop, env):
    async def scenario() -> None:
        listed = "- First\n  Do it so.\n- Second (depends on 1)\n- [x] Old\n"
        async with served(shop, env, "plan") as server, agent(env) as driver:
            session = await driver.open(shop, server)
            await driver.prompt(session, prompt(listed))
            assert "Planned 3 tasks, 2 of them new" in driver.said()
        async with agent(env) as driver:
            session = await driver.open(shop, started("plan", env))
            await driver.prompt(session, prompt(f"{listed}- Third (after Second)\n"))
            assert "1 of them new" in driver.said()
        found = {one["title"]: one for one in (await bn(shop, env, "task", "list"))["tasks"]}
        assert list(found) == ["First", "Second", "Third"]
        assert [one.get("waits_for", 0) for one in found.values()] == [0, 1, 1]
        shown = await bn(shop, env, "task", "show", found["First"]["id"])
        assert shown["task"]["description"] == "Do it so."

    asyncio.run(scenario())


def test_it_does_one_task_an_iteration_and_completes_the_session_after_the_last(shop, env):
    async def scenario() -> None:
        listed = f"{HELLO}2. Count (depends on 1)\n   ```sh\n   echo 3 > count\n   ```\n"
        await add(shop, env, listed)
        async with served(shop, env, "loop") as server, agent(env) as driver:
            session = await driver.open(shop, server)
            answer = await driver.prompt(session, prompt(listed))
            assert answer["usage"]["totalTokens"] > 0
            assert await tasks(shop, env) == {"Greet": "done", "Count": "pending"}
            assert "session-complete" not in driver.calls()
        assert (shop / "hello.py").read_text() == "def hello():\n    return 'hello'\n"
        async with agent(env) as driver:
            session = await driver.open(shop, started("loop", env))
            await driver.prompt(session, prompt(listed))
            assert driver.calls()[-2:] == ["task-list", "session-complete"]
            kinds = {one["sessionUpdate"] for one in driver.updates}
            assert kinds >= {"plan", "tool_call", "tool_call_update", "agent_message_chunk", "usage_update"}
        assert (shop / "count").read_text() == "3\n"
        assert await tasks(shop, env) == {"Greet": "done", "Count": "done"}
        assert git(shop, "log", "--format=%s") == "Greet\n"

    asyncio.run(scenario())


@pytest.mark.parametrize("recipe", ["loop", "loop_debug"])
def test_it_finds_the_faulty_line_under_a_failing_test_and_repairs_it(shop, env, recipe):
    async def scenario() -> None:
        await add(shop, env, FIX)
        async with served(shop, env, recipe) as server, agent(env) as driver:
            session = await driver.open(shop, server)
            await driver.prompt(session, prompt(FIX))
            assert "cart.py:12: `return whole + reduction` should be `return whole - reduction`" in driver.said()
            assert ("breakpoint_set" in driver.calls()) == (recipe == "loop_debug")
        assert "    return whole - reduction\n" in (shop / "cart.py").read_text()
        (note,) = await notes(shop, env)
        assert note.startswith("learning: cart.py:12 `return whole + reduction` had to be")
        assert ("whole=30" in note) == (recipe == "loop_debug")
        assert set((await tasks(shop, env)).values()) == {"done"}
        await bn(shop, env, "bridge", "stop")

    asyncio.run(scenario())


FAULTS = """def subtotal(items):
    whole = 0
    for price, count in items:
        whole += price + count
    return whole


def total(items, *, tax=0):
    return subtotal(items) + tax


def last(items):
    return items[len(items)]


class Stock:
    def __init__(self):
        self.items = {}

    def add(self, name, count):
        self.items[name] = self.items.get(name, 0) - count

    def left(self, name):
        return self.items.get(name, 0)
"""
SHOWN = """import stock


def test_total():
    wanted = 23
    assert stock.total([(10, 2)], tax=3) == wanted


def test_last():
    found = stock.last("abc")
    assert found == "c"


class TestStock:
    def test_add(self):
        tea = stock.Stock()
        tea.add("tea", 2)
        assert tea.left("tea") == 2
"""


def test_faults_in_helpers_in_methods_and_errors_are_repaired_one_after_the_other(shop, env):
    async def scenario() -> None:
        listed = "1. Fix the failing tests of the stock, tests/test_stock.py\n"
        (shop / "stock.py").write_text(FAULTS)
        (shop / "tests/test_stock.py").write_text(SHOWN)
        await add(shop, env, listed)
        async with served(shop, env, "loop_debug") as server, agent(env) as driver:
            session = await driver.open(shop, server)
            await driver.prompt(session, prompt(listed))
            assert "Stopped in total (stock.py:9): items=[(10, 2)], tax=3." in driver.said()
        changed = (shop / "stock.py").read_text()
        for line in ("whole += price * count", "return items[len(items) - 1]", "self.items.get(name, 0) + count"):
            assert line in changed
        assert set((await tasks(shop, env)).values()) == {"done"}
        await bn(shop, env, "bridge", "stop")

    asyncio.run(scenario())


def test_tools_are_used_under_the_names_that_are_listed(shop, env):
    async def scenario() -> None:
        recipes = shop / ".binnacle" / "recipes"
        recipes.mkdir(parents=True)
        (recipes / "plans.yaml").write_text(
            "description: plans\ntools: [create_task, list_tasks, iteration_summary]\nsections: [input]\n"
        )
        (recipes / "does.yaml").write_text(
            "description: does\nsections: [input]\ntools:\n"
            "  [task_next, set_task_status, get_task, list_tasks, note_add, iteration_summary, session_complete]\n"
        )
        listed = f"{HELLO}2. Nothing (depends on 1)\n"
        for recipe, text in (("plans", prompt(listed)), ("does", "Go on."), ("does", "Go on.")):
            async with agent(env) as driver:
                session = await driver.open(shop, started(recipe, env))
                await driver.prompt(session, text)
        assert await tasks(shop, env) == {"Greet": "done", "Nothing": "blocked"}
        assert (shop / "hello.py").exists()

    asyncio.run(scenario())


def test_what_it_cannot_do_is_blocked_with_the_reason(shop, env):
    async def scenario() -> None:
        listed = f"1. Make tests/test_cart.py::test_round pass\n2. Think about it\n{HELLO}"
        (shop / "tests/test_cart.py").write_text(
            "from cart import total\n\n\ndef test_round():\n    assert total([(1, 1)]) == 'one'\n"
        )
        await add(shop, env, listed)
        for _ in range(3):
            async with agent(env) as driver:
                session = await driver.open(shop, started("loop", env))
                await driver.prompt(session, prompt(listed))
        stand = await tasks(shop, env)
        assert list(stand.values()) == ["blocked", "blocked", "done"]
        said = await notes(shop, env)
        assert all(note.startswith("stuck: ") for note in said)
        assert any("I know no change of one line" in note for note in said)
        assert "session-complete" not in driver.calls()
        assert (shop / "cart.py").read_text() == CART

    asyncio.run(scenario())


@pytest.mark.parametrize(("kind", "answer"), [("edit", "reject_once"), ("edit", ""), ("execute", "reject_once")])
def test_what_is_not_allowed_is_not_done(shop, env, kind, answer):
    async def scenario() -> None:
        listed = HELLO if kind == "edit" else "1. Count\n   ```sh\n   echo 3 > count\n   ```\n"
        await add(shop, env, listed)
        async with agent(env) as driver:
            driver.allow = lambda call: answer if call["kind"] == kind else "allow_once"
            session = await driver.open(shop, started("loop", env))
            await driver.prompt(session, prompt(listed))
            assert driver.asked[0]["toolCall"]["kind"] == kind
            failed = [one for one in driver.updates if one.get("status") == "failed"]
            assert "not allowed" in failed[0]["content"][0]["content"]["text"]
        assert not (shop / "hello.py").exists()
        assert not (shop / "count").exists()
        assert set((await tasks(shop, env)).values()) == {"blocked"}

    asyncio.run(scenario())


def test_what_is_always_allowed_is_asked_once(shop, env):
    async def scenario() -> None:
        listed = f"{HELLO}   ```text notes.txt\n   hello\n   ```\n"
        await add(shop, env, listed)
        async with agent(env) as driver:
            driver.allow = lambda _: "allow_always"
            session = await driver.open(shop, started("loop", env))
            await driver.prompt(session, prompt(listed))
            assert [one["toolCall"]["kind"] for one in driver.asked] == ["edit", "execute"]
        assert (shop / "notes.txt").read_text() == "hello\n"

    asyncio.run(scenario())


def test_a_task_that_it_holds_is_gone_on_with(shop, env):
    async def scenario() -> None:
        listed = f"{HELLO}2. Other\n   ```text other.txt\n   x\n   ```\n"
        await add(shop, env, listed)
        async with served(shop, env, "loop") as server:
            async with agent(env, "--misbehave", "crash") as driver:
                session = await driver.open(shop, server)
                with pytest.raises(ConnectionError):
                    await driver.prompt(session, prompt(listed))
                assert await driver.ended() == 3
            held = next(one for one in (await bn(shop, env, "task", "list"))["tasks"] if one.get("claimed_by"))
            async with agent(env | {"BN_MCP_SESSION": held["claimed_by"]}) as driver:
                session = await driver.open(shop, server)
                await driver.prompt(session, f"{prompt(listed)}\nThis iteration was interrupted.")
                assert f"Going on with {held['id']}" in driver.said()
                assert "task-next" not in driver.calls()
        assert await tasks(shop, env) == {"Greet": "done", "Other": "pending"}

    asyncio.run(scenario())


def test_further_prompts_of_a_turn_are_answered_and_reported_failures_mended(shop, env):
    async def scenario() -> None:
        await add(shop, env, HELLO)
        async with agent(env, "--misbehave", "never-summarise@1") as driver:
            session = await driver.open(shop, started("loop", env))
            await driver.prompt(session, prompt(HELLO))
            before = len(driver.calls())
            await driver.prompt(
                session, "Nothing but this: FAILED tests/test_cart.py::test_discount - assert 33.0 == 27"
            )
            assert "iteration-summary" in driver.calls()[before:]
            assert "task-next" not in driver.calls()[before:]
        assert "whole - reduction" in (shop / "cart.py").read_text()

    asyncio.run(scenario())
