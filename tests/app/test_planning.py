"""Plans made from a project and its store, kept for clients to start from, on both engines."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from binnacle.errors import NotFound, Refused
from binnacle.plan.recipe_loader import load_recipe
from binnacle.project.project import Project, find_project
from binnacle.project.store_opening import open_store
from binnacle.project.tool_catalog import catalog_of
from binnacle.sessions.planning import (
    begin_session,
    keep_plan,
    kept_plan,
    make_plan,
    prompt_of,
    resume_session,
    serving_session,
    session_folder,
)
from binnacle.sessions.session_request import SessionRequest
from binnacle.store import features, sessions
from binnacle.work.session import SessionTerms
from store.verbs import again, do, put, see


@pytest.fixture
def project(place, tmp_path, monkeypatch) -> Project:
    """A project whose store is the test's own, and recipes of its own."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "BN_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    if place.engine == "postgres":
        monkeypatch.setenv("BN_STORE_URL", place.where)
        monkeypatch.setenv("BN_STORE_SCHEMA", place.schema)
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / ".binnacle" / "recipes").mkdir(parents=True)
    return find_project(str(repo))


@pytest.fixture
def store(project):
    with open_store(project) as opened:
        do(opened, features.add_discipline, "tester", {"denied_tools": ["search_tasks"]})
        yield opened


@pytest.fixture
def write(project):
    def write(text: str) -> None:
        Path(project.repo, ".binnacle", "recipes", "mine.yaml").write_text(text)

    write("description: ours\ntools: [get_task, search_tasks, list_tasks]\n")
    return write


def names(plan) -> list[str]:
    return [tool.name for tool in plan.tools]


@pytest.mark.usefixtures("write")
def test_a_plan_is_made_of_the_projects_recipes_and_its_store(project, store):
    task = put(store, "One", discipline="tester")
    made = see(
        store, make_plan, project, catalog_of(project), SessionTerms("mine", task=task.id), session="bns-1", said="Now."
    )
    assert made.recipe.description == "ours"
    assert names(made.plan) == ["get_task", "list_tasks"]
    assert (made.plan.session, made.plan.task, made.plan.discipline) == ("bns-1", task.id, "tester")


def begun(store, project, terms: SessionTerms, **options):
    return do(
        store,
        begin_session,
        project,
        load_recipe(terms.recipe, catalog_of(project), repo=project.repo),
        terms,
        **options,
    )


def test_a_session_is_opened_under_what_follows_from_its_terms(project, store):
    do(store, features.add, "auth", {})
    task = put(store, "One", discipline="tester", feature="auth")
    session = begun(store, project, SessionTerms("chat", task=task.id), name="goose")
    assert (session.recipe, session.discipline, session.feature, session.task_id, session.name) == (
        *("chat", "tester", "auth", task.id, "goose"),
    )


class TestServing:
    def test_a_session_lasts_as_long_as_its_server(self, project, store):
        with serving_session(project, SessionTerms("chat")) as session:
            assert see(store, sessions.get, session).status == "active"
        assert see(store, sessions.get, session).status == "aborted"

    def test_it_also_ends_when_the_server_fails(self, project, store):
        with pytest.raises(OSError, match="broken"), serving_session(project, SessionTerms("chat")) as session:
            raise OSError("broken")
        assert see(store, sessions.get, session).status == "aborted"

    def test_one_that_was_completed_stays_so(self, project, store):
        with serving_session(project, SessionTerms("chat")) as session:
            do(store, sessions.complete, session, reason="all done")
        assert see(store, sessions.get, session).status == "complete"

    @pytest.mark.parametrize(
        "terms", [SessionTerms("yapp"), SessionTerms("chat", "nobody"), SessionTerms("chat", task="bn-000")], ids=str
    )
    def test_what_cannot_be_planned_is_not_begun(self, project, store, terms):
        with pytest.raises(NotFound), serving_session(project, terms):
            pass
        assert see(store, sessions.list_sessions) == []


@pytest.mark.parametrize("tools", ["[report_done]", "[done]", "[report_*]", "[get_task, report_d*]"])
def test_a_recipe_with_reports_takes_its_task_and_decides_about_it_by_whatever_name_it_has_them(
    project, store, write, tools
):
    write(f"description: ours\ntools: {tools}\n")
    task = put(store, "One", now=datetime.now(UTC))
    with serving_session(project, SessionTerms("mine", task=task.id)):
        assert again(store, task).status == "in_progress"
    assert again(store, task).status == "pending"


class TestKept:
    @pytest.fixture
    def session(self, project, store, write):  # noqa: ARG002 - the recipe is there before the session
        recipe = load_recipe("mine", catalog_of(project), repo=project.repo)
        return do(store, begin_session, project, recipe, SessionTerms("mine", "tester"))

    def kept(self, store, project, session):
        return see(store, kept_plan, project, catalog_of(project), session)

    def states(self, project, session) -> dict[str, int]:
        folder = Path(session_folder(project, session.id))
        return {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}

    def test_it_is_written_once_and_found_again(self, project, store, session):
        first = self.kept(store, project, session)
        before = self.states(project, session)
        assert set(before) == {"context.json", "prompt.md", "mcp.json", "checks.json"}
        assert names(self.kept(store, project, session)) == names(first) == ["get_task", "list_tasks"]
        assert self.states(project, session) == before

    def test_it_is_written_anew_when_the_recipe_has_changed(self, project, store, session, write):
        before = self.kept(store, project, session)
        write("description: ours\ntools: [get_task]\n")
        assert names(self.kept(store, project, session)) == ["get_task"]
        assert resume_session(project, session.id) == SessionTerms("mine", "tester")
        assert self.kept(store, project, session).catalog != before.catalog

    def test_it_is_written_anew_when_the_discipline_may_use_less(self, project, store, session):
        self.kept(store, project, session)
        do(store, features.update_discipline, "tester", {"denied_tools": ["get_task"]})
        assert names(self.kept(store, project, session)) == ["search_tasks", "list_tasks"]

    def test_an_edited_file_is_refused_even_if_the_recipe_has_changed(self, project, store, session, write):
        self.kept(store, project, session)
        write("description: ours\ntools: [get_task]\n")
        Path(session_folder(project, session.id), "prompt.md").write_text("mine\n")
        with pytest.raises(Refused, match=r"prompt\.md line 1"):
            resume_session(project, session.id)

    def test_a_session_that_ended_or_never_was_is_refused(self, project, store, session):
        do(store, sessions.abort, session.id, reason="enough")
        with pytest.raises(Refused, match="is aborted"):
            resume_session(project, session.id)
        with pytest.raises(NotFound):
            resume_session(project, "bns-0000")

    def test_the_prompt_is_as_things_stand_now(self, project, store, session):
        task = put(store, "One")
        served = SessionRequest(SessionTerms("task", task=task.id), session.id)
        assert "One" in prompt_of(project, served)
        put(store, "Two", depends_on=(task.id,))
        assert "Two" in prompt_of(project, served)


def test_what_a_person_wants_of_a_session_survives_its_plan_being_made_anew(project, store, write):
    write("description: ours\ntools: [get_task]\nsections: [input]\n")
    session = begun(store, project, SessionTerms("mine"))
    made = see(
        store, make_plan, project, catalog_of(project), SessionTerms("mine"), session=session.id, said="less noise"
    )
    keep_plan(project, made.plan)
    write("description: ours\ntools: [get_task, list_tasks]\nsections: [input]\n")
    assert resume_session(project, session.id) == SessionTerms("mine")
    assert "less noise" in Path(session_folder(project, session.id), "prompt.md").read_text()
    assert "less noise" in prompt_of(project, SessionRequest(SessionTerms("mine"), session.id))
