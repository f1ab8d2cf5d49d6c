"""What a task may say, and what an update may change."""

import pytest

from binnacle.errors import InvalidInput, Refused, WrongStatus
from binnacle.work.status import STATUSES
from binnacle.work.task import EDITABLE, NewTask, check_close, find_changes, validate
from work.builders import AGENT, PERSON, a_task


def test_every_text_of_a_task_is_cleaned():
    fields = validate(
        NewTask(
            title=" mend\x1b it ",
            description="why\x00\n",
            hints="\x07look",
            pseudocode="a\r\nb",
            feature="User Login",
            discipline="Back End",
            tags=(" UI ", "ui"),
            acceptance_criteria=("it\x1b works", ""),
            context_files=("./a.py",),
            output_artifacts=("b\\c.py",),
        )
    )
    assert fields["title"] == "mend it"
    assert fields["description"] == "why"
    assert fields["hints"] == "look"
    assert fields["pseudocode"] == "a\nb"
    assert (fields["feature"], fields["discipline"]) == ("user-login", "back-end")
    assert fields["acceptance_criteria"] == ("it works",)
    assert (fields["context_files"], fields["output_artifacts"]) == (("a.py",), ("b/c.py",))


def test_tags_are_names_and_kept_once():
    assert validate(NewTask(title="x", tags=("UI", "ui ", "Data Base")))["tags"] == ("ui", "data-base")


@pytest.mark.parametrize("priority", [0, 4])
def test_the_ends_of_the_priorities_are_accepted(priority):
    assert validate(NewTask(title="x", priority=priority))["priority"] == priority


@pytest.mark.parametrize(
    "fields",
    [
        {"title": ""},
        {"title": "x" * 301},
        {"priority": 5},
        {"priority": -1},
        {"estimated_turns": 0},
        {"kind": "epic"},
        {"tags": ("a/b",)},
        {"context_files": ("/etc/passwd",)},
        {"description": "x" * 50_001},
        {"provenance": "ghost"},
    ],
)
def test_what_does_not_fit_is_refused_with_a_hint(fields):
    with pytest.raises(InvalidInput) as caught:
        validate(NewTask(**{"title": "x", **fields}))
    assert caught.value.hint


def test_an_update_gives_only_what_really_changes():
    task = a_task(title="mend it", tags=("ui",))
    assert find_changes(task, {"title": " mend  it ", "tags": ["ui"], "priority": 0}) == {"priority": 0}


def test_priority_zero_is_a_change_and_not_nothing():
    assert find_changes(a_task(priority=2), {"priority": 0}) == {"priority": 0}


def test_a_field_is_emptied_by_an_empty_value():
    task = a_task(feature="login", estimated_turns=3, description="long")
    assert find_changes(task, {"feature": None, "estimated_turns": None, "description": ""}) == {
        "feature": None,
        "estimated_turns": None,
        "description": "",
    }


@pytest.mark.parametrize("name", ["status", "id", "fence", "claimed_by", "provenance", "created_at", "depends_on"])
def test_what_has_verbs_of_its_own_is_not_updated(name):
    assert name not in EDITABLE
    with pytest.raises(InvalidInput, match=f"no field '{name}' to update"):
        find_changes(a_task(), {name: "x"})


def test_a_misspelt_field_gets_the_nearest():
    with pytest.raises(InvalidInput) as caught:
        find_changes(a_task(), {"descripton": "x"})
    assert caught.value.hint == "did you mean 'description'?"


@pytest.mark.parametrize(
    "changes", [{"title": 5}, {"title": None}, {"priority": "high"}, {"tags": 3}, {"tags": [None]}]
)
def test_a_value_of_the_wrong_kind_is_refused(changes):
    with pytest.raises(InvalidInput):
        find_changes(a_task(), changes)


@pytest.mark.parametrize("status", STATUSES)
def test_a_task_is_finished_from_every_status_but_draft_and_closed_ones(status):
    if status in ("draft", "done", "cancelled"):
        with pytest.raises(WrongStatus):
            check_close(a_task(status=status), by=PERSON, open_children=[])
    else:
        check_close(a_task(status=status), by=PERSON, open_children=[])


def test_an_agent_does_not_finish_what_waits_for_a_review():
    with pytest.raises(WrongStatus, match="waits for a review"):
        check_close(a_task(status="in_review"), by=AGENT, open_children=[], force=True)


def test_what_waits_for_others_is_not_finished_unless_forced():
    waiting = a_task(open_dependencies=2)
    with pytest.raises(Refused, match=r"depends on 2 task\(s\)"):
        check_close(waiting, by=PERSON, open_children=[])
    check_close(waiting, by=PERSON, open_children=[], force=True)


def test_what_has_unfinished_parts_is_not_finished_unless_forced():
    with pytest.raises(Refused, match="unfinished parts: bn-0001"):
        check_close(a_task(), by=PERSON, open_children=["bn-0001"])
    check_close(a_task(), by=PERSON, open_children=["bn-0001"], force=True)


@pytest.mark.parametrize("status", ["done", "cancelled"])
def test_what_is_closed_is_not_closed_again_even_by_force(status):
    with pytest.raises(WrongStatus, match=f"already {status}"):
        check_close(a_task(status=status), by=PERSON, open_children=[], force=True)
