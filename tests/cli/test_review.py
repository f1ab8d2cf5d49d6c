"""`bn review`, and tasks whose changes somebody has to accept."""

from pathlib import Path

import pytest

from runner.repositories import Repository

REVIEW = "review:\n  default: person\n"
CHECKS = "checks:\n  - name: tests\n    command: grep -q good work.txt\n"


@pytest.fixture
def repo(bn):
    made = Repository(bn.repo)
    made.commit("first", {"work.txt": "bad\n", "other.txt": "1\n2\n3\n"})
    return made


def trust(bn, text: str) -> None:
    """Writes the file of checks and trusts all of it."""
    folder = Path(bn.repo, ".binnacle")
    folder.mkdir(exist_ok=True)
    (folder / "checks.yaml").write_text(text)
    bn("trust", "check", "--yes")


@pytest.fixture
def reviewed(bn, repo):
    """A project in which a person looks at every change, and a check runs on each."""
    trust(bn, CHECKS + REVIEW)
    return bn


def begin(bn, title: str = "the work", *options: str) -> str:
    task = bn.add(title, *options)
    bn("task", "start", task, env=bn.agent("helper"))
    return task


def put_up(bn, repo, text: str = "good\n", **options) -> tuple[str, str]:
    """A task whose change waits for a review, and the commit."""
    task = begin(bn)
    commit = repo.commit("the work", {"work.txt": text})
    done = bn.run("task", "done", task, "-m", "built", env=bn.agent("helper"), **options)
    assert (done.code, done.json["task"]["status"]) == (1, "in_review"), done
    return task, commit


def test_a_proven_change_is_put_up_for_review_and_who_looks_is_said(reviewed, repo):
    task = begin(reviewed)
    repo.commit("worse", {"work.txt": "worse\n"})
    failed = reviewed.run("task", "done", task, env=reviewed.agent("helper")).json
    assert failed["task"]["status"] == "in_progress"
    assert "the check 'tests' did not pass" in failed["missing"]
    assert "a person has to accept" not in failed["missing"]
    commit = repo.commit("better", {"work.txt": "good\n"})
    answer = reviewed.run("task", "done", task, "-m", "built", env=reviewed.agent("helper")).json
    assert answer["task"]["status"] == "in_review"
    assert f"a person has to accept commit {commit[:8]}" in answer["missing"]
    assert f"bn review show {task}" in answer["missing"]
    assert "every change is reviewed" in answer["missing"]
    shown = reviewed("task", "show", task)
    assert (shown["review"]["commit_id"], shown["review"]["require"]) == (commit, "person")
    error = reviewed.fails("task", "done", task, env=reviewed.agent("helper"))
    assert "waits for a review" in error["message"]


def test_a_rule_that_is_changed_or_removed_in_the_file_still_holds(reviewed, repo):
    file = Path(reviewed.repo, ".binnacle", "checks.yaml")
    file.write_text(CHECKS)
    task, _ = put_up(reviewed, repo)
    assert reviewed("task", "show", task)["task"]["status"] == "in_review"
