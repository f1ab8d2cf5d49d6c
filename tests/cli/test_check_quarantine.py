"""`bn check quarantine`: flaky tests whose failures do not count until a date."""

import shlex
import sys
from datetime import UTC, datetime, timedelta

import pytest

from cli.test_check import commit

TEST = "test_cart::test_luck"
FILES = {"test_cart.py": "def test_luck():\n    assert False\n\n\ndef test_total():\n    pass\n"}


@pytest.fixture
def check(bn):
    bn("check", "add", "tests", f"{shlex.quote(sys.executable)} -m pytest -q")
    return commit(bn, FILES)


def add(bn, *words: str):
    return bn("check", "quarantine", "add", "tests", TEST, *words)["test"]


def list_tests(bn, *words: str):
    return bn("check", "quarantine", "list", *words)["tests"]


def test_a_test_in_quarantine_runs_and_its_failure_is_shown_and_does_not_count(bn, check):
    assert bn.run("check", "run").code == 1
    added = add(bn, "--days", "14", "--owner", "ann", "--reason", "the clock")
    assert (added["owner"], added["reason"], added["active"]) == ("ann", "the clock", True)
    done = bn.run("check", "run")
    found = done.json["checks"][0]
    assert (done.code, found["verdict"], found["failed"], found["new_failed"]) == (0, "pass", [TEST], [])
    assert f"1 failed and is in quarantine: {TEST}" in bn.human("check", "run")
    assert bn("check", "quarantine", "end", "tests", TEST)["ended"]
    assert bn.run("check", "run").code == 1


def test_what_is_in_quarantine_is_listed(bn, check):
    assert "no test" in bn.human("check", "quarantine", "list")
    day = datetime.now(UTC) + timedelta(days=3)
    add(bn, "--until", f"{day:%Y-%m-%d}", "--reason", "slow disk")
    (one,) = list_tests(bn)
    assert (one["check"], one["test"], one["reason"]) == ("tests", TEST, "slow disk")
    assert datetime.fromisoformat(one["ends_at"]) > day - timedelta(hours=1)
    add(bn, "--days", "1")  # the same again changes it
    assert len(list_tests(bn)) == 1
    assert "slow disk" not in bn.human("check", "quarantine", "list")
    bn("check", "quarantine", "end", "tests", TEST)
    assert list_tests(bn, "--all") == []
    assert bn.fails("check", "quarantine", "end", "tests", TEST)["code"] == "E_NOT_FOUND"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--days", "91"), "E_INVALID_PARAMS", "90 days"),
        (("--days", "99999999999"), "E_INVALID_PARAMS", "90 days"),
        (("--until", "2999-01-01"), "E_INVALID_PARAMS", "90 days"),
        (("--days", "0"), "E_INVALID_PARAMS", "in the future"),
        (("--days", "-3"), "E_INVALID_PARAMS", "in the future"),
        (("--until", "2020-01-01"), "E_INVALID_PARAMS", "in the future"),
        (("--until", "soon"), "E_INVALID_PARAMS", "not a date: 'soon'"),
        (("--until", "7d"), "E_INVALID_PARAMS", "not a date: '7d'"),
    ],
)
def test_an_end_is_needed_that_is_not_far(bn, check, words, code, said):
    error = bn.fails("check", "quarantine", "add", "tests", TEST, *words)
    assert error["code"] == code
    assert said in error["message"]


@pytest.mark.parametrize("words", [(), ("--days", "1", "--until", "2099-01-01")])
def test_one_end_is_needed(bn, check, words):
    done = bn.run("check", "quarantine", "add", "tests", TEST, *words)
    assert (done.code, "--until DATE or --days N" in done.err) == (2, True)


def test_an_unknown_check_is_named(bn, check):
    error = bn.fails("check", "quarantine", "add", "test", TEST, "--days", "3")
    assert (error["code"], error["hint"]) == ("E_NOT_FOUND", "did you mean 'tests'?")


def test_it_is_for_people_only(bn, check):
    add(bn, "--days", "3")
    env = bn.agent("bob")
    for words in (("add", "tests", "x", "--days", "3"), ("end", "tests", TEST)):
        assert bn.fails("check", "quarantine", *words, env=env)["code"] == "E_PERSON_NEEDED"
    assert [one["test"] for one in list_tests(bn)] == [TEST]
