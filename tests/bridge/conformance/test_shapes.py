"""Field for field, an editor answers as the headless host does."""

import re

import pytest

from binnacle.errors import BridgeError
from bridge.conformance.desk import Desk, shape
from bridge.conformance.test_debugging import SUM

pytestmark = pytest.mark.peers


def story(desk: Desk, program: str, line: int, name: str) -> dict[str, object]:
    """Everything that can be asked about a program, and the result."""
    desk.reset()
    desk.write("sum.js", SUM)
    told: dict[str, object] = {}

    def tell(script: str, **params: object) -> object:
        told[f"{len(told)} {script}"] = answer = desk(script, **params)
        return answer

    tell("breakpoint.set", path=program, line=line)
    tell("breakpoint.list")
    start = tell("debug.start", program=program)
    frame = start["frames"][0]["id"]
    tell("debug.status")
    tell("debug.threads")
    tell("debug.stack")
    tell("debug.scopes", frameId=frame)
    tell("debug.list-variables", scope="local")
    tell("debug.evaluate", expression=name)
    tell("debug.set-variable", name=name, value=7)
    tell("debug.step-over")
    tell("breakpoint.set", path=program, line=line, condition="1 > 2")
    tell("breakpoint.list")
    tell("debug.continue")
    tell("breakpoint.clear.project")
    tell("debug.tracker")
    tell("dap.summary", compact=True)
    return told


def settle(told: object) -> object:
    """Without what depends on how a moment falls: how much was written by when, and which sessions there were."""
    match told:
        case dict():
            return {name: settle(one) for name, one in told.items() if name not in ("output", "sessions", "children")}
        case list():
            return [settle(one) for one in told]
    return told


@pytest.mark.parametrize(("program", "line", "name"), [("shop.py", 15, "amount"), ("sum.js", 4, "sum")])
def test_both_hosts_answer_alike(headless_host, vscode_host, js_debug, program, line, name):
    js_debug(headless_host)
    one, other = (story(desk, program, line, name) for desk in (headless_host, vscode_host))
    for script, answer in one.items():
        assert shape(settle(answer)) == shape(settle(other[script])), script


@pytest.mark.parametrize(
    ("script", "params"),
    [
        ("debug.evaluate", {"expression": "1"}),
        ("breakpoint.set", {"path": "none.py", "line": 1}),
        ("breakpoint.set", {"path": "shop.py", "line": 400}),
        ("breakpoint.remove", {"path": "shop.py", "line": 4}),
        ("debug.start", {}),
        ("debug.start", {"program": "none.py"}),
        ("debug.start", {"pytest": "none.py"}),
        ("test.debug-single", {"path": "test_shop.py", "line": 1}),
        ("debug.scopes", {"frameId": 3}),
    ],
)
def test_both_hosts_refuse_in_the_same_words(headless_host, vscode_host, script, params):
    said = []
    for desk in (headless_host, vscode_host):
        desk.reset()
        with pytest.raises(BridgeError) as caught:
            desk(script, **params)
        error = caught.value
        message = re.sub(r"session \d+", "session …", error.message.replace(str(desk.workspace), "…"))
        said.append((error.code, message, error.hint, error.retryable, sorted(error.details)))
    assert said[0] == said[1]
