"""What a check says about an honest change, and how it comes to it."""

import asyncio
import shlex
import sys
from pathlib import Path

import pytest

from binnacle.errors import GitError
from checks.checked_repository import BROKEN_CART, CART, PYTEST, TESTS, make_check

OLD_FAILURE = TESTS + "\n\ndef test_old():\n    assert total([1]) == 2\n"


def test_a_change_whose_tests_pass(checked):
    found = checked.test({"cart.py": CART + "\n\ndef tax(price):\n    return price / 5\n"})
    assert (found.verdict, found.exit, found.ran, found.failed) == ("pass", 0, 2, ())
    assert found.opens_gate
    assert found.passed == ("tests.test_cart::test_empty", "tests.test_cart::test_total")
    assert found.commit != found.base == checked.base
    assert found.tree == checked.repo.git("rev-parse", "work^{tree}")
    assert found.machine
    assert "2 passed" in Path(found.log).read_text()


def test_a_change_that_breaks_a_test_is_told_which(checked):
    found = checked.test({"cart.py": BROKEN_CART})
    assert found.verdict == "fail"
    assert found.new_failed == ("tests.test_cart::test_empty", "tests.test_cart::test_total")
    assert "tests.test_cart::test_empty" in found.reason
    assert "assert 7 == 3" in found.log_excerpt
    assert not found.opens_gate


def test_what_failed_before_does_not_count_and_is_shown(checked):
    checked.base = checked.repo.commit("an old failure", {"tests/test_cart.py": OLD_FAILURE})
    found = checked.test({"cart.py": CART + "\n"})
    assert (found.verdict, found.new_failed) == ("pass", ())
    assert found.old_failed == ("tests.test_cart::test_old",)
    assert "failed before this change" in found.reason


def test_a_new_failure_beside_an_old_one_counts(checked):
    checked.base = checked.repo.commit("an old failure", {"tests/test_cart.py": OLD_FAILURE})
    found = checked.test({"cart.py": "def total(prices):\n    return 3\n"})
    assert found.verdict == "fail"
    assert (found.new_failed, found.old_failed) == (("tests.test_cart::test_empty",), ("tests.test_cart::test_old",))


def test_the_base_is_run_once_for_all_changes(checked):
    checked.test({"cart.py": CART + "\n# one\n"})
    assert "running it on the base" in checked.told
    checked.told.clear()
    checked.test({"cart.py": CART + "\n# two\n"})
    assert "running it on the base" not in checked.told


def test_what_passed_is_known_as_the_base_of_the_next_change(checked):
    assert checked.test({"cart.py": CART + "\n# one\n"}).opens_gate
    checked.base = checked.repo.git("rev-parse", "HEAD")
    checked.told.clear()
    assert checked.test({"cart.py": CART + "\n# two\n"}).opens_gate
    assert "running it on the base" not in checked.told


def test_what_failed_is_not_kept_as_a_base(checked):
    checked.test({"cart.py": "def total(prices):\n    return 3\n"})
    checked.base = checked.repo.git("rev-parse", "HEAD")
    checked.told.clear()
    checked.test({"cart.py": CART})
    assert "running it on the base" in checked.told


def test_another_definition_needs_its_own_base(checked):
    checked.test({"cart.py": CART + "\n# one\n"})
    checked.told.clear()
    checked.test({"cart.py": CART + "\n# two\n"}, f"{PYTEST} --color=no")
    assert "running it on the base" in checked.told


def test_a_second_run_buys_a_label_and_not_a_pass(checked):
    """The state is outside of the checkout, where no clean checkout can help."""
    flag = checked.path / "ran"
    text = f"{TESTS}\n\ndef test_luck():\n    import pathlib\n    flag = pathlib.Path({str(flag)!r})\n"
    text += "    was = flag.exists()\n    flag.touch()\n    assert was\n"
    found = checked.test({"tests/test_cart.py": text})
    assert found.verdict == "flaky"
    assert found.flaky == ("tests.test_cart::test_luck",)
    assert "passed when it was run again" in found.reason
    assert not found.opens_gate


def test_a_test_in_quarantine_runs_and_does_not_count(checked):
    text = TESTS + "\n\ndef test_luck():\n    assert False\n"
    found = checked.test({"tests/test_cart.py": text}, quarantined={"tests.test_cart::test_luck"})
    assert found.verdict == "pass"
    assert found.failed == ("tests.test_cart::test_luck",)
    assert "quarantine" in found.reason


def test_a_fixed_bug_needs_a_test_that_fails_without_the_fix(checked):
    checked.base = checked.repo.commit("a bug", {"cart.py": BROKEN_CART, "tests/test_cart.py": "def test_x(): pass\n"})
    fix = {"cart.py": CART, "tests/test_bug.py": TESTS}
    assert checked.test(fix, is_bug=True).verdict == "pass"


def test_a_fixed_bug_with_an_empty_test_is_not_shown(checked):
    found = checked.test({"cart.py": CART + "\n", "tests/test_bug.py": "def test_bug():\n    pass\n"}, is_bug=True)
    assert found.verdict == "fail"
    assert found.reason == "it is a bug, and no test of this change fails on the base"


def test_a_fixed_bug_without_any_change_is_not_shown(checked):
    found = checked.test({}, is_bug=True)
    assert found.reason == "it is a bug, and no test of this change fails on the base"


def test_a_new_test_of_new_code_shows_a_bug_although_the_base_cannot_load_it(checked):
    fix = {"cart.py": CART + "\n\ndef tax():\n    return 1\n"}
    fix["tests/test_tax.py"] = "from cart import tax\n\n\ndef test_tax():\n    assert tax() == 1\n"
    assert checked.test(fix, is_bug=True).verdict == "pass"


def test_a_linter_counts_by_its_exit_code(checked):
    found = checked.test({"cart.py": CART + "\n"}, "sh -c 'exit 0'")
    assert (found.verdict, found.ran) == ("pass", None)
    assert "not known" in found.reason
    found = checked.test({"cart.py": CART + "\n"}, "sh -c 'echo style; exit 3'")
    assert (found.verdict, found.reason, found.log_excerpt) == ("fail", "exit code 3", "style")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("no-such-program --x", "no such command: no-such-program"),
        ("sh -c 'no-such-program'", "exit code 127: a command was not found or cannot be executed"),
        ("./cart.py", "exit code 126: a command was not found or cannot be executed"),
        ("sh -c 'echo no tests ran'", "no test ran: it said 'no tests ran'"),
        ("sh -c 'echo Ran 0 tests in 0.0s'", "no test ran: it said 'Ran 0 tests'"),
        (f"{PYTEST} -k nothing_is_called_so", "no test ran"),
        (f"{PYTEST} --no-such-option", "exit code 4, and the test runner wrote no report: something ended it early"),
    ],
)
def test_what_could_not_run_is_no_pass_and_no_failure(checked, command, reason):
    found = checked.run(make_check(command), checked.base)
    assert (found.verdict, found.reason) == ("could_not_run", reason)


def test_tests_that_are_all_skipped_are_no_pass(checked):
    text = "import pytest\n\npytestmark = pytest.mark.skip('later')\n\n\ndef test_a():\n    pass\n"
    checked.base = checked.repo.commit("skips", {"tests/test_cart.py": text})
    found = checked.run(make_check(), checked.base)
    assert (found.verdict, found.reason, found.ran) == ("could_not_run", "all tests were skipped", 0)


def test_a_program_that_it_needs_is_missing(checked):
    found = checked.run(make_check(needs=["no-such-tool"]), checked.base)
    assert (found.verdict, found.reason) == ("could_not_run", "a program that it needs is missing: no-such-tool")


def test_setup_prepares_the_checkout(checked):
    check = make_check("sh -c 'test -f made && test -f \"$HOME/also\"'", setup="[sh, -c, 'touch made $HOME/also']")
    assert checked.run(check, checked.base).verdict == "pass"


def test_a_setup_that_fails_is_why_it_could_not_run(checked):
    check = make_check("true", setup="[sh, -c, 'echo broken; exit 5']")
    found = checked.run(check, checked.base)
    assert (found.verdict, found.reason) == ("could_not_run", "its setup failed: exit code 5")
    assert "broken" in found.log_excerpt


def test_a_threshold_of_the_runner_counts_although_no_test_failed(checked):
    text = "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n"
    checked.base = checked.repo.commit("a threshold", {"conftest.py": text})
    found = checked.run(make_check(), checked.base)
    assert (found.verdict, found.reason) == ("fail", "exit code 1, although no test failed; the log says why")


def test_tests_that_load_the_person_s_folder_prove_nothing_about_the_commit(checked):
    """As with `pip install -e .` in the person's environment."""
    checked.repo.commit(
        "a layout", {"src/shop.py": "price = 1\n", "tests/test_shop.py": "def test_a():\n    import shop\n"}
    )
    found = checked.run(make_check(f"env PYTHONPATH={checked.repo.path}/src {PYTEST}"), "HEAD", "")
    assert found.verdict == "could_not_run"
    assert "used files from outside of the checkout" in found.reason


def test_tests_in_several_processes_are_counted_as_those_in_one(checked):
    found = checked.test({"cart.py": CART + "\n"}, f"{PYTEST} -n 2 -x")
    assert (found.verdict, found.ran) == ("pass", 2)
    found = checked.test({"cart.py": BROKEN_CART}, f"{PYTEST} -n 2 -x")
    assert (found.verdict, len(found.new_failed)) == ("fail", 2)


@pytest.mark.parametrize("option", ["-q", "-v", "-rA"])
def test_the_log_and_its_excerpt_show_nothing_of_our_own_tests(checked, option):
    command = f"{shlex.quote(sys.executable)} -m pytest {option}"
    found = checked.test({"cart.py": CART.replace("sum(prices)", "sum(prices) or 1")}, command)
    assert found.verdict == "fail"
    for log in (Path(found.log).read_text(), found.log_excerpt):
        assert "raise AssertionError" not in log
        assert "bn-" not in log
        assert ".report" not in log
        assert "test_empty" in log
        assert "1 failed, 1 passed" in log
    assert not [line for line in checked.told if "bn-" in line or ".report" in line or not line.strip(".F")]


RUNNER = """\
mkdir -p out
grep -q good work.txt && result= || result='<failure/>'
echo "<testsuite><testcase classname='Work' name='good'>$result</testcase>" \\
     "<testcase classname='Work' name='kept'/></testsuite>" > out/report.xml
test -f exits && exit 1
exit 0
"""


def test_a_runner_that_is_not_known_may_write_junit_xml(checked):
    checked.base = checked.repo.commit("a runner", {"run.sh": RUNNER, "work.txt": "good\n"})
    check = make_check("sh run.sh", report='"out/*.xml"')
    found = checked.run(check, checked.branch({"notes.txt": "a note\n"}))
    assert (found.verdict, found.passed) == ("pass", ("Work::good", "Work::kept"))
    found = checked.run(check, checked.branch({"work.txt": "bad\n"}))
    assert (found.verdict, found.new_failed) == ("fail", ("Work::good",))
    found = checked.run(check, checked.branch({"exits": "a bad exit code counts\n"}))
    assert (found.verdict, found.exit) == ("fail", 1)


def test_a_report_that_a_commit_brings_along_does_not_count(checked):
    checked.base = checked.repo.commit("a runner", {"run.sh": RUNNER, "work.txt": "good\n"})
    forged = "<testsuite><testcase classname='Work' name='good'/></testsuite>"
    check = make_check("sh run.sh", report='"out/*.xml"')
    found = checked.run(check, checked.branch({"run.sh": "exit 0\n", "out/report.xml": forged}))
    assert (found.verdict, found.passed) == ("could_not_run", ())
    assert "wrote no report" in found.reason


def test_node_s_own_runner_names_its_tests(checked):
    good = "const test = require('node:test');\nconst assert = require('assert');\n"
    good += "test('adds', () => assert.equal(1 + 1, 2));\ntest('outer', async (t) => {\n"
    good += "  await t.test('inner', () => assert.ok(true));\n});\n"
    checked.base = checked.repo.commit("node", {"web/a.test.js": good})
    assert checked.run(make_check("node --test web/"), checked.base).verdict == "pass"
    found = checked.test({"web/a.test.js": good.replace("1 + 1, 2", "1 + 1, 3")}, "node --test web/")
    assert found.verdict == "fail"
    assert any("adds" in one for one in found.new_failed)


def test_unittest_names_its_tests(checked):
    text = (
        "import unittest\n\n\nclass Tests(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(True)\n"
    )
    commit = checked.repo.commit("unittest", {"test_u.py": text})
    found = checked.run(make_check(f"{sys.executable} -m unittest"), commit, "")
    assert (found.verdict, found.ran) == ("pass", 1)


def test_checks_that_may_not_run_at_once_wait_for_each_other(checked):
    place = checked.path / "busy"
    check = make_check(f"sh -c 'mkdir {place} && sleep 0.2 && rmdir {place}'", exclusive="database")

    async def both():
        return await asyncio.gather(*(checked.run_async(check, checked.base, "") for _ in range(3)))

    found = asyncio.run(asyncio.wait_for(both(), 60))
    assert [one.verdict for one in found] == ["pass"] * 3


def test_a_commit_that_does_not_exist_is_said(checked):
    with pytest.raises(GitError, match="no such commit: nothing"):
        checked.run(make_check("true"), "nothing")


def test_nothing_is_left_of_checkouts(checked):
    checked.test({"cart.py": BROKEN_CART})
    assert checked.rooms == []
