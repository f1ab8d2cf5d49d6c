"""Reports of test runners, honest and hostile."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.checks.junit_report import MAX_DEPTH, BadReport, parse_junit
from binnacle.checks.line_reports import (
    find_no_tests,
    parse_cargo,
    parse_go,
    parse_jest,
    parse_tap,
    parse_unittest,
)
from binnacle.checks.report_files import read_reports, remove_reports
from binnacle.checks.report_options import ReportRequest, request_report
from binnacle.checks.report_reader import MAX_REPORT_BYTES, read_report

JUNIT = """<?xml version="1.0"?><testsuites><testsuite name="pytest">
<testcase classname="tests.test_a" name="test_one"/>
<testcase classname="tests.test_a" name="test_two"><failure message="no">assert</failure></testcase>
<testcase classname="tests.test_a" name="test_three"><skipped/></testcase>
<testcase classname="" name="tests.test_b"><error message="collection failure"/></testcase>
</testsuite></testsuites>"""


def test_junit_names_what_passed_failed_and_was_skipped():
    found = parse_junit(JUNIT.encode())
    assert found.passed == ("tests.test_a::test_one",)
    assert found.failed == ("tests.test_a::test_two", "tests.test_b")
    assert found.skipped == ("tests.test_a::test_three",)
    assert found.ran == 3


def test_nested_suites_give_a_test_its_whole_name_from_the_checkout_on():
    text = (
        '<testsuites><testsuite name="/room/tree/a.js"><testsuite name="cart"><testcase name="adds" classname="test"/>'
    )
    found = parse_junit((text + "</testsuite></testsuite></testsuites>").encode(), root="/room/tree")
    assert found.passed == ("a.js > cart > adds",)


def test_a_test_that_is_reported_twice_has_the_worse_result():
    case = '<testcase classname="a" name="b">'
    text = f"<testsuite>{case}<failure/></testcase>{case}</testcase></testsuite>"
    assert parse_junit(text.encode()).failed == ("a::b",)


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>',
        "<testsuite>" * (MAX_DEPTH + 1) + "</testsuite>" * (MAX_DEPTH + 1),
        "<testsuite><testcase name='cut'",
        "",
        "<html/>",
        "\0\0\0",
        '<testsuite><testcase name="&undefined;"/></testsuite>',
    ],
)
def test_what_is_no_report_is_refused(text):
    with pytest.raises(BadReport):
        parse_junit(text.encode())


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader_of_xml(data):
    for text in (data, b"<testsuite>" + data + b"</testsuite>"):
        try:
            parse_junit(text)
        except BadReport:
            continue


@given(st.text(max_size=300))
def test_no_text_breaks_the_readers_of_lines(text):
    find_no_tests(text)
    for parse in (
        parse_go,
        parse_tap,
        parse_cargo,
        parse_unittest,
        lambda one: parse_jest(one.encode(errors="replace")),
    ):
        try:
            assert parse(text).ran >= 0
        except BadReport:
            continue


@given(st.lists(st.tuples(st.text("ab<&\"'\0", max_size=5), st.sampled_from(["", "<failure/>", "<skipped/>"]))))
def test_every_test_is_in_one_list(cases):
    from xml.sax.saxutils import quoteattr

    body = "".join(
        f"<testcase classname='c' name={quoteattr(name.replace(chr(0), ''))}>{inner}</testcase>"
        for name, inner in cases
    )
    found = parse_junit(f"<testsuite>{body}</testsuite>".encode())
    names = [*found.passed, *found.failed, *found.skipped]
    assert len(names) == len(set(names)) <= len(cases)


def test_go_names_packages_and_tests():
    events = [
        {"Action": "run", "Package": "shop", "Test": "TestA"},
        {"Action": "pass", "Package": "shop", "Test": "TestA"},
        {"Action": "fail", "Package": "shop", "Test": "TestB/sub"},
        {"Action": "skip", "Package": "shop", "Test": "TestC"},
        {"Action": "fail", "Package": "broken"},
        {"Action": "pass", "Package": "shop"},
    ]
    found = parse_go("\n".join(["noise", '{"Action": 3}', *map(json.dumps, events)]))
    assert (found.passed, found.failed, found.skipped) == (
        ("shop/TestA",),
        ("broken", "shop/TestB/sub"),
        ("shop/TestC",),
    )


def test_tap_needs_a_plan():
    found = parse_tap("TAP version 13\nok 1 - adds\nnot ok 2 - fails\nok 3 - later # SKIP not yet\n1..3\n")
    assert (found.passed, found.failed, found.skipped) == (("adds",), ("fails",), ("later",))
    with pytest.raises(BadReport, match="did not come to its end"):
        parse_tap("ok 1 - adds\n")


def test_cargo_and_unittest_are_read_from_what_they_print():
    found = parse_cargo("test a::b ... ok\ntest c ... FAILED\ntest d ... ignored\n\ntest result: FAILED. 1 passed\n")
    assert (found.passed, found.failed, found.skipped) == (("a::b",), ("c",), ("d",))
    found = parse_unittest(
        "test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... FAIL\n\nRan 2 tests in 0.1s\n\nFAILED\n"
    )
    assert (found.passed, found.failed) == (("test_a (t.T.test_a)",), ("test_b (t.T.test_b)",))
    assert parse_unittest("..\nRan 2 tests in 0.1s\n").counted == 2


def test_jest_names_files_and_tests():
    tests = [{"fullName": "adds", "status": "passed"}, {"fullName": "later", "status": "pending"}]
    files = [
        {"name": "/t/a.test.js", "status": "passed", "assertionResults": tests},
        {"name": "/t/b.js", "status": "failed"},
    ]
    found = parse_jest(json.dumps({"testResults": files}).encode(), root="/t")
    assert (found.passed, found.failed, found.skipped) == (("a.test.js > adds",), ("b.js",), ("a.test.js > later",))


@pytest.mark.parametrize(
    ("words", "format_", "added"),
    [
        ("pytest tests", "junit", "--junit-xml=/r"),
        ("uv run pytest", "junit", "--junit-xml=/r"),
        ("python3 -m pytest -x -- tests", "junit", "--junit-xml=/r"),
        ("python -m unittest", "unittest", "-v"),
        ("node --test web", "junit", "--test-reporter=junit"),
        ("npx jest --ci", "jest", "--outputFile=/r"),
        ("npx vitest run", "jest", "--outputFile.json=/r"),
        ("go test ./...", "go", "-json"),
        ("cargo test", "cargo", "cargo"),
        ("make test", None, "make"),
        ("python run_pytest.py", None, "python"),
        ("echo pytest", None, "echo"),
        ("cat pytest", None, "cat"),
        ("npm test", None, "npm"),
    ],
)
def test_runners_that_are_known_are_asked_for_a_report(words, format_, added):
    found = request_report(words.split(), file="/r", plugin="bn_x", plugin_folder="/p")
    assert found.format == format_
    assert added in found.words
    if "--" in found.words:
        assert found.words[-2:] == ("--", "tests")


def test_the_plugin_is_found_beside_a_path_of_the_check_s_own():
    found = request_report(["env", "PYTHONPATH=src", "pytest"], file="/r", plugin="bn_x", plugin_folder="/p")
    assert found.words[1] == "PYTHONPATH=src:/p"


def test_a_report_that_is_a_link_a_pipe_or_too_large_is_not_read(tmp_path):
    def read(path):
        return read_report(ReportRequest(words=(), format="junit", file=str(path)), "", root="/")

    assert read(tmp_path / "missing") is None
    os.symlink("/etc/passwd", tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with open(tmp_path / "large", "wb") as file:
        file.truncate(MAX_REPORT_BYTES + 1)
    for name in ("link", "pipe", "folder", "large"):
        with pytest.raises(BadReport):
            read(tmp_path / name)


def suite(*cases: str) -> str:
    return f"<testsuite>{''.join(cases)}</testsuite>"


GOOD, BAD = '<testcase classname="A" name="good"/>', '<testcase classname="A" name="bad"><failure/></testcase>'


def test_reports_that_a_command_writes_itself_are_read_together(tmp_path):
    results = tmp_path / "build" / "results" / "unit"
    results.mkdir(parents=True)
    (results / "one.xml").write_text(suite(GOOD))
    (results / "two.xml").write_text(suite(BAD))
    (tmp_path / "other.xml").write_text(suite('<testcase classname="B" name="other"/>'))
    found = read_reports(str(tmp_path), "build/results/**/*.xml")
    assert (found.passed, found.failed) == (("A::good",), ("A::bad",))
    assert read_reports(str(tmp_path), "build/results") == found, "a folder means all files in it"
    assert read_reports(str(tmp_path), "other.xml").passed == ("B::other",)
    assert read_reports(str(tmp_path), "build/none.xml") is None
    remove_reports(str(tmp_path), "build/**/*.xml")
    assert read_reports(str(tmp_path), "build/**") is None
    assert (tmp_path / "other.xml").exists()


def test_reports_out_of_the_checkout_are_neither_read_nor_removed(tmp_path):
    away, tree = tmp_path / "away", tmp_path / "tree"
    away.mkdir()
    (tree / "build").mkdir(parents=True)
    (away / "a.xml").write_text(suite(GOOD))
    os.symlink(away, tree / "results")
    os.symlink(away, tree / "build" / "results")
    os.symlink(away / "a.xml", tree / "link.xml")
    for pattern in ("results/a.xml", "results/*.xml", "build/**/*.xml"):
        assert read_reports(str(tree), pattern) is None
        remove_reports(str(tree), pattern)
    with pytest.raises(BadReport):
        read_reports(str(tree), "link.xml")
    remove_reports(str(tree), "link.xml")
    assert (away / "a.xml").exists()


@pytest.mark.parametrize("said", ["collected 0 items", "no tests to run", "No test files found, exiting", "1..0\n"])
def test_words_that_say_that_nothing_ran(said):
    assert find_no_tests(f"begin\n{said}\nend")
    assert not find_no_tests(f"begin\n{said}\n5 passed in 1s\n")
