"""Changes of one line, and which function a failing test is about."""

import ast

import pytest

from scripted_agent.candidates import bounded, candidates, code_of, functions
from scripted_agent.pytest_runs import Failure, Frame, failures_in, named_tests
from scripted_agent.suspects import RESULT, suspect_of


def changed(line: str) -> set[str]:
    source = f"def f(a, b, items):\n    {line}\n"
    (function,) = functions(source)
    return {one.after.strip() for one in candidates(source, function)}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("return a + b", "return a - b"),
        ("return a - b", "return b - a"),
        ("return a < b", "return a <= b"),
        ("return a and b", "return a or b"),
        ("return a is not None", "return a is None"),
        ("a += b", "a -= b"),
        ("a //= b", "a /= b"),
        ("return items[a]", "return items[a - 1]"),
        ("return items[a:]", "return items[a + 1:]"),
        ("return range(a)", "return range(a + 1)"),
        ("return a * 10", "return a * 11"),
        ("return min(items)", "return max(items)"),
        ("return not a", "return a"),
        ("return True", "return False"),
        ("return 1 if a else 2", "return 1 if not (a) else 2"),
        ("return 'ä' + a", "return 'ä' * a"),
    ],
)
def test_a_mistake_of_one_sign_has_its_repair_among_the_changes(line, wanted):
    assert wanted in changed(line)


def test_every_change_is_python_in_one_line_of_the_function():
    head = "x = 1 + 1\n\n\nclass A:\n    def f(self, a, *rest, key=1, **more):\n        '''Doc 1.'''\n"
    source = f"{head}        return (a +\n            1)\n"
    (function,) = functions(source)
    assert (function.owner, function.body, function.call) == ("A", 7, "f(self, a, *rest, key=key, **more)")
    for one in candidates(source, function):
        assert function.body <= one.line <= function.last
        ast.parse(one.applied(source))
    assert code_of(source, function).startswith("def f(self")


def test_a_loop_without_end_can_be_ended():
    steps = iter(range(10))
    with pytest.raises(StopIteration):
        exec(bounded("while True:\n    pass\n"), {"__step__": lambda: next(steps)})


def wanted(folder, test: str, line: int) -> tuple[str, str] | None:
    (folder / "tests" / "test_it.py").write_text(test)
    failure = Failure(
        test="tests/test_it.py::test_it", frames=(Frame("tests/test_it.py", line, "test_it"),), message=""
    )
    found = suspect_of(str(folder), failure)
    return found and (found.function.name, found.wanted)


@pytest.mark.parametrize(
    ("body", "line", "about"),
    [
        ("    assert total([]) == 1\n", 5, ("total", f"{RESULT} == 1")),
        ("    found = total([])\n    assert found == 1\n", 6, ("total", f"{RESULT} == 1")),
        ("    found = total([])\n    assert found == 1\n", 5, ("total", f"{RESULT} == 1")),
        ("    assert not total([])\n", 5, ("total", f"not {RESULT}")),
        ("    assert len([]) == 1\n", 5, None),
    ],
)
def test_the_function_and_the_wish_are_read_from_the_test(shop, body, line, about):
    assert wanted(shop, f"from cart import total\n\n\ndef test_it():\n{body}", line) == about


def test_tests_are_found_by_path_and_by_name(shop):
    assert named_tests("Make `tests/test_cart.py::test_total` pass", str(shop)) == ["tests/test_cart.py::test_total"]
    assert named_tests("test_discount fails", str(shop)) == ["tests/test_cart.py::test_discount"]
    assert named_tests("tests/test_gone.py and test_gone", str(shop)) == []


def test_what_failed_is_read_from_the_output():
    output = (
        "F\n=== FAILURES ===\n____________ TestA.test_b ____________\n"
        "tests/test_a.py:5: in test_b\n    assert f() == 2\n"
        "a.py:2: in f\n    return 1 / 0\nE   ZeroDivisionError: division by zero\n"
        "=== short test summary info ===\nFAILED tests/test_a.py::TestA::test_b - ZeroDivisionError: division by zero\n"
    )
    (failure,) = failures_in(output)
    assert failure.test == "tests/test_a.py::TestA::test_b"
    assert failure.frames == (Frame("tests/test_a.py", 5, "test_b"), Frame("a.py", 2, "f"))
    assert failure.message == "ZeroDivisionError: division by zero"
