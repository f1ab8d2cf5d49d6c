"""The limits of a session on its tools: in the list, and at the call, under every name of the tool."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from binnacle.plan.recipe import Recipe, ToolRule
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_plan import SessionSubject, bind, choose
from binnacle.plan.tool_limits import task_check
from binnacle.store import comments, features, task_moves, tasks
from binnacle.store.tasks import TaskFilter
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.work.access import StoreAccess
from binnacle.tools.work.all_work_tools import work_tools
from binnacle.work.session import Session as CallerSession
from places import access_to
from plan.test_shipped_recipes import the_recipe
from store.verbs import AGENT, again, do, put, see
from work.builders import OTHER


class Session:
    """A session under a recipe, on a real store."""

    def __init__(self, access: StoreAccess, recipe: Recipe, task: Any = None, feature: str | None = None) -> None:
        catalog = Catalog(work_tools(access))
        about = SessionSubject(task=task, feature=feature)
        rules, _ = choose(recipe, catalog, None)
        check = task_check(access, task.id if task else None)
        self.exposed = bind(recipe, rules, catalog, about, check=check)
        self._dispatcher = Dispatcher(catalog, exposed=self.exposed, instead=recipe.instead)
        self.caller = Caller(session=CallerSession(actor=AGENT))

    def parameters(self, name: str) -> dict[str, Any]:
        return next(one.entry() for one in self.exposed if one.name == name)["inputSchema"]

    def _outcome(self, name: str, arguments: dict[str, Any]):
        return asyncio.run(self._dispatcher.call(name, msgspec.json.encode(arguments), self.caller))

    def __call__(self, name: str, /, **arguments: Any) -> Any:
        outcome = self._outcome(name, arguments)
        assert not outcome.is_error, outcome.text
        return msgspec.json.decode(msgspec.json.encode(outcome.envelope))["data"]

    def fails(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        outcome = self._outcome(name, arguments)
        assert outcome.is_error, outcome.text
        return outcome.envelope["error"]


@pytest.fixture
def store(place):
    return place.open()


@pytest.fixture
def access(place):
    with access_to(place) as opened:
        yield opened


@pytest.fixture
def session(access):
    """Begins a session under a recipe in the box, or one made of rules."""

    def begin(recipe: str | Recipe, task: Any = None, feature: str | None = None) -> Session:
        return Session(access, the_recipe(recipe) if isinstance(recipe, str) else recipe, task, feature)

    return begin


def now() -> datetime:
    """A moment at which a claim has not lapsed when it is looked at."""
    return datetime.now(UTC)


def a_recipe(*rules: ToolRule, **fields: Any) -> Recipe:
    return Recipe(name="r", description="", tools=rules, **fields)


class TestParameters:
    UPDATE = ("update_task", "task_update", "task-update")

    def test_the_reviewer_sees_only_what_it_may_change(self, session):
        schema = session("review").parameters("update_task")
        assert list(schema["properties"]) == ["id", "priority", "description"]
        assert schema["required"] == ["id"]

    @pytest.mark.parametrize("name", UPDATE)
    def test_the_reviewer_changes_only_that_by_any_name(self, session, store, name):
        task = put(store, "One")
        review = session("review")
        review(name, id=task.id, priority=0, description="urgent")
        for more in ({"title": "Mine"}, {"status": "done"}, {"depends_on": []}, {"content": "x"}, {"fence": 1}):
            error = review.fails(name, id=task.id, priority=1, **more)
            assert error["code"] == "E_INVALID_PARAMS"
            assert "parameter" in error["message"]
        changed = again(store, task)
        assert (changed.title, changed.status, changed.priority, changed.description) == ("One", "pending", 0, "urgent")

    def test_an_older_word_for_what_is_left_still_works(self, session, store):
        task = put(store, "One")
        session("review")("update_task", task_id=task.id, priority="high")
        assert again(store, task).priority == 1

    @pytest.mark.parametrize("name", UPDATE)
    def test_enrichment_changes_neither_status_nor_feature(self, session, store, name):
        task = put(store, "One")
        enrich = session("enrich")
        assert not {"status", "feature"} & enrich.parameters("update_task")["properties"].keys()
        enrich(name, id=task.id, hints="look there")
        assert enrich.fails(name, id=task.id, status="done")["code"] == "E_INVALID_PARAMS"

    def test_one_item_of_a_batch_is_limited_as_the_batch_is(self, session, store):
        made = session(a_recipe(ToolRule(name="create_task", only=("priority", "description"))))
        assert list(made.parameters("create_task")["properties"]) == ["title", "description", "priority"]
        made("create_task", title="One", priority=0)
        made("task_add", tasks=[{"title": "Two", "description": "more"}])
        made("task-add", tasks=[{"content": "Three"}])
        for name, given in (
            ("create_task", {"title": "Four", "kind": "bug"}),
            ("task_add", {"tasks": [{"title": "Four", "kind": "bug"}]}),
            ("task-add", {"tasks": [{"content": "Four", "tags": ["x"]}]}),
        ):
            assert made.fails(name, **given)["code"] == "E_INVALID_PARAMS"
        assert see(store, tasks.list_tasks, TaskFilter(), limit=9)[1] == 3

    def test_a_tool_listed_twice_has_the_limits_of_the_name_it_is_called_by(self, session, store):
        task = put(store, "One")
        both = session(a_recipe(ToolRule(name="update_task", only=("priority",)), ToolRule(name="task_update")))
        assert both.fails("update_task", id=task.id, title="Two")["code"] == "E_INVALID_PARAMS"
        assert both.fails("task-update", id=task.id, title="Two")["code"] == "E_INVALID_PARAMS"
        both("task_update", id=task.id, title="Two")


class TestOwnTask:
    @pytest.fixture
    def own(self, store):
        do(store, features.add, "auth", {})
        return put(store, "Own", feature="auth")

    def test_a_status_is_changed_of_the_own_task_only(self, session, store, own):
        other = put(store, "Other")
        run = session("task", own)
        for name in ("set_task_status", "task_status"):
            error = run.fails(name, id=other.id, status="done")
            assert error["code"] == "E_REFUSED"
            assert error["details"] == {"task": own.id}
            assert own.id in error["hint"]
        assert run.fails("report_blocker", id=other.id, reason="x")["code"] == "E_REFUSED"
        assert run.fails("update_task_context", id=other.id, hints="x")["code"] == "E_REFUSED"
        assert run.fails("add_context_file", task_id=other.id, file_path="x")["code"] == "E_REFUSED"
        assert again(store, other) == other

    def test_the_own_task_may_be_named_shortened_or_left_out(self, session, store, own):
        run = session("task", own)
        assert "id" not in run.parameters("set_task_status")["required"]
        assert own.id in run.parameters("set_task_status")["properties"]["id"]["description"]
        assert run("set_task_status", status="in_progress")["task"]["id"] == own.id
        run("set_task_status", id=own.id, status="pending")
        run("set_task_status", task_id=own.id[:-1], status="in_progress")
        run("update_task_context", hints="there")
        run("set_task_status", status="done", reason="it works")
        assert (again(store, own).status, again(store, own).hints) == ("done", "there")

    def test_a_task_that_does_not_exist_is_not_found(self, session, own):
        assert session("task", own).fails("set_task_status", id="bn-0000", status="done")["code"] == "E_NOT_FOUND"

    def test_comments_may_be_left_near_the_own_task(self, session, store, own):
        same = put(store, "Same feature", feature="auth")
        waits = put(store, "Waits", depends_on=(own.id,))
        far = put(store, "Far", depends_on=(waits.id,))
        run = session("task", own)
        for near in (own, same, waits):
            run("add_task_comment", task_id=near.id, body="mind this")
            assert [one.body for one in see(store, comments.list_comments, near.id)] == ["mind this"]
        run("add_task_comment", body="and mine")
        assert [one.body for one in see(store, comments.list_comments, own.id)] == ["mind this", "and mine"]
        for name in ("add_task_comment", "comment_add"):
            error = run.fails(name, task_id=far.id, body="no")
            assert error["code"] == "E_REFUSED"
            assert "one of its feature or one that waits for it" in error["message"]

    def test_without_a_feature_only_who_waits_is_near(self, session, store):
        own, other = put(store, "Own"), put(store, "Other")
        assert session("task", own).fails("add_task_comment", task_id=other.id, body="x")["code"] == "E_REFUSED"

    def test_any_task_may_be_read(self, session, store, own):
        other = put(store, "Other")
        assert session("task", own)("get_task", id=other.id)["task"]["id"] == other.id
        assert session("report", own).fails("get_task", id=other.id)["code"] == "E_REFUSED"
        assert session("report", own)("get_task")["task"]["id"] == own.id


class TestHeldTask:
    """A session that was not bound to a task has the one that its agent holds."""

    def test_without_any_it_is_told_to_take_one(self, session, store):
        other = put(store, "Other")
        run = session("task")
        error = run.fails("set_task_status", id=other.id, status="done")
        assert (error["code"], error["message"]) == ("E_PREREQUISITE", "this session works on no task")
        assert "--task" in error["hint"]

    def test_what_it_holds_is_its_own(self, session, store):
        held, other = put(store, "Held"), put(store, "Other")
        do(store, task_moves.start, held.id, by=AGENT, now=now())
        do(store, task_moves.start, other.id, by=OTHER, now=now())
        run = session("task")
        assert (
            "the task you work on when left out" in run.parameters("set_task_status")["properties"]["id"]["description"]
        )
        assert run.fails("set_task_status", id=other.id, status="pending")["code"] == "E_REFUSED"
        assert run("set_task_status", status="done", reason="it works")["task"]["id"] == held.id

    def test_each_of_several_is_its_own(self, session, store):
        first, second = put(store, "First"), put(store, "Second")
        do(store, task_moves.start, first.id, by=AGENT, now=now())
        do(store, task_moves.start, second.id, by=AGENT, now=now(), force=True)
        run = session("task")
        run("set_task_status", id=second.id, status="done", reason="it works")
        run("set_task_status", id=first.id, status="done", reason="it works")


class TestCreatedStatus:
    @pytest.mark.parametrize("status", ["pending", "draft", "in_progress", "nonsense", 5])
    def test_new_tasks_are_drafts_whatever_is_asked_for(self, session, store, status):
        storm = session("brainstorm")
        assert "status" not in storm.parameters("create_task")["properties"]
        storm("create_task", title="One", status=status, priority=1)
        storm("task_add", tasks=[{"title": "Two", "status": status}, {"title": "Three"}])
        storm("task-add", tasks=[{"content": "Four", "status": status}])
        found, _ = see(store, tasks.list_tasks, TaskFilter(), limit=9)
        assert {(task.title, task.status) for task in found} == {
            (name, "draft") for name in ("One", "Two", "Three", "Four")
        }
        assert next(task for task in found if task.title == "One").priority == 1

    def test_other_mistakes_are_still_noticed(self, session):
        error = session("brainstorm").fails("create_task", titel="One", status="draft")
        assert (error["code"], error["hint"]) == ("E_INVALID_PARAMS", "did you mean 'title'?")

    @pytest.mark.parametrize("name", ["create_task", "task_add"])
    def test_it_goes_with_a_limit_on_the_parameters(self, session, store, name):
        rule = ToolRule(name=name, only=("priority",) if name == "create_task" else ())
        made = session(a_recipe(rule, created_status="draft"))
        made("create_task", title="One", status="pending")
        assert see(store, tasks.list_tasks, TaskFilter(), limit=9)[0][0].status == "draft"


class TestFeature:
    @pytest.fixture
    def run(self, session, store):
        """An iteration about the feature auth, in a project with other work."""
        do(store, features.add, "auth", {})
        put(store, "Elsewhere", priority=0)
        return session("loop", feature="auth")

    def test_what_is_added_belongs_to_it(self, run, store):
        run("task-add", tasks=[{"content": "Log in"}, {"content": "Log out", "priority": 0}])
        found, _ = see(store, tasks.list_tasks, TaskFilter(feature="auth"), limit=9)
        assert [task.title for task in found] == ["Log out", "Log in"]

    def test_only_its_tasks_are_seen_by_any_name(self, run):
        assert run("task-next")["task"] is None
        run("task-add", tasks=[{"content": "Log in"}])
        assert run("task_next")["task"]["title"] == "Log in"
        assert [task["title"] for task in run("task-list")["tasks"]] == ["Log in"]

    def test_others_are_seen_when_they_are_asked_for(self, run):
        assert [task["title"] for task in run("task-list", feature=None)["tasks"]] == ["Elsewhere"]

    def test_it_says_so(self, run):
        listing = run.parameters("task-list")["properties"]
        adding = run.parameters("task-add")["properties"]["tasks"]["items"]["properties"]
        assert listing["feature"]["description"] == adding["feature"]["description"] == "auth when left out"

    @pytest.mark.usefixtures("run")
    def test_other_recipes_leave_it_open(self, session):
        assert session(a_recipe(ToolRule(name="task_list")), feature="auth")("task_list")["total"] == 1

    def test_a_change_leaves_a_task_where_it_is(self, run, store):
        task = put(store, "There")
        run("task-update", id=task.id, priority=1)
        assert again(store, task).feature is None


@pytest.mark.parametrize("text", ["tools:\n- task_*: {only: []}\n", "tools:\n- task_up*: {task: own, only: [hints]}\n"])
def test_limits_of_a_pattern_hold_for_each_tool_it_matches(session, store, access, tmp_path, text):
    folder = tmp_path / ".binnacle" / "recipes"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(text)
    own, other = put(store, "Own"), put(store, "Other")
    made = session(load_recipe("mine", Catalog(work_tools(access)), repo=str(tmp_path)), own)
    made("task_update", id=own.id, hints="there")
    if "own" in text:
        assert made.fails("task_update", id=other.id, hints="there")["code"] == "E_REFUSED"
        assert made.fails("task_update", title="x")["code"] == "E_INVALID_PARAMS"
