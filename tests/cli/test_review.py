"""`bn review`, and tasks whose changes somebody has to accept."""

from pathlib import Path

from cli.reviewing import CHECKS, begin, open_review, put_up, put_up_again, repo, reviewed, trust

__all__ = ["repo", "reviewed"]


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


def test_what_waits_is_listed_with_who_has_to_look_and_what_is_proven(reviewed, repo):
    assert reviewed("review") == {"reviews": [], "total": 0}
    assert "no change waits" in reviewed.human("review", "list")
    task, commit = put_up(reviewed, repo)
    (one,) = reviewed("review")["reviews"]
    assert (one["task_id"], one["waits_for"], one["level"], one["commit"]) == (task, ["a person"], "checked", commit)
    shown = reviewed.human("review")
    assert f"checked at {commit[:8]}" in shown
    assert f"bn review show {task}" in shown
    reviewed("review", "accept", task)
    assert reviewed("review", "list")["reviews"] == []
    assert [one["state"] for one in reviewed("review", "list", "--all")["reviews"]] == ["accepted"]


def test_the_overview_says_first_what_a_person_has_to_look_at(reviewed, repo):
    task, _ = put_up(reviewed, repo)
    (one,) = reviewed()["attention"]
    assert (one["kind"], one["task_id"], one["answer_with"]) == ("review", task, f"bn review show {task}")
    assert f"a review waits for {task}" in reviewed.human()
    reviewed("review", "accept", task)
    assert reviewed()["attention"] == []


def test_of_work_that_nobody_called_done_it_is_said_that_nothing_is_proven(reviewed):
    task = begin(reviewed)
    assert reviewed("review", "show", task)["level"] == ""
    assert "Evidence: not proven" in reviewed.human("review", "show", task)


def test_a_task_that_was_only_called_in_review_is_listed_with_what_to_do(reviewed, repo):
    task = begin(reviewed)
    reviewed("task", "update", task, "--status", "review")
    (one,) = reviewed("review")["reviews"]
    assert (one["task_id"], one["waits_for"]) == (task, ["a commit to look at"])
    assert "no commit is known" in reviewed("review", "show", task)["diff"]["problem"]
    error = reviewed.fails("review", "accept", task)
    assert "no commit was put up" in error["message"]
    assert f"bn task done {task}" in error["hint"]


def test_a_change_is_shown_with_its_evidence_before_its_code(reviewed, repo):
    task = reviewed.add("the work", "--accept", "it is good [check: tests]", "--accept", "it is short")
    reviewed("task", "start", task, env=reviewed.agent("helper"))
    repo.commit("the work", {"work.txt": "good\n"})
    reviewed.run("task", "done", task, env=reviewed.agent("helper"))
    found = reviewed("review", "show", task)
    assert (found["level"], found["waits_for"]) == ("checked", ["a person"])
    assert [one["name"] for one in found["checks"]] == ["tests"]
    assert [one["text"] for one in found["diff"]["files"]] == ["@@ -1 +1 @@\n-bad\n+good\n"]
    shown = reviewed.human("review", "show", task)
    parts = ["Evidence: checked at", "✓ tests: pass", "check tests: pass", "no check or test shows it", "1 +good"]
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    review = found["review"]["id"]
    assert f"bn review accept {review}" in shown
    for name in (review, review[:-1], task.removeprefix("bn-")):
        assert reviewed("review", "show", name)["review"]["id"] == review


def test_what_a_change_does_to_tests_comes_before_everything_else(reviewed, repo):
    trust(reviewed, CHECKS + "review:\n  default: person\nprotect:\n  test_removed: ask\n")
    repo.commit("a test", {"tests/test_a.py": "def test_a():\n    assert 1\n\n\ndef test_b():\n    assert 2\n"})
    task, _ = put_up(reviewed, repo, {"tests/test_a.py": "def test_a():\n    assert 1\n"})
    shown = reviewed.human("review", "show", task)
    assert "look at this first\n  ! test removed: tests/test_a.py" in shown
    assert shown.index("look at this first") < shown.index("Evidence")
    files = [one["path"] for one in reviewed("review", "show", task)["diff"]["files"]]
    assert files == ["tests/test_a.py", "work.txt"]


def test_an_accepted_change_closes_its_task_and_can_be_taken_back(reviewed, repo):
    task, commit = put_up(reviewed, repo)
    done = reviewed("review", "accept", task, "-m", "reads well")
    assert (done["status"], done["commit"], done["task"]["status"]) == ("accepted", commit, "done")
    closed = reviewed("task", "show", task)["task"]
    assert (closed["evidence_level"], closed["evidence_commit"]) == ("accepted", commit)
    error = reviewed.fails("review", "accept", task)
    assert "is over: accepted" in error["message"]
    assert f"bn task reopen {task}" in error["hint"]
    assert reviewed("review", "show", task)["level"] == "accepted"
    reviewed("undo")
    assert reviewed("review")["total"] == 1


def test_an_agent_is_refused_everything_that_a_person_decides(reviewed, repo):
    task, _ = put_up(reviewed, repo)
    agent = reviewed.agent("another")
    for words in (("accept", task), ("reject", task, "-m", "no"), ("comment", task, "work.txt:1", "-m", "hm")):
        error = reviewed.fails("review", *words, env=agent)
        assert (error["code"], error["message"][:17]) == ("E_PERSON_NEEDED", "only a person may"), error
        assert "ask the person you work for" in error["hint"]
    assert reviewed("review", "show", task, env=agent)["task"]["status"] == "in_review"


def test_comments_are_sent_together_and_their_states_can_be_seen(reviewed, repo):
    task, commit = put_up(reviewed, repo)
    one = reviewed("review", "comment", task, "work.txt:1", "-m", "say why")["remark"]
    assert (one["state"], one["place"], one["code"], one["commit"]) == ("draft", "work.txt:1", "good", commit)
    reviewed("review", "comment", task, "other.txt", "-m", "is it needed?")
    reviewed("review", "comment", task, "-m", "nearly there")
    gone = reviewed("review", "comment", task, "-m", "never mind")["remark"]["id"]
    assert reviewed("review", "comment", task, "--remove", gone)["removed"] is True
    rejected = reviewed("review", "reject", task)
    assert (rejected["status"], rejected["sent"], rejected["task"]["status"]) == ("changes", 3, "pending")
    assert states(reviewed, task) == ["sent", "sent", "sent"]
    taken = reviewed("task", "start", task, env=reviewed.agent("helper"))
    assert f"work.txt:1 (`good`) at {commit[:8]}: say why" in taken["warnings"][0]
    assert states(reviewed, task) == ["seen", "seen", "seen"]
    newer = repo.commit("again", {"work.txt": "very good\n"})
    reviewed.run("task", "done", task, env=reviewed.agent("helper"))
    assert states(reviewed, task) == ["addressed", "seen", "seen"]
    last = reviewed("review", "comment", task, "--list")["remarks"][1]["id"]
    settled = reviewed("review", "comment", task, "--addressed", last)
    assert settled["remark"]["state"] == "addressed"
    assert f"addressed in {newer[:8]}: work.txt:1" in reviewed.human("review", "show", task)


def states(bn, task: str) -> list[str]:
    return [one["state"] for one in bn("review", "comment", task, "--list")["remarks"]]


def test_a_comment_has_to_be_at_a_place_of_the_commit(reviewed, repo):
    task, _ = put_up(reviewed, repo, {"src/cart.py": "total = 0\n"})
    for place, said in (
        ("work.txt:9", "has 1 lines, not 9"),
        ("gone.txt:1", "not in the reviewed commit"),
        ("../work.txt:1", "not a place"),
        ("/etc/passwd", "not a place"),
    ):
        assert said in reviewed.fails("review", "comment", task, place, "-m", "hm")["message"]
    inside = reviewed("review", "comment", task, "cart.py:1", "-m", "hm", cwd=Path(reviewed.repo, "src"))
    assert inside["remark"]["place"] == "src/cart.py:1"
    assert "comment is empty" in reviewed.fails("review", "comment", task, "-m", " ")["message"]
    error = reviewed.fails("review", "comment", task, "work.txt:1", code=2)
    assert "a text is needed" in error["message"]
    both = reviewed.fails("review", "comment", task, "--list", "--remove", "bnm-1", code=2)
    assert "one thing at a time" in both["message"]


def test_drafts_are_those_of_one_person(reviewed, repo):
    task, _ = put_up(reviewed, repo)
    mine = reviewed("review", "comment", task, "-m", "mine")["remark"]["id"]
    bob = {"BN_USER": "bob"}
    assert reviewed("review", "comment", task, "--list", env=bob)["remarks"] == []
    assert reviewed("review", "show", task, env=bob)["remarks"] == []
    error = reviewed.fails("review", "comment", task, "--remove", mine, env=bob)
    assert "is a comment of ann" in error["message"]
    assert "a reason is needed" in reviewed.fails("review", "reject", task, env=bob)["message"]
    warned = reviewed("review", "accept", task)["warnings"]
    assert any("still drafts" in one for one in warned)


def test_only_what_changed_since_the_last_verdict_is_shown(reviewed, repo):
    task, first = put_up(reviewed, repo, {"a.txt": "1\n"})
    before = reviewed("review", "show", task, "--since", "review")["diff"]
    assert "nobody has judged it before" in before["since"]
    reviewed("review", "reject", task, "-m", "another way")
    second, _ = put_up_again(reviewed, repo, task, {"work.txt": "good, too\n"})
    all_of_it = reviewed("review", "show", task)["diff"]
    assert [one["path"] for one in all_of_it["files"]] == ["a.txt", "work.txt"]
    later = reviewed("review", "show", task, "--since", "review")["diff"]
    assert (later["before"], later["commit"]) == (first, second)
    assert [one["path"] for one in later["files"]] == ["work.txt"]
    assert reviewed("review", "show", task, "--since", first[:10])["diff"]["files"] == later["files"]
    assert "no such commit" in reviewed.fails("review", "show", task, "--since", "nothing")["message"]


def test_after_a_rebase_the_work_of_others_is_not_shown_as_changed(bn, repo):
    base, task = repo.git("rev-parse", "HEAD"), bn.add("the work")
    repo.git("checkout", "-q", "-b", "topic")
    first = open_review(bn, task, repo.commit("the work", {"work.txt": "good\n"}), base)
    bn("review", "reject", task, "-m", "another way")
    repo.git("checkout", "-q", "main")
    newer = repo.commit("of others", {"theirs.txt": "1\n"})
    repo.git("checkout", "-q", "topic")
    repo.git("rebase", "-q", "main")
    open_review(bn, task, repo.commit("again", {"work.txt": "good, too\n"}), newer)
    later = bn("review", "show", task, "--since", "review")["diff"]
    assert [one["path"] for one in later["files"]] == ["work.txt"]
    assert f"({first}); it was rebased since" in later["since"]


def test_a_change_that_took_the_place_of_another_is_accepted_by_its_own_id(reviewed, repo):
    task, first = put_up(reviewed, repo)
    second = repo.commit("more", {"work.txt": "good, more\n"})
    reviewed.run("task", "done", task)
    review = reviewed("review", "show", task)["review"]["id"]
    error = reviewed.fails("review", "accept", task)
    assert f"{second[:8]} ({review}) was put up in place of {first[:8]}" in error["message"]
    assert f"bn review accept {review}" in error["hint"]
    assert reviewed("review", "accept", review)["task"]["status"] == "done"


def test_after_ones_own_wish_for_changes_the_next_change_is_meant_by_its_task(reviewed, repo):
    task, _ = put_up(reviewed, repo)
    reviewed("review", "reject", task, "-m", "another way")
    put_up_again(reviewed, repo, task, {"work.txt": "good, too\n"})
    assert reviewed("review", "accept", task)["task"]["status"] == "done"


def test_nothing_is_accepted_that_is_not_there_any_more(reviewed, repo):
    repo.git("checkout", "-q", "-b", "topic")
    task, commit = put_up(reviewed, repo)
    repo.commit("sneaked in", {"other.txt": "sneaky\n"})
    error = reviewed.fails("review", "accept", task)
    assert f"branch topic has 1 newer commit since {commit[:8]}" in error["message"]
    assert f"bn task done {task}" in error["hint"]
    repo.git("reset", "-q", "--hard", commit)
    repo.git("commit", "-q", "--amend", "-m", "another message")
    assert "no branch has commit" in reviewed.fails("review", "accept", task)["message"]
    repo.git("reset", "-q", "--hard", commit)
    assert reviewed("review", "accept", task)["task"]["status"] == "done"


def test_what_others_commit_to_the_main_branch_is_no_obstacle_unless_it_touches_the_same_files(reviewed, repo):
    task, _ = put_up(reviewed, repo)
    repo.commit("of others", {"theirs.txt": "1\n"})
    repo.commit("the same file", {"work.txt": "good, they say\n"})
    assert "changed the same files: work.txt" in reviewed.fails("review", "accept", task)["message"]
    repo.git("reset", "-q", "--hard", "HEAD~")
    accepted = reviewed("review", "accept", task)
    assert accepted["task"]["status"] == "done"
    assert "1 newer commit with other files" in accepted["warnings"][0]


def test_an_accepted_change_whose_checks_are_others_now_is_proven_again(reviewed, repo):
    task, commit = put_up(reviewed, repo)
    trust(reviewed, CHECKS.replace("grep -q good", "grep -q excellent") + "review:\n  default: person\n")
    done = reviewed.run("review", "accept", task)
    assert (done.code, done.json["status"], done.json["task"]["status"]) == (1, "accepted", "pending")
    assert "the check 'tests' did not pass" in done.json["missing"]
    trust(reviewed, CHECKS + "review:\n  default: person\n")
    reviewed("task", "start", task, env=reviewed.agent("helper"))
    trust(reviewed, CHECKS.replace("-q good", "-q -e good -e fine") + "review:\n  default: person\n")
    again = reviewed("task", "done", task, env=reviewed.agent("helper"))
    assert again["task"]["status"] == "done", "the same tree was accepted, and passes its checks"
    assert reviewed("task", "show", task)["task"]["evidence_commit"] == commit
