"""`bn verify`: what still holds of the tasks that are done, and which commit broke what does not."""

import shlex
import sys
from pathlib import Path

import pytest

from runner.repositories import Repository

PYTEST = f"{shlex.quote(sys.executable)} -m pytest -q"
CHECKS = """\
checks:
  - name: parser
    command: grep -q good parser.txt
    paths: [docs/parser.md]
  - name: printer
    command: grep -q good printer.txt
    paths: [docs/printer.md]
"""


@pytest.fixture
def repo(bn):
    made = Repository(bn.repo)
    made.commit("first", {"parser.txt": "bad\n", "printer.txt": "good\n"})
    return made


def trust(bn, text: str) -> None:
    folder = Path(bn.repo, ".binnacle")
    folder.mkdir(exist_ok=True)
    (folder / "checks.yaml").write_text(text)
    bn("trust", "check", "--yes")


@pytest.fixture
def checked(bn, repo):
    """A project with trusted checks that only concern changes of files which nobody changes here."""
    trust(bn, CHECKS)
    return bn


def close(bn, repo, title: str, files: dict[str, str], *options: str) -> tuple[str, str]:
    """A task that is done, and the commit of its change."""
    task = bn.add(title, *options)
    bn("task", "start", task, "--force")
    commit = repo.commit(title, files)
    assert bn("task", "done", task)["task"]["status"] == "done"
    return task, commit


def broken(bn, *words: str) -> dict:
    """The answer of a verification that finds something broken."""
    done = bn.run("verify", *words)
    assert done.code == 1, (done.out, done.err)
    return done.json


def states(answer: dict) -> dict[str, str]:
    return {one["id"]: one["state"] for one in answer["tasks"]}


def test_what_was_proven_still_holds(checked, repo):
    task, commit = close(checked, repo, "the parser", {"parser.txt": "good\n"}, "--check", "parser")
    repo.commit("more", {"more.txt": "words\n"})
    answer = checked("verify")
    assert (answer["holds"], answer["counts"]) == (True, {"holds": 1})
    (shown,) = answer["tasks"]
    assert (shown["id"], shown["level"], shown["commit"]) == (task, "checked", commit)
    (check,) = shown["checks"]
    assert (check["name"], check["verdict"], check["then"]["commit"]) == ("parser", "pass", commit)
    assert "holds: the parser" in checked.human("verify", task)


def test_a_later_commit_that_breaks_it_is_named(checked, repo):
    task, commit = close(checked, repo, "the parser", {"parser.txt": "good\n"}, "--check", "parser")
    for number in range(5):
        repo.commit(f"before {number}", {f"before{number}.txt": "x\n"})
    culprit = repo.commit("rewrite the parser", {"parser.txt": "worse\n"})
    for number in range(6):
        repo.commit(f"after {number}", {f"after{number}.txt": "x\n"})
    answer = broken(checked)
    assert states(answer) == {task: "broken"}
    (found,) = answer["regressions"]
    assert (found["task"], found["check"], found["broken_by"]) == (task, "parser", culprit)
    assert (found["title"], found["commits"]) == ("rewrite the parser", 12)
    assert found["probes"] <= 4
    shown = checked.run("verify", "-H").out
    assert f"{task} no longer holds: the parser (checked at {commit[:8]})" in shown
    assert f"the commit {culprit[:8]} (rewrite the parser) broke it" in shown
    assert checked("task", "show", task)["task"]["status"] == "done"


def test_a_person_reopens_what_no_longer_holds(checked, repo):
    task, _ = close(checked, repo, "the parser", {"parser.txt": "good\n"}, "--check", "parser")
    other, culprit = close(checked, repo, "another", {"parser.txt": "worse\n"}, "--check", "printer")
    answer = broken(checked, "--reopen")
    assert states(answer) == {task: "broken", other: "holds"}
    (found,) = answer["regressions"]
    assert (found["broken_by"], found["broken_by_task"]) == (culprit, other)
    assert (found["opened"], found["how"]) == (task, "reopened")
    shown = checked("task", "show", task)
    assert shown["task"]["status"] == "pending"
    (comment,) = shown["comments"]
    assert "the check 'parser' no longer passes" in comment["body"]
    assert f"the commit {culprit[:8]} (another), of {other} (another) broke it" in comment["body"]
    assert checked.fails("verify", "--reopen", env=checked.agent("bob"))["code"] == "E_PERSON_NEEDED"


def test_tasks_and_runs_can_be_named(checked, repo):
    task, _ = close(checked, repo, "the parser", {"parser.txt": "good\n"}, "--check", "parser")
    other, commit = close(checked, repo, "the printer", {"printer.txt": "good again\n"}, "--check", "printer")
    repo.commit("break it", {"parser.txt": "worse\n"})
    assert states(checked("verify", other)) == {other: "holds"}
    assert states(broken(checked, task[:6], other)) == {task: "broken", other: "holds"}
    assert states(checked("verify", "--commit", commit)) == {task: "holds", other: "holds"}
    error = checked.fails("verify", "nothing")
    assert error["code"] == "E_NOT_FOUND"
    assert "no task and no run" in error["message"]


def test_what_was_never_proven_is_listed_as_that(bn, repo):
    plain = bn.add("before there were checks")
    bn("task", "done", plain)
    trust(bn, CHECKS)
    checked = bn
    waived = checked.add("the parser", "--check", "parser")
    checked("task", "done", waived, "--waive", "the vendor is down")
    left = checked.add("later")
    answer = checked("verify", plain, waived, left)
    assert states(answer) == {plain: "said", waived: "waived", left: "open"}
    assert states(checked("verify")) == {plain: "said", waived: "waived"}
    assert "1 waived, 1 only said" in checked.human("verify")


def test_a_test_of_a_criterion_that_is_gone_does_not_hold(bn, repo):
    trust(bn, f"checks:\n  - name: tests\n    command: {PYTEST}\n    paths: [docs/tests.md]\n")
    files = {"test_one.py": "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n"}
    task, _ = close(bn, repo, "the total", files, "--accept", "it adds up [check: tests] [test: test_one]")
    repo.commit("more", {"more.txt": "x\n"})
    culprit = repo.commit("remove it", {"test_one.py": "def test_two():\n    pass\n"})
    (found,) = broken(bn)["regressions"]
    assert (found["task"], found["missing"], found["broken_by"]) == (task, ["test_one"], culprit)


def test_what_failed_when_it_was_closed_does_not_count(bn, repo):
    repo.commit("an old failure", {"test_old.py": "def test_old():\n    assert False\n\n\ndef test_ok():\n    pass\n"})
    trust(bn, f"checks:\n  - name: tests\n    command: {PYTEST}\n")
    task, _ = close(bn, repo, "the total", {"test_one.py": "def test_one():\n    pass\n"})
    answer = bn("verify")
    assert states(answer) == {task: "holds"}
    assert answer["tasks"][0]["checks"][0]["reason"] == "fails as it did when the task was closed"
    culprit = repo.commit("break it", {"test_one.py": "def test_one():\n    assert False\n"})
    (found,) = broken(bn)["regressions"]
    assert (found["failed"], found["broken_by"]) == (["test_one::test_one"], culprit)


def test_a_check_of_the_project_makes_one_task_and_reopens_none(bn, repo):
    trust(bn, "checks:\n  - name: tests\n    command: grep -q good printer.txt\n")
    first, _ = close(bn, repo, "the first", {"one.txt": "x\n"})
    second, _ = close(bn, repo, "the second", {"two.txt": "x\n"})
    culprit = repo.commit("break it", {"printer.txt": "worse\n"})
    answer = broken(bn, "--reopen")
    assert states(answer) == {first: "broken", second: "broken"}
    (found,) = answer["regressions"]
    assert (found["tasks"], found["broken_by"], found["how"]) == ([first, second], culprit, "added")
    added = bn("task", "show", found["opened"])["task"]
    assert (added["kind"], added["priority"], added["checks"]) == ("bug", 1, ["tests"])
    assert culprit[:8] in added["title"]
    assert broken(bn, "--reopen")["regressions"][0]["how"] == "noted"


def test_a_check_that_was_changed_is_stale_and_no_commit_is_blamed(checked, repo):
    task, _ = close(checked, repo, "the parser", {"parser.txt": "good\n"}, "--check", "parser")
    repo.commit("more", {"more.txt": "x\n"})
    trust(checked, CHECKS.replace("good parser", "perfect parser"))
    answer = broken(checked)
    (check,) = answer["tasks"][0]["checks"]
    assert check["stale"] == ["the check was changed and trusted again since"]
    (found,) = answer["regressions"]
    assert found.get("broken_by", "") == ""
    assert "the check was changed and trusted again since" in found["said"]
    assert "stale: the check was changed" in checked.run("verify", task, "-H").out


def test_a_check_that_nobody_trusts_any_more_is_unclear(checked, repo):
    task, _ = close(checked, repo, "the parser", {"parser.txt": "good\n"}, "--check", "parser")
    Path(checked.repo, ".binnacle", "checks.yaml").write_text(CHECKS.replace("good parser", "perfect parser"))
    answer = broken(checked)
    assert states(answer) == {task: "unclear"}
    assert "was changed since a person trusted it" in answer["tasks"][0]["checks"][0]["reason"]
    assert answer["regressions"] == []


def test_a_check_that_can_no_longer_run_is_broken_by_the_commit_that_took_its_script(bn, repo):
    repo.commit("a script", {"check.sh": "grep -q good parser.txt\n"})
    trust(bn, "checks:\n  - name: parser\n    command: sh -c 'sh ./check.sh || exit $?'\n    paths: [docs/parser.md]\n")
    task, _ = close(bn, repo, "the parser", {"parser.txt": "good\n"}, "--check", "parser")
    repo.git("rm", "--quiet", "check.sh")
    culprit = repo.commit("tidy up", {"more.txt": "x\n"})
    answer = broken(bn)
    assert states(answer) == {task: "broken"}
    assert answer["regressions"][0]["broken_by"] == culprit


def test_the_side_of_a_merge_that_broke_it_is_named(checked, repo):
    task, _ = close(checked, repo, "the parser", {"parser.txt": "good\n"}, "--check", "parser")
    main = repo.git("rev-parse", "--abbrev-ref", "HEAD")
    repo.git("switch", "--quiet", "--create", "side")
    repo.commit("on the side", {"side.txt": "x\n"})
    culprit = repo.commit("break it", {"parser.txt": "worse\n"})
    repo.commit("more on the side", {"side.txt": "y\n"})
    repo.git("switch", "--quiet", main)
    repo.commit("on the main branch", {"main.txt": "x\n"})
    repo.git("merge", "--quiet", "--no-edit", "side")
    (found,) = broken(checked)["regressions"]
    assert (found["task"], found["broken_by"]) == (task, culprit)


def test_a_commit_that_left_the_history_is_not_guessed_at(checked, repo):
    before = repo.git("rev-parse", "HEAD")
    task, commit = close(checked, repo, "the parser", {"parser.txt": "good\n"}, "--check", "parser")
    repo.git("reset", "--quiet", "--hard", before)
    repo.commit("something else", {"more.txt": "x\n"})
    (found,) = broken(checked, task)["regressions"]
    assert found.get("broken_by", "") == ""
    assert f"{commit[:8]}, is not in the history" in found["said"]
