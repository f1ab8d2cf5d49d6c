"""A real agent, goose, finds the faulty line of a program with nothing but the debugger.

Its model knows what must hold, not the program: it steps until that no longer holds, goes into the call in which it
happened, and so on until one line is left. What it does next depends on what the tools returned.
"""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from bridge.agent import Bench
from server.peers.conftest import BN, Target
from server.peers.model import Say, Thinking, Use, serving
from server.peers.test_agent import goose

pytestmark = pytest.mark.peers

MARK = "  # FAULT"
"""For the test, not for the model."""

FEE = """\
class Account:
    def __init__(self):
        self.balance = 0

    def deposit(self, amount):
        self.balance += amount

    def withdraw(self, amount):
        fee = 1
        if amount <= self.balance:
            self.balance -= amount + fee  # FAULT


def main():
    account = Account()
    account.deposit(10)
    for amount in (4, 5):
        account.withdraw(amount)
    print(account.balance)


main()
"""

MOVE = """\
class Account:
    def __init__(self, balance):
        self.balance = balance


def move(amount, giver, taker):
    taker.balance += amount
    giver.balance -= amount  # FAULT
    return taker


def settle(accounts):
    first, second = accounts
    if first.balance > 0:
        move(3, first, second)
    move(8, second, first)


accounts = [Account(4), Account(4)]
settle(accounts)
print([one.balance for one in accounts])
"""

HOLDS = "all(one.balance >= 0 for one in __import__('gc').get_objects() if type(one).__name__ == 'Account')"
"""What must hold: no account is overdrawn."""

Steps = Generator[Use | Say, str, Any]


def use(tool: str, **arguments: Any) -> Steps:
    """Calls a tool; returns what it said as data."""
    text = yield Use(tool, arguments)
    try:
        return json.loads(text)
    except ValueError:
        return {"error": text}


def find_fault() -> Steps:
    """Leads to the line after which what must hold does not."""
    moves: list[str] = []
    told = yield from use("debug_start", program="bank.py", stopOnEntry=True)
    while told.get("state") == "paused":
        here, depth = told["frames"][0], len(told["frames"])
        moves.append("debug_step_over")
        told = yield from use(moves[-1])
        if told.get("state") == "paused" and (yield from use("debug_evaluate", expression=HOLDS))["result"] == "True":
            continue
        moves[-1] = "debug_step_into"
        yield from use("debug_stop")
        told = yield from use("debug_start", program="bank.py", stopOnEntry=True)
        for move in moves:
            told = yield from use(move)
        if told.get("state") != "paused" or len(told["frames"]) <= depth:
            yield from use("debug_stop")
            yield Say(f"the faulty line is {here['file']}:{here['line']}: {here['code']}")
    yield Say(f"found nothing: {told}")


@pytest.mark.parametrize("program", [FEE, MOVE])
def test_it_finds_and_names_the_faulty_line(desk: Bench, tmp_path: Path, program: str):
    desk.write("bank.py", program.replace(MARK, ""))
    target = Target("", [BN, "mcp", "serve", "--recipe", "debug"], str(desk.workspace), desk.bn.env)
    with serving(Thinking(find_fault())) as model:
        said = goose(target, model, tmp_path)
    lines = enumerate(program.splitlines(), start=1)
    faulty, code = next((number, line.removesuffix(MARK).strip()) for number, line in lines if line.endswith(MARK))
    assert f"the faulty line is bank.py:{faulty}: {code}" in said
    used = {step.tool for step in model.script if isinstance(step, Use)}
    assert used == {"debug_start", "debug_stop", "debug_step_over", "debug_step_into", "debug_evaluate"}
