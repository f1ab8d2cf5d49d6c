"""The tools of an agent that reviews: what it sees of a change, and what a verdict has to show, on both engines."""

import asyncio

import msgspec
import pytest

from binnacle.store import agents, comments, evidence, review_remarks, reviews, sessions, task_moves, tasks
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.work.all_work_tools import work_tools
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.evidence import Evidence
from binnacle.work.gaming import ChangeFinding
from binnacle.work.review_policy import ReviewNeed
from binnacle.work.session import Session, SessionTerms
from places import NOW, access_to
from runner.repositories import Repository
from store.verbs import ANN, do, put, see

WORKER = Actor("bna-0001", "agent")
BY_AGENT = ReviewNeed(require="agent", reasons=("it is important",))
SHOWN = [
    {"criterion": 1, "met": True, "place": "cart.py:2"},
    {"criterion": "2", "met": True, "place": "test_cart.py:1"},
]
HOSTILE_PLACES = (
    "../cart.py:1", "/etc/passwd:1", "a/../../x:1", ":cart.py:1", "~/x:1", "cart.py:0", "cart.py:-1", "cart.py:999",
    "cart.py:99999999999999999999", "gone.py:1", "docs:1", "cart.py", "--output=x:1", "HEAD:1", "cart.py\n:1", "*.py:1",
)  # fmt: skip


class Reviews:
    """A change that waits for a review, in a real repository, and agents that look at it."""

    def __init__(self, place, folder) -> None:
        self.store = place.open()
        self.access = access_to(place)
        self.repo = Repository.new(folder, {"cart.py": "total = 0\n", "test_cart.py": "assert 1\nassert 2\n"})
        self.base = self.repo.git("rev-parse", "HEAD")
        self.dispatcher = Dispatcher(Catalog(work_tools(self.access)))
        self.task = put(
            self.store,
            "Compute the total",
            description="Prices are cents.",
            acceptance_criteria=("it adds prices", "the total is rounded"),
        )

    def commit(self, **files: str) -> str:
        return self.repo.commit(
            "a change", files or {"cart.py": "total = 0\ntotal += 1\n", "test_cart.py": "assert 1\n"}
        )

    def wait(self, commit: str, *, need: ReviewNeed = BY_AGENT, ids=()):
        """Puts a commit up for review, as the work of an agent."""
        task, tree = self.task, self.repo.git("rev-parse", f"{commit}^{{tree}}")
        do(self.store, task_moves.start, task.id, by=WORKER)
        do(self.store, comments.add, task.id, "I am sure that it is perfect", by=WORKER)
        do(self.store, task_moves.set_status, task.id, "in_review", by=SYSTEM)
        return do(
            self.store, reviews.open_review, task.id, commit=commit, tree=tree, base=self.base, need=need,
            evidence=ids, by=SYSTEM,
        )  # fmt: skip

    def reviewer(self, *, by: Actor = ANN, task: str | None = None) -> Caller:
        """An agent in a session that was opened to review."""
        about = self.task.id if task is None else task
        made = do(self.store, sessions.start, recipe="code_review", task_id=about, by=by)
        do(self.store, agents.join_session, made.id, name="reviewer", by=SYSTEM)
        return self.caller(made.id, session=made.id)

    def caller(self, name: str, *, session: str | None = None, kind: str = "agent") -> Caller:
        terms = SessionTerms("code_review", task=self.task.id)
        actor = Actor(name, kind)
        return Caller(session=Session(id=session, actor=actor, repo=str(self.repo.path), terms=terms))

    def outcome(self, by: Caller, tool: str, **arguments):
        raw = msgspec.json.encode({"task_id": self.task.id, **arguments})
        return asyncio.run(self.dispatcher.call(tool, raw, by))

    def data(self, by: Caller, tool: str, **arguments):
        found = self.outcome(by, tool, **arguments)
        assert not found.is_error, found.text
        return found.envelope["data"]

    def error(self, by: Caller, tool: str, **arguments):
        found = self.outcome(by, tool, **arguments)
        assert found.is_error, found.text
        return found.envelope["error"]

    def judge(self, by: Caller, review, decision="accept", **more):
        return self.data(by, "review_verdict", review=review.id, decision=decision, **{"criteria": SHOWN, **more})

    def verdicts(self) -> list[str]:
        return [one.decision for one in see(self.store, reviews.list_verdicts, self.task.id)]

    def status(self) -> str:
        return see(self.store, tasks.get, self.task.id).status


@pytest.fixture
def changes(place, tmp_path):
    made = Reviews(place, tmp_path / "repo")
    yield made
    made.access.close()


def test_a_reviewer_sees_what_was_asked_for_and_done_and_not_what_the_worker_says(changes):
    finding = ChangeFinding(kind="fewer_assertions", path="test_cart.py", text="2 before, 1 now")
    result = Evidence(
        id="", check_name="tests", definition="d", commit_id="c", tree="t", verdict="pass", ran=3, decision="ask",
        passed=("test_cart.py::test_round",), findings=(finding,), created_at=NOW,
    )  # fmt: skip
    kept = do(changes.store, evidence.add, result, by=SYSTEM)
    wanted = ("it adds prices", "the total is rounded [test: test_cart.py::test_round]")
    do(changes.store, tasks.update, changes.task.id, {"acceptance_criteria": wanted})
    review = changes.wait(changes.commit(), ids=[kept.id])
    outcome = changes.outcome(changes.reviewer(), "review_get")
    text, data = outcome.text, outcome.envelope["data"]
    assert "Prices are cents." in text
    assert "1. it adds prices" in text
    assert "2. the total is rounded (test test_cart.py::test_round: passed)" in text
    assert "fewer assertions: test_cart.py 2 before, 1 now" in text
    assert "tests: pass, 3 tests ran" in text
    assert "     2 +total += 1" in text
    assert text.index("=== test_cart.py") < text.index("=== cart.py")
    assert "perfect" not in text + str(data)
    assert (data["review"], data["checks"]) == (review.id, ["tests: pass, 3 tests ran"])
    assert data["files"] == ["test_cart.py +0 -1 (test)", "cart.py +1 -0"]
    assert "     2 +total += 1" in data["diff"]


def test_a_long_difference_comes_in_parts_and_generated_files_when_they_are_asked_for(changes):
    long = "".join(f"line {number} {'x' * 60}\n" for number in range(500))
    changes.wait(changes.commit(**{"long.py": long, "uv.lock": "pinned\n"}))
    by = changes.reviewer()
    first = changes.data(by, "review_get")
    assert "uv.lock +1 -0 (added, lock, folded: generated; read it by its path)" in first["files"]
    found = first["diff"]
    while (offset := first.get("next_offset")) is not None:
        first = changes.data(by, "review_get", offset=offset)
        assert "files" not in first
        found += first["diff"]
    assert all(f"{number + 1:>6} +line {number} x" in found for number in range(500))
    assert "pinned" not in found
    assert "pinned" in changes.data(by, "review_get", path="uv.lock")["diff"]
    assert changes.error(by, "review_get", path="other.py")["code"] == "E_NOT_FOUND"


def test_a_reviewer_reads_files_of_the_commit_and_of_before_whatever_is_checked_out(changes):
    commit = changes.commit(**{"cart.py": "total = 1\n", "long.py": "x" * 30_000 + "\nlast\n"})
    changes.wait(commit)
    changes.repo.git("checkout", "--quiet", changes.base)
    by = changes.reviewer()
    assert changes.data(by, "review_file", path="cart.py")["text"] == "     1 total = 1"
    assert changes.data(by, "review_file", path="cart.py", before=True)["text"] == "     1 total = 0"
    assert changes.data(by, "review_file", path="long.py", start=2)["text"] == "     2 last"
    for path in ("../repo/cart.py", "/etc/passwd", "HEAD:cart.py", "gone.py", "--help"):
        assert changes.error(by, "review_file", path=path)["code"] in ("E_INVALID_PARAMS", "E_NOT_FOUND")


def test_what_hides_in_names_and_lines_can_be_seen(changes):
    changes.wait(changes.commit(**{"a\nb.py": "x = 1 \u202e# tpecca\n", "cart.py": "\x1b[2Jclean\n"}))
    text = changes.outcome(changes.reviewer(), "review_get").text
    assert "<U+202E># tpecca" in text
    assert "<U+001B>[2Jclean" in text
    assert "a<U+000A>b.py" in text


def test_an_acceptance_is_kept_with_what_shows_each_criterion_and_closes_the_task(changes):
    review = changes.wait(changes.commit())
    data = changes.judge(changes.reviewer(), review, message="read all of it")
    assert (data["status"], data["task"]["status"], changes.status()) == ("accepted", "done", "done")
    (kept,) = see(changes.store, reviews.list_verdicts, changes.task.id)
    assert [(one.criterion, one.place) for one in kept.criteria] == [
        ("it adds prices", "cart.py:2"), ("the total is rounded", "test_cart.py:1"),
    ]  # fmt: skip


def test_what_a_verdict_names_is_in_the_commit(changes):
    review = changes.wait(changes.commit(**{"cart.py": "total = 1\n", "docs/a.md": "words\n"}))
    by = changes.reviewer()
    other = {"criterion": 2, "met": True, "place": "cart.py:1"}
    for named in HOSTILE_PLACES:
        given = [{"criterion": 1, "met": True, "place": named}, other]
        error = changes.error(by, "review_verdict", review=review.id, decision="accept", criteria=given)
        assert error["code"] == "E_INVALID_PARAMS", named
    assert (changes.verdicts(), changes.status()) == ([], "in_review")


def test_what_a_comment_names_is_in_the_commit(changes):
    review = changes.wait(changes.commit(**{"cart.py": "total = 1\n", "docs/a.md": "words\n"}))
    by = changes.reviewer()
    for named in (one for one in HOSTILE_PLACES if one != "cart.py"):
        remarks = [{"place": named, "text": "wrong"}]
        error = changes.error(by, "review_verdict", review=review.id, decision="changes", remarks=remarks)
        assert error["code"] == "E_INVALID_PARAMS", named
    assert changes.verdicts() == []


def test_changes_that_are_asked_for_are_sent_with_the_lines_they_are_about(changes):
    changes.repo.commit("more", {"old.py": "x\n"})
    changes.base = changes.repo.git("rev-parse", "HEAD")
    changes.repo.git("rm", "--quiet", "old.py")
    review = changes.wait(changes.commit())
    remarks = [
        {"place": "cart.py:2", "text": "add the prices"},
        {"place": "old.py", "text": "keep it"},
        {"text": "more"},
    ]
    criteria = [{"criterion": "IT ADDS  prices", "met": False, "place": "cart.py:2", "note": "it counts"}]
    data = changes.judge(changes.reviewer(), review, "changes", criteria=criteria, remarks=remarks)
    assert (data["status"], changes.status()) == ("changes", "pending")
    sent = see(changes.store, review_remarks.list_for_agent, changes.task.id)
    assert [(one.place, one.code, one.body) for one in sent] == [
        ("cart.py:2", "total += 1", "add the prices"), ("old.py", "", "keep it"), ("", "", "more"),
        ("cart.py:2", "", "not met: it adds prices: it counts"),
    ]  # fmt: skip


def test_the_next_reviewer_sees_what_was_asked_for_and_what_changed_since(changes):
    first = changes.wait(changes.commit())
    changes.judge(
        changes.reviewer(), first, "changes", criteria=[], remarks=[{"place": "cart.py:2", "text": "add them"}]
    )
    second = changes.wait(changes.commit(**{"other.py": "fixed = True\n"}))
    by = changes.reviewer()
    whole, since = (changes.outcome(by, "review_get", since=what).text for what in ("base", "last_review"))
    assert "[seen] cart.py:2" in whole
    assert "round 2 of 3" in whole
    assert ("total += 1" in whole.partition("===")[2], "total += 1" in since.partition("===")[2]) == (True, False)
    assert "fixed = True" in since
    error = changes.error(by, "review_verdict", review=first.id, decision="accept", criteria=SHOWN)
    assert (error["code"], second.id in error["hint"]) == ("E_REFUSED", True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (SHOWN[:1], "have no verdict: the total is rounded"),
        ([*SHOWN[:1], {"criterion": 2, "met": False}], "are not met"),
        ([*SHOWN[:1], {"criterion": 2, "met": True}], "the line is missing|nothing shows"),
        ([{"criterion": 3, "met": True, "place": "cart.py:1"}], "no criterion '3'"),
    ],
)
def test_an_acceptance_says_of_every_criterion_what_shows_it(changes, given, words):
    review = changes.wait(changes.commit())
    error = changes.error(changes.reviewer(), "review_verdict", review=review.id, decision="accept", criteria=given)
    assert any(word in error["message"] for word in words.split("|"))
    assert changes.verdicts() == []


def test_nobody_reviews_who_was_not_asked_to(changes):
    review = changes.wait(changes.commit())
    other = put(changes.store)
    worker = changes.caller(WORKER.name)
    refused = (
        worker,
        changes.caller("bna-0009"),
        changes.caller("mcp-0001", session="mcp-0001"),
        changes.reviewer(task=other.id),
        changes.reviewer(by=SYSTEM),  # of a server that anybody can start
    )
    for one in refused:
        error = changes.error(one, "review_verdict", review=review.id, decision="accept", criteria=SHOWN)
        assert error["code"] == "E_REFUSED"
        assert "was not opened to review" in error["message"]
    person = changes.caller("ann", kind="human")
    error = changes.error(person, "review_verdict", review=review.id, decision="accept", criteria=SHOWN)
    assert error["code"] == "E_PERSON_NEEDED"
    assert (changes.verdicts(), changes.status()) == ([], "in_review")


def test_who_worked_on_the_task_cannot_review_it(changes):
    by = changes.reviewer()
    do(changes.store, task_moves.start, changes.task.id, by=by.actor, session=by.session.id)
    do(changes.store, task_moves.release, changes.task.id, by=by.actor, session=by.session.id)
    review = changes.wait(changes.commit())
    error = changes.error(by, "review_verdict", review=review.id, decision="accept", criteria=SHOWN)
    assert (error["code"], "you worked on" in error["message"]) == ("E_REFUSED", True)


def test_the_last_verdict_of_a_reviewer_counts_and_a_majority_decides(changes):
    need = ReviewNeed(require="agent", reasons=("it is important",), reviewers=3)
    review = changes.wait(changes.commit(), need=need)
    first, second = changes.reviewer(), changes.reviewer()
    assert changes.judge(first, review, "changes", message="no")["status"] == "open"
    assert changes.judge(first, review)["status"] == "open"
    assert changes.judge(first, review)["status"] == "open"
    assert changes.status() == "in_review"
    assert changes.judge(second, review)["status"] == "accepted"
    assert (changes.status(), changes.verdicts()) == ("done", ["changes", "accept", "accept", "accept"])
    error = changes.error(changes.reviewer(), "review_verdict", review=review.id, decision="accept", criteria=SHOWN)
    assert "is over: accepted" in error["message"]
