"""Which commands of agents test something, and what follows from how they ended."""

import pytest

from binnacle.work.observation import ObservedCommand, describe_observed, has_passed, is_test_command


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "pytest -n 4 tests/test_cart.py 2>&1",
        ".venv/bin/python -m pytest -x",
        "python3.12 -m unittest",
        "cd shop && uv run pytest",
        "PYTHONPATH=src timeout 60 pytest",
        "bash -lc 'npm test'",
        "npm run test",
        "go test ./...",
        "cargo clippy",
        "make check",
        "node --test web/",
        "ruff check .",
    ],
)
def test_a_command_that_tests_something(line):
    assert is_test_command(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ls",
        "pytest || true",
        "pytest | tail",
        "pytest; echo ok",
        "pytest &",
        "(pytest)",
        "pytest --version",
        "pytest --collect-only",
        "make -n test",
        "pip install pytest",
        "grep pytest README.md",
        "echo pytest",
        "npm install",
        "cat 'unclosed",
        "bash -c 'pytest || true'",
        "git commit -m 'pytest passes'",
        "cd tests",
        "true && echo tests",
    ],
)
def test_a_command_that_tests_nothing_or_hides_how_it_ended(line):
    assert not is_test_command(line)


def test_nothing_may_have_failed_when_it_ran_last():
    good, bad = ObservedCommand("pytest -q", 0), ObservedCommand("ruff check", 1)
    assert has_passed([good])
    assert not has_passed([good, bad])
    assert not has_passed([])
    assert describe_observed([good, bad]) == "`pytest -q` ended with 0, `ruff check` ended with 1"
