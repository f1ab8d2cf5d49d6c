"""Frames, scopes and variables; expressions; ids that are out of date; values that are changed."""

import asyncio
import json
import os
import time

import pytest

from binnacle.errors import BridgeError
from bridge.debug.desk import PATIENCE, Call, values


def test_expressions_are_evaluated_where_the_program_stands(desk):
    told = desk.stop_at("shop.py", 15)
    found = desk("debug.evaluate", expression="item.price + 1")
    assert (found["result"], found["type"]) == ("3", "int")
    outer = told["frames"][1]["id"]
    assert desk("debug.evaluate", expression="len(items)", frameId=outer)["result"] == "3"
    error = desk.fails("E_INVALID_EXPRESSION", "debug.evaluate", expression="1 / 0")
    assert "ZeroDivisionError" in error.message
    error = desk.fails("E_INVALID_EXPRESSION", "debug.evaluate", expression="nobody")
    assert "debug_list_variables" in error.hint
    desk.fails("E_INVALID_EXPRESSION", "debug.evaluate", expression="x +")


def test_what_an_expression_prints_comes_with_its_value_or_an_answer_soon_after(desk):
    desk.stop_at("shop.py", 15)
    told = desk("debug.evaluate", expression="print('hello')").get("output", "")
    # debugpy reads what a program prints from a pipe, beside the answers, so it may come a moment later.
    end = time.monotonic() + PATIENCE
    while "hello\n" not in told and time.monotonic() < end:
        told += desk("debug.evaluate", expression="0").get("output", "")
    assert told.count("hello\n") == 1


def test_a_long_value_is_cut_and_says_so(desk):
    desk.stop_at("things.py", 19)
    found = desk("debug.evaluate", expression="text")
    assert len(found["result"]) == 8000
    assert "debug_save_variable" in found["resultCut"]


def test_an_expression_that_takes_too_long_is_said_to_run_still(desk):
    desk.stop_at("shop.py", 15)
    desk("debug.evaluate", expression="import threading; gate = threading.Event()")
    error = desk.fails("E_TIMEOUT", "debug.evaluate", expression="gate.wait(50)", timeoutMs=200)
    assert "still runs" in error.message
    assert "debug_stop" in error.hint
    error = desk.fails("E_BUSY", "debug.evaluate", expression="1")
    assert error.retryable
    assert "gate.wait" in error.message
    desk.fails("E_BUSY", "debug.continue")
    assert desk("debug.stop")["state"] == "terminated"


def test_a_program_answers_again_when_its_expression_is_done(desk):
    desk.stop_at("shop.py", 15)
    go = os.path.join(desk.workspace, "go")
    os.mkfifo(go)
    desk.fails("E_TIMEOUT", "debug.evaluate", expression=f"open({go!r}).read()", timeoutMs=50)

    async def again() -> object:
        while True:
            try:
                return await desk.ask("debug.evaluate", expression="amount")
            except BridgeError as error:
                if error.code != "E_BUSY":
                    raise
                await asyncio.sleep(0.05)

    with open(go, "w", encoding="utf-8"):
        pass
    assert desk.run(again())["result"] == "0"


def test_a_cancelled_evaluation_is_said_to_run_still(desk):
    desk.stop_at("shop.py", 15)

    async def test() -> BridgeError:
        call = Call()
        params = {"expression": "__import__('time').sleep(600)"}
        running = asyncio.ensure_future(desk.ask("debug.evaluate", call=call, **params))
        await asyncio.sleep(0.1)
        call.cancelled.set()
        with pytest.raises(BridgeError) as caught:
            await running
        return caught.value

    error = desk.run(test())
    assert error.code == "E_CANCELLED"
    assert "still runs" in error.message


def test_ids_hold_until_the_program_goes_on(desk):
    told = desk.stop_at("shop.py", 15)
    frame = told["frames"][0]["id"]
    items = next(one for one in told["locals"] if one["name"] == "items")["variablesReference"]
    scopes = desk("debug.scopes", frameId=frame)["scopes"]
    assert [scope["name"] for scope in scopes] == ["Locals", "Globals"]
    assert len(desk("debug.get-variable", variablesReference=items)["variables"]) == 4

    desk("debug.step-over")
    error = desk.fails("E_STALE_REFERENCE", "debug.scopes", frameId=frame)
    assert "debug_stack" in error.hint
    desk.fails("E_STALE_REFERENCE", "debug.evaluate", expression="1", frameId=frame)
    error = desk.fails("E_STALE_REFERENCE", "debug.get-variable", variablesReference=items)
    assert "debug_list_variables" in error.hint
    desk.fails("E_STALE_REFERENCE", "debug.set-variable", name="x", value="1", variablesReference=items)
    desk("debug.stop")
    desk.fails("E_STALE_REFERENCE", "debug.get-variable", variablesReference=items)


def test_ids_that_were_never_given_are_refused(desk):
    told = desk.stop_at("shop.py", 15)
    desk.fails("E_INVALID_REFERENCE", "debug.scopes", frameId=1)
    desk.fails("E_INVALID_REFERENCE", "debug.get-variable", variablesReference=7)
    desk.fails("E_INVALID_REFERENCE", "debug.get-variable", variablesReference=told["frames"][0]["id"])


def test_variables_are_listed_some_levels_deep(desk):
    desk.stop_at("things.py", 18)
    (local,) = desk("debug.list-variables", scope="local")["scopes"]
    assert values(local["variables"]) == {"few": "3", "flag": "True"}
    (known,) = desk("debug.list-variables", scope="global", maxDepth=3)["scopes"]
    found = {one["name"]: one for one in known["variables"]}
    assert found["LIMIT"]["value"] == "7"
    node = values(found["node"]["variables"])
    assert node["value"] == "'top'"
    below = next(one for one in found["node"]["variables"] if one["name"] == "below")
    assert [one["type"] for one in below["variables"][:2]] == ["Node", "Node"]
    assert "variables" not in desk("debug.list-variables", scope="global", maxDepth=1)["scopes"][0]["variables"][0]
    names = [scope["name"] for scope in desk("debug.list-variables")["scopes"]]
    assert names == ["Locals", "Globals"]
    assert desk("debug.list-variables", scope="closure")["scopes"] == []


def test_an_answer_about_variables_is_bounded(desk):
    desk.stop_at("things.py", 18)
    told = desk("debug.list-variables", maxDepth=10)
    assert len(json.dumps(told)) < 60_000


def test_members_come_in_pages(desk):
    desk.stop_at("things.py", 18)
    reference = desk("debug.evaluate", expression="words")["variablesReference"]
    first = desk("debug.get-variable", variablesReference=reference, count=10)
    assert [one["name"] for one in first["variables"]][:2] == ["'key0'", "'key1'"]
    assert first["more"] == "call with start=10"
    second = desk("debug.get-variable", variablesReference=reference, start=10, count=10)
    assert second["variables"][0]["name"] == "'key10'"
    everything = desk("debug.get-variable", variablesReference=reference, count=5000)
    assert "1000 in all" in everything["more"]
    assert "debug_save_variable" in everything["more"]
    desk.fails("E_INVALID_PARAMS", "debug.get-variable", variablesReference=reference, count=0)
    desk.fails("E_INVALID_PARAMS", "debug.get-variable", variablesReference=reference, filter="odd")


def test_variables_get_other_values(desk):
    desk.stop_at("shop.py", 15)
    told = desk("debug.set-variable", name="amount", value="100")
    assert (told["success"], told["value"]) == (True, "100")
    assert desk("debug.evaluate", expression="amount")["result"] == "100"
    desk("debug.set-variable", name="item.price", value="-1")
    assert desk("debug.evaluate", expression="item.price")["result"] == "-1"
    items = desk("debug.evaluate", expression="item")["variablesReference"]
    desk("debug.set-variable", name="name", value="'quill'", variablesReference=items)
    assert desk("debug.evaluate", expression="item.name")["result"] == "'quill'"
    desk.fails("E_VARIABLE_NOT_FOUND", "debug.set-variable", name="nobody", value="1")
    desk.fails("E_VARIABLE_NOT_FOUND", "debug.set-variable", name="x", value="1", variablesReference=items)


def test_a_variable_keeps_its_value_if_the_new_one_is_none(desk):
    told = desk.stop_at("things.py", 18)
    scopes = {one["name"]: one for one in desk("debug.scopes", frameId=told["frames"][0]["id"])["scopes"]}
    for params in ({}, {"variablesReference": scopes["Locals"]["variablesReference"]}):
        error = desk.fails("E_SET_FAILED", "debug.set-variable", name="few", value="no such", **params)
        assert "quotes" in error.hint
    desk.fails("E_SET_FAILED", "debug.set-variable", name="LIMIT", value="1 / 0")
    reference = desk("debug.evaluate", expression="node")["variablesReference"]
    desk.fails("E_SET_FAILED", "debug.set-variable", name="value", value="a b", variablesReference=reference)
    assert desk("debug.evaluate", expression="(few, LIMIT, node.value)")["result"] == "(3, 7, 'top')"


def test_the_program_goes_on_with_the_new_values(desk):
    desk.stop_at("things.py", 18)
    desk("debug.set-variable", name="few", value="40")
    desk("debug.set-variable", name="LIMIT", value="8")
    assert values(desk("debug.step-over")["locals"])["local"] == "41"
    assert desk("debug.continue")["output"] == "8\n"


def read(desk, name: str) -> list[dict]:
    with open(os.path.join(desk.workspace, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_a_large_variable_is_saved_whole(desk):
    desk.stop_at("things.py", 18)
    told = desk("debug.save-variable", expression="numbers", outputPath="out/numbers.jsonl")
    assert told["items"] == 10_000
    assert told["path"] == "out/numbers.jsonl"
    lines = read(desk, "out/numbers.jsonl")
    assert lines[-1] == {"name": "9999", "type": "int", "value": 9999}
    told = desk("debug.save-variable", expression="words", outputPath="words.jsonl", maxItems=5)
    assert told["items"] == 5
    assert "1000 in all" in told["more"]
    desk("debug.save-variable", expression="node", outputPath="node.jsonl")
    assert [line["name"] for line in read(desk, "node.jsonl")] == ["'value'", "'below'", "'_secret'"]


def test_what_cannot_be_saved_says_why(desk):
    desk.fails("E_NO_SESSION", "debug.save-variable", expression="numbers", outputPath="n.jsonl")
    desk.stop_at("things.py", 18)
    desk.fails("E_NOT_EXPANDABLE", "debug.save-variable", expression="LIMIT", outputPath="n.jsonl")
    desk.fails("E_NOT_EXPANDABLE", "debug.save-variable", expression="text", outputPath="n.jsonl")
    error = desk.fails("E_EVALUATE_FAILED", "debug.save-variable", expression="nobody", outputPath="n.jsonl")
    assert "nobody" in error.message
    desk.fails("E_EVALUATE_FAILED", "debug.save-variable", expression="a b", outputPath="n.jsonl")
    desk.fails("E_INVALID_PATH", "debug.save-variable", expression="numbers", outputPath=".")
    desk.fails("E_FS_ERROR", "debug.save-variable", expression="numbers", outputPath="shop.py/n.jsonl")
    assert not os.path.exists(os.path.join(desk.workspace, "n.jsonl"))


@pytest.mark.parametrize(
    ("script", "params"),
    [
        ("debug.stack", {}),
        ("debug.threads", {}),
        ("debug.list-variables", {}),
        ("debug.evaluate", {"expression": "1"}),
        ("debug.set-variable", {"name": "a", "value": "1"}),
    ],
)
def test_without_a_session_there_is_nothing_to_look_at(desk, script, params):
    assert "debug_start" in desk.fails("E_NO_SESSION", script, **params).hint


def test_a_stack_comes_in_parts(desk):
    desk.stop_at("many.py", 49)
    told = desk("debug.stack", count=3)
    assert len(told["frames"]) == 3
    assert told["more"] == "8; call with start=3"
    rest = desk("debug.stack", start=3, count=100)
    assert rest["frames"][-1]["name"] == "<module>"
    desk.fails("E_NO_STACK", "debug.stack", start=500)
