"""Full-text search finds the same things on both engines, best first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.errors import InvalidInput
from binnacle.store import comments, features, learnings, notes, task_deletion, tasks
from binnacle.store.views import search
from binnacle.work.learning import MAX_LEARNINGS
from store.verbs import do, put, see


def found(store, text, **options):
    return [hit.title or hit.snippet for hit in see(store, search.find_text, text, **options)]


def test_all_words_must_be_found(store):
    put(store, "mend the login form")
    put(store, "mend the search form")
    assert found(store, "form login") == ["mend the login form"]
    assert found(store, "login search") == []


def test_a_title_counts_more_than_a_description(store):
    put(store, "something else", description="the parser is slow")
    put(store, "the parser is slow", description="something else")
    put(store, "another thing", description="the parser is slow")
    assert found(store, "parser")[0] == "the parser is slow"
    assert len(found(store, "parser")) == 3


def test_a_word_is_found_by_its_beginning(store):
    put(store, "configuration of the gateway")
    assert found(store, "gate") == ["configuration of the gateway"]
    assert found(store, "teway") == []


@pytest.mark.parametrize("word", ["connect", "connected", "connecting", "connections", "CONNECTION"])
def test_a_word_is_found_in_every_form(store, word):
    put(store, "open a connection")
    assert found(store, word) == ["open a connection"]


def test_words_that_say_little_are_found_too(store):
    put(store, "who is on it")
    assert found(store, "is on") == ["who is on it"]


@pytest.mark.parametrize(
    ("title", "query"),
    [
        ("Überprüfung der Straße", "überprüfung"),
        ("Überprüfung der Straße", "STRASSE".replace("SS", "ß")),
        ("проверка формы", "ПРОВЕРКА"),
        ("ελληνικά γράμματα", "Γράμματα"),
        ("日本語 テスト", "日本語"),
        ("हिन्दी भाषा", "हिन्दी"),
        ("café", "CAFÉ"),
    ],
)
def test_every_script_is_searched(store, title, query):
    put(store, "something else")
    put(store, title)
    assert found(store, query) == [title]


@pytest.mark.parametrize(
    "query",
    ["store", "binnacle", "py", "src/binnacle/store.py", "user_id", "42", "32601", "-32601", "1.2.3", "example"],
)
def test_the_parts_of_paths_names_and_numbers_are_words(store, query):
    put(store, "see src/binnacle/store.py", description="user_id, issue-42, error -32601, v 1.2.3, ann@example.com")
    assert found(store, query) == ["see src/binnacle/store.py"]


@pytest.mark.parametrize("query", ["", "  ", "!?", "---", "'", '"', "%", "*", "()", ":*", "&", "\u0301", "\x00"])
def test_a_query_without_a_word_is_refused(store, query):
    with pytest.raises(InvalidInput, match="nothing to search for"):
        see(store, search.find_text, query)


@pytest.mark.parametrize(
    "query", ["mend AND form", "mend OR form", "NOT", "NEAR(mend form)", "title:mend", "mend & !form"]
)
def test_the_words_of_the_engines_own_languages_are_just_words(store, query):
    put(store, "mend the form and or not near title")
    assert found(store, query) == ["mend the form and or not near title"]


@given(text=st.text(max_size=40))
def test_no_query_breaks_the_search(store, text):
    """Nothing is found in an empty store, and what has no word in it is refused."""
    try:
        assert found(store, text) == []
        is_refused = False
    except InvalidInput:
        is_refused = True
    assert is_refused != any(map(str.isalnum, text))


def test_words_of_any_length_and_number_are_searched_for(store):
    put(store, "x" * 300, description="y" * 50_000)
    assert found(store, "x" * 300) == ["x" * 300]
    assert found(store, "z" * 5000) == []
    assert found(store, " ".join(f"word{number}" for number in range(500))) == []


def test_the_longest_texts_are_taken_on_both_engines(store):
    put(store, "many words", description=" ".join(f"w{number:05}" for number in range(7000)), hints="漢字" * 25_000)
    assert found(store, "w06999") == ["many words"]


def test_everything_people_write_is_found(store):
    do(store, features.add, "login", {})
    task = put(store, "the task", hints="sextant", tags=("astrolabe",))
    remark = do(store, comments.add, task.id, "the compass is off")
    (note,) = do(store, notes.add, [("tip", "trust the compass")])
    learning = do(store, learnings.add, "needles turn", reason="compass again", feature="login").learning
    hits = see(store, search.find_text, "compass")
    assert {(hit.entity, hit.id) for hit in hits} == {
        ("comment", remark.id),
        ("note", note.id),
        ("learning", learning.id),
    }
    assert found(store, "sextant") == found(store, "astrolabe") == ["the task"]
    (hit,) = see(store, search.find_text, "compass", entity="comment")
    assert (hit.task_id, hit.title, hit.status, hit.snippet) == (task.id, "the task", "pending", "the compass is off")


def test_changes_and_deletions_are_found_out_at_once(store):
    task = put(store, "first words")
    remark = do(store, comments.add, task.id, "first remark")
    do(store, tasks.update, task.id, {"title": "second words", "description": "more"})
    do(store, comments.update, remark.id, "second remark")
    assert found(store, "first") == []
    assert len(found(store, "second")) == 2
    assert found(store, "more") == ["second words"]
    do(store, task_deletion.delete_task, task.id)
    assert found(store, "second") == []


def test_a_replaced_and_a_pruned_learning_are_found_no_more(store):
    do(store, learnings.add, "the magnetic needle points north of here", source="auto")
    do(store, learnings.add, "the magnetic needle never points north of here", source="auto")
    assert len(found(store, "magnetic needle")) == 1
    for number in range(MAX_LEARNINGS):
        do(store, learnings.add, f"word{number}a word{number}b word{number}c", source="auto")
    assert found(store, "magnetic") == []


def test_a_deleted_note_is_found_no_more(store):
    (note,) = do(store, notes.add, [("tip", "trust the compass")])
    do(store, notes.delete, note.id)
    assert found(store, "compass") == []


def test_as_many_are_given_as_were_asked_for(store):
    for number in range(30):
        put(store, f"compass {number}")
    assert len(found(store, "compass")) == 20
    assert len(found(store, "compass", limit=3)) == 3


def test_a_snippet_shows_the_text_around_the_word(store):
    put(store, "long", description=f"{'before ' * 100} needle {'after ' * 100}")
    (hit,) = see(store, search.find_text, "needle")
    assert "needle" in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) <= 162


def test_what_there_is_to_find_is_counted(store):
    for number in range(5):
        put(store, f"stone {number}")
    task = put(store, "another")
    do(store, comments.add, task.id, "a stone, too")
    assert see(store, search.count_hits, "stones") == 6
    assert see(store, search.count_hits, "stone", entity="comment") == 1
    assert see(store, search.count_hits, "pebble") == 0
    assert len(see(store, search.find_text, "stone", limit=2)) == 2
