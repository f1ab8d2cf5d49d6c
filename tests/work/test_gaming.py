"""What a change does to what judges it is measured, whatever it means by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.work.gaming import (
    DEFAULT_PROTECTION,
    FINDING_KINDS,
    ChangedFile,
    ChangeFinding,
    classify_path,
    decide_policy,
    measure_change,
)

TEST = "def test_a():\n    assert 1\n    assert 2\n\n\ndef test_b():\n    assert 3\n"


def changed(path, before, after) -> ChangedFile:
    return ChangedFile(path=path, before=before, after=after, is_added=before is None, is_removed=after is None)


def kinds(*files: ChangedFile) -> set[str]:
    return {one.kind for one in measure_change(files)}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("tests/test_a.py", "test"),
        ("pkg/tests/deep/data.txt", "test"),
        ("src/cart.test.ts", "test"),
        ("cart_test.go", "test"),
        ("conftest.py", "runner"),
        ("tests/conftest.py", "runner"),
        ("sitecustomize.py", "runner"),
        ("tests/fixtures/a.json", "fixture"),
        ("src/__snapshots__/a.snap", "snapshot"),
        (".github/workflows/ci.yml", "ci"),
        ("web/package-lock.json", "lock"),
        (".coveragerc", "coverage"),
        ("eslint.config.js", "lint"),
        (".binnacle/checks.yaml", "binnacle"),
        ("src/cart.py", None),
        ("src/contest.py", None),
        ("latest/a.py", None),
        ("docs/testing.md", None),
    ],
)
def test_protected_files_are_known_by_their_paths(path, kind):
    assert classify_path(path) == kind


@pytest.mark.parametrize(
    ("path", "target", "is_found"),
    [
        ("cart.py", "/home/ann/cart.py", True),
        ("src/cart.py", "../../cart.py", True),
        ("src/cart.py", "a/../../../cart.py", True),
        ("src/cart.py", "../cart.py", False),
        ("src/cart.py", "other.py", False),
        ("src/cart.py", "..cart.py", False),
    ],
)
def test_a_link_out_of_the_tree_is_found(path, target, is_found):
    link = ChangedFile(path=path, after=target, is_added=True, is_link=True)
    assert ("outside_link" in kinds(link)) == is_found
    assert "outside_link" not in kinds(ChangedFile(path=path, after=target, is_added=True))


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (changed("tests/test_a.py", TEST, TEST.replace("test_b", "check_b")), "test_removed"),
        (changed("tests/test_a.py", TEST, None), "test_removed"),
        (changed("a.test.js", "it('adds', f)\n", "\n"), "test_removed"),
        (changed("a_test.go", "func TestA(t *testing.T) {\n", "\n"), "test_removed"),
        (changed("tests/a.rs", "#[test]\nfn adds() {\n", "\n"), "test_removed"),
        (changed("tests/test_a.py", TEST, "@pytest.mark.skip\n" + TEST), "test_skipped"),
        (changed("tests/test_a.py", TEST, "@pytest.mark.xfail\n" + TEST), "test_skipped"),
        (changed("a.test.js", "it('a', f)\n", "it.skip('a', f)\n"), "test_skipped"),
        (changed("a_test.go", "x\n", 't.Skip("later")\n'), "test_skipped"),
        (changed("a.test.js", "it('a', f)\n", "it.only('a', f)\n"), "test_narrowed"),
        (changed("conftest.py", "", "collect_ignore = ['tests']\n"), "test_narrowed"),
        (changed("pyproject.toml", "", 'addopts = "--deselect tests"\n'), "test_narrowed"),
        (changed(".github/workflows/ci.yml", "run: make\n", "run: make || true\n"), "test_narrowed"),
        (changed("tests/test_a.py", TEST, TEST.replace("    assert 2\n", "")), "fewer_assertions"),
        (changed("pyproject.toml", "fail_under = 90\n", "fail_under = 10\n"), "threshold_lowered"),
        (changed(".coveragerc", "fail_under = 90\n", "\n"), "threshold_lowered"),
        (changed("jest.config.js", "branches: 80,\n", "branches: 8,\n"), "threshold_lowered"),
        (changed("a.snap", "1\n", "2\n"), "snapshot_rewritten"),
        (changed("src/cart.py", "", "import _pytest.python\n"), "runner_patched"),
        (changed("src/cart.py", "", 'if "PYTEST_CURRENT_TEST" in os.environ: return 3\n'), "runner_patched"),
        (changed("conftest.py", None, "def pytest_runtest_makereport(item): pass\n"), "runner_patched"),
        (changed(".github/workflows/ci.yml", "a\n", "b\n"), "ci_changed"),
        (changed("ruff.toml", "a\n", "b\n"), "lint_changed"),
        (changed("uv.lock", "a\n", "b\n"), "lock_changed"),
        (changed(".binnacle/checks.yaml", "a\n", "b\n"), "checks_changed"),
        (changed("tests/test_new.py", None, TEST), "test_added"),
    ],
)
def test_what_is_done_to_them_is_found(file, kind):
    assert kind in kinds(file)


def test_a_test_that_moves_to_another_file_is_not_removed():
    files = changed("tests/test_a.py", TEST, None), changed("tests/test_b.py", None, TEST)
    assert "test_removed" not in kinds(*files)


def test_a_skip_that_was_there_before_is_no_finding():
    text = "@pytest.mark.skip\n" + TEST
    assert kinds(changed("tests/test_a.py", text, "\n\n" + text)) == {"test_changed"}


def test_an_honest_change_of_the_product_has_no_findings():
    assert (
        measure_change([changed("src/cart.py", "a = 1\n", "a = 2\n"), changed("README.md", "a", "uses _pytest")]) == []
    )


def test_findings_say_where_and_what_with_the_gravest_first():
    files = changed("ruff.toml", "a\n", "b\n"), changed("tests/test_a.py", TEST, "\n@pytest.mark.skip\n" + TEST)
    found = measure_change(files)
    assert (found[0].kind, found[0].path, found[0].line, found[0].text) == (
        "test_skipped", "tests/test_a.py", 2, "@pytest.mark.skip",
    )  # fmt: skip


def test_the_strictest_decision_of_the_policy_counts():
    def findings(*names):
        return [ChangeFinding(kind=name, path="x") for name in names]

    assert decide_policy([]) == "allow"
    assert decide_policy(findings("test_added")) == "allow"
    assert decide_policy(findings("test_added", "ci_changed")) == "ask"
    assert decide_policy(findings("ci_changed", "test_removed")) == "refuse"
    assert decide_policy(findings("test_removed"), {"test_removed": "allow"}) == "allow"
    assert set(DEFAULT_PROTECTION) == set(FINDING_KINDS)


@pytest.mark.parametrize("word", ["lines", "threshold", "skip", "raise", "expect", "async"])
@pytest.mark.parametrize("path", ["tests/test_a.py", "pyproject.toml", ".coveragerc"])
def test_a_file_of_spaces_is_measured_at_once(path, word):
    text = word + " " * 200_000 + "x"
    decide_policy(measure_change([changed(path, text, f"{text} ")]))


@given(st.text(max_size=200), st.one_of(st.none(), st.text(max_size=400)), st.one_of(st.none(), st.text(max_size=400)))
def test_no_text_breaks_the_measure(path, before, after):
    decide_policy(measure_change([changed(path, before, after), changed(f"tests/{path}", before, after)]))
