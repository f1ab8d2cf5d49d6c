"""`bn task done` in a project whose checks a person has trusted."""

from pathlib import Path

import pytest

from runner.repositories import Repository

CHECKS = "checks:\n  - name: tests\n    command: grep -q good work.txt\n"


@pytest.fixture
def repo(bn):
    made = Repository(bn.repo)
    made.commit("first", {"work.txt": "bad\n"})
    return made


@pytest.fixture
def checked(bn, repo):
    """A project with a trusted check, which its tasks need."""
    trust(bn)
    return bn


def trust(bn) -> None:
    folder = Path(bn.repo, ".binnacle")
    folder.mkdir(exist_ok=True)
    (folder / "checks.yaml").write_text(CHECKS)
    bn("trust", "check", "--yes")


def begin(bn) -> str:
    task = bn.add("the work")
    bn("task", "start", task)
    return task


def refused(bn, task, *options) -> dict:
    """The answer to a `done` that is not granted."""
    done = bn.run("task", "done", task, *options)
    assert done.code == 1, done.err
    assert done.json["task"]["status"] != "done"
    return done.json


def test_a_task_is_done_when_its_checks_pass_on_the_commit(checked, repo):
    task = begin(checked)
    assert "nothing was changed" in refused(checked, task)["missing"]
    repo.write({"work.txt": "good\n"})
    missing = refused(checked, task)["missing"]
    assert "nothing was changed" in missing
    assert "not committed, and so not checked: work.txt" in missing
    commit = repo.commit("the work", {"work.txt": "good\n"})
    answer = checked("task", "done", task, "-m", "built")
    assert (answer["task"]["status"], answer["task"]["level"]) == ("done", "checked")
    shown = checked("task", "show", task)
    assert shown["task"]["evidence_commit"] == commit
    assert shown["task"]["closed_reason"] == "built"
    (result,) = shown["evidence"]
    assert (result["check_name"], result["verdict"], result["commit_id"]) == ("tests", "pass", commit)


def test_a_commit_may_bring_exactly_the_file_of_checks_that_a_person_approved(checked, repo):
    task = begin(checked)
    repo.commit("the work and its checks", {"work.txt": "good\n", ".binnacle/checks.yaml": CHECKS})
    answer = checked("task", "done", task)
    assert (answer["task"]["status"], answer["task"]["level"]) == ("done", "checked")


def test_a_person_looks_at_a_file_of_checks_that_lacks_what_was_approved(checked, repo):
    repo.commit("its checks", {".binnacle/checks.yaml": CHECKS + "  - name: more\n    command: 'true'\n"})
    checked("trust", "check", "--yes")
    task = begin(checked)
    repo.commit("the work without one", {"work.txt": "good\n", ".binnacle/checks.yaml": CHECKS})
    repo.write({".binnacle/checks.yaml": CHECKS + "  - name: more\n    command: 'true'\n"})
    assert "checks changed: .binnacle/checks.yaml" in refused(checked, task)["missing"]
    checked("trust", "revoke", "check:more")
    repo.write({".binnacle/checks.yaml": CHECKS})
    assert checked("task", "done", task)["task"]["status"] == "done"


def test_what_fails_is_said_with_the_log_and_the_next_step(checked, repo):
    task = begin(checked)
    repo.commit("the work", {"work.txt": "worse\n"})
    missing = refused(checked, task)["missing"]
    assert "the check 'tests' did not pass: fail (exit code 1)" in missing
    assert "fix it, commit, and set the task to done again" in missing
    done = checked.run("task", "done", task, "-H")
    assert done.code == 1
    assert f"bn task done {task} --waive REASON" in done.out


def test_several_tasks_are_each_done_or_not(checked, repo):
    first, second = begin(checked), checked.add("another", "--check", "missing")
    checked("task", "start", second, "--force")
    repo.commit("the work", {"work.txt": "good\n"})
    done = checked.run("task", "done", first, second)
    assert done.code == 1
    one, other = done.json["results"]
    assert (one["task"]["status"], other["task"]["status"]) == ("done", "in_progress")
    assert "no check 'missing' is trusted here" in other["missing"]


def test_an_update_of_the_status_is_the_same(checked, repo):
    task = begin(checked)
    assert checked.run("task", "update", task, "--status", "done").code == 1
    repo.commit("the work", {"work.txt": "good\n"})
    assert checked("task", "update", task, "--status", "done")["task"]["status"] == "done"


def test_a_tool_called_by_a_command_is_the_same(checked, repo):
    task = begin(checked)
    said = checked.run("tool", "task_status", f'{{"id": "{task}", "status": "done"}}').json
    assert "nothing was changed" in str(said)
    repo.commit("the work", {"work.txt": "good\n"})
    checked.run("tool", "task_status", f'{{"id": "{task}", "status": "done"}}')
    assert checked("task", "show", task)["task"]["status"] == "done"


def test_after_too_many_commits_a_person_is_asked(checked, repo):
    task = begin(checked)
    for number in range(3):
        repo.commit("the work", {"work.txt": f"worse {number}\n"})
        for _ in range(2):  # the same commit counts once
            answer = refused(checked, task, "--force") if number < 2 else None
    env = {"BN_CHECKS_ATTEMPTS": "3"}
    answer = checked.run("task", "done", task, "--force", env=env).json
    assert answer["task"]["status"] == "needs_input"
    assert "a person has to look at it now" in answer["missing"]
    assert "its checks did not pass for 3 commits" in str(checked("ask", "list"))


def test_without_a_repository_it_is_said_what_checks_run_on(bn, tmp_path):
    plain = tmp_path / "plain"
    (plain / ".binnacle").mkdir(parents=True)
    (plain / ".binnacle" / "checks.yaml").write_text(CHECKS)
    bn("trust", "check", "--yes", cwd=plain)
    task = bn("task", "add", "the work", cwd=plain)["tasks"][0]["id"]
    error = bn.fails("task", "done", task, cwd=plain)
    assert error["code"] == "E_GIT"
    assert "git init" in error["hint"]


def test_a_person_waives_with_a_reason_that_is_shown(checked):
    task = checked.add("the work")
    answer = checked("task", "done", task, "--waive", "the vendor is down")
    assert (answer["task"]["status"], answer["task"]["level"]) == ("done", "waived")
    shown = checked.human("task", "show", task)
    assert "the vendor is down" in shown


@pytest.mark.parametrize(
    "text", ["checks: []\n", CHECKS.replace("grep -q good", "grep -q bad"), CHECKS + "    tier: full\n"]
)
def test_whoever_edits_the_file_does_not_get_rid_of_a_trusted_check(checked, repo, text):
    task = begin(checked)
    Path(checked.repo, ".binnacle", "checks.yaml").write_text(text)
    repo.commit("the work", {"work.txt": "good\n"})
    assert refused(checked, task)["requested"]["problems"]


def test_a_file_that_is_gone_or_broken_opens_nothing(checked, repo):
    task = begin(checked)
    repo.commit("the work", {"work.txt": "good\n"})
    file = Path(checked.repo, ".binnacle", "checks.yaml")
    file.unlink()
    assert refused(checked, task)
    file.write_text("checks: 3\n")
    assert checked.fails("task", "done", task)["code"] == "E_CONFIG"


def test_without_trust_checks_have_no_effect_and_done_is_said(bn, repo):
    folder = Path(bn.repo, ".binnacle")
    folder.mkdir(exist_ok=True)
    (folder / "checks.yaml").write_text(CHECKS)
    task = bn.add("the work")
    answer = bn("task", "done", task)
    assert (answer["task"]["status"], answer["task"]["level"]) == ("done", "said")


def test_a_task_names_what_shows_each_criterion_and_whether_it_is_proven(checked, repo):
    task = checked.add("the work", "--accept", "it is good [check: tests]", "--accept", "it looks nice")
    checked("task", "start", task)
    assert "◇ check tests: not proven, the check has not run" in checked.human("task", "show", task)
    repo.commit("worse", {"work.txt": "worse\n"})
    refused(checked, task)
    (criterion,) = checked("task", "show", task)["criteria"]
    assert (criterion["text"], criterion["check"], criterion["state"]) == ("it is good", "tests", "failed")
    commit = repo.commit("the work", {"work.txt": "good\n"})
    checked("task", "done", task)
    shown = checked.human("task", "show", task)
    assert f"✓ check tests: proven at {commit[:8]}" in shown
    assert "no check or test shows it" in shown
    assert f"evidence:  checked at {commit[:8]}, just now" in shown
    told = checked("tool", "task_get", f'{{"id": "{task}"}}')["data"]
    assert told["criteria"][0]["state"] == "proven"
    text = checked.human("tool", "task_get", f'{{"id": "{task}"}}')
    assert f"is shown by check tests: proven at {commit[:8]}" in text


def test_the_overview_the_feature_and_the_log_say_what_is_proven(checked, repo):
    checked("feature", "add", "auth")
    task = begin(checked)
    checked("task", "update", task, "-f", "auth")
    commit = repo.commit("the work", {"work.txt": "good\n"})
    checked("task", "done", task, "-m", "built")
    other = begin(checked)
    checked("task", "update", other, "-f", "auth")
    checked("task", "done", other, "--waive", "no display here")
    assert checked("status")["overview"]["proof"] == {"checked": 1, "waived": 1}
    assert "✓ 2 done: 1 checked, 1 waived" in checked.human("status")
    assert "2 done: 1 checked, 1 waived; 0 open" in checked.human("feature", "show", "auth")
    assert "2 done: 1 checked, 1 waived" in checked.human("stats")
    told = checked.human("tool", "project_progress", "{}")
    assert "auth: 2 done: 1 checked, 1 waived; 0 open" in told
    log = checked.human("log", "-n", "0")
    assert f'saw the check tests pass at {commit[:8]} for {task} "the work"' in log
    assert f'finished {task} "the work" (checked at {commit[:8]}): built' in log
    assert f'waived the checks of {other} "the work": no display here' in log


def test_what_is_only_said_is_listed_by_itself(bn, repo):
    said = bn.add("an old task")
    bn("task", "done", said)
    assert bn("status")["only_said"] == [], "nothing is proven in this project"
    trust(bn)
    waived = begin(bn)
    bn("task", "done", waived, "--waive", "no display here")
    (only,) = bn("status")["only_said"]
    assert (only["id"], only["level"]) == (said, "said")
    assert "Done, but not proven" in bn.human("status")
    levels = [bn("task", "list", *words)["tasks"] for words in (("--level", "said"), ("--level", "waived"), ())]
    assert [[one["id"] for one in some] for some in levels] == [[said], [waived], []]
