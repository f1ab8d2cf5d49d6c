"""What waits for a person on the page, and the answers."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from binnacle.store import attempts, attention, evidence, questions, reviews, runs, sessions, task_moves, tasks
from binnacle.store.tasks import TaskFilter
from binnacle.upstream.configuration.config_paths import config_files
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.evidence import Evidence
from binnacle.work.review_policy import ReviewNeed
from binnacle.work.task import NewTask
from places import NOW

FAILED = Evidence(
    id="", check_name="tests", definition="d", commit_id="c" * 40, tree="a" * 40, verdict="fail",
    reason="1 new failure", new_failed=("t::a",), log_excerpt="E assert 1 == 2", created_at=NOW,
)  # fmt: skip

HOSTILE = "<img src=x onerror=alert(1)> \x1b[31m\u202etxt.exe `rm -rf /`\nsecond line"


def add_task(page, title="build the cart"):
    return page.write(lambda tx: tasks.add(tx, [NewTask(title=title)]))[0].id


def put_up(page, task, *, tree="a" * 40, require="person"):
    def put(tx):
        task_moves.set_status(tx, task, "in_review", force=True)
        need = ReviewNeed(require=require, reasons=("money is involved",))
        return reviews.open_review(tx, task, commit="c" * 40, tree=tree, need=need).id

    return page.write(put)


def kinds(page):
    return [one["kind"] for one in page("needs_you")["causes"]]


def test_nothing_waits_in_an_empty_project(page):
    assert page("needs_you") == {"causes": [], "trust": None, "logins": [], "count": 0}
    assert page("needs_you_count") == {"count": 0}


def test_a_permission_is_answered_with_one_of_its_words(page):
    def ask(tx):
        return attention.open_entry(
            tx, "permission", "run: make", body="kind: execute\nmake", options=("yes", "no", "always")
        )

    entry = page.write(ask)
    page.write(ask)
    (cause,) = page("needs_you")["causes"]
    assert (cause["id"], cause["options"], cause["body"]) == (entry.id, ["yes", "no", "always"], "kind: execute\nmake")
    assert "maybe" in page.fails("answer_cause", id=entry.id, answer="maybe").message
    assert "no answer" in page.fails("answer_cause", id=entry.id, answer=" ").message
    assert page("answer_cause", id=entry.id, answer="always")["answered_by"] == "ann"
    assert page("needs_you")["count"] == 0


def test_who_answers_second_is_told_who_answered_what(page):
    entry = page.write(lambda tx: attention.open_entry(tx, "permission", "run: make", options=("yes", "no")))

    def answer_elsewhere(tx):
        with tx.acting_as(Actor("bob", "human"), session=None):
            attention.close(tx, entry.id, answer="no", by="bob")

    page.write(answer_elsewhere)
    assert page.fails("answer_cause", id=entry.id, answer="yes").message == f"{entry.id} was answered by bob: no"
    (said,) = page("cause_answers", ids=[entry.id, "bnp-0000", "nonsense"])["answers"]
    assert (said["answered_by"], said["answer"], said["kind"]) == ("bob", "no", "permission")


def test_a_question_says_what_the_agent_would_do_and_its_answer_frees_the_task(page):
    task = add_task(page)

    def ask(tx):
        questions.ask(tx, task, "Which tax?\nNet or gross.", blocking=True, options=["net", "gross"], preferred="net")
        task_moves.set_status(tx, task, "needs_input", force=True)

    page.write(ask)
    (cause,) = page("needs_you")["causes"]
    assert (cause["kind"], cause["title"], cause["preferred"]) == ("question", "Which tax?", "net")
    assert cause["is_blocking"]
    assert cause["task"]["id"] == task
    answered = page("answer_cause", id=cause["id"], answer="2")
    assert (answered["answer"], answered["task_status"]) == ("gross", "pending")


def give_up(page, task):
    def give_up(tx):
        questions.ask(tx, task, "3 attempts did not finish this task", blocking=True, kind="stuck")
        task_moves.set_status(tx, task, "needs_input", force=True)

    page.write(give_up)
    return page("needs_you")["causes"][0]["id"]


def test_a_stuck_task_is_retried_with_a_hint(page):
    task = add_task(page)
    entry = give_up(page, task)
    assert kinds(page) == ["stuck"]
    assert page("answer_cause", id=entry, answer="use the other parser")["task_status"] == "pending"
    assert kinds(page) == []


def test_a_stuck_task_is_cancelled_with_a_reason(page):
    task = add_task(page)
    entry = give_up(page, task)
    assert "reason" in page.fails("cancel_stuck_task", id=entry, reason="  ").message
    assert kinds(page) == ["stuck"]
    assert page("cancel_stuck_task", id=entry, reason="not worth it")["task_status"] == "cancelled"
    assert page("needs_you_count") == {"count": 0}


def test_a_stuck_task_that_somebody_closed_waits_for_nobody(page):
    task = add_task(page)
    give_up(page, task)
    page.write(lambda tx: task_moves.skip(tx, task, reason="obsolete", force=True))
    assert page("needs_you")["count"] == 0


def test_a_question_of_an_older_store_has_no_entry_and_waits_all_the_same(page):
    task = add_task(page)

    def ask(tx):
        asked = questions.ask(tx, task, "Which tax?", blocking=False)
        attention.ATTENTIONS.delete(tx, "question = ?", asked.id)
        return asked.id

    asked = page.write(ask)
    assert [one["id"] for one in page("needs_you")["causes"]] == [asked]
    assert page("answer_cause", id=asked, answer="net")["task_id"] == task
    assert page("cause_answers", ids=[asked])["answers"][0]["answered_by"] == "ann"


def test_a_review_outside_of_a_run_waits_for_a_person_and_one_by_agents_does_not(page):
    mine, theirs = add_task(page, "mine"), add_task(page, "theirs")
    review = put_up(page, mine)
    put_up(page, theirs, tree="b" * 40, require="agent")
    (cause,) = page("needs_you")["causes"]
    assert (cause["id"], cause["kind"], cause["tree"]) == (review, "review", "a" * 40)
    assert cause["review"]["waits_for"] == ["a person"]
    assert "accept exactly one commit" in page.fails("answer_cause", id=_entry_of(page, mine), answer="accept").hint


def _entry_of(page, task):
    return page.write(lambda tx: attention.open_entry(tx, "review", "look at it", task_id=task)).id


def test_a_review_with_an_entry_is_one_cause(page):
    task = add_task(page)
    put_up(page, task)
    _entry_of(page, task)
    assert (kinds(page), page("needs_you")["count"]) == (["review"], 1)


def test_an_ended_run_says_how_it_goes_on_and_can_be_seen(page):
    def end(tx):
        run = runs.start(tx, "auth", feature=None, asked="", asked_file="")
        runs.end(tx, run.id, why="budget", said="the budget is spent", seconds=60)

    page.write(end)
    (cause,) = page("needs_you")["causes"]
    assert (cause["kind"], cause["ended"]["resume"]) == ("ended", "bn run --resume --name auth")
    assert page("answer_cause", id=cause["id"])["answer"] == "seen"
    assert kinds(page) == []


def test_the_most_urgent_comes_first(page):
    task, other = add_task(page, "one"), add_task(page, "two")
    put_up(page, task)
    page.write(lambda tx: questions.ask(tx, other, "later?", blocking=False))
    page.write(lambda tx: questions.ask(tx, other, "now?", blocking=True))
    page.write(lambda tx: attention.open_entry(tx, "permission", "run: make", options=("yes", "no")))
    assert kinds(page) == ["permission", "question", "question", "review"]
    assert [one["title"] for one in page("needs_you")["causes"]][1:3] == ["now?", "later?"]


def test_hostile_text_stays_what_it_is(page):
    task = add_task(page, "harmless")
    page.write(lambda tx: questions.ask(tx, task, HOSTILE, blocking=True))
    (cause,) = page("needs_you")["causes"]
    assert cause["title"].startswith("<img src=x onerror=alert(1)>")
    assert "\x1b" not in cause["body"]


def test_trust_shows_exactly_what_would_run_and_is_refused_if_that_has_changed(page):
    folder = page.repo / ".binnacle"
    folder.mkdir()
    (folder / "checks.yaml").write_text("checks:\n  - name: tests\n    command: make test\n")
    found = page("needs_you")
    (item,) = [one for one in found["trust"]["items"] if one["kind"] == "check"]
    assert found["count"] == 1
    assert "make test" in item["content"]
    (folder / "checks.yaml").write_text("checks:\n  - name: tests\n    command: make evil\n")
    seen = {"key": item["key"], "sha256": item["sha256"]}
    assert "was changed" in page.fails("trust_items", items=[seen]).message
    now = [{"key": one["key"], "sha256": one["sha256"]} for one in page("needs_you")["trust"]["items"]]
    assert page("trust_items", items=now)["keys"] == [one["key"] for one in now]
    assert page("needs_you")["trust"] is None
    (folder / "checks.yaml").write_text("checks:\n  - name: tests\n    command: make check\n")
    changed = page("needs_you")["trust"]["items"][0]
    assert changed["state"] == "changed"
    assert any("make check" in line for line in changed["changes"])


def test_a_file_that_cannot_be_read_is_said(page):
    (page.repo / ".binnacle").mkdir()
    (page.repo / ".binnacle" / "checks.yaml").write_text("checks: 1\n")
    found = page("needs_you")
    assert (found["count"], found["trust"]["items"]) == (1, [])
    assert "checks.yaml" in found["trust"]["problems"][0]["message"]


def test_a_server_that_nobody_signed_in_to_waits_with_its_command(sqlite_page):
    (path,) = [one.path for one in config_files(str(sqlite_page.repo)) if one.kind == "user"][:1]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(
        '{"mcpServers": {"tickets": {"url": "https://tickets.example/mcp", "auth": {"type": "oauth"}}}}'
    )
    (login,) = sqlite_page("needs_you")["logins"]
    assert (login["server"], login["command"]) == ("tickets", "bn upstream login tickets --no-browser")


def test_what_was_tried_at_a_stuck_task_is_shown_with_the_last_words_and_the_failed_check(page):
    task = add_task(page)
    page.write(lambda tx: use_up_attempts(tx, task))
    (cause,) = page("needs_you")["causes"]
    assert (cause["kind"], cause["title"]) == ("stuck", "agents gave up: build the cart")
    assert [one["reason"] for one in cause["attempts"]] == ["the tests fail", "the tests still fail"]
    assert cause["attempts_total"] == 2
    check = cause["checks"][0]
    assert (check["words"], check["excerpt"], check["failed"]) == ("fail (1 new failure)", "E assert 1 == 2", ["t::a"])


def use_up_attempts(tx, task):
    session = sessions.start(tx)
    for reason in ("the tests fail", "the tests still fail"):
        with tx.acting_as(SYSTEM, session=None):
            claimed = attempts.claim(tx, session.id, TaskFilter())
        evidence.add(tx, replace(FAILED, task_id=task))
        attempts.settle(tx, session.id, claimed.number, "unproven", reason, max_attempts=2)
    evidence.add(tx, replace(FAILED, task_id=task, verdict="pass", new_failed=(), log_excerpt=""))


@pytest.mark.parametrize("ids", [[], ["x" * 5000], [HOSTILE]])
def test_answers_of_nothing_known_are_none(page, ids):
    assert page("cause_answers", ids=ids) == {"answers": []}


def test_a_run_that_waits_for_answers_is_a_cause_once_they_are_given(page):
    def end_waiting(tx):
        run = runs.start(tx, "auth", feature=None, asked="", asked_file="")
        entry = attention.open_entry(tx, "permission", "run: make", options=("yes", "no"), run=run.id)
        runs.end(tx, run.id, why="needs_input", said="1 task waits for an answer", seconds=1)
        return entry.id

    entry = page.write(end_waiting)
    assert (kinds(page), page("needs_you_count")["count"]) == (["permission"], 1)
    page("answer_cause", id=entry, answer="yes")
    assert (kinds(page), page("needs_you_count")["count"]) == (["ended"], 1)
