"""Ready-made disciplines: what is in the box, what a file may say, and what an import leaves behind."""

import re

import pytest

from binnacle.errors import ConfigError, InvalidInput, NotFound
from binnacle.plan.discipline_sets import import_set, load_set, sets
from binnacle.store import features
from binnacle.tools.bn_tools import BnTools
from binnacle.tools.denials import SHELL, check_denied
from binnacle.tools.work.all_work_tools import names
from store.verbs import actions, contents, do, see

GENERIC = [
    *("implementation", "refactoring", "investigation", "testing"),
    *("architecture", "devops", "security", "documentation"),
]
PERSONAS = [pytest.param(one, id=one.name) for found in sets().values() for one in found.disciplines]

TEAM = """\
description: ours
disciplines:
  - name: testing
    title: Our testing
    conventions: no sleeps
  - name: poetry
    acronym: POEM
    skills: [rhyme]
"""


@pytest.fixture
def file(tmp_path):
    """Writes a set and returns where it is."""

    def write(text: str) -> str:
        path = tmp_path / "team.yaml"
        path.write_text(text)
        return str(path)

    return write


def load(store, source: str, **options):
    return do(store, import_set, load_set(source), **options)


def named(store, name: str):
    return see(store, features.get_discipline, name)


def test_the_box_holds_four_sets():
    assert list(sets()) == ["desktop", "generic", "mobile", "saas"]
    assert [one.name for one in sets()["generic"].disciplines] == GENERIC
    assert all(5 <= len(found.disciplines) <= 8 and found.description for found in sets().values())


@pytest.mark.parametrize("persona", PERSONAS)
def test_a_persona_is_whole_and_compact(persona):
    assert None not in (persona.title, persona.icon, persona.colour, persona.skills, persona.conventions)
    assert re.fullmatch("[A-Z0-9]{4}", persona.acronym)
    assert 80 <= len(persona.system_prompt.split()) <= 150
    assert "stop" in persona.system_prompt, "it says when it is finished"


@pytest.mark.parametrize("persona", PERSONAS)
def test_a_persona_names_no_tool(persona):
    text = f"{persona.system_prompt} {persona.conventions} {' '.join(persona.skills)}"
    assert not {*names(), *SHELL} & set(re.findall(r"[\w-]+[_-][\w-]+", text))


def test_all_sets_fit_beside_each_other(store):
    for name, found in sets().items():
        said = load(store, name)
        assert (len(said.added), said.near) == (len(found.disciplines), {})
        assert [named(store, one.name).acronym for one in found.disciplines] == [
            one.acronym for one in found.disciplines
        ]


def test_a_second_import_changes_nothing(store):
    assert load(store, "generic").added == tuple(GENERIC)
    before = contents(store)
    assert load(store, "generic").kept == tuple(GENERIC)
    assert load(store, "generic", update=True).kept == tuple(GENERIC)
    assert contents(store) == before


def test_what_is_there_is_left_alone_unless_it_is_to_be_updated(store, file):
    do(store, features.add_discipline, "testing", {"title": "Mine", "skills": ("patience",)})
    said = load(store, file(TEAM))
    assert (said.added, said.kept) == (("poetry",), ("testing",))
    assert named(store, "testing").title == "Mine"
    said = load(store, file(TEAM), update=True)
    assert (said.updated, said.kept) == (("testing",), ("poetry",))
    changed = named(store, "testing")
    assert (changed.title, changed.conventions, changed.skills) == ("Our testing", "no sleeps", ("patience",))
    assert actions(store, "testing") == ["added", "updated"]


def test_one_with_nearly_the_same_name_is_left_out_and_named(store, file):
    do(store, features.add_discipline, "test", {})
    said = load(store, file(TEAM))
    assert (said.added, said.near) == (("poetry",), {"testing": "test"})


def test_an_acronym_that_is_taken_is_replaced_by_a_free_one(store, file):
    do(store, features.add_discipline, "epics", {"acronym": "POEM"})
    load(store, file(TEAM))
    assert named(store, "poetry").acronym == "POET"
    load(store, file(TEAM), update=True)
    assert named(store, "poetry").acronym == "POET"


def test_an_unknown_set_is_answered_with_the_nearest():
    with pytest.raises(NotFound, match="no set of disciplines 'generics'") as caught:
        load_set("generics")
    assert "did you mean 'generic'?" in caught.value.hint


@pytest.mark.parametrize(
    ("line", "text", "said", "hint"),
    [
        (4, "titel: Poetry", "unknown key 'titel'", "did you mean 'title'?"),
        (4, "skills: rhyme", "disciplines.0.skills: expected array", ""),
        (4, "acronym: POETRY", "acronym: an acronym is four letters or digits", "for example AUTH"),
        (4, "denied_tools: [task_ad]", "denied_tools: no tool 'task_ad' to deny", "did you mean 'task_add'?"),
        (4, "upstreams: {docs: 7}", "upstreams: upstreams are servers by name", ""),
        (4, "- name: Poetry", "not YAML", "check indentation"),
        (5, "\n  - name: POETRY", "the name 'poetry' is already used in", "use each only once"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(file, line, text, said, hint):
    path = file(f"description: ours\ndisciplines:\n  - name: poetry\n    {text}\n")
    with pytest.raises(ConfigError) as caught:
        load_set(path)
    assert caught.value.message.startswith(f"{path}:{line}: ")
    assert said in caught.value.message
    assert hint in caught.value.hint


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(ConfigError, match="cannot read"):
        load_set(str(tmp_path / "none.yaml"))


def test_a_denial_names_a_tool_by_any_of_its_names_or_is_a_pattern():
    check_denied(["task_add", "create_task", "task-add", "bn_run", "debug_*", "mcp_github_merge", "no-such-*"], names)
    with pytest.raises(InvalidInput, match="no tool 'create_tsk' to deny") as caught:
        check_denied(["debug_*", "create_tsk"], names)
    assert caught.value.hint == "did you mean 'create_task'?"
    with pytest.raises(InvalidInput, match="no tool 'zzz'"):
        check_denied(["zzz"], names)


def test_the_tools_of_the_shell_are_known_to_denials():
    assert tuple(spec.name for spec in BnTools(None, timeout=1).specs()) == SHELL
