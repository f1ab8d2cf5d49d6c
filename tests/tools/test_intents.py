"""The report tools, called as an agent calls them in a session bound to one task, on both engines."""

import msgspec
import pytest

from binnacle.store import comments, events, features, learnings, questions, reports, sessions, task_moves, tasks
from binnacle.tools.caller import Caller
from binnacle.work.actor import Actor
from binnacle.work.session import Session
from store.verbs import AGENT, OTHER, do, put, rows, see

ALIASES = {
    "done": "report_done", "partial": "report_partial", "stuck": "report_stuck", "ask": "report_question",
    "flag": "report_flag", "learned": "report_learning", "suggest": "report_suggestion", "blocked": "report_blocked",
}  # fmt: skip


class Bound:
    """An agent in a session bound to a task, which it holds."""

    def __init__(self, tools, store) -> None:
        self.tools, self.store = tools, store
        do(store, features.add, "auth", {})
        self.task = put(store, "Write the login", feature="auth")
        self.session = do(store, sessions.start, recipe="report", task_id=self.task.id, by=AGENT).id
        do(store, task_moves.start, self.task.id, by=AGENT, session=self.session)
        tools.caller = Caller(session=Session(actor=AGENT, id=self.session))

    def settle(self):
        return do(self.store, reports.settle, self.session, by=AGENT, session=self.session)

    def comments(self) -> list[str]:
        return [one.body for one in see(self.store, comments.list_comments, self.task.id)]


@pytest.fixture
def bound(tools, place) -> Bound:
    return Bound(tools, place.open())


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_the_short_names_lead_to_the_same_tools(tools, alias, name):
    assert tools.catalog.find(alias).spec.name == name


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("report_done", {"summary": "built it"}, "done"),
        ("report_partial", {"summary": "half", "remaining": "half"}, "pending"),
        ("report_stuck", {"reason": "no idea"}, "pending"),
        ("report_blocked", {"on": "the vendor", "kind": "external", "detail": "no key"}, "blocked"),
    ],
)
def test_a_closing_report_moves_the_task_when_the_session_ends(bound, name, arguments, status):
    said = bound.tools(name, **arguments)
    assert said["task"] == bound.task.id
    assert see(bound.store, tasks.get, bound.task.id).status == "in_progress"
    assert bound.settle().outcome == status
    assert see(bound.store, tasks.get, bound.task.id).status == status


def test_every_report_leaves_a_row_and_an_event(bound):
    calls = {
        "learned": {"text": "tokens expire"},
        "flag": {"what": "a typo"},
        "suggest": {"what": "Rotate the keys", "why": "they are old"},
        "ask": {"question": "Which one?", "blocking": False},
        "stuck": {"reason": "no idea"},
        "blocked": {"on": "the vendor"},
        "partial": {"summary": "half", "remaining": "half"},
        "done": {"summary": "built it"},
    }
    for name, arguments in calls.items():
        bound.tools(name, **arguments)
    found = rows(bound.store, "select id, kind, session, settled_at from report order by number")
    kinds = ["learning", "flag", "suggestion", "question", "stuck", "blocked", "partial", "done"]
    assert [(kind, session) for _, kind, session, _ in found] == [(kind, bound.session) for kind in kinds]
    assert [settled is not None for *_, settled in found] == [True] * 4 + [False] * 4
    for report_id, *_ in found:
        (event,) = see(bound.store, events.list_events, limit=10, entity_id=report_id)
        assert (event.action, event.actor, event.session) == ("reported", AGENT.name, bound.session)


@pytest.mark.parametrize(
    ("scope", "features"), [("feature", ["auth"]), ("project", [None]), ("task", []), (None, ["auth"])]
)
def test_a_learning_goes_where_its_scope_says(bound, scope, features):
    given = {"text": "tokens expire after an hour", "kind": "discovery", "rationale": "it was measured"}
    bound.tools("report_learning", **given, **({"scope": scope} if scope else {}))
    found = see(bound.store, learnings.list_learnings)
    assert [(one.feature, one.reason, one.source) for one in found] == [
        (feature, "it was measured", "agent") for feature in features
    ]
    expected = ["Learned (discovery): tokens expire after an hour (it was measured)"] if scope == "task" else []
    assert bound.comments() == expected


def test_a_flag_becomes_a_comment_with_its_severity_and_category(bound):
    bound.tools("report_flag", what="the spec contradicts itself", severity="blocking", category="contradiction")
    assert bound.comments() == ["Flag (blocking, contradiction): the spec contradicts itself"]
    bound.tools("report_partial", summary="half", remaining="half")
    assert bound.settle().flags == ("the spec contradicts itself",)


@pytest.mark.parametrize("kind", ["new_task", "split"])
def test_suggested_work_becomes_a_draft_of_the_agent(bound, kind):
    made = bound.tools("report_suggestion", what="Rotate the keys\nevery week", kind=kind, why="they are old")
    draft = see(bound.store, tasks.get, made["task"])
    assert (draft.title, draft.status, draft.provenance, draft.feature) == ("Rotate the keys", "draft", "agent", "auth")
    for words in ("every week", "they are old", bound.task.id):
        assert words in draft.description
    bound.tools("report_done", summary="built it")
    assert bound.settle().outcome == "done"


@pytest.mark.parametrize("title", ["rotate  the OLD keys", "Rotate the old keys now"])
def test_suggested_work_that_is_planned_already_is_named(bound, title):
    planned = put(bound.store, "Rotate the old keys", feature="auth")
    error = bound.tools.fails("suggest", what=title, why="they are old")
    assert error["code"] == "E_DUPLICATE"
    assert error["details"]["existing"] == planned.id
    assert planned.title in error["message"]
    assert rows(bound.store, "select id from task where status = 'draft'") == []


@pytest.mark.parametrize("kind", ["refactor", "alternative", "deprecate"])
def test_other_suggestions_become_a_comment(bound, kind):
    bound.tools("suggest", what="Use one table", kind=kind, why="they are the same")
    assert bound.comments() == [f"Suggestion ({kind}): Use one table\n\nWhy: they are the same"]


def test_a_suggestion_for_a_feature_that_is_not_there_is_refused(bound):
    assert bound.tools.fails("suggest", what="Pay", why="money", feature="shop")["code"] == "E_NOT_FOUND"


def test_a_question_waits_for_a_person_and_its_answer_is_told_when_asked_again(bound):
    asked = bound.tools.outcome(
        "ask", question="Keep the column?", blocking=True, options=["yes", "no"], preferred="no"
    )
    question = asked.envelope["data"]["question"]
    assert question.id in asked.text
    bound.tools("stuck", reason="do not know")
    assert bound.settle().outcome == "needs_input"
    do(bound.store, questions.answer, question.id, "1")
    assert see(bound.store, tasks.get, bound.task.id).status == "pending"
    again = bound.tools.outcome("ask", question="keep the column?", blocking=True)
    assert "answered by ann: yes" in again.text
    shown = bound.tools.outcome("task_get", id=bound.task.id)
    assert f"question {question.id}: Keep the column? Answer: yes" in shown.text
    assert [one["answer"] for one in msgspec.to_builtins(shown.envelope["data"])["questions"]] == ["yes"]


def test_a_task_without_questions_shows_none(bound):
    assert "questions" not in bound.tools("task_get", id=bound.task.id)


def test_blocked_on_a_task_says_which_one_was_understood(bound):
    other = put(bound.store, "Write the schema")
    assert other.id in bound.tools.outcome("blocked", on="write the SCHEMA", kind="upstream_task").text
    assert "no task 'the moon'" in bound.tools.outcome("blocked", on="the moon", kind="upstream_task").text
    assert "a person" in bound.tools.outcome("blocked", on="the moon").text
    bound.tools("blocked", on=other.id)
    assert bound.settle().outcome == "pending"
    assert see(bound.store, tasks.get, bound.task.id).open_dependencies == 1


def test_one_who_lost_the_task_is_told_at_once(bound):
    do(bound.store, task_moves.start, bound.task.id, by=OTHER, force=True)
    said = bound.tools.outcome("done", summary="built it")
    assert OTHER.name in said.text
    assert bound.settle().outcome == "left"
    assert see(bound.store, tasks.get, bound.task.id).claimed_by == OTHER.name


def test_without_a_session_the_task_held_is_meant_and_moved_at_once(tools, place):
    store = place.open()
    tools.caller = Caller(session=Session(actor=AGENT))
    task = put(store)
    error = tools.fails("done", summary="built it")
    assert (error["code"], "holds none" in error["message"]) == ("E_REFUSED", True)
    do(store, task_moves.start, task.id, by=AGENT)
    assert tools("done", summary="built it")["settled"]["outcome"] == "done"
    assert see(store, tasks.get, task.id).status == "done"


def test_a_session_sees_only_its_own_task(bound):
    other = put(bound.store)
    do(bound.store, task_moves.start, other.id, by=OTHER)
    bound.tools.caller = Caller(session=Session(actor=Actor(OTHER.name, "agent"), id=bound.session))
    assert bound.tools("flag", what="a typo")["comment"]["task_id"] == bound.task.id


@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [
        ("report_done", {}, "summary"),
        ("report_done", {"summary": " "}, "summary is empty"),
        ("report_done", {"summary": "x" * 2001}, "at most 2000"),
        ("report_done", {"summary": "x", "task_id": "bn-1"}, "task_id"),
        ("report_partial", {"summary": "x"}, "remaining"),
        ("report_question", {"question": "x"}, "blocking"),
        ("report_question", {"question": "", "blocking": True}, "empty"),
        ("report_flag", {"what": "x", "severity": "warn"}, "warn"),
        ("report_flag", {"what": "x", "category": "bugg"}, "bugg"),
        ("report_learning", {"text": "x", "scope": "world"}, "world"),
        ("report_learning", {"text": "x" * 501}, "at most 500"),
        ("report_suggestion", {"what": "x"}, "why"),
        ("report_blocked", {"on": "x", "kind": "other"}, "other"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_kept(bound, name, arguments, word):
    error = bound.tools.fails(name, **arguments)
    assert error["code"] == "E_INVALID_PARAMS"
    assert word in f"{error['message']} {error['hint']}"
    assert rows(bound.store, "select id from report") == []
