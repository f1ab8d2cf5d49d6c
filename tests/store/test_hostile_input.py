"""Input that nearly passes: values of the wrong kind, look-alikes, things that would contradict each other."""

import pytest

from binnacle.config.settings_file import write_setting
from binnacle.errors import ConfigError, InvalidInput, Refused
from binnacle.store import comments, features, learnings, task_moves, tasks
from binnacle.store.opening import open_postgres
from binnacle.store.views import search
from binnacle.work.learning import add
from binnacle.work.task import NewTask
from store.verbs import AGENT, do, put, see
from work.builders import a_learning


def found(store, text):
    return [hit.title for hit in see(store, search.find_text, text)]


@pytest.mark.parametrize("query", ["cafe", "CAFÉ", "cafe\u0301"])
def test_accents_make_no_difference_to_a_search_on_either_engine(store, query):
    put(store, "the café")
    assert found(store, query) == ["the café"]


@pytest.mark.parametrize("length", range(3, len("authentication") + 1))
def test_a_word_is_found_by_every_beginning_of_it(store, length):
    put(store, "authentication")
    assert found(store, "authentication"[:length]) == ["authentication"]


@pytest.mark.parametrize("field", ["tags", "acceptance_criteria", "context_files"])
def test_a_text_where_a_list_is_wanted_is_refused(store, field):
    task = put(store)
    with pytest.raises(InvalidInput):
        do(store, tasks.update, task.id, {field: "abc"})


@pytest.mark.parametrize("changes", [{"title": 5}, {"title": None}, {"description": 5}, {"dependencies": 5}])
def test_a_value_of_the_wrong_kind_is_refused_for_a_feature(store, changes):
    do(store, features.add, "login", {})
    with pytest.raises(InvalidInput):
        do(store, features.update, "login", changes)


def test_a_status_that_does_not_exist_is_refused(store):
    with pytest.raises(InvalidInput):
        do(store, tasks.add, [NewTask(title="x", status="bogus")])


def test_learnings_of_short_words_only_are_not_all_the_same():
    assert add([a_learning("no DB")], a_learning("no UI")).outcome == "added"


def test_an_agent_does_not_replace_what_a_person_reviewed(store):
    made = do(store, learnings.add, "the build server caches wheels between runs").learning
    do(store, learnings.review, made.id)
    do(store, learnings.add, "the build server never caches wheels between runs", by=AGENT)
    assert see(store, learnings.get, made.id).text == made.text


@pytest.mark.parametrize("url", ["postgresql://[bad", "postgresql://host/db?nonsense=1", "postgresql://host:port/db"])
def test_a_url_that_cannot_be_parsed_is_a_matter_of_configuration(url):
    with pytest.raises(ConfigError):
        open_postgres(url)


def test_a_schema_may_be_called_like_a_word_of_sql(postgres_url):
    with open_postgres(postgres_url, schema="user") as store:
        try:
            put(store, "In the schema")
            assert found(store, "schema") == ["In the schema"]
        finally:
            do(store, lambda tx: tx.run('drop schema "user" cascade'))


def test_a_part_does_not_wait_for_its_whole(store):
    whole = put(store)
    with pytest.raises(Refused):  # neither could ever be finished
        put(store, parent=whole.id, depends_on=(whole.id,))


def test_the_discipline_of_a_comment_is_a_name(store):
    with pytest.raises(InvalidInput):
        do(store, comments.add, put(store).id, "remark", discipline="\x1b[31mred")


def test_titles_that_look_the_same_are_the_same(store):
    put(store, "caf\u00e9")
    with pytest.raises(Refused):
        put(store, "cafe\u0301")


def test_taking_a_setting_out_of_no_file_makes_none(tmp_path):
    write_setting(str(tmp_path / "config.toml"), "store.url", None)
    assert list(tmp_path.iterdir()) == []


def test_a_carriage_return_parts_words(store):
    assert put(store, "one\rtwo").title == "one two"


def test_a_part_keeps_the_priority_it_was_given(store):
    whole = put(store, priority=0)
    _, made = do(store, task_moves.split, whole.id, [NewTask(title="a", priority=2), NewTask(title="b")])
    assert made[0].priority == 2
