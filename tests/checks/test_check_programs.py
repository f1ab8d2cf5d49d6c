"""Which files of the repository decide what a check runs."""

import pytest

from binnacle.checks.check_programs import is_run_by
from checks.checked_repository import make_check


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("make test", "Makefile"),
        ("make -C parts test", "parts/Makefile"),
        ("make test", "GNUmakefile"),
        ("just test", "justfile"),
        ("npm test", "package.json"),
        ("./check.sh", "check.sh"),
        ("sh scripts/check.sh --all", "scripts/check.sh"),
        ("sh -c 'cd parts && ./check.sh'", "check.sh"),
        ("sh -c 'make build; make test'", "Makefile"),
        ("env CI=1 bash -e tools/check", "tools/check"),
        ("python3 tools/check.py", "tools/check.py"),
        ("uv run python tools/check.py", "tools/check.py"),
        ("python3 -m tools.check", "tools/check.py"),
        ("python3 -m tools", "tools/__main__.py"),
    ],
)
def test_it_is_run(command, path):
    assert is_run_by(make_check(command), path)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("pytest -q tests/test_cart.py", "tests/test_cart.py"),
        ("mypy cart.py tax.py", "cart.py"),
        ("python3 -m pytest -q", "cart.py"),
        ("sh scripts/check.sh cart.py", "cart.py"),
        ("pytest", "Makefile"),
        ("make test", "src/make.py"),
    ],
)
def test_it_is_not_run(command, path):
    assert not is_run_by(make_check(command), path)


def test_the_setup_counts_too():
    assert is_run_by(make_check("pytest", setup="sh setup.sh"), "setup.sh")


def test_a_change_of_the_makefile_is_judged_with_the_one_of_the_base(checked):
    """One that weakens it is shown to a person; one that adds to it costs nothing."""
    checked.base = checked.repo.commit("a makefile", {"Makefile": "test:\n\tgrep -q sum cart.py\n"})
    weak = {"Makefile": "test:\n\ttrue\n", "cart.py": "total = 7\n"}
    found = checked.test(weak, "make test")
    assert (found.verdict, found.decision) == ("pass", "ask")
    assert [one.text for one in found.findings] == ["as it is on the base, it fails: exit code 2"]
    more = {"Makefile": "test:\n\tgrep -q sum cart.py\n\nclean:\n\ttrue\n"}
    found = checked.test(more, "make test")
    assert (found.opens_gate, found.findings) == (True, ())


def test_a_makefile_that_goes_before_that_of_the_base_is_taken_away(checked):
    checked.base = checked.repo.commit("a makefile", {"Makefile": "test:\n\tgrep -q sum cart.py\n"})
    found = checked.test({"GNUmakefile": "test:\n\ttrue\n", "cart.py": "total = 7\n"}, "make test")
    assert not found.opens_gate


def test_a_change_of_a_submodule_is_measured(checked):
    checked.repo.git("update-index", "--add", "--cacheinfo", f"160000,{checked.base},vendor")
    checked.repo.git("commit", "--quiet", "-m", "a submodule")
    before, checked.base = checked.base, checked.repo.git("rev-parse", "HEAD")
    checked.repo.git("update-index", "--cacheinfo", f"160000,{checked.base},vendor")
    checked.repo.git("commit", "--quiet", "-m", "another of its commits")
    assert before != checked.base
    assert checked.run(make_check(), checked.repo.git("rev-parse", "HEAD")).opens_gate
