"""Branches that were made to look right. Each ends without a pass, and the reason says what was seen."""

import os

import pytest

from checks.checked_repository import BROKEN_CART, CART, PYTEST, TESTS, make_check

WEAK = "from cart import total\n\n\ndef test_total():\n    assert total\n\n\ndef test_empty():\n    assert total\n"


def lie(checked, files, command=PYTEST, **options):
    found = checked.test(files, command, **options)
    assert not found.opens_gate
    return found


def kinds(found) -> set[str]:
    return {one.kind for one in found.findings}


def test_it_edits_the_test(checked):
    """A person decides: the base's own test fails on the new code."""
    found = lie(checked, {"cart.py": BROKEN_CART, "tests/test_cart.py": WEAK})
    assert (found.verdict, found.decision, kinds(found)) == ("pass", "ask", {"base_test_fails"})
    assert {one.path for one in found.findings} == {"tests.test_cart::test_total", "tests.test_cart::test_empty"}


def test_it_deletes_the_test(checked):
    found = lie(
        checked, {"cart.py": BROKEN_CART, "tests/test_cart.py": None, "tests/test_a.py": "def test_a(): pass\n"}
    )
    assert (found.verdict, found.decision) == ("fail", "refuse")
    assert "it passed on the base and did not run" in found.reason


def test_it_skips_the_test(checked):
    text = TESTS.replace("def test_total", "@pytest.mark.skip\ndef test_total")
    found = lie(checked, {"tests/test_cart.py": "import pytest\n" + text})
    assert found.verdict == "fail"
    assert "tests.test_cart::test_total: it passed on the base and was skipped" in found.reason


def test_it_narrows_the_tests_by_the_runner_s_settings(checked):
    found = lie(
        checked, {"cart.py": "def total(prices):\n    return 3\n", "pytest.ini": "[pytest]\naddopts = -k total\n"}
    )
    assert found.verdict == "fail"
    assert "tests.test_cart::test_empty: it passed on the base and did not run" in found.reason


def test_it_narrows_the_tests_where_the_project_is_described(checked):
    found = lie(checked, {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-k total"\n'})
    assert "tests.test_cart::test_empty: it passed on the base and did not run" in found.reason


def test_it_skips_when_it_is_imported(checked):
    found = lie(checked, {"cart.py": "import pytest\n\npytest.skip('not here', allow_module_level=True)\n"})
    assert (found.verdict, found.reason) == ("could_not_run", "all tests were skipped")


def test_it_skips_one_module_when_it_is_imported(checked):
    more = {"tests/test_more.py": "def test_more():\n    pass\n"}
    found = lie(checked, {"cart.py": "import pytest\n\npytest.skip('no', allow_module_level=True)\n", **more})
    assert found.verdict == "fail"
    assert "it passed on the base and did not run" in found.reason


def test_it_ends_the_process_when_it_is_imported(checked):
    found = lie(checked, {"cart.py": "import os\n\nos._exit(0)\n"})
    assert found.verdict == "could_not_run"
    assert found.reason == "exit code 0, and the test runner wrote no report: something ended it early"


MARKS_ALL_PASSED = """\
import _pytest.reports

old = _pytest.reports.TestReport.__init__


def lie(self, *args, **kwargs):
    old(self, *args, **kwargs)
    self.outcome, self.longrepr = "passed", None


_pytest.reports.TestReport.__init__ = lie
"""


def test_it_patches_the_runner_from_product_code(checked):
    found = lie(checked, {"cart.py": MARKS_ALL_PASSED + BROKEN_CART})
    assert found.verdict == "fail"
    assert found.reason == "the code under test changed the test runner: a test that must fail was reported as passed"


def test_it_patches_how_a_test_is_called(checked):
    patch = "import _pytest.python\n\n_pytest.python.Function.runtest = lambda self: None\n\n\n"
    found = lie(checked, {"cart.py": patch + BROKEN_CART})
    assert "the code under test changed the test runner" in found.reason


HOOK = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""


def test_a_hook_of_its_own_marks_everything_as_passed(checked):
    found = lie(checked, {"cart.py": BROKEN_CART, "conftest.py": HOOK})
    assert found.verdict == "fail"
    assert "a test that must fail was reported as passed" in found.reason


def test_a_hook_of_its_own_drops_the_tests_that_fail(checked):
    hook = (
        "def pytest_collection_modifyitems(items):\n    items[:] = [one for one in items if 'empty' not in one.name]\n"
    )
    found = lie(checked, {"cart.py": "def total(prices):\n    return 3\n", "conftest.py": hook})
    assert found.verdict == "fail"
    assert "tests.test_cart::test_empty" in found.reason


def test_a_clever_hook_spares_our_tests_and_is_put_back_with_the_base_s_tests(checked):
    """It marks only the tests that it knows by name. A person sees that the base's tests fail."""
    clever = HOOK.replace(
        "    report.outcome, report",
        '    if item.name in ("test_total", "test_empty"):\n        report.outcome, report',
    )
    found = lie(checked, {"cart.py": BROKEN_CART, "conftest.py": clever})
    assert (found.decision, kinds(found)) == ("ask", {"base_test_fails"})


def test_it_writes_a_report_of_its_own_at_the_end(checked):
    forged = """\
import atexit, os, sys


def forge():
    path = next(one.partition("=")[2] for one in sys.argv if one.startswith("--junit-xml="))
    cases = "".join(f'<testcase classname="tests.test_cart" name="{name}"/>' for name in ("test_total", "test_empty"))
    with open(path, "w") as file:
        file.write(f'<testsuites><testsuite name="pytest">{cases}</testsuite></testsuites>')
    os._exit(0)


atexit.register(forge)


"""
    found = lie(checked, {"cart.py": forged + BROKEN_CART})
    assert found.verdict == "fail"
    assert "the report lacks tests that must be in it" in found.reason


def test_it_changes_python_before_anything_starts(checked):
    """`sitecustomize` is loaded where the check has the checkout in its path."""
    files = {"cart.py": BROKEN_CART, "sitecustomize.py": MARKS_ALL_PASSED}
    found = lie(checked, files, f"env PYTHONPATH=. {PYTEST}")
    assert "a test that must fail was reported as passed" in found.reason


def test_it_ends_with_success_whatever_happened(checked):
    found = lie(
        checked,
        {"cart.py": BROKEN_CART, "conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"},
    )
    assert found.verdict == "fail"
    assert len(found.new_failed) == 2


def test_it_breaks_another_module(checked):
    checked.base = checked.repo.commit(
        "another",
        {"tax.py": "rate = 5\n", "tests/test_tax.py": "def test_rate():\n    import tax\n    assert tax.rate == 5\n"},
    )
    found = lie(checked, {"cart.py": CART + "\n", "tax.py": "rate = 6\n"})
    assert found.new_failed == ("tests.test_tax::test_rate",)


def test_it_passes_only_with_what_it_did_not_commit(checked):
    commit = checked.branch({"cart.py": "from helper import total\n", ".gitignore": "helper.py\n"})
    checked.repo.write({"helper.py": CART})
    found = checked.run(make_check(), commit)
    assert found.verdict == "fail"
    assert "No module named 'helper'" in found.log_excerpt


def test_it_brings_compiled_code_in_place_of_the_source(checked):
    """A cache of the agent's folder does not come along: the checkout has what is committed."""
    commit = checked.branch({"cart.py": BROKEN_CART, ".gitignore": "__pycache__\n"})
    (checked.repo.path / "__pycache__").mkdir()
    assert checked.run(make_check(), commit).verdict == "fail"


MOVES_REFS = """\
import subprocess


def test_moves():
    for words in ("branch -f main HEAD~1", "push origin HEAD:refs/heads/main --force", "update-ref -d refs/heads/main",
                  "tag stolen", "config user.name Mallory", "stash clear", "remote -v"):
        said = subprocess.run(["git", *words.split()], capture_output=True, text=True)
    assert said.stdout == ""
"""


def test_its_git_commands_move_nothing_of_the_person_s_repository(checked):
    checked.repo.commit("more", {"more.txt": "more\n"})
    commit = checked.branch({"tests/test_moves.py": MOVES_REFS})
    before = checked.repo.git("for-each-ref"), checked.repo.git("config", "--list", "--local"), checked.repo.status
    assert checked.run(make_check(), commit).verdict == "pass"
    after = checked.repo.git("for-each-ref"), checked.repo.git("config", "--list", "--local"), checked.repo.status
    assert before == after


def test_it_finds_no_secret_in_its_environment_or_home(checked, tmp_path):
    (tmp_path / "home" / ".netrc").write_text("machine example.org password hunter2")
    secrets = {
        "GITHUB_TOKEN": "hunter2", "AWS_SECRET_ACCESS_KEY": "hunter2", "BN_MCP_TOKEN": "hunter2",
        "BN_STORE_URL": "postgres://ann:hunter2@localhost/x", "SSH_AUTH_SOCK": "/run/hunter2", "GIT_DIR": "/hunter2",
        "ANTHROPIC_API_KEY": "hunter2", "XDG_CONFIG_HOME": "/hunter2", "BN_PASS_ENV": "GITHUB_TOKEN",
    }  # fmt: skip
    checked.environ = secrets
    script = "env; cat ~/.netrc; ls -A ~; test -d $TMPDIR && test $HOME != " + str(tmp_path / "home")
    found = checked.run(make_check(f"sh -c '{script}'"), checked.base)
    assert found.verdict == "pass"
    with open(found.log) as file:
        log = file.read()
    assert "PATH=" in log
    assert "hunter2" not in log
    assert str(tmp_path / "home") not in log


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../../../etc"])
def test_links_out_of_the_checkout_are_removed_and_not_followed(checked, target, tmp_path):
    (tmp_path / "home" / "kept").write_text("kept")
    os.symlink(tmp_path / "home", checked.repo.path / "link")
    os.symlink(target, checked.repo.path / "other")
    commit = checked.branch({"cart.py": CART + "\n"})
    assert (
        checked.run(make_check("sh -c 'test -L link && mkdir -p deep/x && chmod 000 deep'"), commit).verdict == "pass"
    )
    assert checked.rooms == []
    assert (tmp_path / "home" / "kept").read_text() == "kept"


SETS_A_FILTER = """\
git config filter.x.smudge 'touch {mark}; cat'
git config core.fsmonitor 'touch {mark}; false'
echo '* filter=x' > .gitattributes
"""


def test_its_setup_makes_no_git_of_ours_run_anything(checked):
    """For the base's tests git runs in the checkout, as the person. By then, no code of the branch has run there."""
    mark = checked.path / "mark"
    checked.base = checked.repo.commit("a setup", {"setup.sh": "true\n"})
    files = {"setup.sh": SETS_A_FILTER.format(mark=mark), "tests/test_cart.py": TESTS + "\n# changed\n"}
    found = checked.run(make_check(setup="sh setup.sh"), checked.branch(files))
    assert found.verdict == "pass", found.log_excerpt
    assert "running the base's tests on the new code" in checked.told
    assert not mark.exists()
