"""What shows an acceptance criterion, and whether it is proven."""

import pytest

from binnacle.work.criterion_proof import judge_criteria
from binnacle.work.evidence import Evidence
from places import NOW

COMMIT = "1a2b3c4d" * 5
BY_CHECK = "names are refused [check: tests]"
BY_TEST = "totals are rounded [test: test_rounding]"


def result(check="tests", verdict="pass", **more):
    fields = {"id": "bne-1", "definition": "d", "commit_id": COMMIT, "tree": "t", "created_at": NOW, **more}
    return Evidence(check_name=check, verdict=verdict, **fields)


def judge(line, *results):
    (found,) = judge_criteria([line], results)
    return found.state, found.describe()


def test_a_criterion_without_a_name_is_left_to_people():
    assert judge_criteria(["it is fast"], [result()]) == ()


def test_a_check_that_passed_proves_it():
    assert judge(BY_CHECK, result()) == ("proven", "check tests: proven at 1a2b3c4d")


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ((), ("open", "check tests: not proven, the check has not run")),
        ((result("lint"),), ("open", "check tests: not proven, the check has not run")),
        ((result(verdict="fail", reason="1 test failed"),),
         ("failed", "check tests: not proven at 1a2b3c4d, fail (1 test failed)")),
        ((result(verdict="flaky"), result()), ("open", "check tests: not proven, flaky")),
        ((result(verdict="could_not_run"),), ("open", "check tests: not proven, could not run")),
        ((result(decision="ask"),), ("open", "check tests: not proven, a person has to look at the change")),
    ],
)  # fmt: skip
def test_anything_else_does_not(results, said):
    assert judge(BY_CHECK, *results) == said


def test_a_test_has_to_run_and_pass_in_a_check_that_passes():
    passed = ("tests/test_totals.py::test_rounding",)
    assert judge(BY_TEST, result(passed=passed)) == ("proven", "test test_rounding: proven at 1a2b3c4d")
    assert judge(BY_TEST, result(verdict="fail", passed=passed))[0] == "open"
    assert judge(BY_TEST, result(failed=passed), result("lint", passed=passed))[0] == "failed"
    assert judge(BY_TEST, result(passed=("tests/test_totals.py::test_not_rounding",)))[0] == "open"


def test_both_have_to_show_it():
    both = "totals are rounded [check: lint] [test: test_rounding]"
    passed = ("test_rounding",)
    assert judge(both, result(passed=passed))[0] == "open"
    assert judge(both, result(passed=passed), result("lint"))[0] == "proven"
