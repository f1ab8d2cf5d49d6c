"""Features and disciplines: created, changed, merged, and kept as long as something refers to them."""

from datetime import timedelta

import pytest

from binnacle.errors import Cycle, Duplicate, InvalidInput, NotFound, Referenced
from binnacle.store import feature_merge, features, learnings, sessions
from binnacle.work.learning import MAX_LEARNINGS
from places import NOW
from store.verbs import actions, again, contents, do, put, rows, see

LATER = NOW + timedelta(hours=1)


def add(store, name, **fields):
    return do(store, features.add, name, fields)


def test_a_feature_gets_a_title_and_an_acronym_by_itself(store):
    made = add(store, "User Login")
    assert (made.name, made.title, made.acronym) == ("user-login", "User login", "USER")
    assert see(store, features.get, "USER login") == made


def test_a_feature_is_kept_as_it_was_given(store):
    add(store, "storage")
    made = add(
        store,
        "login",
        title="Log in",
        acronym="auth",
        description="d",
        architecture="a",
        boundaries="b",
        knowledge_paths=("docs/login.md",),
        context_files=("src/login.py",),
        dependencies=("storage",),
    )
    assert see(store, features.get, "login") == made
    assert (made.acronym, made.dependencies) == ("AUTH", ("storage",))
    assert [feature.name for feature in see(store, features.list_features)] == ["login", "storage"]


def test_two_features_do_not_share_an_acronym(store):
    add(store, "authentication")
    assert add(store, "authority").acronym == "AUT2"
    with pytest.raises(Duplicate, match="acronym AUTH belongs to 'authentication'"):
        add(store, "search", acronym="auth")
    add(store, "search")
    with pytest.raises(Duplicate, match="acronym AUTH belongs to 'authentication'"):
        do(store, features.update, "search", {"acronym": "AUTH"})


def test_a_near_duplicate_is_refused_unless_forced(store):
    add(store, "payment")
    with pytest.raises(Duplicate, match="nearly the same as 'payment'"):
        add(store, "payments")
    assert do(store, features.add, "payments", {}, force=True).name == "payments"


def test_an_unknown_feature_gets_the_nearest(store):
    add(store, "login")
    with pytest.raises(NotFound, match="no feature 'lgoin'") as caught:
        see(store, features.get, "lgoin")
    assert caught.value.hint == "did you mean 'login'?; create it: bn feature add lgoin"


def test_a_feature_is_changed(store):
    add(store, "login")
    changed = do(store, features.update, "login", {"title": "Log in", "boundaries": "no sign up"}, now=LATER)
    assert (changed.title, changed.boundaries, changed.created_at, changed.updated_at) == (
        *("Log in", "no sign up"),
        *(NOW, LATER),
    )
    do(store, features.update, "login", {"title": "Log in"})
    assert actions(store, "login") == ["added", "updated"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"dependencies": ("nowhere",)}, NotFound),
        ({"name": "other"}, InvalidInput),
        ({"titel": "x"}, InvalidInput),
        ({"acronym": "TOOLONG"}, InvalidInput),
    ],
)
def test_a_wrong_change_leaves_the_feature_as_it_was(store, changes, error):
    add(store, "login")
    before = contents(store)
    with pytest.raises(error):
        do(store, features.update, "login", {"title": "new", **changes})
    assert contents(store) == before


def test_features_do_not_build_on_each_other_in_a_circle(store):
    add(store, "aaaa")
    add(store, "bbbb", dependencies=("aaaa",))
    add(store, "cccc", dependencies=("bbbb",))
    with pytest.raises(Cycle, match="aaaa → cccc → bbbb → aaaa"):
        do(store, features.update, "aaaa", {"dependencies": ("cccc",)})
    with pytest.raises(Cycle):
        do(store, features.update, "aaaa", {"dependencies": ("aaaa",)})


def test_a_feature_that_something_refers_to_is_not_deleted(store):
    add(store, "login")
    task = put(store, feature="login")
    add(store, "search", dependencies=("login",))
    do(store, learnings.add, "passwords are hashed", feature="login")
    before = contents(store)
    with pytest.raises(Referenced) as caught:
        do(store, features.delete, "login")
    assert caught.value.details["referrers"] == [f"task {task.id}", "feature search", "1 learning(s)"]
    assert "bn feature merge login" in caught.value.hint
    assert contents(store) == before


def test_a_feature_nothing_refers_to_is_deleted(store):
    add(store, "login")
    do(store, features.delete, "login")
    assert see(store, features.list_features) == []
    assert actions(store, "login") == ["added", "deleted"]


def test_merging_moves_everything_and_removes_the_source(store):
    add(store, "signin", description="old words", context_files=("a.py", "b.py"))
    add(store, "login", description="new words", context_files=("b.py",))
    add(store, "search", dependencies=("signin",))
    task = put(store, feature="signin")
    do(store, learnings.add, "passwords are hashed with argon", feature="signin")
    do(store, learnings.add, "passwords are hashed with argon", feature="login")
    do(store, learnings.add, "sessions end after an hour", feature="signin")
    merged = do(store, feature_merge.merge_features, "signin", into="login")
    assert (merged.description, merged.context_files) == ("new words\n\nold words", ("b.py", "a.py"))
    assert again(store, task).feature == "login"
    assert see(store, features.get, "search").dependencies == ("login",)
    assert {(known.text, known.hit_count) for known in see(store, learnings.list_learnings, feature="login")} == {
        ("passwords are hashed with argon", 2),
        ("sessions end after an hour", 1),
    }
    assert [feature.name for feature in see(store, features.list_features)] == ["login", "search"]
    assert actions(store, "login")[-1] == "merged"


def test_a_feature_merged_into_one_that_builds_on_it_leaves_no_circle(store):
    add(store, "storage")
    add(store, "login", dependencies=("storage",))
    assert do(store, feature_merge.merge_features, "storage", into="login").dependencies == ()


def test_what_finds_no_room_in_a_merge_is_said_in_the_log(store):
    add(store, "signin")
    add(store, "login")
    for number in range(MAX_LEARNINGS):
        do(store, learnings.add, f"word{number}a word{number}b word{number}c", feature="login")
    lost = do(store, learnings.add, "something else entirely", feature="signin").learning
    do(store, feature_merge.merge_features, "signin", into="login")
    assert actions(store, lost.id) == ["added", "pruned"]
    assert len(see(store, learnings.list_learnings, feature="login")) == MAX_LEARNINGS


@pytest.mark.parametrize(("source", "into"), [("login", "login"), ("login", "nowhere"), ("nowhere", "login")])
def test_a_merge_needs_two_features(store, source, into):
    add(store, "login")
    before = contents(store)
    with pytest.raises((InvalidInput, NotFound)):
        do(store, feature_merge.merge_features, source, into=into)
    assert contents(store) == before


def test_a_discipline_is_kept_changed_and_deleted(store):
    made = do(
        store,
        features.add_discipline,
        "backend",
        {"skills": ("SQL",), "denied_tools": ("debug_*",), "upstreams": {"db": {"command": "x"}}, "icon": "🔧"},
    )
    assert see(store, features.get_discipline, "backend") == made
    assert (made.acronym, made.upstreams, made.icon) == ("BACK", {"db": {"command": "x"}}, "🔧")
    changed = do(store, features.update_discipline, "backend", {"conventions": "be brief"})
    assert changed.conventions == "be brief"
    task = put(store, discipline="backend")
    with pytest.raises(Referenced, match=f"task {task.id}"):
        do(store, features.delete_discipline, "backend")
    do(store, lambda tx: tx.run("update task set discipline = null"))
    do(store, features.delete_discipline, "backend")
    assert see(store, features.list_disciplines) == []
    assert rows(store, "select action from event where entity = 'discipline' order by seq") == [
        *[("added",), ("updated",), ("deleted",)]
    ]


def test_a_feature_and_a_discipline_may_share_a_name(store):
    add(store, "backend")
    assert do(store, features.add_discipline, "backend", {}).acronym == "BACK"
    with pytest.raises(Duplicate, match="nearly the same as 'backend'"):
        do(store, features.add_discipline, "backends", {})
    with pytest.raises(NotFound, match="no discipline"):
        see(store, features.get_discipline, "frontend")


def test_a_discipline_that_an_active_session_has_is_not_deleted(store):
    do(store, features.add_discipline, "backend", {})
    session = do(store, sessions.start, recipe="loop", discipline="backend")
    with pytest.raises(Referenced, match=f"session {session.id}"):
        do(store, features.delete_discipline, "backend")
    do(store, sessions.abort, session.id, reason="enough")
    do(store, features.delete_discipline, "backend")
    assert see(store, features.list_disciplines) == []


@pytest.mark.parametrize("given", [[], {"docs": "docs-server"}, {"a b!": {}}])
def test_servers_of_a_discipline_are_objects_by_name(store, given):
    with pytest.raises(InvalidInput):
        do(store, features.add_discipline, "backend", {"upstreams": given})
