"""Classes of exceptions and names of functions are told as the program has them, without words of the adapter."""

import pytest

from binnacle.bridge.debug.adapter_dialects import exception_of, function_name
from bridge.debug.desk import where

CHAIN = """\
class Outer:
    class Inner(Exception):
        pass


def read():
    raise KeyError("a] b")


def load():
    try:
        read()
    except KeyError as error:
        raise Outer.Inner() from error


load()
"""

CALLED_BACK = """\
import json


class Wrong(ValueError):
    pass


def hook(pairs):
    raise Wrong("never")


def load():
    return json.loads('{"a": 1}', object_pairs_hook=hook)


load()
"""


def test_an_exception_that_has_a_cause_is_named_by_itself(desk):
    desk.write("chain.py", CHAIN)
    told = desk("debug.start", program="chain.py")
    assert where(told) == ("chain.py", 14)
    assert told["exception"] == {"type": "Outer.Inner", "message": "", "mode": "unhandled"}
    assert [(one["name"], one.get("cause")) for one in told["frames"]] == [
        ("load", None),
        ("<module>", None),
        ("load", "'a] b'"),
        ("read", "'a] b'"),
    ]
    assert [one["name"] for one in desk("debug.stack")["frames"]] == ["load", "<module>", "load", "read"]


@pytest.mark.parametrize("filters", [["raised"], ["userUnhandled"], ["uncaught"]])
def test_names_are_plain_wherever_an_exception_stops(desk, filters):
    desk.write("back.py", CALLED_BACK)
    desk("breakpoint.set", exceptions=filters)
    told = desk("debug.start", program="back.py")
    assert told["exception"]["type"] == "Wrong"
    assert told["exception"]["message"] == "never"
    assert [one["name"] for one in told["frames"]] == ["hook", "load", "<module>"]
    assert desk("dap.exceptions")["exceptions"][0]["type"] == "Wrong"


@pytest.mark.parametrize("just_my_code", [True, False])
def test_names_are_plain_where_a_library_raised(desk, just_my_code):
    desk.write("outer.py", "import json\n\n\ndef load():\n    return json.loads('{')\n\n\nload()\n")
    told = desk("debug.start", program="outer.py", justMyCode=just_my_code)
    assert told["exception"]["type"] == "JSONDecodeError"
    names = [one["name"] for one in desk("debug.stack")["frames"]]
    assert {"load", "<module>"} <= set(names)
    assert not [one for one in names if " " in one]


@pytest.mark.parametrize(
    ("adapter", "called", "name"),
    [
        ("debugpy", "total (Current frame)", "total"),
        ("debugpy", "<lambda>", "<lambda>"),
        ("js-debug", "global.add", "add"),
        ("js-debug", "Cart.total", "total"),
        ("js-debug", "Module._extensions..js", ".js"),
        ("js-debug", "function Module(id = '', parent) {.load", "load"),
        ("js-debug", "<anonymous>", "<anonymous>"),
        ("lldb-dap", "main", "main"),
        ("lldb-dap", "shop::add(int, std::function<void (int)>)", "shop::add"),
        ("lldb-dap", "Cart::total() const [opt]", "Cart::total"),
        ("lldb-dap", "(anonymous namespace)::add(int)", "(anonymous namespace)::add"),
        ("lldb-dap", "Less::operator()(int, int) const", "Less::operator()"),
        ("delve", "main.add", "main.add"),
    ],
)
def test_a_frame_is_named_by_its_function(adapter, called, name):
    assert function_name(adapter, called) == name


@pytest.mark.parametrize(
    ("info", "told"),
    [
        (
            {"exceptionId": "TypeError: a: b", "details": {"stackTrace": "at f"}},
            {"type": "TypeError", "message": "a: b"},
        ),
        ({"exceptionId": "Error", "details": {"stackTrace": "at f"}}, {"type": "Error", "message": ""}),
        ({"exceptionId": "boom", "details": {}}, {"message": "boom"}),
    ],
)
def test_what_javascript_throws_has_a_class_if_it_is_an_error(info, told):
    assert exception_of("js-debug", info, "Paused on exception") == told
