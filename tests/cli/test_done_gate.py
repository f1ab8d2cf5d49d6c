"""`bn task done` in a project whose checks a person has trusted."""

from pathlib import Path

import pytest

CHECKS = "checks:\n  - name: tests\n    command: make test\n"


@pytest.fixture
def checked(bn):
    """A project with a trusted check, which its tasks need."""
    folder = Path(bn.repo, ".binnacle")
    folder.mkdir(exist_ok=True)
    (folder / "checks.yaml").write_text(CHECKS)
    bn("trust", "check", "--yes")
    return bn


def test_done_is_a_request_until_the_checks_pass(checked):
    task = checked("task", "add", "the work")["tasks"][0]["id"]
    answer = checked("task", "done", task, "--force", "-m", "built")
    assert answer["task"]["status"] == "pending"
    assert answer["requested"]["checks"] == ["tests"]
    assert "not done yet" in answer["warnings"][0]
    assert "level" not in answer["task"]


def test_a_person_waives_with_a_reason_that_is_shown(checked):
    task = checked("task", "add", "the work")["tasks"][0]["id"]
    answer = checked("task", "done", task, "--waive", "the vendor is down")
    assert (answer["task"]["status"], answer["task"]["level"]) == ("done", "waived")
    shown = checked.human("task", "show", task)
    assert "the vendor is down" in shown


@pytest.mark.parametrize(
    "text", ["checks: []\n", CHECKS.replace("make test", "echo fine"), CHECKS + "    tier: full\n"]
)
def test_whoever_edits_the_file_does_not_get_rid_of_a_trusted_check(checked, text):
    task = checked("task", "add", "the work")["tasks"][0]["id"]
    Path(checked.repo, ".binnacle", "checks.yaml").write_text(text)
    answer = checked("task", "done", task)
    assert answer["task"]["status"] == "pending"
    assert answer["requested"]["problems"]


def test_a_file_that_is_gone_or_broken_opens_nothing(checked):
    task = checked("task", "add", "the work")["tasks"][0]["id"]
    file = Path(checked.repo, ".binnacle", "checks.yaml")
    file.unlink()
    assert checked("task", "done", task)["task"]["status"] == "pending"
    file.write_text("checks: 3\n")
    assert checked.fails("task", "done", task)["code"] == "E_CONFIG"


def test_without_trust_checks_have_no_effect_and_done_is_said(bn):
    folder = Path(bn.repo, ".binnacle")
    folder.mkdir(exist_ok=True)
    (folder / "checks.yaml").write_text(CHECKS)
    task = bn("task", "add", "the work")["tasks"][0]["id"]
    answer = bn("task", "done", task)
    assert (answer["task"]["status"], answer["task"]["level"]) == ("done", "said")
