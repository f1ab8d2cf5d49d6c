"""Changes on the page: what judges them first, their code in parts, comments on lines, and decisions about one tree."""

import os
import subprocess

import pytest

from binnacle.store import evidence, review_decisions, reviews, runs, task_moves, tasks
from binnacle.work.actor import Actor
from binnacle.work.evidence import Evidence
from binnacle.work.gaming import ChangeFinding
from binnacle.work.review_policy import ReviewNeed
from binnacle.work.task import NewTask
from places import NOW
from runner.repositories import Repository

HELPER = Actor("helper", "agent")


@pytest.fixture
def code(page):
    return make_code(page)


def make_code(page):
    made = Repository(page.repo)
    made.commit("first", {"work.txt": "one\ntwo\nthree\n", "tests/test_work.py": "def test_a():\n    assert 1\n"})
    return made


def put_up(page, code, files=None, *, task=None, base=None, title="the work"):
    """A task whose newest commit waits for a person: the review as the page gets it."""
    base = base or code.git("rev-parse", "HEAD")
    code.git("add", "--all")
    commit = code.commit("the work", files or {"work.txt": "one\nTWO\nthree\nfour\n"})
    tree = code.git("rev-parse", f"{commit}^{{tree}}")

    def put(tx):
        of = task or tasks.add(tx, [NewTask(title=title, acceptance_criteria=["it works"])])[0].id
        kept = evidence.add(tx, finding_evidence(commit, tree))
        task_moves.set_status(tx, of, "in_review", force=True)
        need = ReviewNeed(require="person", reasons=("it is important",))
        made = reviews.open_review(tx, of, commit=commit, tree=tree, base=base, need=need, evidence=[kept.id])
        return made.id

    return page("review", subject=page.write(put))


def finding_evidence(commit, tree):
    return Evidence(
        id="",
        check_name="tests",
        definition="d",
        commit_id=commit,
        tree=tree,
        verdict="pass",
        ran=4,
        findings=(ChangeFinding(kind="test_skipped", path="tests/test_work.py", line=2, text="pytest.skip()"),),
        created_at=NOW,
    )


def subject_of(found):
    return {"review": found["review"]["id"], "commit": found["review"]["commit_id"], "tree": found["review"]["tree"]}


def read_lines(page, files, path, **asked):
    return page("review_lines", commit=files["commit"], before=files["before"], path=path, **asked)


def test_one_change_has_what_judges_it_and_its_files_with_tests_first(page, code):
    found = put_up(page, code, {"work.txt": "one\nTWO\nthree\n", "tests/test_work.py": "def test_a():\n    pass\n"})
    assert [one["kind"] for one in found["findings"]] == ["test_skipped"]
    assert [(one["name"], one["ran"]) for one in found["checks"]] == [("tests", 4)]
    assert (found["viewer"], found["waits_for"], found["criteria"][0]["text"]) == ("ann", ["a person"], "it works")
    files = page("review_files", subject=found["task"]["id"])
    assert [(one["path"], one.get("protects")) for one in files["files"]] == [
        ("tests/test_work.py", "test"),
        ("work.txt", None),
    ]
    assert (files["total"], files["added"], files["removed"]) == (2, 2, 2)
    assert [one["review"] for one in page("review_list")["reviews"]] == [found["review"]["id"]]


def test_lines_have_their_numbers_in_both_files(page, code):
    found = put_up(page, code)
    read = read_lines(page, page("review_files", subject=found["task"]["id"]), "work.txt")
    shown = [(one["kind"], one.get("old", 0), one.get("new", 0), one["text"]) for one in read["lines"]]
    assert shown == [
        ("hunk", 1, 1, ""),
        ("same", 1, 1, "one"),
        ("removed", 2, 0, "two"),
        ("added", 0, 2, "TWO"),
        ("same", 3, 3, "three"),
        ("added", 0, 4, "four"),
    ]


def test_a_long_difference_comes_in_parts_and_a_large_or_generated_file_is_folded(page, code):
    long = "".join(f"line {number}\n" for number in range(5000))
    found = put_up(page, code, {"long.txt": long, "big.min.js": "x" * (2 << 20), "uv.lock": "a\n", "work.txt": "one\n"})
    files = page("review_files", subject=found["task"]["id"])
    folds = {one["path"]: one.get("folded", "") for one in files["files"]}
    assert folds == {
        "long.txt": "5,000 changed lines",
        "big.min.js": "2,097,152 bytes",
        "uv.lock": "generated",
        "work.txt": "",
    }
    first, last = (read_lines(page, files, "long.txt", offset=at, limit=1000) for at in (0, 4900))
    assert (first["total"], len(first["lines"]), first["lines"][1]["text"]) == (5001, 1000, "line 0")
    assert (len(last["lines"]), last["lines"][-1]["text"]) == (101, "line 4999")
    assert "2,097,152 bytes" in read_lines(page, files, "big.min.js")["problem"]
    assert read_lines(page, files, "uv.lock")["total"] == 2


def test_renames_modes_and_binary_files_say_what_they_are(page, code):
    code.commit("more", {"old name.txt": "".join(f"{number}\n" for number in range(30)), "tool": "#!/bin/sh\n"})
    base = code.git("rev-parse", "HEAD")
    code.git("mv", "old name.txt", "new name.txt")
    os.chmod(page.repo / "tool", 0o755)
    (page.repo / "logo.png").write_bytes(b"\x89PNG\0\1\2")
    found = put_up(page, code, {"new name.txt": "".join(f"{number}\n" for number in range(31))}, base=base)
    files = page("review_files", subject=found["task"]["id"])
    by_path = {one["path"]: one for one in files["files"]}
    assert (by_path["new name.txt"]["status"], by_path["new name.txt"]["before"]) == ("renamed", "old name.txt")
    assert by_path["tool"]["note"] == "now executable"
    renamed = read_lines(page, files, "new name.txt", was="old name.txt")
    assert [one["text"] for one in renamed["lines"] if one["kind"] == "added"] == ["30"]
    assert read_lines(page, files, "logo.png")["problem"] == "it is not text"


def test_hostile_names_and_lines_are_text(page, code):
    hostile = "\u202eevil\u202c \x1b[31m\x00red"
    name = "a\nb \u202e<script>.txt"
    folder = os.fsencode(page.repo)
    with open(os.path.join(folder, b"not-\xff-utf8.txt"), "wb") as file:
        file.write(b"\xff\xfe\n" + b"y" * 100_000 + b"\n")
    found = put_up(page, code, {name: "x\r\n\u202eevil\u202c\x1b[31m\n", "nul.txt": hostile})
    files = page("review_files", subject=found["task"]["id"])
    paths = [one["path"] for one in files["files"]]
    assert sorted(paths) == sorted([name, "not-\\xff-utf8.txt", "nul.txt"])
    assert [one["text"] for one in read_lines(page, files, name)["lines"]][1:] == ["x\r", "\u202eevil\u202c\x1b[31m"]
    long = read_lines(page, files, "not-\\xff-utf8.txt")["lines"][2]
    assert (len(long["text"]), long["cut"]) == (2000, 98_000)
    assert read_lines(page, files, "nul.txt")["problem"] == "it is not text"


@pytest.mark.parametrize("commit", ["--output=/tmp/x", "HEAD", "", "A" * 40])
def test_only_ids_of_commits_reach_git(sqlite_page, commit):
    refused = sqlite_page.fails("review_lines", commit=commit, path="work.txt")
    assert refused.code == "E_INVALID_PARAMS"


def test_what_git_no_longer_has_is_said_and_the_rest_is_shown(page, code):
    def put(tx):
        of = tasks.add(tx, [NewTask(title="gone")])[0].id
        task_moves.set_status(tx, of, "in_review", force=True)
        return reviews.open_review(tx, of, commit="d" * 40, tree="e" * 40).id

    review = page.write(put)
    assert page("review", subject=review)["waits_for"] == ["a person"]
    files = page("review_files", subject=review)
    assert "is not in this repository" in files["problem"]
    assert read_lines(page, {"commit": "d" * 40, "before": ""}, "work.txt")["problem"]


def test_since_the_last_review_shows_only_what_is_new(page, code):
    first = put_up(page, code)
    page("reject_review", review=first["review"]["id"], commit=first["review"]["commit_id"], message="more")
    task, base = first["task"]["id"], first["review"]["base"]
    second = put_up(page, code, {"other.txt": "new\n"}, task=task, base=base)
    assert second["previous"] == first["review"]["commit_id"]
    assert [one["path"] for one in page("review_files", subject=task)["files"]] == ["other.txt", "work.txt"]
    since = page("review_files", subject=task, since="review")
    assert [one["path"] for one in since["files"]] == ["other.txt"]
    assert page("review", subject=first["review"]["id"])["newest"] == second["review"]["id"]
    merged = page("review_files", subject=first["review"]["id"])
    assert [one["path"] for one in merged["files"]] == ["work.txt"]


def test_everything_that_a_run_did_is_shown_with_its_commits(page, code):
    base = code.git("rev-parse", "HEAD")
    head = code.commit("part one", {"one.txt": "1\n"})

    def start(tx):
        run = runs.start(tx, "auth", feature=None, asked="", asked_file="")
        runs.update(tx, run.id, base=base, head=head)
        runs.end(tx, run.id, why="done", said="done", seconds=1)

    page.write(start)
    found = page("review_files", run="auth")
    assert (found["run"], found["run_status"]) == ("auth", "ended")
    assert [one.partition(" ")[2] for one in found["commits"]] == ["part one"]
    assert [one["path"] for one in found["files"]] == ["one.txt"]
    assert page.fails("review_files").code == page.fails("review_files", run="auth", subject="x").code


def test_drafts_are_kept_changed_removed_and_sent_together(page, code):
    found = put_up(page, code)
    review = found["review"]["id"]
    first = page("add_remark", review=review, path="work.txt", line=2, body="why capitals?")
    assert (first["state"], first["code"], first["place"]) == ("draft", "TWO", "work.txt:2")
    second = page("add_remark", review=review, body="too much at once")
    page("edit_remark", id=second["id"], body="split it")
    third = page("add_remark", review=review, path="work.txt", body="on the file")
    assert page("remove_remark", id=third["id"])["body"] == "on the file"
    again = page("review", subject=review)
    assert [(one["state"], one["body"]) for one in again["remarks"]] == [
        ("draft", "why capitals?"),
        ("draft", "split it"),
    ]
    assert page("review_files", subject=review)["places"] == {first["id"]: 2}
    decided = page("reject_review", review=review, commit=found["review"]["commit_id"])
    assert (decided["status"], decided["sent"], decided["task"]["status"]) == ("changes", 2, "pending")
    assert {one["state"] for one in page("review", subject=review)["remarks"]} == {"sent"}
    assert "was sent" in page.fails("edit_remark", id=first["id"], body="other").message
    assert page("settle_remark", id=first["id"])["state"] == "addressed"
    assert "is over" in page.fails("add_remark", review=review, body="late").message


def test_a_comment_belongs_to_a_place_of_the_commit(page, code):
    review = put_up(page, code)["review"]["id"]
    assert "has 4 lines" in page.fails("add_remark", review=review, path="work.txt", line=9, body="x").message
    assert page.fails("add_remark", review=review, path="../../etc/passwd", line=1, body="x").code == "E_INVALID_PARAMS"
    assert page.fails("add_remark", review=review, path="work.txt", line=2, body="  ").code == "E_INVALID_PARAMS"
    assert page.fails("add_remark", review=review, line=2, body="x").code == "E_INVALID_PARAMS"


def test_drafts_of_others_are_theirs(page, code):
    review = put_up(page, code)["review"]["id"]
    mine = page("add_remark", review=review, body="mine")

    def write_as_bob(tx):
        with tx.acting_as(Actor("bob", "human"), session=None):
            return review_decisions.review_remarks.add(tx, reviews.get(tx, review), "of bob").id

    theirs = page.write(write_as_bob)
    assert [one["id"] for one in page("review", subject=review)["remarks"]] == [mine["id"]]
    assert "comment of bob" in page.fails("edit_remark", id=theirs, body="x").message
    assert "comment of bob" in page.fails("remove_remark", id=theirs).message


def test_comments_follow_their_line_into_a_newer_commit(page, code):
    first = put_up(page, code)
    kept = page("add_remark", review=first["review"]["id"], path="work.txt", line=4, body="keep an eye on it")
    gone = page("add_remark", review=first["review"]["id"], path="work.txt", line=2, body="why capitals?")
    page("reject_review", review=first["review"]["id"], commit=first["review"]["commit_id"])
    second = put_up(
        page, code, {"work.txt": "zero\none\n2\nthree\nfour\n"}, task=first["task"]["id"], base=first["review"]["base"]
    )
    places = page("review_files", subject=second["review"]["id"])["places"]
    assert places == {kept["id"]: 5}
    assert gone["id"] not in places


def test_accepting_names_exactly_what_was_seen(page, code):
    found = put_up(page, code)
    seen = subject_of(found)
    assert "you have seen commit" in page.fails("accept_review", **{**seen, "commit": "f" * 40}).message
    assert "tree" in page.fails("accept_review", **{**seen, "tree": "f" * 40}).message
    decided = page("accept_review", **seen, message="reads well")
    assert (decided["status"], decided["task"]["status"]) == ("accepted", "done")
    assert "is over: accepted" in page.fails("accept_review", **seen).message


def test_a_newer_commit_of_the_same_files_refuses_the_acceptance(page, code):
    found = put_up(page, code)
    code.commit("one more", {"work.txt": "something else\n"})
    refused = page.fails("accept_review", **subject_of(found))
    assert "newer commit" in refused.message
    assert page("review", subject=found["review"]["id"])["review"]["status"] == "open"


def test_a_change_that_was_replaced_meanwhile_is_not_accepted(page, code):
    first = put_up(page, code)
    put_up(page, code, {"work.txt": "other\n"}, task=first["task"]["id"])
    assert "is over: replaced" in page.fails("accept_review", **subject_of(first)).message
    gone = {"review": first["review"]["id"], "commit": first["review"]["commit_id"], "message": "no"}
    assert "is over: replaced" in page.fails("reject_review", **gone).message


def test_files_that_are_right_stay_and_the_next_attempt_is_told(page, code):
    found = put_up(page, code, {"work.txt": "x\n", "fine.txt": "y\n"})
    seen = {"review": found["review"]["id"], "commit": found["review"]["commit_id"]}
    assert "reason" in page.fails("reject_review", **seen, kept_files=["fine.txt"]).message
    page("reject_review", **seen, message="work.txt is wrong", kept_files=["fine.txt"])
    (remark,) = page("review", subject=seen["review"])["remarks"]
    assert remark["body"].startswith("work.txt is wrong\n\nThese files are right as they are.")
    assert "- fine.txt" in remark["body"]


def test_a_change_is_read_without_a_checkout_and_changes_nothing(page, code):
    found = put_up(page, code)
    before = subprocess.run(["git", "-C", str(page.repo), "status", "--porcelain"], capture_output=True, check=True)
    files = page("review_files", subject=found["task"]["id"])
    read_lines(page, files, "work.txt", context=100)
    after = subprocess.run(["git", "-C", str(page.repo), "status", "--porcelain"], capture_output=True, check=True)
    assert before.stdout == after.stdout


def test_all_reviews_are_listed_a_page_at_a_time(page, code):
    for number in range(3):
        put_up(page, code, {"work.txt": f"{number}\n"}, title=("cart", "shipping", "taxes")[number])
    first = page("review_list", limit=2)
    assert (len(first["reviews"]), first["total"]) == (2, 3)
    assert len(page("review_list", limit=2, offset=2)["reviews"]) == 1
    assert page("review_list", all=True, limit=1)["total"] == 3
